"""From settings to the arena, the populations and the evaluator of an evolution of nets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kinfolk.core.errors import SettingsError
from kinfolk.core.keys import fold, root
from kinfolk.core.spaces import WorldSpec
from kinfolk.evolution.populations import (
    BasePop,
    GAConfig,
    GeneratorDiscriminatorPop,
    GeneratorPop,
)
from kinfolk.fitness.arena import (
    Arena,
    check_score,
    populations_of,
    sizes_of,
    slot_map_of,
    spec_of,
)
from kinfolk.fitness.imitation import AdversarialFitness, ImitationFitness
from kinfolk.fitness.recording import Trajectories, read_trajectories, record_target
from kinfolk.fitness.worlds import HELD_OUT, WorldFitness
from kinfolk.jobs.evolve_nets_settings import EvolveNets
from kinfolk.nets.kinds import make_nets
from kinfolk.policies.resolve import ResolvedPolicy, resolve
from kinfolk.worlds import GYM, build

TARGET_EPISODES = HELD_OUT << 1  # where the policy that is imitated plays
_NETS = 1  # branch of keys
_UIDS = 1_000_000_000  # members of each population are numbered from a multiple of this
DATA = (".npz", ".safetensors")


def arena_of(settings: EvolveNets) -> tuple[Arena, WorldSpec]:
    """Where the populations play, and its face.

    Raises:
        UsageError: Something is unknown or does not fit; said before anything is played.
    """
    check_copies(settings)
    spec = spec_of(settings.task, settings.world_settings, settings.preset)
    groups = populations_of(spec, list(settings.fixed), settings.roles)
    counters = list(build(settings.task, settings.world_settings, 1, settings.preset).counters())
    for name, kind in settings.fitness.items():
        if name not in groups:
            raise SettingsError(
                f"There is no population '{name}' to score. There are: {', '.join(groups)}."
            )
        check_score(kind, counters)
    blind = 0
    if settings.adversarial:
        blind = int(spec.choices[spec.group_index(next(iter(groups.values()))[0])].sum())
    return Arena(
        world=settings.task,
        world_settings=settings.world_settings,
        preset=settings.preset,
        groups=groups,
        fixed={group: resolve(uri) for group, uri in settings.fixed.items()},
        slot_map=slot_map_of(spec, groups, list(settings.fixed)),
        scores={name: settings.fitness.get(name, "return") for name in groups},
        seed=settings.seed,
        matches=settings.matches,
        steps=settings.steps,
        head=settings.head,
        blind=blind,
        watch=[axis.name for axis in settings.archive],
    ), spec


def check_copies(settings: EvolveNets) -> None:
    """Refuse to inherit worlds that cannot be copied, before they are made."""
    if "env" in settings.inherit and settings.task.startswith(GYM):
        from kinfolk.worlds.gym_copies import refuse_uncopyable

        refuse_uncopyable(settings.task[len(GYM) :])


def populations(settings: EvolveNets, arena: Arena, spec: WorldSpec) -> dict[str, BasePop]:
    """New populations, one for each name in the arena.

    Raises:
        SettingsError: More than one population for what only one can do.
    """
    if len(arena.groups) > 1:
        names = ", ".join(arena.groups)
        for what, asked in (
            ("Worlds are inherited in", "env" in settings.inherit),
            ("Imitation is of", bool(settings.imitate or settings.adversarial)),
            ("A map of behaviours is of", bool(settings.archive)),
        ):
            if asked:
                raise SettingsError(
                    f"{what} one population; here are {names}. "
                    f"Give the other groups a policy that does not evolve, with fixed."
                )
    inherits = GAConfig(**{f"inherit_{name}": True for name in settings.inherit})
    found: dict[str, BasePop] = {}
    for number, (name, groups) in enumerate(arena.groups.items()):
        inputs, outputs = sizes_of(spec, groups, settings.head)
        acting = outputs
        nets = make_nets(
            settings.net, settings.population, inputs + arena.blind,
            outputs + (1 if settings.adversarial else 0), settings.hidden,
            key=int(fold(fold(root(settings.seed), _NETS), number)), sigma=settings.step_size,
            self_adaptive=settings.self_adaptive, zero=settings.zero_init,
        )  # fmt: skip
        first = number * _UIDS
        if settings.adversarial:
            found[name] = GeneratorDiscriminatorPop(nets, acting, 1, inherits, first)
        else:
            found[name] = GeneratorPop(nets, inherits, first)
    return found


def evaluator(settings: EvolveNets, arena: Arena, spec: WorldSpec) -> Any:
    """What gives members their fitness."""
    if not (settings.imitate or settings.adversarial):
        inherit = settings.inherit
        return WorldFitness(arena, settings.chunk, "env" in inherit, "mem" in inherit)
    name, (group,) = next(iter(arena.groups.items()))
    choices = spec.choices[spec.group_index(group)].tolist()
    if settings.imitate:
        target = _target(settings, settings.imitate, arena, spec, group)
        return ImitationFitness(name, target, settings.head, choices, settings.chunk)
    if spec.rows != 1 or settings.head not in ("argmax", "softmax_sample"):
        raise SettingsError(
            f"Adversarial imitation needs a world of one agent that chooses, such as "
            f"gym:CartPole-v1; {settings.task} has {spec.rows} rows and the head is {settings.head}."
        )
    target = _target(settings, str(settings.adversarial), arena, spec, group)
    return AdversarialFitness(arena, name, target, choices, settings.chunk)


def _target(
    settings: EvolveNets, source: str, arena: Arena, spec: WorldSpec, group: str
) -> Trajectories:
    if source.endswith(DATA):
        inputs, _ = sizes_of(spec, [group], settings.head)
        return read_trajectories(Path(source), inputs, spec.heads)
    episodes = range(TARGET_EPISODES, TARGET_EPISODES + settings.target_episodes)
    return record_target(
        settings.task, settings.world_settings, settings.preset, group, resolve(source),
        settings.seed, episodes, arena.fixed,
    )  # fmt: skip


def rivals_of(settings: EvolveNets, arena: Arena) -> dict[str, ResolvedPolicy]:
    """Who plays the other populations' parts when one is held out: chance, if nothing is said."""
    unknown = [name for name in settings.rivals if name not in arena.groups]
    if unknown:
        raise SettingsError(
            f"There is no population '{unknown[0]}' to stand in for. "
            f"There are: {', '.join(arena.groups)}."
        )
    return {name: resolve(settings.rivals.get(name, "kin://random")) for name in arena.groups}
