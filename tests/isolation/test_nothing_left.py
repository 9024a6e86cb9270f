"""Nothing is left on the machine: after hundreds of mixed episodes, and after the host was killed.

The matches run in processes of their own, whose orphans this process adopts, so that none is missed.
"""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

ATTACKS_FOLDER = Path(__file__).parent / "attacks"
sys.path.append(str(ATTACKS_FOLDER))

from leftovers import (  # noqa: E402
    adopt_orphans,
    cgroups_of,
    descendants,
    end_processes,
    system_state,
)

from kinfolk.core.temporary_folder import remove_tree  # noqa: E402
from kinfolk.isolation.cgroups.hierarchy import explain_no_cgroups  # noqa: E402

N_EPISODES, N_KILLS = 300, 30
SECONDS_TO_END = 60.0  # for the processes of a killed host
USERS = ("root", "user")

pytestmark = [
    pytest.mark.more,
    pytest.mark.xdist_group("nothing-left"),
    pytest.mark.skipif(sys.platform != "linux", reason="the sandbox needs Linux"),
]


@pytest.fixture
def host(request, as_ordinary_user):
    """How to start a host that plays mixed episodes, in a folder of its own."""
    user = request.param
    if user == "root" and os.getuid() != 0:
        pytest.skip("only root can play as root")
    adopt_orphans()
    import ordinary_user

    import kinfolk

    folder = Path(tempfile.mkdtemp(prefix="kinfolk-left-", dir="/tmp"))
    temporary = folder / "tmp"
    temporary.mkdir()
    if user == "user" and os.getuid() == 0:
        for path in (folder, temporary):
            os.chown(path, ordinary_user.USER_ID, ordinary_user.USER_ID)
    mark = f"attack-left-{os.getpid()}"
    ipc_key = 0x6C000000 | os.getpid() & 0xFFFFFF
    environment = {
        **os.environ, "PYTHONPATH": str(Path(kinfolk.__file__).parents[1]), "NUMBA_DISABLE_JIT": "1",
        "HOME": str(folder), "KINFOLK_CACHE": str(folder / "cache"), "TMPDIR": str(temporary),
    }  # fmt: skip

    def start(n_episodes, seed):
        settings = {"n_episodes": n_episodes, "seed": seed, "mark": mark, "ipc_key": ipc_key}
        argv = [sys.executable, str(ATTACKS_FOLDER / "mixed_host.py"), json.dumps(settings)]
        command = as_ordinary_user(argv) if user == "user" else argv
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env=environment, cwd=folder
        )

    before, start.user = system_state([temporary], mark, ipc_key), user
    start.left = lambda: system_state([temporary], mark, ipc_key) - before
    yield start
    end_processes(start.spared)
    remove_tree(folder)


def wait_until_gone(spared):
    """Wait until all processes but the spared ones have ended; return those that have not."""
    deadline = time.monotonic() + SECONDS_TO_END
    while True:
        below = {pid: name for pid, name in descendants(os.getpid()).items() if pid not in spared}
        running = {pid: name for pid, name in below.items() if not name.startswith("Z")}
        if not running or time.monotonic() > deadline:
            return running
        time.sleep(0.05)


def reap(spared):
    """Collect the orphans that have ended, as the first process of a machine would."""
    for pid in descendants(os.getpid()):
        if pid not in spared:
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                continue


@pytest.mark.timeout(900)
@pytest.mark.parametrize("host", USERS, indirect=True)
def test_three_hundred_mixed_episodes_leave_nothing(host):
    host.spared = set(descendants(os.getpid()))
    process = host(N_EPISODES, seed=1)
    output, _ = process.communicate(timeout=800)
    summary = json.loads(output.splitlines()[-1])
    assert summary["episodes"] == N_EPISODES, "every episode has a result"
    assert summary["named"] == ["hostile"], "only the hostile slot failed"
    assert set(summary["causes"]) >= {"raised", "timeout", "exited"}
    assert summary["births"] > 0
    assert wait_until_gone(host.spared) == {}
    reap(host.spared)
    assert host.left() == set()
    assert cgroups_of({summary["pid"]}) == []


@pytest.mark.timeout(900)
@pytest.mark.parametrize("host", USERS, indirect=True)
def test_a_killed_host_leaves_nothing(host):
    host.spared = set(descendants(os.getpid()))
    draw = random.Random(7)
    n_while_playing, hosts, groups = 0, set(), set()
    for number in range(N_KILLS):
        process = host(10_000, seed=number)
        if number % 3:  # the others are killed while they start
            assert process.stdout.readline() == "playing\n"
            n_while_playing += 1
        time.sleep(draw.uniform(0.0, 1.0))
        for pid in find_hosts(process.pid):
            hosts.add(pid)
            groups |= set(cgroups_of({pid}))
            os.kill(pid, signal.SIGKILL)
        process.kill()
        process.stdout.close()
        process.wait()
        assert wait_until_gone(host.spared) == {}, f"after kill {number}"
        reap(host.spared)
    assert n_while_playing == N_KILLS * 2 // 3
    assert host.left() == set()
    if host.user == "root" and not explain_no_cgroups():
        assert len(groups) >= n_while_playing, "hosts had control groups when they were killed"
    assert cgroups_of(hosts) == []


def find_hosts(pid):
    """Return the process that plays: the one started, or its child behind a view for ordinary users."""
    hosts = []
    for candidate in [pid, *descendants(pid)]:
        try:
            command = Path(f"/proc/{candidate}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if any(word.endswith(b"mixed_host.py") for word in command[:2]):
            hosts.append(candidate)
    return hosts[:1]
