"""What goes wrong with a policy, as a result: who, in which tick, what happened."""

from __future__ import annotations

import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import PurePath

import numpy as np

from kinfolk.core.arrays import AnyArray, Bools, Ints
from kinfolk.core.errors import PolicyFailedError
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import Rows
from kinfolk.policies.simple import Noop

WHOLE_SLOT = -1  # the agent of a failure that took all of a slot's agents
_OURS = "kinfolk.evaluation"


@dataclass(frozen=True)
class Failure:
    """A policy failed. From this tick on its agents did nothing, unless it was restarted."""

    slot: str
    policy: str  # its class path
    agent: int  # uid; WHOLE_SLOT if the slot's agents were kept together
    tick: int
    cause: str  # raised, hung or died
    sentence: str
    traceback: str = ""
    restarted: bool = False  # its state was lost then


def explain(error: BaseException) -> tuple[str, str]:
    """An error in a line, and where it came from, without the paths of a machine."""
    frames = [
        f"{PurePath(frame.f_code.co_filename).name}:{line} in {frame.f_code.co_name}"
        for frame, line in traceback.walk_tb(error.__traceback__)
        if not str(frame.f_globals.get("__name__", "")).startswith(_OURS)
    ]
    said = f": {error}" if str(error) else ""
    return f"{type(error).__name__}{said}", "\n".join(frames)


def fault_of(answer: AnyArray, shape: tuple[int, ...]) -> str:
    """What is wrong with the form of an answer; "" if nothing is."""
    kind = answer.dtype.kind
    if kind == "f" and np.isnan(answer).any():
        return "not a number"
    if kind == "f" and (not np.isfinite(answer).all() or (answer != np.floor(answer)).any()):
        return "not whole numbers"
    if kind not in "iuf":
        return "not numbers"
    return "" if answer.shape == shape else "wrong shape"


@dataclass
class Ledger:
    """What one slot did wrong in the episode that is played."""

    slot: str
    policy: str
    spec: WorldSpec
    failures: list[Failure] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._still = Noop(self.spec)
        self._choices = self.spec.choices.astype(np.uint64)

    def start_episode(self) -> None:
        """A new episode."""
        self.failures, self.faults = [], Counter()

    def note(
        self, agent: int, tick: int, cause: str, what: str, trace: str, restarted: bool
    ) -> Failure:
        """Write a failure down."""
        who = f"Slot '{self.slot}'" + (f", agent {agent}" if agent != WHOLE_SLOT else "")
        sentence = f"{who}, tick {tick}: {what}."
        failure = Failure(self.slot, self.policy, agent, tick, cause, sentence, trace, restarted)
        self.failures.append(failure)
        return failure

    def still(self, rows: Rows) -> Ints:
        """What agents do that do nothing."""
        return self._still.choices_of(rows.group)

    def sound(self, actions: object, rows: Rows) -> Ints:
        """The actions that can be taken; others are counted and replaced by doing nothing."""
        array = np.asarray(actions)
        fault = fault_of(array, (len(rows.group), self._choices.shape[1]))
        if fault:
            self.faults[fault] += 1
            return self.still(rows)
        chosen: Ints = np.ascontiguousarray(array, dtype=np.int64)
        # As unsigned numbers negative ones are the largest, so that one comparison finds both.
        one_kind = len(self._choices) == 1
        limits = self._choices if one_kind else self._choices.take(rows.group, axis=0)
        wrong: Bools = chosen.view(np.uint64) >= limits
        if np.count_nonzero(wrong):  # a sixth of what `any` takes
            bad = np.flatnonzero(wrong.any(axis=1))
            self.faults["out of range"] += len(bad)
            chosen = chosen.copy()
            chosen[bad] = self.still(rows)[bad]
        return chosen


def abort(failure: Failure) -> PolicyFailedError:
    """The error that ends an evaluation which was told to stop at the first failure."""
    return PolicyFailedError(failure.sentence)
