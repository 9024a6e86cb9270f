"""Policies in processes of their own for callers outside an evaluation."""

from __future__ import annotations

from typing import Any

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.core.errors import SettingsError
from kinfolk.core.spaces import WorldSpec
from kinfolk.isolation.failures import IsolationSettings
from kinfolk.isolation.proxy import IsolatedPolicy
from kinfolk.isolation.worker_pool import WorkerPool
from kinfolk.policies.base import AgentBatch, Memory
from kinfolk.policies.build import ResolvedPolicy, find_resolved
from kinfolk.policies.multi_agent import PolicyEnvInterface, PolicySpec, SingleAgentPolicy


class SubprocessPolicy(IsolatedPolicy):
    """A policy in a new worker process, for users who step an environment with their own loop.

    A policy that raises, hangs or crashes raises `PolicyFailedError` here. Without `sandbox` a
    hostile policy is not contained: it has the user's files and network.

    Args:
        name: Name of the policy in error messages.
        resolved: Class, settings and weights of the policy.
        spec: Spec of the world.
        max_agents: Largest number of agents in a batch.
        step_timeout: Seconds for the actions of one step.
        start_timeout: Seconds for the start of the process and the first actions.
        sandbox: Whether the process has no network and cannot write files.
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
        settings = IsolationSettings(
            step_timeout=step_timeout,
            start_timeout=start_timeout,
            on_failure="abort",
            sandbox=sandbox,
        )
        self._n_steps = 0
        self._pool = WorkerPool(settings)
        super().__init__(
            name, resolved, spec, self._pool, settings, lambda: self._n_steps, max_agents,
            per_agent=False, single_episode=True,
        )  # fmt: skip

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Send observations to the worker without waiting for its actions."""
        super().act_async(observations, batch, memory, keys)
        self._n_steps += 1

    def close(self) -> None:
        """End the worker process; may be called twice."""
        super().close()
        self._pool.close()


class PerAgentSubprocessPolicy(SingleAgentPolicy):
    """A policy of one agent in its own worker process: `reset`, `step`, and finally `shutdown`.

    Args:
        policy: The policy to load in the process.
        policy_env_info: Spec of the world.
        group: Index of the agent's group.
        step_timeout: Seconds for the action of one step.
        sandbox: Whether the process has no network and cannot write files.
    """

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
        """End the worker process; may be called twice."""
        self._subprocess_policy.close()

    def __enter__(self) -> PerAgentSubprocessPolicy:
        return self

    def __exit__(self, *error: object) -> None:
        self.shutdown()


def wrap_agent_policy_in_subprocess(
    policy: Any, policy_env_info: PolicyEnvInterface, group: int = 0, step_timeout: float = 1.0
) -> PerAgentSubprocessPolicy:
    """Load a policy in a new worker process, for a single agent.

    Args:
        policy: A `PolicySpec`, or a policy that kinfolk built, whose class, settings and weights are
            therefore known and sent to the process.
        policy_env_info: Spec of the world.
        group: Index of the agent's group.
        step_timeout: Seconds for the action of one step.

    Raises:
        SettingsError: The policy was not built by kinfolk, so its settings and weights are unknown.
    """
    if isinstance(policy, PolicySpec | ResolvedPolicy):
        return PerAgentSubprocessPolicy(policy, policy_env_info, group, step_timeout)
    resolved = find_resolved(policy)
    if resolved is None:
        raise SettingsError(
            f"{type(policy).__name__} was not built by kinfolk, so its settings and weights are unknown. "
            f"Pass a PolicySpec with class path, weights and arguments instead."
        )
    return PerAgentSubprocessPolicy(resolved, policy_env_info, group, step_timeout)
