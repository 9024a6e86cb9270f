"""An arena: a world, who evolves in it and who does not, and how a match is scored."""

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
    """Where populations play. Slots are called as the populations and the fixed groups are."""

    world: WorldRef
    rows: int  # of a world
    groups: Mapping[str, tuple[str, ...]]  # what each population plays
    fixed_policies: Mapping[str, ResolvedPolicy]
    slot_map: Mapping[str, str] | Sequence[str]
    fitness_kinds: Mapping[str, str]  # how each population is scored
    seed: int
    matches: int = 1
    steps: int | None = None
    head: str = "argmax"
    n_zero_inputs: int = 0
    measure_names: Sequence[str] = field(default=())


def population_groups(
    spec: WorldSpec, fixed: Sequence[str], populations_per_group: int
) -> dict[str, tuple[str, ...]]:
    """Who evolves: a population for each group that is not fixed, or for each role of the only one.

    Raises:
        UnknownNameError: A fixed group is not in this world.
        SettingsError: Nobody is left to evolve, or roles were asked for in a world of many groups.
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
    """Which slot plays whom: by group, or, with roles, row by row in turn."""
    if len(groups) > 1 and len(spec.groups) == 1:
        names = list(groups)
        return [names[row % len(names)] for row in range(spec.rows)]
    return {group: name for name, owned in groups.items() for group in owned} | {
        group: group for group in fixed
    }


def net_sizes(spec: WorldSpec, groups: Sequence[str], head: str) -> tuple[int, int]:
    """Inputs and outputs of a net that plays these groups.

    Raises:
        SettingsError: They differ.
    """
    found = set()
    for name in groups:
        index = spec.group_index(name)
        outputs = count_outputs(head, spec.n_choices[index].tolist())
        found.add((make_group_encoder(spec, index).n_features, outputs))
    if len(found) > 1:
        raise SettingsError(
            f"One net cannot play {', '.join(groups)}: they see or do unlike things."
        )
    return found.pop()


def check_fitness_kind(kind: str, counters: Sequence[str]) -> None:
    """Refuse a way to score that there is not.

    Raises:
        UnknownNameError: It is neither of `SCORES` nor a counter of the world.
    """
    known = [*FITNESS_KINDS, *(f"{COUNTER_PREFIX}{name}" for name in counters)]
    if kind not in known:
        raise UnknownNameError(f"No fitness is named '{kind}'.{format_suggestion(kind, known)}")


def match_fitness(kind: str, result: RolloutResult[Any], slot: str) -> Floats:
    """Return how a slot scored in each match, `[matches]`.

    Args:
        kind: `return` of all lives together, `per_life`, ticks of a `life`, or a counter.
        result: Of a task with a world for each match.
        slot: Whose score.
    """
    returns, lives = result.totals["returns"][slot], np.maximum(result.totals["lives"][slot], 1.0)
    if kind == "return":
        return returns
    if kind == "per_life":
        return returns / lives
    if kind == "life":
        return result.totals["ticks_lived"][slot] / lives
    return result.counters[kind[len(COUNTER_PREFIX) :]]
