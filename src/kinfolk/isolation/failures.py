"""Failures and invalid actions of policies: settings, records, and what happens after a failure.

`GuardedPolicy` (`inprocess.py`) and `IsolatedPolicy` (`proxy.py`) fulfil the contract of a policy and
do not raise if the policy fails, with one exception: with several worlds in the batch the first
failure raises `RetrySerially`, and the episodes are played again one by one. So a failure in one
episode cannot affect another, and a result does not depend on which episodes were played together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from pydantic import ValidationInfo, field_validator

from kinfolk.core.arrays import Bools, Ints
from kinfolk.core.errors import (
    NO_ERROR,
    ErrorSummary,
    PolicyFailedError,
    escape_lines,
    escape_text,
    require,
)
from kinfolk.core.settings import Settings, setting
from kinfolk.core.spaces import WorldSpec
from kinfolk.isolation.validation import find_invalid_action_reason
from kinfolk.play.results import Failure
from kinfolk.policies.base import AgentBatch, NoopPolicy
from kinfolk.policies.build import ResolvedPolicy

_MAX_LIMIT = 2**40  # in MB it fits 64 bits as bytes


class IsolationSettings(Settings):
    """Limits of policies that may fail; none of them affects the results of those that do not."""

    step_timeout: float = setting(
        1.0, "Seconds that an isolated policy has for the actions of one step.", gt=0
    )
    episode_timeout: float | None = setting(
        None, "Seconds that an isolated policy has for all its steps of an episode.", gt=0
    )
    match_timeout: float | None = setting(
        None, "Seconds that all processes of a slot have together for all episodes.", gt=0
    )
    start_timeout: float = setting(
        60.0,
        "Seconds that a worker process has to start, and then for its first reset and step.",
        gt=0,
    )
    on_failure: Literal["noop", "restart", "abort"] = setting(
        "noop", "After a failure of a policy: act as noop, restart its process, or abort the job."
    )
    max_restarts: int = setting(3, "Restarts of a worker process per episode.", ge=0)
    max_processes: int = setting(64, "Worker processes of policies per job.", ge=1)
    memory_limit: int | None = setting(
        2048, "Memory limit of a worker process and its children in MB; none: no limit.", ge=1
    )
    cpu_limit: float | None = setting(
        None, "CPU seconds of a worker process in its whole life.", gt=0
    )
    step_cpu_limit: float | None = setting(
        None, "CPU seconds of a worker process and its children for one step.", gt=0
    )
    episode_cpu_limit: float | None = setting(
        None, "CPU seconds of a worker process and its children for one episode.", gt=0
    )
    match_cpu_limit: float | None = setting(
        None, "CPU seconds of all processes of a slot together for all episodes.", gt=0
    )
    strict: bool = setting(
        False, "Refuse to run if a limit or sandbox cannot be enforced, instead of warning."
    )
    sandbox: bool = setting(
        False, "Run isolated policies in bubblewrap: no network, no files but their own."
    )
    sandbox_read: tuple[str, ...] = setting(
        (), "Further files and folders that sandboxed policies may read; SLOT=PATH: only that slot."
    )
    process_limit: int = setting(0, "Processes that a sandboxed policy may start.", ge=0)
    file_size_limit: int = setting(
        64, "Largest file that an isolated policy may write, in MB.", ge=1
    )
    disk_limit: int = setting(64, "Size of the temporary folder of a sandboxed policy in MB.", ge=1)

    @field_validator("memory_limit", "cpu_limit", "process_limit", "file_size_limit", "disk_limit")
    @classmethod
    def _check_range(cls, value: float | None, info: ValidationInfo) -> float | None:
        """Refuse what the kernel cannot count; it would be blamed on the policy."""
        require(
            value is None or value <= _MAX_LIMIT,
            f"{info.field_name} must be at most 2**40, not {value}.",
        )
        return value


class IsolationWarning(UserWarning):
    """Policies are isolated less than was asked for: fewer processes, or limits that do not hold."""


WHOLE_SLOT = -1  # `Failure.agent` if all agents of the slot are affected
TickGetter: TypeAlias = Callable[[], int]  # returns the current tick, for records of failures


@dataclass(frozen=True)
class WorkerError:
    """Why a worker can no longer be used."""

    cause: str  # raised, timeout, limit or exited
    detail: str  # the exception, when it timed out, what was used, or exit code
    error: ErrorSummary = NO_ERROR  # of the exception, if one was raised

    def describe(self, method: str) -> str:
        """Return a description that names the policy's method that was called."""
        if self.cause == "raised":
            return f"{method} raised {self.detail}"
        if self.cause == "timeout":
            return f"{method} timed out {self.detail}"
        if self.cause == "limit":
            return f"{method} used {self.detail}"
        return f"its process exited in {method} with code {self.detail}"


