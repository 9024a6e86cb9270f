"""A bounded number of worker processes, and the fork servers that start them.

A worker plays one game and ends with it: what a policy keeps in modules, classes, files or threads
must not reach its next game. Fork servers, which run nothing of a policy, stay.
"""

from __future__ import annotations

import atexit
from collections.abc import Iterator
from contextlib import contextmanager

from kinfolk.core import libc
from kinfolk.core.imports import require_trust
from kinfolk.core.spaces import WorldSpec
from kinfolk.core.trust import get_trust, untrusted
from kinfolk.isolation.cgroups.worker_cgroups import PoolCgroups, WorkerCgroup, open_pool_cgroups
from kinfolk.isolation.failures import IsolationSettings
from kinfolk.isolation.forkserver import ForkServerClient, ProcessLimitError
from kinfolk.isolation.payload import WorkerPayload
from kinfolk.isolation.sandbox.policy_files import (
    find_policy_files,
    list_named_code,
    list_readable,
)
from kinfolk.isolation.worker import Worker
from kinfolk.policies.build import ResolvedPolicy

_MAX_PAYLOADS = 16
_MAX_FORKSERVERS = 16
# Policies that a fork server builds once, so that its workers need not import and compile. They run no
# code from outside of this package, unless one of `CODE_SETTINGS` names it.
_PRELOADED_CLASSES = frozenset(
    f"kinfolk.{name}"
    for name in (
        "bench.isolation.ComputeLoadPolicy",
        "policies.base.NoopPolicy",
        "policies.base.RandomPolicy",
        "policies.neural.architectures.CnnPolicy",
        "policies.neural.architectures.GruPolicy",
        "policies.neural.architectures.MlpPolicy",
        "policies.neural.evolved.EvolvedPolicy",
        "policies.scripted.cartpole.CartPoleHeuristic",
        "policies.scripted.cogsguard.evolved_roles.RolePolicyFactory",
        "policies.scripted.cogsguard.teams.SingleBehaviorPolicy",
        "policies.scripted.cogsguard.teams.SingleRolePolicy",
        "policies.scripted.cogsguard.teams.SmartPolicy",
        "policies.scripted.savanna.grazer.Grazer",
        "policies.scripted.savanna.hunter.Hunter",
        "testing.probe.policies.neural.PopulationPolicy",
        "testing.probe.policies.neural.ProbeGruPolicy",
        "testing.probe.policies.scripted.LargeMemoryPolicy",
        "testing.probe.policies.scripted.PythonForager",
    )
)


def is_preloadable(resolved: ResolvedPolicy) -> bool:
    """Return whether a policy is of this package and its settings name no code from outside."""
    is_ours = resolved.class_path.replace(":", ".") in _PRELOADED_CLASSES
    return is_ours and not list_named_code(resolved)


def may_build_here(resolved: ResolvedPolicy, settings: IsolationSettings) -> bool:
    """Return whether an isolated policy may be built in this process, to check it.

    Not from a stranger's file: its settings may ask for a net that takes all memory.
    """
    return is_preloadable(resolved) and not (settings.sandbox and resolved.is_from_file)


def require_trusted_code(resolved: ResolvedPolicy, settings: IsolationSettings) -> None:
    """Check that an isolated policy may run: in a sandbox it may, elsewhere only if it is trusted.

    Raises:
        UntrustedCodeError: A file that is not trusted names code from outside of kinfolk.
    """
    if settings.sandbox and get_trust().may_sandbox:
        return
    with untrusted(resolved.source_file):
        for path in (resolved.class_path, *list_named_code(resolved)):
            require_trust(path)


