"""A match: some episodes of one line-up, as a task for an engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from kinfolk.evaluation.isolation import Isolated
from kinfolk.play.episode import EpisodeResult, Play, play_episodes
from kinfolk.play.slots import Slot, slot_table
from kinfolk.policies.resolve import ResolvedPolicy, build
from kinfolk.worlds import build as build_world


@dataclass(frozen=True)
class Match:
    """Everything that the results of some episodes follow from."""

    world: str
    world_settings: Mapping[str, Any]
    slots: Mapping[str, ResolvedPolicy]
    seed: int
    first: int
    last: int
    preset: str | None = None
    slot_map: Mapping[str, str] = field(default_factory=dict)
    isolate: str = "none"
    step_timeout: float = 1.0


@contextmanager
def seated(match: Match) -> Iterator[Play]:
    """The loop of a match, with its policies, which are closed at the end."""
    world = build_world(match.world, match.world_settings, match.last - match.first, match.preset)
    table = slot_table(world.spec, list(match.slots), match.slot_map)
    with ExitStack() as stack:
        slots = []
        for name, resolved in match.slots.items():
            if match.isolate == "slot":
                places = world.worlds * world.spec.rows
                policy: Any = Isolated(name, resolved, world.spec, places, match.step_timeout)
            else:
                policy = build(resolved, world.spec)
            stack.callback(policy.close)
            slots.append(Slot(name, policy))
        yield Play(world, slots, table, match.seed, range(match.first, match.last))


def play_match(match: Match) -> list[EpisodeResult]:
    """Play the episodes `first` to `last - 1` side by side."""
    with seated(match) as play:
        return list(play_episodes(play))
