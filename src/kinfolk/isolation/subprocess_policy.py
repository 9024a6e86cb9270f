"""One policy in a process of its own, by itself: for people who drive a game with their own loop."""

from __future__ import annotations

from typing import Any

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.core.errors import SettingsError
from kinfolk.core.spaces import WorldSpec
from kinfolk.isolation.proxy import IsolatedPolicy
from kinfolk.isolation.settings import IsolationSettings
from kinfolk.isolation.worker_pool import WorkerPool
from kinfolk.policies.base import AgentBatch, Memory, MemoryLayout
from kinfolk.policies.multi_agent import PolicyEnvInterface, PolicySpec
from kinfolk.policies.resolve import ResolvedPolicy, find_resolved
from kinfolk.policies.single_agent import SingleAgentPolicy


class SubprocessPolicy:
    """A policy in a fresh process, behind the contract of a policy.

    Covered: a policy that raises, hangs, crashes or answers late; each raises `PolicyFailedError`
    here. Not covered, unless `sandbox` is set: a hostile one. It shares our user, files and network.
    """

    def __init__(
        self,
        name: str,
        resolved: ResolvedPolicy,
        spec: WorldSpec,
        max_agents: int,
        step_timeout: float = 1.0,
        start_timeout: float = 60.0,
        sandbox: bool = False,
    ) -> None:
        care = IsolationSettings(
            step_timeout=step_timeout,
            start_timeout=start_timeout,
            on_failure="abort",
            sandbox=sandbox,
        )
        self._n_steps = 0
        self._pool = WorkerPool(care)
        self._proxy = IsolatedPolicy(
            name, resolved, spec, self._pool, care, lambda: self._n_steps, max_agents,
            per_agent=False, single_episode=True,
        )  # fmt: skip

    @property
    def memory_layout(self) -> MemoryLayout:
        """Nothing that the caller would have to keep."""
        return {}

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Forward; wait until it is done."""
        self._proxy.reset_agents(batch, memory, keys)

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Forward and come back at once."""
        self._proxy.act_async(observations, batch, memory, keys)
        self._n_steps += 1

    def act_wait(self) -> Ints:
        """Wait for the actions.

        Raises:
            PolicyFailedError: The policy raised, died or gave no answer in time.
        """
        return self._proxy.act_wait()

    def close(self) -> None:
        """End the process. May be called twice."""
        self._proxy.close()
        self._pool.close()


class PerAgentSubprocessPolicy(SingleAgentPolicy):
    """One agent in a process of its own: `reset`, `step` and, at the end, `shutdown`."""

    def __init__(
        self,
        policy: PolicySpec | ResolvedPolicy,
        policy_env_info: PolicyEnvInterface,
        group: int = 0,
        step_timeout: float = 1.0,
        sandbox: bool = False,
    ) -> None:
        resolved = policy.resolve() if isinstance(policy, PolicySpec) else policy
        self._subprocess_policy = SubprocessPolicy(
            resolved.class_path, resolved, policy_env_info, 1, step_timeout, sandbox=sandbox
        )
        try:
            super().__init__(self._subprocess_policy, group)
        except BaseException:
            self._subprocess_policy.close()
            raise

    def shutdown(self) -> None:
        """End its process. May be called twice."""
        self._subprocess_policy.close()

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
    resolved = find_resolved(policy)
    if resolved is None:
        raise SettingsError(
            f"It is not known what {type(policy).__name__} was made from. Give a PolicySpec with its "
            f"class path, weights and arguments instead."
        )
    return PerAgentSubprocessPolicy(resolved, policy_env_info, group, step_timeout)