class WorkerPool:
    """Starts workers, at most `max_processes` at a time, and ends them.

    Args:
        settings: Limits of the workers and of their number.
    """

    def __init__(self, settings: IsolationSettings) -> None:
        self._settings = settings
        # Without a sandbox all slots have one; else every slot and policy has its own.
        self._forkservers: dict[tuple[object, ...], ForkServerClient] = {}
        self._payloads: dict[tuple[str, WorldSpec, bool], WorkerPayload] = {}
        self._libraries: dict[str, tuple[str, ...]] = {}  # that policies import, by their digests
        self._in_use: set[Worker] = set()
        self._cgroups: PoolCgroups | None = None  # made with the first worker
        self.n_started = 0
        self._is_open = True
        _protect_host()

    @property
    def forkserver_pids(self) -> list[int]:
        """Process ids of the fork servers that run, as this process sees them."""
        pids = (server.pid for server in self._forkservers.values())
        return [pid for pid in pids if pid is not None]

    def acquire(
        self,
        slot: str,
        resolved: ResolvedPolicy,
        spec: WorldSpec,
        capacity: int,
        inherits_memory: bool,
    ) -> Worker:
        """Start a worker; its first reply says that the policy is loaded.

        Args:
            slot: Id of the slot; in a sandbox, no fork server is shared between slots.
            resolved: Class, settings and weights of the policy.
            spec: Spec of the world.
            capacity: Largest number of agents in a request.
            inherits_memory: Whether it plays a single agent that inherits its parents' memory.

        Raises:
            ProcessLimitError: All processes are in use, or the system cannot start another.
            UntrustedCodeError: A file that is not trusted names its code, and it has no sandbox.
        """
        require_trusted_code(resolved, self._settings)
        payload = self.get_payload(resolved, spec)
        forkserver = self._get_forkserver(slot, resolved)
        limit = self._settings.max_processes
        if len(self._in_use) >= limit:
            raise ProcessLimitError(f"All {limit} worker processes (--max-processes) are in use.")
        if (
            not self._settings.sandbox
        ):  # in a sandbox the fork server has imported them at its start
            if resolved.sha256 not in self._libraries:
                self._libraries[resolved.sha256] = find_policy_files(resolved).preload
            forkserver.import_libraries(self._libraries[resolved.sha256])
        if is_preloadable(resolved):
            forkserver.preload(payload, self._settings.memory_limit)
        cgroup = self._create_cgroup()
        worker = Worker(forkserver, payload, capacity, self._settings, inherits_memory, cgroup)
        self.n_started += 1
        self._in_use.add(worker)
        return worker

    def release(self, worker: Worker) -> None:
        """End a worker."""
        self._in_use.discard(worker)
        worker.close()

    def close(self) -> None:
        """End all workers and the fork server; may be called twice."""
        for worker in self._in_use:
            worker.close()
        self._in_use.clear()
        while self._payloads:
            self._payloads.popitem()[1].close()
        while self._forkservers:
            self._forkservers.popitem()[1].close()
        cgroups, self._cgroups = self._cgroups, None
        if cgroups is not None:
            cgroups.close()
        if self._is_open:
            self._is_open = False
            _unprotect_host()

    def _get_forkserver(self, slot: str, resolved: ResolvedPolicy) -> ForkServerClient:
        """Return the fork server of a slot's policy, which need not be running yet."""
        settings = self._settings
        key = (slot, resolved.sha256, resolved.is_from_file) if settings.sandbox else ()
        if key in self._forkservers:
            self._forkservers[key] = self._forkservers.pop(key)  # now the last to be dropped
            return self._forkservers[key]
        busy = {worker.forkserver for worker in self._in_use}
        for old in [old for old, server in self._forkservers.items() if server not in busy]:
            if len(self._forkservers) < _MAX_FORKSERVERS:
                break
            self._forkservers.pop(old).close()
        readable = list_readable(settings.sandbox_read, slot)
        files = find_policy_files(resolved, readable) if settings.sandbox else None
        self._forkservers[key] = ForkServerClient(files)
        return self._forkservers[key]

    def _create_cgroup(self) -> WorkerCgroup | None:
        """Return a control group for a new worker; None if it needs none or there are none here.

        Raises:
            ProcessLimitError: The kernel refused it.
        """
        try:
            self._cgroups = self._cgroups or open_pool_cgroups(self._settings)
            return None if self._cgroups is None else self._cgroups.create()
        except OSError as error:
            reason = f"No control group could be made: {error.strerror}."
            raise ProcessLimitError(reason) from error

    def get_payload(self, resolved: ResolvedPolicy, spec: WorldSpec) -> WorkerPayload:
        """Return the payload of a policy from a small cache, or make it."""
        key = (resolved.sha256, spec, resolved.is_from_file)
        if key not in self._payloads:
            while len(self._payloads) >= _MAX_PAYLOADS:
                self._payloads.pop(next(iter(self._payloads))).close()
            self._payloads[key] = WorkerPayload(resolved, spec)
        return self._payloads[key]


class _HostProtection:
    """Counts the pools of this process, and whether others could read it before the first."""

    n_pools = 0
    was_dumpable = False


def _protect_host() -> None:
    """Keep workers of the same user from opening other workers' buffers through this process."""
    if _HostProtection.n_pools == 0:
        _HostProtection.was_dumpable = libc.is_dumpable()
        libc.set_dumpable(False)
    _HostProtection.n_pools += 1


def _unprotect_host() -> None:
    """Undo `_protect_host` when the last pool is closed."""
    _HostProtection.n_pools -= 1
    if _HostProtection.n_pools == 0 and _HostProtection.was_dumpable:
        libc.set_dumpable(True)


_pools: dict[IsolationSettings, WorkerPool] = {}  # of this process, which runs many tasks


def get_pool(settings: IsolationSettings) -> WorkerPool:
    """Return the pool of this process for workers with these settings."""
    if not _pools:
        atexit.register(close_pools)
    if settings not in _pools:
        _pools[settings] = WorkerPool(settings)
    return _pools[settings]


def close_pools() -> None:
    """End all worker processes that this process has started."""
    while _pools:
        _pools.popitem()[1].close()


@contextmanager
def closing_pools() -> Iterator[None]:
    """Close all pools of this process when the context exits."""
    try:
        yield
    finally:
        close_pools()
