"""A host that is killed while its sandbox starts leaves no process of bubblewrap."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kinfolk.isolation.forkserver import _kill_with_children
from kinfolk.isolation.sandbox.bubblewrap import explain_unusable

STARTS_AND_DIES = """
import os, signal, sys
from pathlib import Path
from kinfolk.isolation.forkserver import ForkServerClient
from kinfolk.isolation.sandbox.policy_files import PolicyFiles

class Killed(ForkServerClient):
    def _spawn(self, *arguments):
        super()._spawn(*arguments)
        os.closerange(3, 256)  # at once; the end of a process takes its time
        os.kill(os.getpid(), signal.SIGKILL)

Killed(PolicyFiles((Path(sys.argv[1]),)))._start()
"""


def processes_that_name(folder):
    """Ids of the processes with a folder in their command line."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if os.fsencode(folder) in (process / "cmdline").read_bytes():
                found.append(int(process.name))
        except OSError:
            continue  # it has just ended
    return found


@pytest.mark.skipif(explain_unusable() != "", reason=explain_unusable() or "it works")
def test_a_host_killed_while_its_sandbox_starts_leaves_no_process(tmp_path):
    (tmp_path / "mine.py").write_text("")
    for _ in range(3):
        command = [sys.executable, "-c", STARTS_AND_DIES, str(tmp_path)]
        assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
        end = time.monotonic() + 30.0
        while processes_that_name(tmp_path) and time.monotonic() < end:
            time.sleep(0.05)
        left = processes_that_name(tmp_path)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        assert left == []


def test_a_process_is_killed_with_its_children(tmp_path):
    script = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(600)', sys.argv[1]])"
    process = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)])
    end = time.monotonic() + 30.0
    while len(processes_that_name(tmp_path)) < 2 and time.monotonic() < end:
        time.sleep(0.02)
    assert len(processes_that_name(tmp_path)) == 2
    _kill_with_children(process.pid)
    assert process.wait() == -signal.SIGKILL
    while processes_that_name(tmp_path) and time.monotonic() < end:
        time.sleep(0.02)
    assert processes_that_name(tmp_path) == []
