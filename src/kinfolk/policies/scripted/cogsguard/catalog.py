"""The catalog of CogsGuard: the thirteen behaviors in a fixed order, and the four seeded roles.

Also how the game is described to role evolution: rows of a team, scores, weights of contributions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from operator import attrgetter, methodcaller
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from kinfolk.core.arrays import AnyArray, Ints
from kinfolk.core.errors import UsageError, require
from kinfolk.core.imports import import_object
from kinfolk.core.jit import call_address, get_function_address
from kinfolk.policies.role_domain import RoleDomain
from kinfolk.policies.scripted.cogsguard import columns as col
from kinfolk.policies.scripted.cogsguard.adaptive_baseline import SMART
from kinfolk.policies.scripted.cogsguard.behaviors import foraging, junctions
from kinfolk.policies.scripted.cogsguard.behaviors.python_behaviors import AgentView
from kinfolk.policies.scripted.cogsguard.guards import GUARD_FACTS
from kinfolk.policies.scripted.cogsguard.memory import AgentMemory, BehaviorParams
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.execution import HOLD, YES
from kinfolk.roles.model import BehaviorParameter, RoleDef, RoleTier

if TYPE_CHECKING:
    from kinfolk.worlds.cogsguard.world import CogsguardWorld

Hook = Callable[..., Any]
CatalogLike: TypeAlias = RoleCatalog | str | None  # see `load_catalog`


class BuiltinBehavior(NamedTuple):
    """A behavior of the game: a description, its source, its three hooks and its parameters."""

    description: str  # for the list of behaviors
    source: str  # the seeded role it comes from, or "common"
    can_start: Hook
    act: Hook
    should_terminate: Hook
    parameters: tuple[str, ...] = ()  # fields of `BehaviorParams`


BEHAVIORS = {
    "explore": BuiltinBehavior(
        "goes to the nearest unknown frontier, patrols when all is known",
        "common", foraging.can_explore, foraging.explore,
        foraging.should_stop_exploring),
    "recharge": BuiltinBehavior(
        "goes to a friendly area and waits there until full",
        "common", foraging.can_recharge, foraging.recharge,
        foraging.should_stop_recharging, ("home_margin", "commit_distance")),
    "mine_resource": BuiltinBehavior(
        "fetches gear, walks to the best extractor and mines",
        "miner", foraging.can_mine, foraging.mine,
        foraging.should_stop_mining, ("scarce_bonus", "retry_delay")),
    "deposit_resource": BuiltinBehavior(
        "brings elements to the nearest hub or own junction",
        "miner", foraging.can_deposit, foraging.deposit,
        foraging.should_stop_depositing, ("cargo_percent", "commit_distance")),
    "find_extractor": BuiltinBehavior(
        "searches by sectors, away from where others search",
        "miner", foraging.can_find_extractor, foraging.find_extractor,
        foraging.should_stop_finding_extractor),
    "discover_stations": BuiltinBehavior(
        "explores near the hub, in growing rings",
        "scout", foraging.can_discover_stations, foraging.discover_stations,
        foraging.should_stop_discovering_stations, ("store_reserve",)),
    "discover_extractors": BuiltinBehavior(
        "explores far from the extractors it knows",
        "scout", foraging.can_discover_extractors, foraging.discover_extractors,
        foraging.should_stop_discovering_extractors, ("extractors_wanted", "store_reserve")),
    "discover_junctions": BuiltinBehavior(
        "explores far from the junctions it knows",
        "scout", foraging.can_discover_junctions, foraging.discover_junctions,
        foraging.should_stop_discovering_junctions, ("retry_delay", "store_reserve")),
    "get_hearts": BuiltinBehavior(
        "takes hearts from the hub",
        "aligner", junctions.can_get_hearts, junctions.get_hearts,
        junctions.should_stop_getting_hearts,
        ("hearts_wanted", "gears_in_reserve", "commit_distance")),
    "get_influence": BuiltinBehavior(
        "waits in a friendly area until it holds all the influence it can",
        "aligner", junctions.can_get_influence, junctions.get_influence,
        junctions.should_stop_getting_influence, ("commit_distance", "retry_delay")),
    "align_junction": BuiltinBehavior(
        "walks to the best neutral junction and aligns it",
        "aligner", junctions.can_align_junction, junctions.align_junction,
        junctions.should_stop_aligning, ("recent_ticks", "rival_cost", "retry_delay")),
    "scramble_junction": BuiltinBehavior(
        "walks to an enemy junction and scrambles it",
        "scrambler", junctions.can_scramble, junctions.scramble,
        junctions.should_stop_scrambling, ("rival_cost", "retry_delay")),
    "find_enemy_junction": BuiltinBehavior(
        "searches outward from the enemy area it saw last",
        "scrambler", junctions.can_find_enemy, junctions.find_enemy,
        junctions.should_stop_finding_enemy),
}  # fmt: skip

# Range in which evolution sets each field of `BehaviorParams`.
PARAMETER_RANGES = {
    "hearts_wanted": (1, 6),
    "extractors_wanted": (1, 6),
    "retry_delay": (10, 200),
    "home_margin": (0, 30),
    "commit_distance": (0, 10),
    "store_reserve": (0, 30),
    "recent_ticks": (0, 400),
    "cargo_percent": (10, 100),
    "gears_in_reserve": (0, 6),
    "rival_cost": (0, 60),
    "scarce_bonus": (0, 60),
}

# Behavior names by tier; the order within a tier is FIXED.
SEEDED_ROLES = {
    "BaseMiner": [["deposit_resource"], ["mine_resource"], ["find_extractor"], ["explore"]],
    "BaseScout": [
        ["discover_stations"],
        ["discover_extractors"],
        ["discover_junctions"],
        ["explore"],
    ],
    "BaseAligner": [["get_hearts", "get_influence"], ["align_junction"], ["explore"]],
    "BaseScrambler": [["get_hearts"], ["find_enemy_junction"], ["scramble_junction"], ["explore"]],
}


def cogs_catalog() -> RoleCatalog:
    """Return a new catalog with the thirteen behaviors and the four seeded roles."""
    return _make_catalog().copy()


@cache
def _make_catalog() -> RoleCatalog:
    """Return the catalog of the game, which is made once and copied: every policy has one."""
    catalog = RoleCatalog(facts=GUARD_FACTS)
    defaults = BehaviorParams().model_dump()
    for name, behavior in BEHAVIORS.items():
        catalog.add_behavior(
            name=name,
            source=behavior.source,
            can_start=CompiledHook(behavior.can_start, is_condition=True),
            act=CompiledHook(behavior.act),
            should_terminate=CompiledHook(behavior.should_terminate, is_condition=True),
            parameters=[
                BehaviorParameter(parameter, defaults[parameter], *PARAMETER_RANGES[parameter])
                for parameter in behavior.parameters
            ],
        )
    for name, names_by_tier in SEEDED_ROLES.items():
        tiers = tuple(RoleTier(catalog.behavior_ids(names)) for names in names_by_tier)
        catalog.add_role(RoleDef(tiers, name=name))
    return catalog


def build_cogsguard_behavior_hooks() -> dict[str, Callable[[AgentView], int | None]]:
    """Return `act(state)` of each of the thirteen behaviors by name, for `behavior_hooks`.

    The state is what a behavior of yours gets, an `AgentView`. A hook returns the agent's move, or
    None if it cannot act.

    >>> sorted(build_cogsguard_behavior_hooks())[:3]
    ['align_junction', 'deposit_resource', 'discover_extractors']
    """
    return {behavior.name: behavior.act for behavior in _make_catalog().behaviors}


def load_catalog(catalog: CatalogLike) -> RoleCatalog:
    """Return a given catalog, what the function at an import path returns, or the game's own.

    Raises:
        UsageError: The path names no function that returns a catalog.
    """
    if catalog is None:
        return cogs_catalog()
    if isinstance(catalog, RoleCatalog):
        return catalog
    factory = import_object(catalog)
    loaded = factory() if callable(factory) else factory
    if not isinstance(loaded, RoleCatalog):
        kind = type(loaded).__name__
        raise UsageError(f"'{catalog}' must be a function that returns a RoleCatalog, not {kind}.")
    return loaded


def find_parameter_columns(catalog: RoleCatalog) -> dict[str, int]:
    """Return the state column of each parameter of a catalog, in the catalog's order.

    Raises:
        SettingsError: There are too many parameters besides those of the game.
    """
    of_game = list(BehaviorParams.model_fields)[: col.N_GAME_PARAMETERS]
    names = [parameter.name for parameter in catalog.parameters]
    of_user, most = [name for name in names if name not in of_game], col.MAX_OWN_PARAMETERS
    counts = f"not {len(of_user)}: {', '.join(of_user)}"
    require(len(of_user) <= most, f"Behaviors of your own may have {most} parameters, {counts}.")
    columns = {name: col.HEARTS_WANTED + i for i, name in enumerate(of_game)}
    columns |= {name: col.OWN_PARAMETERS + i for i, name in enumerate(of_user)}
    return {name: columns[name] for name in names}


class CompiledHook:
    """A hook that is compiled for play; called from Python, it takes an `AgentView` as every hook.

    Args:
        kernel: A function of `(memory, agent)` that returns an integer, as those of `behaviors` do.
        is_condition: Whether a call answers yes or no; otherwise it returns a move, or None.
    """

    def __init__(
        self, kernel: Callable[[AgentMemory, int], int], is_condition: bool = False
    ) -> None:
        self.kernel = kernel
        self._is_condition = is_condition

    def __call__(self, agent: AgentView) -> int | None:
        """Return the answer of the kernel for an agent; reason codes become False or None."""
        address = get_function_address(self.kernel, agent.memory, 0)
        answer = call_address(address, agent.memory, agent.agent)
        if self._is_condition:
            return answer == YES
        return None if answer < 0 else answer % HOLD


def compiled(function: Callable[[AgentMemory, int], int]) -> CompiledHook:
    """Compile a hook: the decorator for compiled behaviors of your own.

    Such a hook takes `(memory, agent)` and returns an integer, as those of `behaviors` do; a hook
    without this decorator stays plain Python and gets an `AgentView`.
    """
    return CompiledHook(function)


def team_rows(world: CogsguardWorld) -> Ints:
    """Return the row numbers of every team, `[teams, rows per team]`."""
    rules = world.settings
    return np.arange(rules.teams * rules.rows_per_team).reshape(rules.teams, -1)


def junction_ticks(world: CogsguardWorld) -> AnyArray:
    """Return the junction-ticks `[worlds, sides]` of every team and, last, of the clips."""
    counters = world.counters()
    sides = [f"team_{team}" for team in range(world.settings.teams)] + ["clips"]
    return np.stack([counters[f"junction_ticks_{side}"] for side in sides], axis=1)


# Of eight agents: three miners, two aligners, two scramblers, one scout.
_SEEDED_TEAM = ("Miner", "Aligner", "Scrambler", "Scout", "Miner", "Aligner", "Scrambler", "Miner")
# In hearts: forty elements pay for one; an aligned junction is held for some 250 ticks; scrambling a
# junction of the clips is worth several, since whatever they hold grows.
_HEARTS_PER = {"held_ticks": 1 / 250, "scrambled": 3.0, "deposited": 1 / 40, "hearts_made": 1 / 4}
COGSGUARD_ROLES = RoleDomain(
    make_catalog=load_catalog,
    policy_class="kinfolk.policies.scripted.cogsguard.role_policy:RolePolicy",
    hybrid_policy_class="kinfolk.policies.scripted.cogsguard.evolved_roles:HybridRolePolicy",
    team_policy_class="kinfolk.policies.scripted.cogsguard.teams:TeamPolicy",
    seeded_roles=tuple(f"Base{role}" for role in _SEEDED_TEAM),
    baseline_uri="kin://smart",
    baseline_member=SMART,
    score_name="junction-ticks",
    contribution_weights=_HEARTS_PER,
    team_rows=team_rows,
    initial_team_size=attrgetter("settings.agents"),
    side_scores=junction_ticks,
    agent_counters=methodcaller("statistics"),
    descriptors={
        "scrambled": (("scrambled",), ("scrambled", "aligned")),  # share of junctions changed
        "moves": (("moves",), ()),  # distance walked
        "territory": (("held_ticks",), ()),  # junctions held per agent
        "explored": (("explored",), ()),  # cells seen per tick
        "deposited": (("deposited",), ()),
        "hearts_spent": (("hearts_spent",), ()),
    },
)
