"""Named semaphores and shared memory of the process engine: gone after a kill, explained if full."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at /dev/shm")
HOST = """
import time
from kinfolk.engines.processes import ProcessEngine
engine = ProcessEngine(1)
shared = engine.share(b"x" * 1000)
print(next(engine.map(len, ["abc"])), flush=True)
time.sleep(60)
"""
NEXT = """
from kinfolk.core.temporary_folder import TemporaryFolder
TemporaryFolder("next-").remove()
"""


@pytest.fixture
def scratch():
    folder = Path(tempfile.mkdtemp(prefix="t-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def test_what_a_killed_group_leaves_is_removed_at_the_next_start(scratch):
    env = {**os.environ, "TMPDIR": str(scratch)}
    host = subprocess.Popen(
        [sys.executable, "-c", HOST],
        env=env, stdout=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    assert host.stdout.readline() == b"3\n"
    os.killpg(host.pid, signal.SIGKILL)
    host.wait()
    host.stdout.close()
    [folder] = scratch.glob("kin-*")
    left = [path for path in Path("/dev/shm").iterdir() if folder.name in path.name]
    assert len(left) == 6  # five semaphores of the pool, one shared value
    subprocess.run([sys.executable, "-c", NEXT], env=env, check=True)
    assert all(path.exists() for path in left), "a young folder may belong to a process that starts"
    hour_ago = time.time() - 3600
    os.utime(folder, (hour_ago, hour_ago))
    subprocess.run([sys.executable, "-c", NEXT], env=env, check=True)
    assert not any(path.exists() for path in left)


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")
@pytest.mark.parametrize("n_bytes", [0, 1000, 100_000])
def test_full_shared_memory_is_explained(scratch, n_bytes):
    script = (
        "from kinfolk.engines.processes import ProcessEngine\n"
        "from kinfolk.core.errors import EngineError\n"
        f"fill = open('/dev/shm/full', 'wb', buffering=0)\n"
        f"free = {n_bytes}\n"
        "try:\n"
        "    while fill.write(b'x' * 4096) == 4096: pass\n"
        "except OSError: pass\n"
        "fill.truncate(max(0, fill.tell() - free))\n"
        "engine = ProcessEngine(1)\n"
        "try:\n"
        "    engine.share(b'x' * 3_000_000)\n"
        "except EngineError as error: print(error)\n"
        "try:\n"
        "    print(list(engine.map(len, ['abc'])))\n"
        "except EngineError as error: print(error)\n"
        "engine.close()\n"
    )
    view = ["bwrap", "--dev-bind", "/", "/", "--size", "1000000", "--tmpfs", "/dev/shm"]
    done = subprocess.run(
        [*view, sys.executable, "-c", script],
        env={**os.environ, "TMPDIR": str(scratch)}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    sentence = (
        "Shared memory (/dev/shm) cannot be used: No space left on device. Free or enlarge it, or use "
        "--engine local."
    )
    assert first == sentence
    assert second == ("[3]" if n_bytes == 100_000 else sentence)
