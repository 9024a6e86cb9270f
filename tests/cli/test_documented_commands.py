"""Every command line in the documents names a command and flags that exist."""

import re
import shlex
from pathlib import Path

import pytest
import typer

from kinfolk.cli.app import app
from kinfolk.cli.hints import _list_options, find_command

pytest.importorskip("torch", reason="`kinfolk train --help` needs torch")

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```(?:sh|console|)\n(.*?)^```", re.S | re.M)
INLINE = re.compile(r"`(kinfolk [^`]+)`")
GLOBAL = {"--help", "--quiet", "-q", "--debug", "--version", "--install-completion"}
COMMANDS = typer.main.get_command(app)


def command_lines(text):
    """Return the command lines of a page's blocks, each with its continuations, and of its sentences."""
    lines = []
    for block in BLOCK.findall(text):
        joined = block.replace("\\\n", " ")
        lines += [line for line in joined.splitlines() if line.startswith("kinfolk ")]
    rest = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    return lines + [" ".join(line.split()) for line in INLINE.findall(rest)]


def find_fault(line):
    """Return what is wrong with a command line; None if its command and its flags exist."""
    words = shlex.split(line, comments=True)[1:]
    path, command = find_command(COMMANDS, words)
    rest = words[len(path) :]
    if hasattr(command, "commands"):  # `kinfolk sweep`, `kinfolk eval|train`, `kinfolk COMMAND`
        is_pattern = not rest or rest[0] in GLOBAL or rest[0].isupper() or "|" in rest[0]
        return None if is_pattern else f"There is no command {' '.join([*path, rest[0]])}."
    flags = {word.partition("=")[0] for word in rest if re.match(r"--?[a-z]", word)}
    unknown = flags - _list_options(command) - GLOBAL
    return f"kinfolk {' '.join(path)} has no {sorted(unknown)}." if unknown else None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_command_lines_of_a_page_can_be_parsed(page):
    text = page.read_text()
    if page.name == "CHANGELOG.md":  # names commands of earlier versions too
        text = ""
    faults = {line: find_fault(line) for line in command_lines(text)}
    assert {line: fault for line, fault in faults.items() if fault} == {}


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("kinfolk eval --world savanna --episods 3", "kinfolk eval has no ['--episods']."),
        ("kinfolk evaluate savanna", "There is no command evaluate."),
        ("kinfolk evolve role", "There is no command evolve role."),
        ("kinfolk eval --world W --slot all=URI   # a comment with --nothing", None),
        ("kinfolk new policy|world NAME", None),
    ],
)
def test_the_check_finds_what_is_wrong(line, fault):
    assert find_fault(line) == fault


def test_command_lines_are_found_in_blocks_and_sentences():
    text = "Use `kinfolk runs`.\n```sh\nkinfolk eval \\\n    --seed 3\n```\n"
    assert command_lines(text) == ["kinfolk eval      --seed 3", "kinfolk runs"]
