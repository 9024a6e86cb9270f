import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kinfolk.testing.inspection import children_of, wait_for_exit


@pytest.mark.more
def test_the_kernels_of_a_world_and_of_every_policy_are_compiled(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "kinfolk", "compile", "--world", "probe"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(" kernels are compiled.\n")


def ignores_ctrl_c(pid):
    """Whether a process leaves Ctrl-C to its parent, which is where it binds its life to the parent's."""
    folder = Path(f"/proc/{pid}")
    ignored = int(re.search(r"SigIgn:\s*(\w+)", (folder / "status").read_text())[1], 16)
    is_worker = b"spawn_main" in (folder / "cmdline").read_bytes()
    return is_worker and bool(ignored >> signal.SIGINT - 1 & 1)


@pytest.mark.more
@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_processes_that_compile_end_with_a_command_that_was_killed(tmp_path):
    command = [sys.executable, "-m", "kinfolk", "compile", "--world", "probe"]
    env = {**os.environ, "KINFOLK_CACHE": str(tmp_path)}
    begun = subprocess.Popen(command, env=env, cwd=tmp_path, stderr=subprocess.DEVNULL)
    try:
        compiling = []
        while len(compiling) < 2:
            assert begun.poll() is None
            time.sleep(0.05)
            compiling = [pid for pid in children_of(begun.pid) if ignores_ctrl_c(pid)]
        time.sleep(0.5)
        for pid in compiling:
            os.kill(pid, signal.SIGSTOP)  # so that it cannot end by itself
    finally:
        begun.kill()
        begun.wait()
    assert wait_for_exit(60, compiling)
