"""Namespaces and capabilities of the fork server in the sandbox, and of each agent in it.

Bubblewrap has made the namespaces of the slot. The fork server keeps one capability in them, with which
every agent gets a scratch folder and queues of its own before all capabilities are given up.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

from kinfolk.core.libc import call_libc

SCRATCH = Path("/sandbox")  # not /tmp, where policies and this package may lie
SANDBOX_ID = 65534  # user and group in the sandbox: nobody
_CLONE_NEWNS, _CLONE_NEWIPC, _CLONE_NEWUSER, _CLONE_NEWPID = (
    0x00020000, 0x08000000, 0x10000000, 0x20000000,
)  # fmt: skip
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REC, _MS_PRIVATE = 2, 4, 8, 1 << 14, 1 << 18
_CAPABILITY_VERSION_3, _CAP_SYS_ADMIN = 0x20080522, 21
_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
_INODES_PER_MB = 256  # of a scratch folder


def enter_user_namespace() -> None:
    """Enter a new user namespace and mount namespace, which have no identity yet.

    For a fork server that root has started: its user then differs from root outside, so that it owns
    no file of root, and that the number of its processes can be limited.
    """
    call_libc("unshare", _CLONE_NEWUSER | _CLONE_NEWNS)


def take_identity() -> None:
    """Become nobody, once the host has written the maps of `write_identity_maps`."""
    os.setgroups([])
    os.setresgid(SANDBOX_ID, SANDBOX_ID, SANDBOX_ID)
    os.setresuid(SANDBOX_ID, SANDBOX_ID, SANDBOX_ID)


def write_identity_maps(pid: int, outside_id: int) -> None:
    """Map nobody in the new user namespace of a process to a user outside; only for root.

    Args:
        pid: The process, which has called `enter_user_namespace`.
        outside_id: Number of a user and a group that nobody else has.
    """
    for name in ("uid_map", "gid_map"):
        Path(f"/proc/{pid}/{name}").write_text(f"{SANDBOX_ID} {outside_id} 1\n")


def prepare_slot() -> None:
    """Keep the one capability that agents need for their scratch folder, in private mounts."""
    _set_capabilities(1 << _CAP_SYS_ADMIN)
    _mount("none", "/", "", _MS_REC | _MS_PRIVATE, "")


def enter_agent_namespaces(disk_mb: int, own_processes: bool) -> None:
    """Give this process a scratch folder and queues of its own, then give up all capabilities.

    Args:
        disk_mb: Size of the scratch folder in MB.
        own_processes: Whether the next process that is forked begins a namespace of processes, which
            ends with it.
    """
    call_libc("unshare", _CLONE_NEWNS | _CLONE_NEWIPC | (_CLONE_NEWPID if own_processes else 0))
    options = f"size={disk_mb}m,nr_inodes={_INODES_PER_MB * disk_mb},mode=0700"
    _mount("tmpfs", str(SCRATCH), "tmpfs", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC, options)
    if not own_processes:
        drop_capabilities()


def drop_capabilities() -> None:
    """Give up all capabilities of this process, permanently."""
    call_libc("prctl", _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    _set_capabilities(0)


def _set_capabilities(mask: int) -> None:
    """Set the effective and permitted capabilities; none are inheritable."""
    header = struct.pack("=Ii", _CAPABILITY_VERSION_3, 0)
    low, high = mask & 0xFFFFFFFF, mask >> 32
    call_libc("capset", header, struct.pack("=6I", low, low, 0, high, high, 0))


def _mount(source: str, target: str, kind: str, flags: int, options: str) -> None:
    """Mount a file system, or change how it is mounted; see mount(2)."""
    call_libc("mount", source.encode(), target.encode(), kind.encode(), flags, options.encode())
