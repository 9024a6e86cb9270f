"""Policies in processes of their own for callers outside an evaluation.

A user who steps an environment with a loop of their own wraps the agents that need it and leaves the
others as they are; all of them have `reset` and `step`. Wrapped agents of one thread share a fork
server, so that each of them costs milliseconds and a few MB.
"""

from __future__ import annotations

import os
import threading
import warnings
import weakref
from typing import Any

import numpy as np

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.core.errors import EngineError, PolicyFailedError, SettingsError
from kinfolk.core.settings import validate_settings
from kinfolk.core.spaces import WorldSpec
from kinfolk.isolation.failures import IsolationSettings, IsolationWarning
from kinfolk.isolation.forkserver import ProcessLimitError
from kinfolk.isolation.proxy import IsolatedPolicy
from kinfolk.isolation.worker import Worker
from kinfolk.isolation.worker_main import is_worker_process
from kinfolk.isolation.worker_pool import WorkerPool
from kinfolk.play.results import Failure
from kinfolk.policies.base import AgentBatch, Memory
from kinfolk.policies.build import ResolvedPolicy, build_policy
from kinfolk.policies.multi_agent import (
    MultiAgentPolicy,
    PolicyEnvInterface,
    PolicySpec,
    ResetArguments,
)
from kinfolk.policies.policy_source import find_policy_source
from kinfolk.policies.single_agent import BatchedPolicyAgents, SingleAgentPolicy


class _SubprocessPool(WorkerPool):
    """Workers of `SubprocessPolicy`s, each of which ends with its policy.

    Attributes:
        lock: Held during each call of a policy, so that threads may share the pool.
        n_policies: Number of policies that use the pool.
    """

    def __init__(self, settings: IsolationSettings) -> None:
        super().__init__(settings)
        self.lock, self.n_policies = threading.RLock(), 0

    def release(self, worker: Worker) -> None:
        """End a worker; one that has not failed may close its policy first."""
        worker.close(graceful=not worker.pending and not worker.has_failed)
        super().release(worker)


# By process, thread and settings: the workers of a thread share a fork server, those of threads that
# play episodes side by side do not wait for each other.
_pools: dict[tuple[int, int, IsolationSettings], _SubprocessPool] = {}
_pools_lock = threading.Lock()


class SubprocessPolicy(IsolatedPolicy):
    """A policy in a new worker process, for users who step an environment with their own loop.

    A policy that raises, hangs or crashes raises `PolicyFailedError` here, unless `isolation` says
    otherwise. Without `sandbox` a hostile policy is not contained: it has the user's files and network.

    Args:
        name: Name of the policy in error messages.
        resolved: Class, settings and weights of the policy.
        spec: Spec of the world.
        max_agents: Largest number of agents in a batch.
        step_timeout: Seconds for the actions of one step; None: as `isolation` says.
        start_timeout: Seconds for the start of the process and the first actions; None: likewise.
        sandbox: Whether the process is in a sandbox; None: likewise.
        isolation: Further limits, and what happens after a failure.
    """

    def __init__(
        self,
        name: str,
        resolved: ResolvedPolicy,
        spec: WorldSpec,
        max_agents: int,
        step_timeout: float | None = None,
        start_timeout: float | None = None,
        sandbox: bool | None = None,
        isolation: IsolationSettings | None = None,
    ) -> None:
        fields = (isolation or IsolationSettings()).model_dump()
        if isolation is None or "on_failure" not in isolation.model_fields_set:
            fields["on_failure"] = "abort"
        changes = {"step_timeout": step_timeout, "start_timeout": start_timeout, "sandbox": sandbox}
        changed = {key: value for key, value in changes.items() if value is not None}
        settings = validate_settings(IsolationSettings, {**fields, **changed})
        self._n_steps, self._closed = 0, False
        self._pool_key = (os.getpid(), threading.get_ident(), settings)
        with _pools_lock:
            if self._pool_key not in _pools:
                _pools[self._pool_key] = _SubprocessPool(settings)
            self._pool = _pools[self._pool_key]
            self._pool.n_policies += 1
        super().__init__(
            name, resolved, spec, self._pool, settings, lambda: self._n_steps,
            n_worlds=1, rows=max_agents, per_agent=False,
        )  # fmt: skip

    def start_episode(self) -> None:
        """Clear failures and count steps anew; the worker stays, unless it has failed."""
        self.failure_log.start_episode()
        self.workers.clear_failures()
        self._n_steps = 0

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Reset new agents in the worker, which is started if it is not running."""
        with self._pool.lock:
            self._check_open()
            super().reset_agents(batch, memory, keys)

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Send observations to the worker without waiting for its actions."""
        log = self.failure_log
        with self._pool.lock:
            self._check_open()
            if log.failures and log.settings.on_failure == "abort":
                first = log.failures[0].message
                raise PolicyFailedError(f"{first} Call reset to start it again.")
            super().act_async(observations, batch, memory, keys)

    def act_wait(self) -> Ints:
        """Return the actions of the worker."""
        with self._pool.lock:
            self._check_open()
            actions = super().act_wait()
        self._n_steps += 1
        return actions

    def close(self) -> None:
        """End the worker process, and with the last one its fork server; may be called twice."""
        if self._closed:
            return
        self._closed, pool = True, self._pool
        with pool.lock:
            super().close()
            with _pools_lock:
                pool.n_policies -= 1
                if pool.n_policies == 0:
                    del _pools[self._pool_key]
                    pool.close()

    def _check_open(self) -> None:
        """Raise `PolicyFailedError` if the policy was shut down."""
        if self._closed:
            raise PolicyFailedError(
                f"Slot '{self.failure_log.slot}' was shut down, so it cannot act; wrap the policy again."
            )


