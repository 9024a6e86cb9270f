"""A match: some episodes of one line-up, as a task for an engine."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from kinfolk.core.errors import EngineError
from kinfolk.core.keys import episode_key
from kinfolk.evaluation.apart import Apart
from kinfolk.evaluation.care import Care
from kinfolk.evaluation.kept import Spoilt, Together
from kinfolk.evaluation.nursery import NoMoreProcessesError
from kinfolk.evaluation.pool import pool_for
from kinfolk.evaluation.results import AGENT_COLUMNS, EpisodeReport
from kinfolk.evaluation.timing import SlotTiming, Timing, timing_of
from kinfolk.play.episode import EpisodeResult, Play, play_episodes
from kinfolk.play.lives import LifeLog
from kinfolk.play.registry import SlotRegistry
from kinfolk.play.slots import Slot, SlotMap, slot_table
from kinfolk.policies.resolve import ResolvedPolicy
from kinfolk.worlds import build as build_world
from kinfolk.worlds.base import World

_KEPT_POLICIES = 16
_registry = SlotRegistry(keep=_KEPT_POLICIES)  # of this process; a worker plays many matches
_LESS = {"agent": "slot", "slot": "none"}
_WORDS = {"slot": "one process for the slot", "none": "no process of its own"}


@dataclass(frozen=True)
class Match:
    """Everything that the results of some episodes follow from, and how policies are kept."""

    world: str
    world_settings: Mapping[str, Any]
    slots: Mapping[str, ResolvedPolicy]
    seed: int
    first: int
    last: int
    preset: str | None = None
    slot_map: SlotMap | None = None
    isolate: str = "none"
    care: Care = field(default_factory=Care)
    isolate_slots: Mapping[str, str] = field(default_factory=dict)  # where a slot says otherwise
    inherit_slot: bool = False

    @property
    def modes(self) -> dict[str, str]:
        """How each slot is kept: none, slot or agent."""
        return {name: self.isolate_slots.get(name, self.isolate) for name in self.slots}


@dataclass(frozen=True)
class Played:
    """What came of a match, and what it took."""

    reports: list[EpisodeReport]
    timing: Timing


def play_match(match: Match) -> list[EpisodeReport]:
    """Play the episodes `first` to `last - 1`."""
    return play_timed(match).reports


def play_timed(match: Match) -> Played:
    """Play a match, with less isolation than asked for where the system has no processes for it.

    Raises:
        EngineError: There are no processes, and the match is strict or wants a sandbox.
    """
    start, warnings, wanted = time.perf_counter(), [], match
    while True:
        try:
            reports, slots = _play(wanted)
            break
        except NoMoreProcessesError as error:
            if match.care.strict or match.care.sandbox:
                raise EngineError(
                    f"{error} Nothing less is done under --strict or --sandbox."
                ) from None
            slot, mode = next((s, m) for s, m in wanted.modes.items() if m in _LESS)
            modes = {**wanted.modes, slot: _LESS[mode]}
            wanted = replace(wanted, isolate_slots=modes)
            warnings.append(f"{error} Slot '{slot}' gets {_WORDS[_LESS[mode]]}.")
    return Played(
        reports, timing_of(match.first, reports, time.perf_counter() - start, slots, warnings)
    )


def _play(match: Match) -> tuple[list[EpisodeReport], dict[str, SlotTiming]]:
    """Side by side while all goes well; one by one where agents are apart or something failed."""
    if "agent" not in match.modes.values():
        try:
            with line_up(match, match.last - match.first) as game:
                return game.play(range(match.first, match.last)), game.timings()
        except Spoilt:
            pass
    with line_up(match, 1) as game:
        reports = []
        for episode in range(match.first, match.last):
            reports += game.play(range(episode, episode + 1))
        return reports, game.timings()


@dataclass
class Game:
    """A world with its line-up, ready to be played."""

    match: Match
    world: World
    kept: Sequence[Together | Apart]
    log: LifeLog = field(default_factory=LifeLog)

    def loop(self, episodes: range) -> Play:
        """The loop over some episodes."""
        slots = [Slot(name, one) for name, one in zip(self.match.slots, self.kept, strict=True)]
        table = slot_table(self.world.spec, list(self.match.slots), self.match.slot_map)
        for one in self.kept:
            one.start_episode()
        return Play(
            self.world, slots, table, self.match.seed, episodes,
            inherit_slot=self.match.inherit_slot, lives=self.log,
        )  # fmt: skip

    def play(self, episodes: range) -> list[EpisodeReport]:
        """Play them to their end."""
        return [self.report(result) for result in play_episodes(self.loop(episodes))]

    def report(self, result: EpisodeResult) -> EpisodeReport:
        """All that is known of an episode that has just ended."""
        lives = self.log.take(result.episode)
        groups = [group.name for group in self.world.spec.groups]
        earned = dict.fromkeys(groups, 0.0)
        for life in lives:
            earned[groups[life.group]] += life.earned
        return EpisodeReport(
            **vars(result),
            seed=episode_key(self.match.seed, result.episode),
            group_returns=earned,
            agents={name: [getattr(life, name) for life in lives] for name in AGENT_COLUMNS},
            failures=tuple(failure for one in self.kept for failure in one.ledger.failures),
            never_acted=tuple(one.ledger.slot for one in self.kept if one.ledger.never_acted),
            faults={
                one.ledger.slot: dict(sorted(one.ledger.faults.items()))
                for one in self.kept
                if one.ledger.faults
            },
        )

    def timings(self) -> dict[str, SlotTiming]:
        """What the slots took."""
        return {one.ledger.slot: SlotTiming.of(one) for one in self.kept}


@contextmanager
def line_up(match: Match, worlds: int) -> Iterator[Game]:
    """A match's world and policies. Policies are let go of at the end."""
    world = build_world(match.world, match.world_settings, worlds, match.preset)
    alone, places, spec = worlds == 1, worlds * world.spec.rows, world.spec

    def tick() -> int:
        return int(world.tick[0])

    _registry.hold(len(match.slots))
    with ExitStack() as stack:
        kept: list[Together | Apart] = []
        for name, resolved in match.slots.items():
            mode = match.modes[name]
            one: Together | Apart
            if mode == "none":
                twins = sum(resolved == other for other in match.slots.values())
                owner = name if twins > 1 else ""
                one = Together(name, resolved, spec, _registry, match.care, tick, alone, owner)
            else:
                pool = pool_for(match.care)
                by_agent = mode == "agent"
                one = Apart(name, resolved, spec, pool, match.care, tick, places, by_agent, alone)
            stack.callback(one.close)
            kept.append(one)
        yield Game(match, world, kept)


@contextmanager
def seated(match: Match) -> Iterator[Play]:
    """The loop of a match, to be driven tick by tick; all its episodes side by side."""
    with line_up(match, match.last - match.first) as game:
        yield game.loop(range(match.first, match.last))
