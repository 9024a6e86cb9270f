"""`./kin`, as far as it says something before it installs."""

import os
import shutil
import subprocess

import pytest


@pytest.fixture
def kin(root, tmp_path):
    """How to run it in an empty folder: what it wrote to stderr, and its exit code."""
    shutil.copy(root / "kin", tmp_path)

    def run(*words, **variables):
        done = subprocess.run(
            ["sh", "kin", *words], cwd=tmp_path, env={**os.environ, **variables},
            capture_output=True, text=True,
        )  # fmt: skip
        assert done.stdout == ""
        return done.stderr, done.returncode

    return run


def test_a_python_that_is_not_there_is_named(kin, tmp_path):
    said, code = kin("run", KIN_PYTHON="python3.0")
    assert code == 1
    assert said.splitlines()[-1] == (
        "kinfolk needs Python 3.11 or newer with pip and venv; "
        "no python3.0 that runs is such a one."
    )
    assert [path.name for path in tmp_path.iterdir()] == ["kin"]


def test_an_unknown_command_is_answered_with_the_known_ones(kin):
    assert kin("start") == ("Usage: ./kin run [words] or ./kin test [words]\n", 2)
