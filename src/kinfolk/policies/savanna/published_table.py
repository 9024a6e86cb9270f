"""The figures by which a savanna is known to have the published rules, and their ranges.

With the published actors on the preset `shared_prey_trained`, a world with the same rules lands
in these ranges without any training. The ranges are for 30 seeds; fewer scatter more.

The figures follow from the results of episodes whose slots are called `predator` and `prey`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

PRESET = "shared_prey_trained"
SLOTS = {"type_1_predator": "predator", "type_1_prey": "prey"}


class Outcome(Protocol):
    """What is read of an episode's result."""

    @property
    def ticks(self) -> int:
        """How long it lasted."""
        ...

    @property
    def lives(self) -> Mapping[str, int]:
        """Lives begun, by slot."""
        ...

    @property
    def ticks_lived(self) -> Mapping[str, int]:
        """Summed over the lives of each slot."""
        ...

    @property
    def counters(self) -> Mapping[str, float]:
        """What the world counted."""
        ...


class Figure(NamedTuple):
    """One line of the table; `value` is NaN where no episode has what it needs."""

    name: str
    value: float
    low: float
    high: float
    published: str  # what its authors report of one run

    @property
    def accepted(self) -> bool:
        """Whether it lies in its range."""
        return self.low <= self.value <= self.high


def published_table(outcomes: Sequence[Outcome], max_ticks: int = 1000) -> list[Figure]:
    """The table. Shares are taken run by run, over the runs that lasted to the end."""
    full = [outcome for outcome in outcomes if outcome.ticks >= max_ticks]

    def alive(slot: str) -> float:
        """Mean over all ticks of all episodes."""
        ticks = sum(o.ticks for o in outcomes)
        return sum(o.ticks_lived[slot] for o in outcomes) / ticks if ticks else float("nan")

    def ever(slot: str) -> float:
        return _mean([o.lives[slot] for o in full])

    return [
        Figure("mean episode length", _mean([o.ticks for o in outcomes]), 650.0, 900.0, "783"),
        Figure("share of capture attempts that succeed", _success(full), 0.60, 0.70, "65.7 %"),
        Figure("co-operative share of successful events", _together(full), 0.10, 0.17, "16.0 %"),
        Figure("predators ever alive", ever("predator"), 165.0, 215.0, "206"),
        Figure("prey ever alive", ever("prey"), 660.0, 810.0, "748"),
        Figure("mean alive predators", alive("predator"), 9.0, 13.0, "11.5"),
        Figure("mean alive prey", alive("prey"), 23.0, 36.0, "26.0"),
    ]


def _success(outcomes: Sequence[Outcome]) -> float:
    """Kills per attempt; an attempt is one prey with predators around it in one step."""
    done = [o.counters["team_capture_successes"] for o in outcomes]
    tried = [d + o.counters["team_capture_failures"] for d, o in zip(done, outcomes, strict=True)]
    return _mean([d / t for d, t in zip(done, tried, strict=True) if t])


def _together(outcomes: Sequence[Outcome]) -> float:
    """Meals of predators that hunted with others, of all their meals.

    Its authors count the eating events of each predator: a kill by two is two events. Counted by
    kill the share is about half of it.
    """
    meals = [o.counters["team_capture_helper_total"] for o in outcomes]
    alone = [
        o.counters["team_capture_successes"] - o.counters["team_capture_coop_successes"]
        for o in outcomes
    ]
    return _mean([1.0 - a / m for a, m in zip(alone, meals, strict=True) if m])


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else float("nan")
