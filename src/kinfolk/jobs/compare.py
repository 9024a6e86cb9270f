"""Compare policies: each plays the same episodes, in the same seats; are they different?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from kinfolk.core.errors import UnknownNameError, suggestion
from kinfolk.core.events import Event, Snapshot
from kinfolk.engines.base import Engine
from kinfolk.evaluation.comparison import Verdict, compare
from kinfolk.evaluation.match import Match, play_match
from kinfolk.evaluation.pool import no_guests_left
from kinfolk.evaluation.results import EpisodeReport
from kinfolk.evaluation.summary import Estimate, estimate
from kinfolk.jobs.evaluate import Evaluate, matches
from kinfolk.play.slots import read_slot

CANDIDATE = "candidate"
MEASURES = ("return", "return_per_life", "reward_per_tick", "ticks")


class Compare(Evaluate):
    """What to compare, and where. The candidates take turns in the slot `candidate`.

    Other `slots` and the map are the same for all of them; without a map a candidate plays
    everybody. `measure` may also be a counter of the world.
    """

    policies: tuple[str, ...] = Field(min_length=2)
    measure: str = "return"


@dataclass(frozen=True, kw_only=True)
class CandidatePlayed(Event):
    """A candidate has played an episode; `step` is its number."""

    kind: ClassVar[str] = "candidate_played"
    policy: int
    value: float
    failures: int


@dataclass(frozen=True, kw_only=True)
class ComparedAll(Event):
    """All have played: what each earned, and every pair of them (by number) with its verdict."""

    kind: ClassVar[str] = "compared"
    policies: list[str]
    measure: str
    means: list[Estimate]
    failures: list[int]
    pairs: dict[str, Verdict]


def candidates(settings: Compare) -> list[Evaluate]:
    """What each candidate is evaluated by: the same but for itself."""
    given = {name: getattr(settings, name) for name in Evaluate.model_fields}
    asked_for = settings.model_fields_set
    others = [s for s in settings.slots if s.id != CANDIDATE] if "slots" in asked_for else []
    return [
        Evaluate(**{**given, "slots": (read_slot(CANDIDATE, uri), *others), "replays": 0})
        for uri in settings.policies
    ]


def compare_policies(
    settings: Compare, engine: Engine, resume: Snapshot | None = None
) -> Iterator[Event | Snapshot]:
    """Yield every candidate's episodes, a snapshot after each chunk, and the verdicts."""
    values = np.zeros((0, len(settings.policies)))
    failures = np.zeros(len(settings.policies), dtype=np.int64)
    if resume is not None:
        values, failures = resume.arrays["values"], resume.arrays["failures"].copy()
    tasks = zip(*(matches(one, len(values)) for one in candidates(settings)), strict=True)
    with no_guests_left():
        turns: Iterator[Match] = (match for chunk in tasks for match in chunk)
        found: list[list[EpisodeReport]] = []
        for reports in engine.map(play_match, turns):
            found.append(reports)
            if len(found) < len(settings.policies):
                continue
            for policy, played in enumerate(found):
                for report in played:
                    value = value_of(settings.measure, report)
                    failed = len(report.failures)
                    failures[policy] += failed
                    yield CandidatePlayed(
                        step=report.episode, policy=policy, value=value, failures=failed
                    )
            fresh = [[value_of(settings.measure, report) for report in played] for played in found]
            values = np.concatenate([values, np.array(fresh).T])
            found = []
            yield Snapshot(
                step=len(values), arrays={"values": values, "failures": failures}, notes={}
            )
    yield _verdicts(settings, values, failures)


def _verdicts(settings: Compare, values: Any, failures: Any) -> ComparedAll:
    several = range(len(settings.policies))
    return ComparedAll(
        step=settings.episodes,
        policies=list(settings.policies),
        measure=settings.measure,
        means=[estimate(values[:, i]) for i in several],
        failures=failures.tolist(),
        pairs={
            f"{i} {j}": compare(values[:, i], values[:, j]) for i, j in combinations(several, 2)
        },
    )


def value_of(measure: str, report: EpisodeReport) -> float:
    """What a candidate is judged by, of one episode.

    Raises:
        UnknownNameError: The world has no such counter.
    """
    if measure == "return":
        return report.returns[CANDIDATE]
    if measure == "return_per_life":
        return report.returns[CANDIDATE] / max(1, report.lives[CANDIDATE])
    if measure == "reward_per_tick":
        return report.returns[CANDIDATE] / max(1, report.ticks_lived[CANDIDATE])
    if measure == "ticks":
        return float(report.ticks)
    if measure not in report.counters:
        known = [*MEASURES, *report.counters]
        raise UnknownNameError(f"There is no measure '{measure}'.{suggestion(measure, known)}")
    return float(report.counters[measure])
