"""From settings to the matches, the populations and the fitness of an evolution of nets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kinfolk.core.errors import UnknownNameError, format_suggestion, require
from kinfolk.core.random import fold_in, seed_key
from kinfolk.core.spaces import WorldSpec
from kinfolk.evolution.base import BasePop, GAConfig
from kinfolk.evolution.populations import GeneratorDiscriminatorPop, GeneratorPop
from kinfolk.fitness.classic import ClassicFitness, find_classic
from kinfolk.fitness.imitation import AdversarialFitness, ImitationFitness
from kinfolk.fitness.match_task import COUNTER_PREFIX, MatchSetup
from kinfolk.fitness.trajectories import Trajectories, read_trajectories, record_demonstrations
from kinfolk.fitness.world import HELD_OUT_START, WorldFitness
from kinfolk.jobs.evolve_nets.settings import EvolveNets
from kinfolk.lineage.net_family import UID_STRIDE
from kinfolk.nets.heads import count_outputs
from kinfolk.nets.registry import make_nets
from kinfolk.policies.build import ResolvedPolicy
from kinfolk.policies.neural.evolved import GroupEncoder
from kinfolk.policies.resolve import resolve
from kinfolk.worlds import GYM_PREFIX

FITNESS_KINDS = ("return", "per_life", "life")
TARGET_EPISODES_START = HELD_OUT_START << 1  # episodes of the policy that is imitated
_NETS_BRANCH = 1  # branch of keys


def build_setup(settings: EvolveNets) -> MatchSetup:
    """Return the world, the policies and the slots that all matches share.

    Raises:
        UsageError: Something in the settings is unknown or does not fit.
    """
    if "env" in settings.inherit and settings.task.startswith(GYM_PREFIX):
        from kinfolk.worlds.gymnasium_task.env import check_copyable

        check_copyable(settings.task[len(GYM_PREFIX) :])  # before the world is made
    world = settings.world_ref.build()
    spec, fixed = world.spec, list(settings.fixed)
    groups = population_groups(spec, fixed, settings.populations_per_group)
    names = ", ".join(groups)
    for name, kind in settings.fitness.items():
        require(name in groups, f"There is no population '{name}' to score. There are: {names}.")
        check_fitness_kind(kind, list(world.counters()))
    n_zero_inputs = 0  # discriminators see actions there; generators see zeros
    if settings.adversarial:
        n_zero_inputs = int(spec.n_choices[spec.group_index(next(iter(groups.values()))[0])].sum())
    return MatchSetup(
        world=settings.world_ref,
        spec=spec,
        groups=groups,
        fixed_policies={group: resolve(uri) for group, uri in settings.fixed.items()},
        slot_map=build_slot_map(spec, groups, fixed),
        fitness_kinds={name: settings.fitness.get(name, "return") for name in groups},
        seed=settings.seed,
        matches=settings.n_matches,
        steps=settings.steps,
        head=settings.head,
        n_zero_inputs=n_zero_inputs,
        measure_names=settings.measure_names,
    )


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
    require(bool(free), f"Every group of world {spec.world} is fixed: nobody is left to evolve.")
    if populations_per_group == 1:
        return {name: (name,) for name in free}
    count = f"world {spec.world} has {len(spec.groups)} groups"
    require(len(spec.groups) == 1, f"Roles are dealt among the agents of one group; {count}.")
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
    evolving = {group: name for name, played in groups.items() for group in played}
    return evolving | {group: group for group in fixed}


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
        sizes.add((GroupEncoder(spec, index).n_features, outputs))
    require(
        len(sizes) == 1,
        f"One net cannot play {', '.join(groups)}: their observations or actions differ in size.",
    )
    return sizes.pop()


def check_fitness_kind(kind: str, counters: Sequence[str]) -> None:
    """Check the name of a fitness.

    Raises:
        UnknownNameError: The name is neither one of `FITNESS_KINDS` nor a counter of the world.
    """
    known = [*FITNESS_KINDS, *(f"{COUNTER_PREFIX}{name}" for name in counters)]
    if kind not in known:
        raise UnknownNameError(f"No fitness is named '{kind}'.{format_suggestion(kind, known)}")


def build_populations(settings: EvolveNets, setup: MatchSetup) -> dict[str, BasePop]:
    """Make new populations, one for each name in the setup.

    Raises:
        SettingsError: There are several populations where only one is supported.
    """
    for feature, is_used in (
        ("Worlds are inherited in", "env" in settings.inherit),
        ("Imitation is of", bool(settings.imitate or settings.adversarial)),
        ("An archive is of", bool(settings.archive)),
        ("Novelty is of", bool(settings.novelty)),
    ):
        require(
            not is_used or len(setup.groups) == 1,
            f"{feature} one population; here are {', '.join(setup.groups)}. "
            f"Give the other groups a policy that does not evolve, with fixed.",
        )
    inherits = GAConfig(**{f"inherit_{name}": True for name in settings.inherit})
    key = fold_in(seed_key(settings.seed), _NETS_BRANCH)
    populations: dict[str, BasePop] = {}
    for number, (name, groups) in enumerate(setup.groups.items()):
        inputs, outputs = net_sizes(setup.spec, groups, settings.head)
        n_all_outputs = outputs + (1 if settings.adversarial else 0)
        options: dict[str, Any] = {"key": int(fold_in(key, number))}
        if settings.net != "dynamic":
            options["hidden"] = settings.hidden
            options["sigma"] = settings.step_size
            options["self_adaptive"] = settings.self_adaptive
            options["zero"] = settings.zero_init
            options["normalize"] = settings.normalizes
        n_inputs = inputs + setup.n_zero_inputs
        nets = make_nets(settings.net, settings.population, n_inputs, n_all_outputs, **options)
        first = number * UID_STRIDE
        if settings.adversarial:
            populations[name] = GeneratorDiscriminatorPop(nets, outputs, 1, inherits, first)
        else:
            populations[name] = GeneratorPop(nets, inherits, first)
    return populations


def build_fitness(settings: EvolveNets, setup: MatchSetup) -> Any:
    """Make the fitness function: scores in worlds, imitation or adversarial imitation.

    Raises:
        SettingsError: Adversarial imitation is not possible in this world.
    """
    if not (settings.imitate or settings.adversarial):
        inherit = settings.inherit
        if find_classic(setup) is not None and not {"env", "mem"} & set(inherit):
            return ClassicFitness(setup, settings.chunk_size)
        return WorldFitness(setup, settings.chunk_size, "env" in inherit, "mem" in inherit)
    spec = setup.spec
    name, (group,) = next(iter(setup.groups.items()))
    if settings.imitate:
        choices = spec.n_choices[spec.group_index(group)].tolist()
        target = _load_target(settings, settings.imitate, setup, group)
        return ImitationFitness(name, target, settings.head, choices, settings.chunk_size)
    require(
        spec.rows == 1 and settings.head in ("argmax", "softmax_sample"),
        f"Adversarial imitation needs a world of one agent that chooses, such as "
        f"gym:CartPole-v1; {settings.task} has {spec.rows} rows and the head is {settings.head}.",
    )
    target = _load_target(settings, str(settings.adversarial), setup, group)
    summed = settings.adversarial_fitness == "sum"
    return AdversarialFitness(setup, target, settings.chunk_size, summed)


def _load_target(settings: EvolveNets, source: str, setup: MatchSetup, group: str) -> Trajectories:
    """Read the trajectories to imitate from a file, or record them of a policy.

    Args:
        settings: Settings of the evolution.
        source: A file, or a policy URI.
        setup: How populations meet in matches.
        group: The group whose agents are imitated.
    """
    if not settings.records_target:
        inputs, _ = net_sizes(setup.spec, [group], settings.head)
        return read_trajectories(Path(source), inputs, setup.spec.n_heads)
    episodes = range(TARGET_EPISODES_START, TARGET_EPISODES_START + settings.target_episodes)
    return record_demonstrations(
        setup.world, group, resolve(source), settings.seed, episodes, setup.fixed_policies
    )


def resolve_held_out_opponents(
    settings: EvolveNets, setup: MatchSetup
) -> dict[str, ResolvedPolicy]:
    """Return the policy of each population when it is an opponent in held-out episodes.

    By default opponents act at random.

    Raises:
        SettingsError: The settings name a population that does not exist or meets no other.
    """
    require(
        not settings.held_out_opponents or len(setup.groups) > 1,
        f"Rivals are for populations that meet each other; {settings.task} has one. "
        f"Give the other groups a policy with fixed.",
    )
    uris = dict.fromkeys(setup.groups, "kin://random") | settings.held_out_opponents
    names = ", ".join(setup.groups)
    for name in uris:
        problem = f"There is no population '{name}' to stand in for. There are: {names}."
        require(name in setup.groups, problem)
    return {name: resolve(uri) for name, uri in uris.items()}
