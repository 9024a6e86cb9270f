"""What the sandbox restricts on this machine, for messages before anything starts."""

from __future__ import annotations

from kinfolk.core.errors import EngineError
from kinfolk.isolation.cgroups.hierarchy import explain_no_cgroups, find_cgroup_parents
from kinfolk.isolation.sandbox.bubblewrap import explain_unusable
from kinfolk.isolation.sandbox.landlock import is_landlock_supported
from kinfolk.isolation.sandbox.seccomp import is_seccomp_supported

NAMESPACES = "bubblewrap: no network, no other processes, no files but the policy's own"
SYSTEM_CALLS = "seccomp: no signals, limits or tracing between agents, no new processes"
FILE_RIGHTS = "Landlock: writing in a temporary folder only, a second time"


def describe_resource_limits(memory_limit: int | None) -> str:
    """Return how much memory a worker may use, and how this machine enforces that."""
    memory = "unlimited memory" if memory_limit is None else f"{memory_limit} MB"
    parents = find_cgroup_parents()
    if parents is not None:
        return (
            f"{memory} for each worker, with its children, shared memory and files in memory, counted by "
            f"control groups of version {parents.version}"
        )
    return (
        f"{memory} for each worker, by the kernel's limit of data and a look every 20 to 50 ms "
        f"(no control groups: {explain_no_cgroups()})"
    )


def list_enforced() -> list[str]:
    """Return descriptions of the restrictions that this machine enforces."""
    supported = {
        NAMESPACES: not explain_unusable(),
        SYSTEM_CALLS: is_seccomp_supported(),
        FILE_RIGHTS: is_landlock_supported(),
    }
    return [text for text, is_supported in supported.items() if is_supported]


def list_unsupported() -> list[str]:
    """Return descriptions of the restrictions that this machine cannot enforce."""
    enforced = list_enforced()
    return [text for text in (NAMESPACES, SYSTEM_CALLS, FILE_RIGHTS) if text not in enforced]


def require_sandbox() -> None:
    """Check that policies can be contained; Landlock alone may be missing, as it repeats the others.

    Raises:
        EngineError: They cannot. There is no weaker sandbox.
    """
    reason = explain_unusable()
    if not reason and not is_seccomp_supported():
        reason = "seccomp does not work here; it needs Linux on x86_64 or aarch64"
    if reason:
        raise EngineError(f"--sandbox cannot be had on this machine: {reason}.")
