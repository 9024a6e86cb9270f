"""Where control groups can be made, in the layouts that machines have: version 1, 2 and both."""

import os
import subprocess
import sys

import pytest

from kinfolk.isolation.cgroups.hierarchy import (
    CgroupParents,
    NoCgroupsError,
    _locate_parents,
    explain_no_cgroups,
    find_cgroup_parents,
    is_stale,
    name_host_folder,
)


@pytest.fixture
def machine(tmp_path):
    """Write what a machine says of its groups; mounts are named by their folder below `fs`."""
    fs, proc = tmp_path / "fs", tmp_path / "proc"
    proc.mkdir()

    def write(groups, mounts):
        (proc / "cgroup").write_text("".join(f"{line}\n" for line in groups))
        lines = [
            f"31 23 0:28 {root} {fs / name} rw,relatime shared:9 - {kind} {kind} {options}\n"
            for name, root, kind, options in mounts
        ]
        (proc / "mountinfo").write_text("21 1 8:1 / / rw - ext4 /dev/root rw\n" + "".join(lines))
        return proc

    write.fs = fs
    return write


def make_group(folder, **files):
    """Make a group of version 2 with the content of some of its files."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cgroup.procs").write_text("")
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


MOUNTS_1 = [("memory", "/", "cgroup", "rw,memory"), ("pids", "/", "cgroup", "rw,pids")]


def test_version_1_has_a_folder_for_each_controller_below_the_own_group(machine):
    (machine.fs / "memory/jobs/7").mkdir(parents=True)
    (machine.fs / "pids").mkdir()
    proc = machine(["4:memory:/jobs/7", "3:pids:/", "1:cpu,cpuacct:/jobs", "0::/"], MOUNTS_1)
    found = _locate_parents(proc)
    assert found == CgroupParents(1, machine.fs / "memory/jobs/7", machine.fs / "pids")


def test_in_a_container_the_mounted_group_is_the_top(machine):
    for name in ("memory", "pids"):
        (machine.fs / name / "inner").mkdir(parents=True)
    mounts = [(name, "/docker/1f", "cgroup", f"rw,{name}") for name in ("memory", "pids")]
    proc = machine(["4:memory:/docker/1f/inner", "3:pids:/docker/1f"], mounts)
    found = _locate_parents(proc)
    assert found == CgroupParents(1, machine.fs / "memory/inner", machine.fs / "pids")


def test_a_group_that_is_not_mounted_cannot_be_used(machine):
    machine.fs.mkdir()
    proc = machine(["4:memory:/elsewhere", "3:pids:/elsewhere"], MOUNTS_1)
    with pytest.raises(NoCgroupsError, match="the group /elsewhere of this process is not mounted"):
        _locate_parents(proc)


def test_version_2_without_the_controllers_gives_way_to_version_1(machine):
    for name in ("memory", "pids"):
        (machine.fs / name).mkdir(parents=True)
    make_group(machine.fs / "unified", cgroup__controllers="hugetlb\n")
    mounts = [("unified", "/", "cgroup2", "rw"), *MOUNTS_1]
    assert _locate_parents(machine(["4:memory:/", "3:pids:/", "0::/"], mounts)).version == 1


def version_2(machine, **own_files):
    """Return the folders of a user's session: the top, the slice that is delegated, and the own group."""
    top, own = machine.fs / "v2", machine.fs / "v2/user/app.slice/term.scope"
    both = "cpu memory pids\n"
    make_group(top, cgroup__controllers=both, cgroup__subtree_control=both)
    make_group(top / "user", cgroup__subtree_control=both, memory__max="max\n")
    make_group(top / "user/app.slice", cgroup__subtree_control="memory pids\n", memory__max="max\n")
    make_group(own, cgroup__controllers=both, cgroup__subtree_control="", **own_files)
    return machine(["0::/user/app.slice/term.scope"], [("v2", "/", "cgroup2", "rw")]), own.parent


def test_version_2_uses_the_nearest_folder_that_has_both_controllers(machine):
    proc, expected = version_2(machine, memory__max="max\n", memory__high="max\n")
    assert _locate_parents(proc) == CgroupParents(2, expected, expected)


def test_version_2_does_not_leave_a_group_that_has_a_limit_of_memory(machine):
    proc, _ = version_2(machine, memory__max="1073741824\n")
    with pytest.raises(NoCgroupsError) as refused:
        _locate_parents(proc)
    own = machine.fs / "v2/user/app.slice/term.scope"
    assert str(refused.value) == (
        f"no group with both controllers around {own} is delegated to this user"
    )


def test_no_groups_at_all(machine):
    with pytest.raises(NoCgroupsError, match="the controllers memory and pids are not mounted"):
        _locate_parents(machine(["0::/"], []))


def test_a_folder_is_stale_when_its_process_has_ended():
    assert not is_stale(name_host_folder())
    assert not is_stale(f"{name_host_folder()}-17")
    namespace, pid, start = name_host_folder().split("-")[1:]
    assert is_stale(f"kinfolk-{namespace}-{pid}-{int(start) + 1}-17"), "another process had its id"
    assert not is_stale(f"kinfolk-1{namespace}-{pid}-1"), "of another namespace nothing is known"
    assert not is_stale("kinfolk-x-1-2")
    ended = subprocess.Popen(
        [sys.executable, "-c", "from kinfolk.isolation.cgroups.hierarchy import name_host_folder\n"
         "print(name_host_folder())"], stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert is_stale(ended.communicate()[0].strip())


def test_an_ordinary_user_without_delegation_is_told_why_there_are_none(as_ordinary_user):
    if os.getuid() != 0 or find_cgroup_parents() is None:
        pytest.skip("an ordinary user's groups depend on the machine")
    script = (
        "from kinfolk.isolation.cgroups.hierarchy import *\n"
        "from kinfolk.isolation.sandbox.support import describe_resource_limits\n"
        "assert find_cgroup_parents() is None\n"
        "print(describe_resource_limits(200))"
    )
    command = as_ordinary_user([sys.executable, "-c", script])
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    said = subprocess.run(command, capture_output=True, text=True, env=env, cwd="/")
    assert said.stdout.startswith(
        "200 MB for each worker, by the kernel's limit of data and a look every 20 to 50 ms "
        "(no control groups: this user may not make groups in "
    ), said.stderr
    assert explain_no_cgroups() == ""
