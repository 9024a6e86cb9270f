"""Where the kernel lets this process make control groups (cgroups), if anywhere.

In version 1 a group has a folder for each controller, below the groups of this process. In version 2 it
has one folder, and a group with processes in it cannot have groups with limits below it; so groups of
workers lie beside that of this process, or further up.

https://docs.kernel.org/admin-guide/cgroup-v1/cgroups.html
https://docs.kernel.org/admin-guide/cgroup-v2.html
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

CONTROLLERS = ("memory", "pids")
_PROC = Path("/proc/self")


class CgroupParents(NamedTuple):
    """Folders in which control groups of workers are made.

    Attributes:
        version: 1 or 2.
        memory: For groups that limit memory.
        pids: For groups that limit processes; in version 2 the same folder.
    """

    version: int
    memory: Path
    pids: Path


class NoCgroupsError(Exception):
    """This process cannot make control groups; the message says why."""


@functools.cache
def find_cgroup_parents() -> CgroupParents | None:
    """Return where this process can make control groups, as tried by making one; None: nowhere."""
    return None if explain_no_cgroups() else _locate_parents(_PROC)


@functools.cache
def explain_no_cgroups() -> str:
    """Return why this process cannot make control groups; "" if it can."""
    try:
        parents = _locate_parents(_PROC)
    except NoCgroupsError as error:
        return f"{error}"
    for folder in dict.fromkeys((parents.memory, parents.pids)):
        trial = folder / f"{name_host_folder()}-trial"
        try:
            trial.mkdir()
            trial.rmdir()
        except OSError as error:
            return f"no group can be made in {folder}: {error.strerror}"
    return ""


def name_host_folder() -> str:
    """Return the name of this process's folder of groups, by which `is_stale` knows it again."""
    namespace = os.stat("/proc/self/ns/pid").st_ino
    return f"kinfolk-{namespace}-{os.getpid()}-{_read_start_time(os.getpid())}"


def is_stale(name: str) -> bool:
    """Return whether a folder has a name of `name_host_folder` whose process has ended."""
    prefix, _, rest = name.partition("-")
    numbers = rest.split("-")[:3]
    if prefix != "kinfolk" or len(numbers) < 3 or not all(map(str.isdecimal, numbers)):
        return False
    namespace, pid, start_time = map(int, numbers)
    if namespace != os.stat("/proc/self/ns/pid").st_ino:  # its processes cannot be seen here
        return False
    return _read_start_time(pid) != start_time


def _read_start_time(pid: int) -> int:
    """Return when a process was started, in ticks since the machine was; 0 if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[19]) if fields[0] not in "ZX" else 0


def _locate_parents(proc: Path) -> CgroupParents:
    """Return the folders in which this process may make groups.

    Args:
        proc: Folder with the files `cgroup` and `mountinfo` of this process.

    Raises:
        NoCgroupsError: There are none.
    """
    try:
        own_groups = _parse_own_groups((proc / "cgroup").read_text())
        mounts = list(_parse_mounts((proc / "mountinfo").read_text()))
    except OSError:
        raise NoCgroupsError("this system has none") from None
    folders: dict[str, Path] = {}
    for mount in mounts:
        for controller in CONTROLLERS:
            if controller in mount.controllers and controller in own_groups:
                folders[controller] = _find_folder(mount, own_groups[controller])
        if mount.controllers == ("",) and "" in own_groups:
            folder = _find_folder(mount, own_groups[""])
            if set(CONTROLLERS) <= set(_read_words(folder / "cgroup.controllers")):
                parent = _find_version_2_parent(folder, mount.point)
                return CgroupParents(2, parent, parent)
    if set(folders) != set(CONTROLLERS):
        raise NoCgroupsError("the controllers memory and pids are not mounted")
    for folder in folders.values():
        if not os.access(folder, os.W_OK):
            raise NoCgroupsError(f"this user may not make groups in {folder}")
    return CgroupParents(1, folders["memory"], folders["pids"])


def enter_cgroups(fds: Sequence[int]) -> None:
    """Move this process, which has one thread, into the group of `WorkerCgroup.open_entries`.

    It lies here because fork servers, which must start quickly, import no settings.

    Raises:
        OSError: The kernel refused. The worker must not go on.
    """
    for fd in fds:
        os.write(fd, b"0")
        os.close(fd)


class _Mount(NamedTuple):
    """A mounted hierarchy of groups."""

    root: str  # group that lies at `point`
    point: Path
    controllers: tuple[str, ...]  # ("",) in version 2


def _parse_mounts(mountinfo: str) -> Iterator[_Mount]:
    """Yield the hierarchies of groups in `/proc/PID/mountinfo`; see proc(5)."""
    for line in mountinfo.splitlines():
        place, _, source = line.partition(" - ")
        root, point = place.split()[3:5]
        kind, *_, options = source.split()
        if kind == "cgroup2":
            yield _Mount(root, Path(point), ("",))
        elif kind == "cgroup":
            yield _Mount(root, Path(point), tuple(options.split(",")))


def _parse_own_groups(text: str) -> dict[str, str]:
    """Return the group of this process by controller, "" for version 2; see cgroups(7)."""
    lines = [line.split(":", 2) for line in text.splitlines()]
    return {controller: group for _, names, group in lines for controller in names.split(",")}


def _find_folder(mount: _Mount, group: str) -> Path:
    """Return the folder of a group.

    Raises:
        NoCgroupsError: It does not lie in what is mounted.
    """
    inside = group.removeprefix(mount.root.rstrip("/")).lstrip("/")
    folder = mount.point / inside
    if ".." in inside.split("/") or not folder.is_dir():
        raise NoCgroupsError(f"the group {group} of this process is not mounted")
    return folder


def _find_version_2_parent(own_group: Path, top: Path) -> Path:
    """Return the nearest folder above a group in which groups with both controllers can be made.

    Groups are not made outside of one that has a limit of memory itself, which they would evade.

    Raises:
        NoCgroupsError: There is none.
    """
    folder = own_group
    while True:
        enabled = set(_read_words(folder / "cgroup.subtree_control"))
        may_write = os.access(folder, os.W_OK) and os.access(folder / "cgroup.procs", os.W_OK)
        if may_write and set(CONTROLLERS) <= enabled:
            return folder
        limits = [_read_words(folder / name) for name in ("memory.max", "memory.high")]
        if folder == top or any(words not in ([], ["max"]) for words in limits):
            break
        folder = folder.parent
    raise NoCgroupsError(
        f"no group with both controllers around {own_group} is delegated to this user"
    )


def _read_words(path: Path) -> list[str]:
    """Return the words of a file; none if there is no such file."""
    try:
        return path.read_text().split()
    except OSError:
        return []
