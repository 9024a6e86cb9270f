"""A library that is not installed: a sentence with the command that installs it, and exit code 2."""

import json
import subprocess
import sys

import pytest

# Commands, and the library without which each cannot do its work. They run one after the other in
# one process in which none of these libraries can be imported.
COMMANDS = {
    "train --world probe --steps 64": ("kinfolk train needs", "torch", "pip install torch"),
    "train --wandb mine": ("--wandb needs", "wandb", "pip install wandb"),
    "train --tensorboard": ("--tensorboard needs", "tensorboard", "pip install tensorboard"),
    "bench train": ("kinfolk bench needs", "torch", "pip install torch"),
    "eval --engine ray": ("The engine ray needs", "ray", "pip install 'kinfolk[ray]'"),
    "compare kin://noop kin://noop --map grazer=candidate --map hunter=candidate --engine ray":
        ("The engine ray needs", "ray", "pip install 'kinfolk[ray]'"),
    "view --root .": ("The viewer needs", "starlette", "pip install 'kinfolk[viewer]'"),
    "export gif kept": ("A gif needs", "PIL", "pip install 'kinfolk[pictures]'"),
    "export metrics kept --format parquet --out x.parquet":
        ("Parquet needs", "pyarrow", "pip install 'kinfolk[parquet]'"),
    "eval --world gym:CartPole-v1":
        ("'kinfolk.worlds.gymnasium_task.world:GymWorld' needs", "gymnasium", "pip install gymnasium"),
    "eval --slot all=kin://mlp":
        ("'kinfolk.policies.neural.policy:MlpPolicy' needs", "torch", "pip install torch"),
}  # fmt: skip
SCRIPT = """
import contextlib, io, json, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in LIBRARIES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

commands = json.loads(sys.argv[1])
LIBRARIES = set(json.loads(sys.argv[2]))
from kinfolk.cli.app import main

def run(words):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(words)
        except SystemExit as left:
            return left.code, out.getvalue(), err.getvalue()

assert run("eval --slot all=kin://noop --episodes 1 --out kept".split())[0] == 0
sys.meta_path.insert(0, Absent())
print(json.dumps({command: run(command.split()) for command in commands}))
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    libraries = sorted({library for _, library, _ in COMMANDS.values()})
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(list(COMMANDS)), json.dumps(libraries)],
        cwd=tmp_path_factory.mktemp("absent"), capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_missing_library_is_named_with_the_command_that_installs_it(answers, command):
    who, library, install = COMMANDS[command]
    code, out, err = answers[command]
    assert (code, out) == (2, "")
    # A benchmark has said before that it takes a minute.
    assert (
        err.removeprefix("Measuring train; this takes a minute or two.\n")
        == f"{who} the library {library}, which is not installed: {install}\n"
    )
