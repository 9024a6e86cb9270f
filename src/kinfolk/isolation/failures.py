"""Failures and invalid actions of policies, recorded per slot and episode."""

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

WHOLE_SLOT = -1  # `Failure.agent` if all agents of the slot are affected
_ISOLATION_PACKAGE = "kinfolk.isolation"
UNKNOWN_REASON = "unknown"  # the worker reported an invalid action without a known reason
INVALID_ACTION_REASONS = (
    "not a number",
    "not whole numbers",
    "not numbers",
    "wrong shape",
    UNKNOWN_REASON,
)


def summarize_policy_error(error: BaseException) -> ErrorSummary:
    """Summarize an error that a policy raised, without the stack frames of this package."""
    if isinstance(error, PolicyFailedError) and error.__cause__ is not None:
        error = error.__cause__  # raised by `build_policy`, which adds the policy's name
    return summarize_error(error, skip_modules=_ISOLATION_PACKAGE)


def find_invalid_action_reason(actions: AnyArray, shape: tuple[int, ...]) -> str:
    """Return why actions are invalid, one of `INVALID_ACTION_REASONS`; "" if type and shape fit."""
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
    """Failures and invalid actions of one slot in the current episode.

    Args:
        slot: Id of the slot.
        policy: Class path of its policy.
        spec: Spec of the world.
        failures: Failures so far.
        invalid_actions: Number of invalid answers by reason.
        has_acted: Whether the policy has given a valid action.
    """

    slot: str
    policy: str
    spec: WorldSpec
    failures: list[Failure] = field(default_factory=list)
    invalid_actions: Counter[str] = field(default_factory=Counter)
    has_acted: bool = False

    def __post_init__(self) -> None:
        self._noop_policy = NoopPolicy(self.spec)
        self._n_choices = self.spec.n_choices.astype(np.uint64)

    def start_episode(self) -> None:
        """Clear the log for a new episode."""
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
        """Add a failure; text that comes from the policy is escaped and truncated.

        Args:
            agent: Uid of the agent, or `WHOLE_SLOT`.
            tick: Tick of the failure.
            cause: `raised`, `timeout` or `exited`.
            description: What happened, such as "act_wait raised KeyError: 'x'".
            error: Summary of the exception, if there was one.
            restarted: Whether the policy is built again.

        Returns:
            The failure, as it is reported.
        """
        subject = f"Slot '{self.slot}'" + (f", agent {agent}" if agent != WHOLE_SLOT else "")
        message = f"{subject}, tick {tick}: {escape_text(description)}."
        traceback, location = escape_lines(error.traceback), escape_text(error.location)
        failure = Failure(
            self.slot, self.policy, agent, tick, cause, message, traceback, restarted, location
        )
        self.failures.append(failure)
        return failure

    @property
    def never_acted(self) -> bool:
        """Whether the policy failed in this episode before it gave any valid action."""
        return not self.has_acted and bool(self.failures or self.invalid_actions)

    def noop_actions(self, batch: AgentBatch) -> Ints:
        """Return noop actions for the agents of a batch, `[n, heads]`."""
        return self._noop_policy.noop_actions(batch.group)

    def validate_actions(self, actions: object, batch: AgentBatch, n_answered: int) -> Ints:
        """Return the valid actions; invalid ones are counted and replaced by noop.

        Args:
            actions: Return value of the policy, of any type.
            batch: The agents that act.
            n_answered: Number of agents for which the policy gave an action; the others' are noop.

        Returns:
            `[n, heads]`, int64.
        """
        array = np.asarray(actions)
        reason = find_invalid_action_reason(array, (len(batch.group), self._n_choices.shape[1]))
        if reason:
            self.invalid_actions[reason] += 1
            return self.noop_actions(batch)
        valid_actions: Ints = np.ascontiguousarray(array, dtype=np.int64)
        # Viewed as unsigned, negative numbers are the largest: one comparison checks both bounds.
        same_limits = len(self._n_choices) == 1
        limits = self._n_choices if same_limits else self._n_choices.take(batch.group, axis=0)
        out_of_range: Bools = valid_actions.view(np.uint64) >= limits
        if np.count_nonzero(out_of_range):  # six times faster than `any`
            invalid_rows = np.flatnonzero(out_of_range.any(axis=1))
            self.invalid_actions["out of range"] += len(invalid_rows)
            valid_actions = valid_actions.copy()
            valid_actions[invalid_rows] = self.noop_actions(batch)[invalid_rows]
            n_answered -= len(invalid_rows)
        self.has_acted = self.has_acted or n_answered > 0
        return valid_actions


def make_abort_error(failure: Failure) -> PolicyFailedError:
    """Return the error that ends an evaluation with `on_failure='abort'`."""
    return PolicyFailedError(format_failure(failure.message, failure.location))


def format_failure(message: str, location: str) -> str:
    """Return the message of a failure with its location in the policy author's code.

    >>> format_failure("Slot 'all', tick 3: act_wait raised KeyError: 'x'.", "mine.py:14 in step")
    "Slot 'all', tick 3: act_wait raised KeyError: 'x' (mine.py:14 in step)."
    """
    return f"{message.removesuffix('.')} ({location})." if location else message