class RetrySerially(PolicyFailedError):  # noqa: N818, control flow more than an error
    """A policy failed in a batch of several worlds; the episodes must be played one by one."""


class FailureLog:
    """Failures and invalid actions of one slot in the current episode.

    Args:
        slot: Id of the slot.
        resolved: Class, settings and weights of its policy.
        spec: Spec of the world.
        settings: What happens after a failure.
        get_tick: Returns the current tick, for records of failures.
        single_episode: Whether the batch has one world only, so that a failure can be recorded
            instead of raising `RetrySerially`.

    Attributes:
        failures: Failures so far.
        invalid_actions: Number of invalid answers by reason.
    """

    def __init__(
        self,
        slot: str,
        resolved: ResolvedPolicy,
        spec: WorldSpec,
        settings: IsolationSettings,
        get_tick: TickGetter,
        single_episode: bool,
    ) -> None:
        self.slot, self.resolved, self.spec, self.settings = slot, resolved, spec, settings
        self._get_tick, self._single_episode = get_tick, single_episode
        self._noop_policy = NoopPolicy(spec)
        self._n_choices = spec.action_limits
        self.start_episode()

    def start_episode(self) -> None:
        """Clear the log for a new episode."""
        self.failures: list[Failure] = []
        self.invalid_actions: Counter[str] = Counter()
        self._has_acted = False

    def handle_failure(
        self, agent: int, cause: str, description: str, error: ErrorSummary, n_restarts: int
    ) -> bool:
        """Record a failure, or raise as the settings say; text from the policy is escaped.

        Args:
            agent: Uid of the agent, or `WHOLE_SLOT`.
            cause: `raised`, `timeout` or `exited`.
            description: What happened, such as "act_wait raised KeyError: 'x'".
            error: Summary of the exception, if there was one.
            n_restarts: How often the policy was restarted in this episode.

        Returns:
            Whether the policy is to be restarted.

        Raises:
            RetrySerially: Several episodes are played side by side.
            PolicyFailedError: `on_failure` is `abort`.
        """
        if not self._single_episode:
            raise RetrySerially(f"Slot '{self.slot}': {description}.")
        settings, tick = self.settings, self._get_tick()
        restart = settings.on_failure == "restart" and n_restarts < settings.max_restarts
        subject = f"Slot '{self.slot}'" + (f", agent {agent}" if agent != WHOLE_SLOT else "")
        message = f"{subject}, tick {tick}: {escape_text(description)}."
        traceback, location = escape_lines(error.traceback), escape_text(error.location)
        slot, policy = self.slot, self.resolved.class_path
        failure = Failure(slot, policy, agent, tick, cause, message, traceback, restart, location)
        self.failures.append(failure)
        if settings.on_failure == "abort":
            raise PolicyFailedError(format_failure(message, location))
        return restart

    @property
    def never_acted(self) -> bool:
        """Whether the policy failed in this episode before it gave any valid action."""
        return not self._has_acted and bool(self.failures or self.invalid_actions)

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

        Raises:
            RetrySerially: Actions were invalid, and several episodes are played side by side.
        """
        valid_actions = self._replace_invalid(actions, batch, n_answered)
        if self.invalid_actions and not self._single_episode:
            raise RetrySerially(f"Slot '{self.slot}' returned invalid actions.")
        return valid_actions

    def _replace_invalid(self, actions: object, batch: AgentBatch, n_answered: int) -> Ints:
        """Count invalid actions and return all actions with noop in their place."""
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
        self._has_acted = self._has_acted or n_answered > 0
        return valid_actions


def format_failure(message: str, location: str) -> str:
    """Return the message of a failure with its location in the policy author's code.

    >>> format_failure("Slot 'all', tick 3: act_wait raised KeyError: 'x'.", "mine.py:14 in step")
    "Slot 'all', tick 3: act_wait raised KeyError: 'x' (mine.py:14 in step)."
    """
    return f"{message.removesuffix('.')} ({location})." if location else message