class PerAgentSubprocessPolicy(SingleAgentPolicy):
    """A policy of one agent in its own worker process: `reset`, `step`, and finally `shutdown`.

    It is also a context manager, and a process that was not shut down ends with this object.

    Args:
        policy: The policy to load in the process.
        policy_env_info: Spec of the world.
        group: Index of the agent's group.
        step_timeout: Seconds for the action of one step; None: as `isolation` says.
        sandbox: Whether the process is in a sandbox; None: as `isolation` says.
        agent_id: The agent's row in the world, for `MultiAgentPolicy.agent_policy`.
        isolation: Limits, and what happens after a failure; by default it raises `PolicyFailedError`.
        forward_reset: Whether the policy is a `MultiAgentPolicy` whose agent gets the arguments of
            `reset` as they are. Otherwise the agent's random key is computed from them, as for
            every policy in an evaluation.

    Raises:
        PolicyFailedError: The policy could not be built or reset.
        EngineError: No process can be started, and `strict` or `sandbox` forbid to do without.
    """

    def __init__(
        self,
        policy: PolicySpec | ResolvedPolicy,
        policy_env_info: PolicyEnvInterface,
        group: int = 0,
        step_timeout: float | None = None,
        sandbox: bool | None = None,
        agent_id: int = 0,
        isolation: IsolationSettings | None = None,
        forward_reset: bool = False,
    ) -> None:
        _refuse_in_worker()
        resolved = policy.resolve(trusted=False) if isinstance(policy, PolicySpec) else policy
        self._forward_reset = forward_reset
        self._subprocess_policy = subprocess_policy = SubprocessPolicy(
            resolved.class_path,
            resolved,
            policy_env_info,
            1,
            step_timeout,
            None,
            sandbox,
            isolation,
        )
        # Runs when this object is collected or the interpreter exits, if `shutdown` did not before.
        self._finalizer = weakref.finalize(self, subprocess_policy.close)
        try:
            super().__init__(subprocess_policy, policy_env_info, group, agent_id=agent_id)
        except ProcessLimitError as error:
            self.shutdown()
            self._fall_back(error, resolved, policy_env_info)
        except BaseException:
            self.shutdown()
            raise

    def _fall_back(
        self, error: ProcessLimitError, resolved: ResolvedPolicy, spec: PolicyEnvInterface
    ) -> None:
        """Play in this process with a warning, or raise `EngineError` if that is not allowed."""
        settings = self._subprocess_policy.failure_log.settings
        if settings.strict or settings.sandbox:
            message = f"{error} strict and sandbox do not allow weaker isolation."
            raise EngineError(message) from None
        message = f"{error} {resolved.class_path} gets no process of its own."
        warnings.warn(message, IsolationWarning, stacklevel=3)
        SingleAgentPolicy.__init__(
            self, build_policy(resolved, spec), spec, self.group, agent_id=self.agent_id
        )

    def reset(
        self, seed: int | None = None, episode: int | None = None, uid: int | None = None
    ) -> None:
        """Forward the start of a new life to the process, and start one if there is none any more.

        Args:
            seed: Seed of the run.
            episode: Number of the episode.
            uid: The agent's uid in the episode.
        """
        self._subprocess_policy.start_episode()
        if self._forward_reset:
            arguments = ResetArguments(seed, episode, uid)
            self._start_life(*arguments.to_batch(self.agent_id, self.group))
        else:
            super().reset(seed or 0, episode or 0, uid or 0)

    @property
    def failures(self) -> tuple[Failure, ...]:
        """Failures since the last `reset`, if `isolation` says that they do not raise."""
        return tuple(self._subprocess_policy.failure_log.failures)

    @property
    def metrics(self) -> dict[str, float]:
        """Health of the process: steps, latency, restarts, memory and what it printed."""
        policy, workers = self._subprocess_policy, self._subprocess_policy.workers
        latencies = 1e6 * np.array(workers.latencies or [0.0])
        return {
            "steps": policy.agent_steps,
            "latency_us_mean": float(latencies.mean()),
            "latency_us_p99": float(np.percentile(latencies, 99)),
            "restarts": workers.n_restarts,
            **workers.stats._asdict(),
        }

    def shutdown(self) -> None:
        """End the worker process; may be called twice."""
        self._finalizer()

    def __enter__(self) -> PerAgentSubprocessPolicy:
        return self

    def __exit__(self, *error: object) -> None:
        self.shutdown()


