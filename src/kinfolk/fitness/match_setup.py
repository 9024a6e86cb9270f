"""Setup of matches: the world, the evolving populations, fixed policies, and the fitness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kinfolk.core.arrays import Floats
from kinfolk.core.errors import SettingsError, UnknownNameError, format_suggestion
from kinfolk.core.spaces import WorldSpec
from kinfolk.nets.heads import count_outputs
from kinfolk.play.task import RolloutResult, WorldRef
from kinfolk.policies.neural.encoding.group_encoder import make_group_encoder
from kinfolk.policies.resolve import ResolvedPolicy

COUNTER_PREFIX = "counter:"
FITNESS_KINDS = ("return", "per_life", "life")


@dataclass(frozen=True)
class MatchSetup:
    """What all matches of an evolution have in common.

    Slots are named after populations and fixed groups.

    Attributes:
        world: The world of the matches.
        rows: Agent slots of a world.
        groups: Groups of agents that each population plays.
        fixed_policies: Policies of groups that do not evolve, by group.
        slot_map: Slot of each group, or of each row.
        fitness_kinds: By population, a value that `check_fitness_kind` accepts.
        seed: Seed of the episodes.
        matches: Matches per member and generation.
        steps: Ticks of a match at most; None: whole episodes.
        head: Output head of the nets.
        n_zero_inputs: Additional inputs of the nets that are always zero.
        measure_names: Measures for an archive, see `MeasureTracker`.
    """

    world: WorldRef
    rows: int
    groups: Mapping[str, tuple[str, ...]]
    fixed_policies: Mapping[str, ResolvedPolicy]
    slot_map: Mapping[str, str] | Sequence[str]
    fitness_kinds: Mapping[str, str]
    seed: int
    matches: int = 1
    steps: int | None = None
    head: str = "argmax"
    n_zero_inputs: int = 0
    measure_names: Sequence[str] = field(default=())


def population_groups(
    spec: WorldSpec, fixed: Sequence[str], populations_per_group: int
) -> dict[str, tuple[str, ...]]:
    """Return the groups that each evolving population plays.

    Every group that is not fixed has one population; in a world of one group there may be several.

    Args:
        spec: Spec of the world.
        fixed: Groups that do not evolve.
        populations_per_group: Populations that share the only group.

    Raises:
        UnknownNameError: A fixed group is not in this world.
        SettingsError: No group is left to evolve, or several populations per group were asked for
            in a world of several groups.
    """
    for name in fixed:
        spec.group_index(name)
    free = [group.name for group in spec.groups if group.name not in fixed]
    if not free:
        raise SettingsError(
            f"Every group of world {spec.world} is fixed: nobody is left to evolve."
        )
    if populations_per_group == 1:
        return {name: (name,) for name in free}
    if len(spec.groups) > 1:
        raise SettingsError(
            f"Roles are dealt among the agents of one group; world {spec.world} has "
            f"{len(spec.groups)} groups."
        )
    return {f"{free[0]}_{role}": (free[0],) for role in range(populations_per_group)}


def build_slot_map(
    spec: WorldSpec, groups: Mapping[str, tuple[str, ...]], fixed: Sequence[str]
) -> Mapping[str, str] | list[str]:
    """Return the slot of each group, or of each row if several populations share a group.

    Args:
        spec: Spec of the world.
        groups: Groups of each population, from `population_groups`.
        fixed: Groups that do not evolve.
    """
    if len(groups) > 1 and len(spec.groups) == 1:
        names = list(groups)
        return [names[row % len(names)] for row in range(spec.rows)]
    return {group: name for name, owned in groups.items() for group in owned} | {
        group: group for group in fixed
    }


def net_sizes(spec: WorldSpec, groups: Sequence[str], head: str) -> tuple[int, int]:
    """Return the numbers of inputs and outputs of a net that plays these groups.

    Args:
        spec: Spec of the world.
        groups: Names of the groups.
        head: Output head of the net.

    Raises:
        SettingsError: The groups differ in observations or actions.
    """
    sizes = set()
    for name in groups:
        index = spec.group_index(name)
        outputs = count_outputs(head, spec.n_choices[index].tolist())
        sizes.add((make_group_encoder(spec, index).n_features, outputs))
    if len(sizes) > 1:
        raise SettingsError(
            f"One net cannot play {', '.join(groups)}: their observations or actions differ in size."
        )
    return sizes.pop()


def check_fitness_kind(kind: str, counters: Sequence[str]) -> None:
    """Check the name of a fitness.

    Raises:
        UnknownNameError: It is neither one of `FITNESS_KINDS` nor a counter of the world.
    """
    known = [*FITNESS_KINDS, *(f"{COUNTER_PREFIX}{name}" for name in counters)]
    if kind not in known:
        raise UnknownNameError(f"No fitness is named '{kind}'.{format_suggestion(kind, known)}")


def match_fitness(kind: str, result: RolloutResult[Any], slot: str) -> Floats:
    """Return the fitness of a slot in each match, `[matches]`.

    Args:
        kind: `return` (sum over all agents), `per_life` (mean return of an agent), `life` (mean
            ticks lived by an agent) or `counter:NAME`.
        result: Result of a task with a world for each match.
        slot: The slot of the population.
    """
    returns, lives = result.totals["returns"][slot], np.maximum(result.totals["lives"][slot], 1.0)
    if kind == "return":
        return returns
    if kind == "per_life":
        return returns / lives
    if kind == "life":
        return result.totals["ticks_lived"][slot] / lives
    return result.counters[kind[len(COUNTER_PREFIX) :]]
