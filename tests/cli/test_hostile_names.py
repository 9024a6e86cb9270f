"""Names that would control the terminal are escaped wherever a command prints them."""

import json
import shutil
from pathlib import Path

import pytest

from kinfolk.cli import output
from kinfolk.cli.app import main

# Erases the screen, sets the title, colours, and turns the reading direction round.
HOSTILE = "a\x1b[2J\x1b]0;owned\x07\x9b31m\u202eb\u2066[bold]"
EVALUATION = ["eval", "--set", "max_ticks=5", "--episodes", "2", "--slot", "all=kin://random"]


def run(capsys, *words):
    with pytest.raises(SystemExit) as left:
        main(list(words))
    said = capsys.readouterr()
    for text in (said.out, said.err):
        assert all(line.isprintable() for line in text.split("\n")), repr(text)
    return left.value.code, said.out + said.err


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["runs"],
        ["plot", f"runs/{HOSTILE}", "--out", f"{HOSTILE}.svg"],
        ["eval", "--resume", f"runs/{HOSTILE}"],
        ["rerun", f"runs/{HOSTILE}"],
        ["capsule", f"runs/{HOSTILE}", "--out", f"{HOSTILE}.zip"],
    ],
)
def test_a_run_of_a_hostile_name(capsys, words):
    code, said = run(capsys, *EVALUATION, "--out", f"runs/{HOSTILE}")
    assert code == 0
    if words:
        code, said = run(capsys, *words)
        assert code == 0
    assert "a\\x1b[2J" in said.replace("\n", "")


def test_policies_and_slots_of_hostile_names(capsys):
    name = json.dumps(HOSTILE)
    Path("cup.toml").write_text(
        f'world = "probe"\n[policies.grazer]\n{name} = "kin://noop"\nother = "kin://random"\n'
        f'[policies.hunter]\n{name} = "kin://random"\n'
    )
    words = ["--no-sandbox", "--isolate", "none", "--engine", "local", "--set", "max_ticks=5"]
    code, said = run(capsys, "tournament", "cup.toml", *words, "--out", "cup")
    assert code == 0
    assert "a\\x1b[2J" in said


def test_a_damaged_run_of_a_hostile_name(capsys):
    assert run(capsys, *EVALUATION, "--out", "runs/one")[0] == 0
    shutil.copytree("runs/one", f"runs/{HOSTILE}")
    Path(f"runs/{HOSTILE}/settings.json").write_text("{")
    code, said = run(capsys, "runs")
    assert code == 0
    assert "\\u202eb\\u2066[bold] is damaged." in said


def test_progress_on_a_terminal_shows_names_as_they_are(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with output.progress("Games", 2) as tell:
        tell(1, HOSTILE)
    said = capsys.readouterr().err
    assert "\u202e" not in said
    assert "\x1b]0;" not in said


def test_commands_print_by_echo_alone():
    folder = Path(output.__file__).parent
    files = [file for file in folder.rglob("*.py") if "templates" not in file.parts]
    found = {file.name for file in files if " print(" in file.read_text()}
    assert found == {"output.py"}