def wrap_agent_policy_in_subprocess(
    policy: Any,
    multi_agent_policy: MultiAgentPolicy | PolicyEnvInterface,
    agent_id: int = 0,
    group: int | None = None,
    step_timeout: float | None = None,
    isolation: IsolationSettings | None = None,
) -> PerAgentSubprocessPolicy:
    """Play one agent in a worker process of its own, which builds its policy anew.

    The result has the actions that `policy` would have in this process after the same calls. Wrap as
    many of the agents of a loop as need it:

        base = policies.agent_policy(agent_id)
        agents.append(wrap_agent_policy_in_subprocess(base, policies, agent_id))

    Args:
        policy: The agent, as `multi_agent_policy.agent_policy(agent_id)` returned it. Beside the spec of
            a world: a `PolicySpec`, or a policy that kinfolk built.
        multi_agent_policy: The policy that made the agent; its class, arguments and weights are sent
            to the process. Or the spec of the world.
        agent_id: The agent's row in the world.
        group: Index of the agent's group; None: that of `policy` if it has one, else 0.
        step_timeout: Seconds for the action of one step; None: as `isolation` says.
        isolation: Limits, and what happens after a failure; by default it raises `PolicyFailedError`.

    Raises:
        SettingsError: The class, arguments or weights of the policy cannot be sent to a process.
        PolicyFailedError: The policy could not be built or reset in the process.
    """
    forward_reset = False
    if isinstance(multi_agent_policy, WorldSpec):
        spec, source = multi_agent_policy, policy
    elif isinstance(multi_agent_policy, MultiAgentPolicy):
        spec, source = multi_agent_policy.policy_env_info, multi_agent_policy
        if not (hasattr(policy, "reset") and hasattr(policy, "step")):
            raise SettingsError(
                f"The first argument must be an agent with reset and step, as agent_policy(agent_id) "
                f"returns it, not {type(policy).__name__}."
            )
        forward_reset = not isinstance(source, BatchedPolicyAgents)
    else:
        raise SettingsError(
            f"The second argument must be the MultiAgentPolicy that made the agent, or the spec of the "
            f"world, not {type(multi_agent_policy).__name__}."
        )
    if group is None:
        group = policy.group if isinstance(policy, SingleAgentPolicy) else 0
    return PerAgentSubprocessPolicy(
        find_policy_source(source),
        spec,
        group,
        step_timeout,
        None,
        agent_id,
        isolation,
        forward_reset,
    )


def _refuse_in_worker() -> None:
    """Check that this is not a worker, which would start workers of its own without end.

    Raises:
        SettingsError: It is: it imports a script that wraps agents at its top level.
    """
    if is_worker_process():
        raise SettingsError(
            "The script of a policy wraps agents when it is imported. Put that code below "
            "`if __name__ == '__main__':`."
        )
