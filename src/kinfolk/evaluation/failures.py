"""What goes wrong with a policy, as a result: who, in which tick, what happened."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from kinfolk.core.arrays import AnyArray, Bools, Ints
from kinfolk.core.errors import PolicyFailedError
from kinfolk.core.printable import printable, printable_lines
from kinfolk.core.spaces import WorldSpec
from kinfolk.core.tracebacks import Explained, explain
from kinfolk.policies.base import Rows
from kinfolk.policies.simple import Noop

WHOLE_SLOT = -1  # the agent of a failure that took all of a slot's agents
_OURS = "kinfolk.evaluation"
NONSENSE = "nonsense"  # a fault that its process did not name
FAULTS = ("not a number", "not whole numbers", "not numbers", "wrong shape", NONSENSE)


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
    where: str = ""  # file, line and function of the author's code; "" if it is not known


def explain_policy(error: BaseException) -> Explained:
    """What a policy raised, and where; our own frames around it are left out."""
    if isinstance(error, PolicyFailedError) and error.__cause__ is not None:
        error = error.__cause__  # `build` says it with the policy's name, which is known here
    return explain(error, leave_out=_OURS)


def fault_of(answer: AnyArray, shape: tuple[int, ...]) -> str:
    """What is wrong with the form of an answer, one of `FAULTS`; "" if nothing is."""
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
    acted: bool = False  # whether an action of the policy's own was taken

    def __post_init__(self) -> None:
        self._still = Noop(self.spec)
        self._choices = self.spec.choices.astype(np.uint64)

    def start_episode(self) -> None:
        """A new episode."""
        self.failures, self.faults, self.acted = [], Counter(), False

    def note(
        self, agent: int, tick: int, cause: str, what: str, explained: Explained, restarted: bool
    ) -> Failure:
        """Write a failure down. What the policy said is escaped here, and cut.

        Args:
            agent: Its uid, or `WHOLE_SLOT`.
            tick: When.
            cause: raised, hung or died.
            what: What happened, as the end of a sentence.
            explained: Of what was raised.
            restarted: Whether the policy is made anew.
        """
        who = f"Slot '{self.slot}'" + (f", agent {agent}" if agent != WHOLE_SLOT else "")
        sentence = f"{who}, tick {tick}: {printable(what)}."
        trace, where = printable_lines(explained.trace), printable(explained.where)
        failure = Failure(
            self.slot, self.policy, agent, tick, cause, sentence, trace, restarted, where
        )
        self.failures.append(failure)
        return failure

    @property
    def never_acted(self) -> bool:
        """Whether the policy was asked in this episode and took no action of its own."""
        return not self.acted and bool(self.failures or self.faults)

    def still(self, rows: Rows) -> Ints:
        """What agents do that do nothing."""
        return self._still.choices_of(rows.group)

    def sound(self, actions: object, rows: Rows, answered: int) -> Ints:
        """The actions that can be taken; others are counted and replaced by doing nothing.

        Args:
            actions: What the policy chose.
            rows: Whose they are.
            answered: For how many of them the policy gave an answer itself.
        """
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
            answered -= len(bad)
        self.acted = self.acted or answered > 0
        return chosen


def abort(failure: Failure) -> PolicyFailedError:
    """The error that ends an evaluation which was told to stop at the first failure."""
    return PolicyFailedError(told(failure.sentence, failure.where))


def told(sentence: str, where: str) -> str:
    """What happened, and where in the author's code.

    >>> told("Slot 'all', tick 3: ask raised KeyError: 'x'.", "mine.py:14 in step")
    "Slot 'all', tick 3: ask raised KeyError: 'x' (mine.py:14 in step)."
    """
    return f"{sentence.removesuffix('.')} ({where})." if where else sentence
