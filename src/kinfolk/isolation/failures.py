"""What goes wrong with a policy, as a result: who, in which tick, what happened."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from kinfolk.core.arrays import AnyArray, Bools, Ints
from kinfolk.core.errors import PolicyFailedError
from kinfolk.core.spaces import WorldSpec
from kinfolk.core.tracebacks import ErrorSummary, escape_lines, escape_text, summarize_error
from kinfolk.play.results import Failure
from kinfolk.policies.base import AgentBatch
from kinfolk.policies.stateless import NoopPolicy

WHOLE_SLOT = -1  # the agent of a failure that took all of a slot's agents
_ISOLATION_PACKAGE = "kinfolk.isolation"
UNKNOWN_REASON = "unknown"  # a fault that its process did not name
INVALID_ACTION_REASONS = (
    "not a number",
    "not whole numbers",
    "not numbers",
    "wrong shape",
    UNKNOWN_REASON,
)


def summarize_policy_error(error: BaseException) -> ErrorSummary:
    """What a policy raised, and where; our own frames around it are left out."""
    if isinstance(error, PolicyFailedError) and error.__cause__ is not None:
        error = error.__cause__  # `build` says it with the policy's name, which is known here
    return summarize_error(error, skip_modules=_ISOLATION_PACKAGE)


def find_invalid_action_reason(actions: AnyArray, shape: tuple[int, ...]) -> str:
    """What is wrong with the form of an answer, one of `FAULTS`; "" if nothing is."""
    kind = actions.dtype.kind
    if kind == "f" and np.isnan(actions).any():
        return "not a number"
    if kind == "f" and (not np.isfinite(actions).all() or (actions != np.floor(actions)).any()):
        return "not whole numbers"
    if kind not in "iuf":
        return "not numbers"
    return "" if actions.shape == shape else "wrong shape"


@dataclass
class FailureLog:
    """What one slot did wrong in the episode that is played."""

    slot: str
    policy: str
    spec: WorldSpec
    failures: list[Failure] = field(default_factory=list)
    invalid_actions: Counter[str] = field(default_factory=Counter)
    has_acted: bool = False  # whether an action of the policy's own was taken

    def __post_init__(self) -> None:
        self._noop_policy = NoopPolicy(self.spec)
        self._n_choices = self.spec.n_choices.astype(np.uint64)

    def start_episode(self) -> None:
        """A new episode."""
        self.failures, self.invalid_actions, self.has_acted = [], Counter(), False

    def record_failure(
        self,
        agent: int,
        tick: int,
        cause: str,
        description: str,
        error: ErrorSummary,
        restarted: bool,
    ) -> Failure:
        """Write a failure down. What the policy said is escaped here, and cut.

        Args:
            agent: Its uid, or `WHOLE_SLOT`.
            tick: When.
            cause: raised, timeout or exited.
            description: What happened, as the end of a sentence.
            error: Of what was raised.
            restarted: Whether the policy is made anew.
        """
        who = f"Slot '{self.slot}'" + (f", agent {agent}" if agent != WHOLE_SLOT else "")
        sentence = f"{who}, tick {tick}: {escape_text(description)}."
        trace, where = escape_lines(error.traceback), escape_text(error.location)
        failure = Failure(
            self.slot, self.policy, agent, tick, cause, sentence, trace, restarted, where
        )
        self.failures.append(failure)
        return failure

    @property
    def never_acted(self) -> bool:
        """Whether the policy was asked in this episode and took no action of its own."""
        return not self.has_acted and bool(self.failures or self.invalid_actions)

    def noop_actions(self, batch: AgentBatch) -> Ints:
        """What agents do that do nothing."""
        return self._noop_policy.noop_actions(batch.group)

    def validate_actions(self, actions: object, batch: AgentBatch, n_answered: int) -> Ints:
        """The actions that can be taken; others are counted and replaced by doing nothing.

        Args:
            actions: What the policy chose.
            batch: Whose they are.
            n_answered: For how many of them the policy gave an answer itself.
        """
        array = np.asarray(actions)
        fault = find_invalid_action_reason(array, (len(batch.group), self._n_choices.shape[1]))
        if fault:
            self.invalid_actions[fault] += 1
            return self.noop_actions(batch)
        chosen: Ints = np.ascontiguousarray(array, dtype=np.int64)
        # As unsigned numbers negative ones are the largest, so that one comparison finds both.
        one_kind = len(self._n_choices) == 1
        limits = self._n_choices if one_kind else self._n_choices.take(batch.group, axis=0)
        wrong: Bools = chosen.view(np.uint64) >= limits
        if np.count_nonzero(wrong):  # a sixth of what `any` takes
            bad = np.flatnonzero(wrong.any(axis=1))
            self.invalid_actions["out of range"] += len(bad)
            chosen = chosen.copy()
            chosen[bad] = self.noop_actions(batch)[bad]
            n_answered -= len(bad)
        self.has_acted = self.has_acted or n_answered > 0
        return chosen


def make_abort_error(failure: Failure) -> PolicyFailedError:
    """The error that ends an evaluation which was told to stop at the first failure."""
    return PolicyFailedError(format_failure(failure.sentence, failure.where))


def format_failure(message: str, location: str) -> str:
    """What happened, and where in the author's code.

    >>> format_failure("Slot 'all', tick 3: ask raised KeyError: 'x'.", "mine.py:14 in step")
    "Slot 'all', tick 3: ask raised KeyError: 'x' (mine.py:14 in step)."
    """
    return f"{message.removesuffix('.')} ({location})." if location else message
