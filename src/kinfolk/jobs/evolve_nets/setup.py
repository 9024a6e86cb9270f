"""From settings to the matches, the populations and the fitness of an evolution of nets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kinfolk.core.errors import SettingsError
from kinfolk.core.random import fold_in, seed_key
from kinfolk.core.spaces import WorldSpec
from kinfolk.evolution.populations import BasePop, GAConfig, GeneratorDiscriminatorPop, GeneratorPop
from kinfolk.fitness.imitation import AdversarialFitness, ImitationFitness
from kinfolk.fitness.match_setup import (
    MatchSetup,
    build_slot_map,
    check_fitness_kind,
    net_sizes,
    population_groups,
)
from kinfolk.fitness.trajectories import Trajectories, read_trajectories, record_demonstrations
from kinfolk.fitness.world import HELD_OUT_START, WorldFitness
from kinfolk.jobs.evolve_nets.settings import EvolveNets
from kinfolk.nets.registry import make_nets
from kinfolk.policies.resolve import ResolvedPolicy, resolve
from kinfolk.worlds import GYM_PREFIX

TARGET_EPISODES_START = HELD_OUT_START << 1  # episodes of the policy that is imitated
_NETS_BRANCH = 1  # branch of keys
_UID_STRIDE = 1_000_000_000  # members of each population are numbered from a multiple of this
TRAJECTORY_SUFFIXES = (".npz", ".safetensors")


def build_setup(settings: EvolveNets) -> tuple[MatchSetup, WorldSpec]:
    """Return how populations meet in matches, and the spec of their world.

    Raises:
        UsageError: Something in the settings is unknown or does not fit; reported before playing.
    """
    check_env_copyable(settings)
    world = settings.world_ref.build()
    spec = world.spec
    groups = population_groups(spec, list(settings.fixed), settings.populations_per_group)
    counters = list(world.counters())
    for name, kind in settings.fitness.items():
        if name not in groups:
            raise SettingsError(
                f"There is no population '{name}' to score. There are: {', '.join(groups)}."
            )
        check_fitness_kind(kind, counters)
    n_zero_inputs = 0  # discriminators see actions there; generators see zeros
    if settings.adversarial:
        n_zero_inputs = int(spec.n_choices[spec.group_index(next(iter(groups.values()))[0])].sum())
    return MatchSetup(
        world=settings.world_ref,
        rows=spec.rows,
        groups=groups,
        fixed_policies={group: resolve(uri) for group, uri in settings.fixed.items()},
        slot_map=build_slot_map(spec, groups, list(settings.fixed)),
        fitness_kinds={name: settings.fitness.get(name, "return") for name in groups},
        seed=settings.seed,
        matches=settings.matches,
        steps=settings.steps,
        head=settings.head,
        n_zero_inputs=n_zero_inputs,
        measure_names=[axis.name for axis in settings.archive],
    ), spec


def check_env_copyable(settings: EvolveNets) -> None:
    """Refuse to inherit worlds that cannot be copied, before they are made."""
    if "env" in settings.inherit and settings.task.startswith(GYM_PREFIX):
        from kinfolk.worlds.gymnasium_task.state import check_copyable

        check_copyable(settings.task[len(GYM_PREFIX) :])


def build_populations(
    settings: EvolveNets, setup: MatchSetup, spec: WorldSpec
) -> dict[str, BasePop]:
    """Make new populations, one for each name in the setup.

    Args:
        settings: Settings of the evolution.
        setup: How populations meet in matches.
        spec: Spec of the world.

    Raises:
        SettingsError: There are several populations where only one is supported.
    """
    if len(setup.groups) > 1:
        names = ", ".join(setup.groups)
        for feature, is_used in (
            ("Worlds are inherited in", "env" in settings.inherit),
            ("Imitation is of", bool(settings.imitate or settings.adversarial)),
            ("An archive is of", bool(settings.archive)),
        ):
            if is_used:
                raise SettingsError(
                    f"{feature} one population; here are {names}. "
                    f"Give the other groups a policy that does not evolve, with fixed."
                )
    inherits = GAConfig(**{f"inherit_{name}": True for name in settings.inherit})
    populations: dict[str, BasePop] = {}
    for number, (name, groups) in enumerate(setup.groups.items()):
        inputs, outputs = net_sizes(spec, groups, settings.head)
        nets = make_nets(
            settings.net, settings.population, inputs + setup.n_zero_inputs,
            outputs + (1 if settings.adversarial else 0), settings.hidden,
            key=int(fold_in(fold_in(seed_key(settings.seed), _NETS_BRANCH), number)), sigma=settings.step_size,
            self_adaptive=settings.self_adaptive, zero=settings.zero_init,
        )  # fmt: skip
        first = number * _UID_STRIDE
        if settings.adversarial:
            populations[name] = GeneratorDiscriminatorPop(nets, outputs, 1, inherits, first)
        else:
            populations[name] = GeneratorPop(nets, inherits, first)
    return populations


def build_fitness(settings: EvolveNets, setup: MatchSetup, spec: WorldSpec) -> Any:
    """Make the fitness function: scores in worlds, imitation or adversarial imitation.

    Args:
        settings: Settings of the evolution.
        setup: How populations meet in matches.
        spec: Spec of the world.
    """
    if not (settings.imitate or settings.adversarial):
        inherit = settings.inherit
        return WorldFitness(setup, settings.chunk_size, "env" in inherit, "mem" in inherit)
    name, (group,) = next(iter(setup.groups.items()))
    choices = spec.n_choices[spec.group_index(group)].tolist()
    if settings.imitate:
        target = _load_target(settings, settings.imitate, setup, spec, group)
        return ImitationFitness(name, target, settings.head, choices, settings.chunk_size)
    if spec.rows != 1 or settings.head not in ("argmax", "softmax_sample"):
        raise SettingsError(
            f"Adversarial imitation needs a world of one agent that chooses, such as "
            f"gym:CartPole-v1; {settings.task} has {spec.rows} rows and the head is {settings.head}."
        )
    target = _load_target(settings, str(settings.adversarial), setup, spec, group)
    return AdversarialFitness(setup, name, target, choices, settings.chunk_size)


def _load_target(
    settings: EvolveNets, source: str, setup: MatchSetup, spec: WorldSpec, group: str
) -> Trajectories:
    """Read the trajectories to imitate from a file, or record them of a policy.

    Args:
        settings: Settings of the evolution.
        source: A file, or a policy URI.
        setup: How populations meet in matches.
        spec: Spec of the world.
        group: The group whose agents are imitated.
    """
    if source.endswith(TRAJECTORY_SUFFIXES):
        inputs, _ = net_sizes(spec, [group], settings.head)
        return read_trajectories(Path(source), inputs, spec.n_heads)
    episodes = range(TARGET_EPISODES_START, TARGET_EPISODES_START + settings.target_episodes)
    return record_demonstrations(
        setup.world, group, resolve(source), settings.seed, episodes, setup.fixed_policies
    )


def resolve_held_out_opponents(
    settings: EvolveNets, setup: MatchSetup
) -> dict[str, ResolvedPolicy]:
    """Return who plays the other populations in held-out episodes; by default random.

    Raises:
        SettingsError: A population of that name does not exist.
    """
    unknown = [name for name in settings.held_out_opponents if name not in setup.groups]
    if unknown:
        raise SettingsError(
            f"There is no population '{unknown[0]}' to stand in for. "
            f"There are: {', '.join(setup.groups)}."
        )
    return {
        name: resolve(settings.held_out_opponents.get(name, "kin://random"))
        for name in setup.groups
    }
