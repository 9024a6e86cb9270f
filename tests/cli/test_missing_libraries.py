"""A library that is not installed: a sentence with the command that installs it, and exit code 2.

What the base promises works without any of them.
"""

import json
import subprocess
import sys

import pytest

# On one worker, or each would run all commands.
pytestmark = [pytest.mark.xdist_group("missing libraries"), pytest.mark.more]
# Commands, and the library without which each cannot do its work. They run one after the other in
# one process: first the base without any of these libraries, then each command without its own.
COMMANDS = {
    "train --world probe --steps 64": ("A neural policy needs", "torch", "pip install 'kinfolk[train]'"),
    "train --wandb mine": ("--wandb needs", "wandb", "pip install wandb"),
    "train --tensorboard": ("--tensorboard needs", "tensorboard", "pip install tensorboard"),
    "bench train": ("A neural policy needs", "torch", "pip install 'kinfolk[train]'"),
    "eval --engine ray": ("The engine ray needs", "ray", "pip install 'kinfolk[ray]'"),
    "compare kin://noop kin://noop --map grazer=candidate --map hunter=candidate --engine ray":
        ("The engine ray needs", "ray", "pip install 'kinfolk[ray]'"),
    "view --root .": ("The viewer needs", "starlette", "pip install 'kinfolk[viewer]'"),
    "export gif kept": ("A gif needs", "PIL", "pip install 'kinfolk[plots]'"),
    "export metrics kept --format parquet --out x.parquet":
        ("Parquet needs", "pyarrow", "pip install 'kinfolk[parquet]'"),
    "eval --slot all=kin://mlp":
        ("A neural policy needs", "torch", "pip install 'kinfolk[train]'"),
    "-q evolve nets --imitate kin://cartpole --generations 1 --population 4":
        ("Imitation by feedforward or recurrent nets needs", "torch", "pip install 'kinfolk[train]'"),
    "-q evolve nets --algorithm lm-ma":
        ("The strategy lm-ma needs", "ribs", "pip install 'kinfolk[qd]'"),
    "-q evolve nets --archive steps=0..500":
        ("A MAP-Elites archive needs", "ribs", "pip install 'kinfolk[qd]'"),
}  # fmt: skip
BASE = (
    "eval --slot all=kin://random --episodes 2",
    "compare kin://noop kin://random --map grazer=candidate --map hunter=candidate --episodes 2",
    "evolve nets --generations 2 --population 4 --held-out-episodes 2",
    "evolve nets --generations 2 --population 4 --held-out-episodes 2 --net recurrent --inherit env,mem,fit --steps 50",
    "evolve nets --generations 2 --population 4 --held-out-episodes 2 --net dynamic",
    "evolve nets --generations 2 --population 4 --held-out-episodes 2 --algorithm sep-cma",
    "doctor",
)
SCRIPT = """
import contextlib, io, json, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in LIBRARIES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

commands = json.loads(sys.argv[1])
LIBRARIES = set()
from kinfolk.cli.app import main

def run(words, missing=()):
    LIBRARIES.clear()
    LIBRARIES.update(missing)
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(words)
        except SystemExit as left:
            return left.code, out.getvalue(), err.getvalue()

assert run("eval --slot all=kin://noop --episodes 1 --out kept".split())[0] == 0
sys.meta_path.insert(0, Absent())
print(json.dumps({command: run(command.split(), missing) for command, missing in commands}))
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    every = sorted({library for _, library, _ in COMMANDS.values()} | {"pandas", "sklearn"})
    missing = [(command, [library]) for command, (_, library, _) in COMMANDS.items()]
    missing.sort(key=lambda command: command[1] != ["torch"])  # once imported, it stays
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps([*((c, every) for c in BASE), *missing])],
        cwd=tmp_path_factory.mktemp("absent"), capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# Without torch these end before they come to the library of their own.
AFTER_TORCH = ("train --wandb mine", "train --tensorboard")


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(command, marks=pytest.mark.train if command in AFTER_TORCH else ())
        for command in COMMANDS
    ],
)
def test_a_missing_library_is_named_with_the_command_that_installs_it(answers, command):
    who, library, install = COMMANDS[command]
    code, out, err = answers[command]
    assert (code, out) == (2, "")
    # A benchmark has said before that it takes a minute.
    assert (
        err.removeprefix("Measuring train; this takes a minute or two.\n")
        == f"{who} the library {library}, which is not installed: {install}\n"
    )


@pytest.mark.parametrize("command", BASE)
def test_the_base_needs_none_of_them(answers, command):
    code, out, err = answers[command]
    assert (code, bool(out)) == (0, True), err


def test_kernels_are_compiled_without_torch():
    # What `kinfolk compile` runs in each of its processes.
    script = (
        "import sys; sys.modules['torch'] = None\n"
        "from kinfolk.cli.compile import _compile_world\n"
        "_compile_world('probe')"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
