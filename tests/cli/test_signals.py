"""Commands that are told to end: nothing stays behind, what is done is kept, one message is said."""

import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import pytest

from kinfolk.cli.run_lifecycle import interrupt_on_signals
from kinfolk.testing.inspection import children_of, wait_for_exit

KINFOLK = [sys.executable, "-m", "kinfolk"]
CODES = {"SIGINT": 130, "SIGTERM": 143, "SIGHUP": 129}
LAST_WORDS = {"SIGINT": "Interrupted.", "SIGTERM": "Terminated.", "SIGHUP": "Hung up."}
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")


def descendants(pid):
    found = children_of(pid)
    return found + [grandchild for child in found for grandchild in descendants(child)]


def shared_memory_of(pids):
    """Names of shared memory and semaphores that these processes have mapped."""
    found = set()
    for pid in pids:
        with suppress(OSError):
            maps = Path(f"/proc/{pid}/maps").read_text()
            found |= set(re.findall(r"/dev/shm/\S+", maps))
    return found


@pytest.fixture
def scratch():
    """Where temporary files go: with a short path, because sockets lie there."""
    folder = tempfile.mkdtemp(prefix="t-")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def left_in(scratch):
    """What lies there, but for the cache of torch, which is no run's."""
    return [name for name in os.listdir(scratch) if not name.startswith("torchinductor")]


def settings_of(scratch):
    env = {**os.environ, "TMPDIR": scratch, "RAY_USAGE_STATS_ENABLED": "0"}
    env.pop("RAY_ADDRESS", None)
    return env


def check_end(tmp_path, scratch, name, words, begun, more_lines=r"Episodes: .*"):
    """Start a command, send it a signal once it has begun, and look at what is left."""
    running = subprocess.Popen(
        [*KINFOLK, *words, "--out", "my run"], cwd=tmp_path, env=settings_of(scratch), start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        # A shell that starts us in the background has us ignore SIGINT, and nohup SIGHUP.
        preexec_fn=lambda: [signal.signal(signal.Signals[each], signal.SIG_DFL) for each in CODES],
    )  # fmt: skip
    end = time.monotonic() + 180
    while not list((tmp_path / "my run").glob(begun)) and time.monotonic() < end:
        time.sleep(0.02)
    started = descendants(running.pid)
    shared = shared_memory_of([running.pid, *started])
    running.send_signal(signal.Signals[name])
    out, err = running.communicate(timeout=200)
    assert out == ""
    *others, stopped, last = err.splitlines()
    assert [line for line in others if not re.fullmatch(more_lines, line)] == []
    resume = " ".join(word for word in words[:2] if not word.startswith("-"))
    assert stopped == f"Stopped; resume with: kinfolk {resume} --resume 'my run'"
    assert last == LAST_WORDS[name]
    assert running.returncode == CODES[name]
    assert wait_for_exit(30, started)
    assert left_in(scratch) == []
    assert [name for name in shared if os.path.exists(name)] == []
    assert "leaked" not in err
    assert list((tmp_path / "my run").glob(begun)), "what was played is kept"
    return shared


def evaluation(engine, episodes=4000):
    return [
        *("eval", "--slot", "all=kin://probe-python", "--episodes", str(episodes)),
        *(
            "--engine",
            engine,
            "--isolate",
            "agent",
            "--sandbox",
            "--set",
            "rows=8",
            "--set",
            "max_ticks=60",
        ),
    ]


EVALUATING = (
    r"Episodes: .*|Sandbox: .*|Limits: .*|Token authentication is enabled for this Ray cluster.*"
)


@pytest.mark.parametrize("name", [
    "SIGTERM", pytest.param("SIGINT", marks=pytest.mark.more),
    pytest.param("SIGHUP", marks=pytest.mark.more),
])  # fmt: skip
@pytest.mark.parametrize("engine", [
    "processes", pytest.param("local", marks=pytest.mark.more),
    pytest.param("ray", marks=[pytest.mark.more, pytest.mark.xdist_group("ray")]),
])  # fmt: skip
def test_an_evaluation_that_is_told_to_end_leaves_nothing(tmp_path, scratch, engine, name):
    check_end(tmp_path, scratch, name, evaluation(engine), "checkpoints/*", EVALUATING)


@pytest.mark.more
@pytest.mark.train
@pytest.mark.parametrize("name", list(CODES))
def test_values_shared_with_workers_go_too(tmp_path, scratch, name):
    words = ["train", "--world", "probe", "--engine", "processes", "--jobs", "2"]
    assert check_end(tmp_path, scratch, name, words, "checkpoints/*", r".*"), "some were shared"


@pytest.mark.more
@pytest.mark.parametrize("engine", [
    "local", "processes", pytest.param("ray", marks=pytest.mark.xdist_group("ray")),
])  # fmt: skip
@pytest.mark.parametrize("loses_a_worker", [False, True])
def test_no_scratch_folder_stays_behind(tmp_path, scratch, engine, loses_a_worker):
    running = subprocess.Popen(
        [*KINFOLK, *evaluation(engine, 200), "--out", "my run"], cwd=tmp_path,
        env=settings_of(scratch), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    end = time.monotonic() + 180
    while not list((tmp_path / "my run").glob("checkpoints/*")) and time.monotonic() < end:
        time.sleep(0.02)
    hosts = [pid for pid in descendants(running.pid) if runs_policies(pid)]
    assert (engine == "local") == (not hosts)
    if loses_a_worker and hosts:
        os.kill(hosts[0], signal.SIGKILL)
    _, err = running.communicate(timeout=200)
    assert running.returncode == 0, err
    assert left_in(scratch) == []


def runs_policies(pid):
    """Whether a worker has started a process for policies."""

    def starts_policies(one):  # those that it forks have its command line
        try:
            return b"forkserver_main" in Path(f"/proc/{one}/cmdline").read_bytes()
        except OSError:
            return False

    return not starts_policies(pid) and any(map(starts_policies, children_of(pid)))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_within_a_callback_of_the_compiler_is_not_lost(number):
    def interrupt():
        os.kill(os.getpid(), number)
        time.sleep(1)  # the handler raises here, and Python drops the exception of a callback

    def wait():
        ctypes.CFUNCTYPE(None)(interrupt)()
        time.sleep(30)

    # The tests may run under `nohup` or in the background, where signals are ignored.
    default = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
    before = signal.signal(number, default)
    try:
        with interrupt_on_signals() as received, pytest.raises(KeyboardInterrupt):
            wait()
    finally:
        signal.signal(number, before)
    assert received.number == (None if number == signal.SIGINT else number)
