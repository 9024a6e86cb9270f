import subprocess
import sys

import pytest


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
