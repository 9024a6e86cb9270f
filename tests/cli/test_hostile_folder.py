"""A working folder with files of strangers: nothing in it is imported unless the user names it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

KINFOLK = Path(sys.executable).with_name("kinfolk")
CODE = """
from pathlib import Path
Path(__file__).with_name("marker").write_text("imported")
from kinfolk.policies.base import NoopPolicy
class Policy(NoopPolicy): pass
def start(): pass
"""
# Libraries import what packages in `sys.path` declare under these names.
ENTRY_POINTS = "".join(
    f"[{group}]\n{name} = stranger_code:start\n"
    for group, name in [("numba_extensions", "init"), ("gymnasium.envs", "stranger"),
                        ("torch.backends", "stranger"), ("kinfolk.worlds", "stranger"),
                        ("kinfolk.policies", "stranger")]
)  # fmt: skip
SHORT = ["--set", "max_ticks=3", "--episodes", "1", "--out", "new"]


@pytest.fixture
def folder(tmp_path):
    """A folder as of an unpacked archive: a package that seems installed, and modules of libraries."""
    declared = tmp_path / "stranger-1.0.dist-info"
    declared.mkdir()
    (declared / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n")
    (declared / "entry_points.txt").write_text(ENTRY_POINTS)
    for name in ("stranger_code", "opt_einsum", "jax", "triton", "tensorboard", "orjson", "cupy"):
        (tmp_path / f"{name}.py").write_text(CODE)
    return tmp_path


def run(folder, *words):
    """Run a command in a folder; return its exit code, what it printed and whether it imported."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    made = subprocess.run([KINFOLK, *words], cwd=folder, env=env, capture_output=True, text=True)
    marker = folder / "marker"
    was_imported = marker.exists()
    marker.unlink(missing_ok=True)
    return made.returncode, made.stdout + made.stderr, was_imported


@pytest.mark.parametrize(
    "words",
    [["eval", *SHORT, "--slot", "all=kin://random"],
     ["eval", *SHORT, "--slot", "all=kin://random", "--isolate", "slot"],
     ["eval", *SHORT, "--slot", "all=kin://random", "--engine", "processes", "--jobs", "1"],
     ["eval", *SHORT, "--slot", "all=kin://mlp"],
     ["eval", "--world", "gym:CartPole-v1", "--episodes", "1", "--slot", "all=kin://cartpole"]],
    ids=["compiles", "isolated", "processes", "torch", "gymnasium"],
)  # fmt: skip
def test_nothing_of_the_working_folder_is_imported(folder, words):
    code, said, was_imported = run(folder, *words)
    assert (code, was_imported) == (0, False), said


def test_packages_of_the_working_folder_are_not_installed(folder):
    code, said, was_imported = run(folder, "worlds")
    assert (code, was_imported) == (0, False)
    assert "stranger" not in said


@pytest.mark.parametrize("options", [[], ["--isolate", "slot"], ["--engine", "processes"]])
@pytest.mark.parametrize("uri", ["class:stranger_code.Policy", "file:stranger_code.py:Policy"])
def test_what_the_user_names_is_imported_from_it(folder, uri, options):
    code, said, was_imported = run(folder, "eval", *SHORT, "--slot", f"all={uri}", *options)
    assert (code, was_imported) == (0, True), said
