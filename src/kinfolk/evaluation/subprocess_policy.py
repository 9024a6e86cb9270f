"""One policy in a process of its own, by itself: for people who drive a game with their own loop."""

from __future__ import annotations

from typing import Any

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.core.errors import SettingsError
from kinfolk.core.spaces import WorldSpec
from kinfolk.evaluation.apart import Apart
from kinfolk.evaluation.care import Care
from kinfolk.evaluation.pool import Pool
from kinfolk.policies.base import Memory, MemoryLayout, Rows
from kinfolk.policies.multi_agent import PolicyEnvInterface, PolicySpec
from kinfolk.policies.one_agent import LoneAgent
from kinfolk.policies.resolve import ResolvedPolicy, resolved_of


class Isolated:
    """A policy in a fresh process, behind the contract of a policy.

    Covered: a policy that raises, hangs, crashes or answers late; each raises `PolicyFailedError`
    here. Not covered, unless `sandbox` is set: a hostile one. It shares our user, files and network.
    """

    def __init__(
        self,
        name: str,
        resolved: ResolvedPolicy,
        spec: WorldSpec,
        capacity: int,
        patience: float = 1.0,
        start_patience: float = 60.0,
        sandbox: bool = False,
    ) -> None:
        care = Care(
            step_timeout=patience,
            start_timeout=start_patience,
            on_failure="abort",
            sandbox=sandbox,
        )
        self._asked = 0
        self._pool = Pool(care)
        self._slot = Apart(
            name, resolved, spec, self._pool, care, lambda: self._asked, capacity,
            by_agent=False, alone=True,
        )  # fmt: skip

    @property
    def memory(self) -> MemoryLayout:
        """Nothing that the caller would have to keep."""
        return {}

    def begin(self, rows: Rows, memory: Memory, keys: Ints) -> None:
        """Forward; wait until it is done."""
        self._slot.begin(rows, memory, keys)

    def ask(self, observations: Bytes, rows: Rows, memory: Memory, keys: Ints) -> None:
        """Forward and come back at once."""
        self._slot.ask(observations, rows, memory, keys)
        self._asked += 1

    def answer(self) -> Ints:
        """Wait for the actions.

        Raises:
            PolicyFailedError: The policy raised, died or gave no answer in time.
        """
        return self._slot.answer()

    def close(self) -> None:
        """End the process. May be called twice."""
        self._slot.close()
        self._pool.close()


class PerAgentSubprocessPolicy(LoneAgent):
    """One agent in a process of its own: `reset`, `step` and, at the end, `shutdown`."""

    def __init__(
        self,
        policy: PolicySpec | ResolvedPolicy,
        policy_env_info: PolicyEnvInterface,
        group: int = 0,
        step_timeout: float = 1.0,
        sandbox: bool = False,
    ) -> None:
        resolved = policy.resolved() if isinstance(policy, PolicySpec) else policy
        self._isolated = Isolated(
            resolved.class_path, resolved, policy_env_info, 1, step_timeout, sandbox=sandbox
        )
        try:
            super().__init__(self._isolated, group)
        except BaseException:
            self._isolated.close()
            raise

    def shutdown(self) -> None:
        """End its process. May be called twice."""
        self._isolated.close()

    def __enter__(self) -> PerAgentSubprocessPolicy:
        return self

    def __exit__(self, *error: object) -> None:
        self.shutdown()


def wrap_agent_policy_in_subprocess(
    policy: Any, policy_env_info: PolicyEnvInterface, group: int = 0, step_timeout: float = 1.0
) -> PerAgentSubprocessPolicy:
    """The one-agent view of a policy, moved into a process of its own.

    `policy` is a `PolicySpec`, or a policy made by kinfolk, whose class, settings and weights are
    known: all of them reach the new process.

    Raises:
        SettingsError: It is not known what the policy was made from.
    """
    if isinstance(policy, PolicySpec | ResolvedPolicy):
        return PerAgentSubprocessPolicy(policy, policy_env_info, group, step_timeout)
    resolved = resolved_of(policy)
    if resolved is None:
        raise SettingsError(
            f"It is not known what {type(policy).__name__} was made from. Give a PolicySpec with its "
            f"class path, weights and arguments instead."
        )
    return PerAgentSubprocessPolicy(resolved, policy_env_info, group, step_timeout)
