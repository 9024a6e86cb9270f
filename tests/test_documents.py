"""Tests that the Python code in the documents runs and that ARCHITECTURE lists every package."""

import re
import shlex
from pathlib import Path

import pytest

from kinfolk.cli.app import main

ROOT = Path(__file__).resolve().parent.parent
PYTHON_BLOCK = re.compile(r"```python\n(.*?)```", re.S)


# Pages whose code other tests run: below, in tests/training/test_page.py and in tests/test_notebooks.py.
ELSEWHERE = ("docs/studies.md", "docs/training.md", "docs/first_training.md", "docs/tutorials/")
PAGES = [
    page.relative_to(ROOT).as_posix()
    for page in sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
    if PYTHON_BLOCK.search(page.read_text())
    and not page.relative_to(ROOT).as_posix().startswith(ELSEWHERE)
]


LONGER = {"docs/coming_from/rllib_pettingzoo.md": pytest.mark.more}  # it trains


@pytest.mark.parametrize("page", [pytest.param(page, marks=LONGER.get(page, ())) for page in PAGES])
def test_python_code_in_the_page_runs(page, tmp_path, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    blocks = PYTHON_BLOCK.findall((ROOT / page).read_text())
    if any("register_loss" in block for block in blocks):  # which needs torch
        request.getfixturevalue("registered_losses")
    names = {"__name__": "example"}  # a later block may use what an earlier one defines
    for block in blocks:
        exec(compile(block, page, "exec"), names)


def test_the_plan_of_a_study_in_its_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "studies.md").read_text()
    [block] = [block for block in PYTHON_BLOCK.findall(page) if "kf.study(" in block]
    exec(compile(block, "studies.md", "exec"), {"__name__": "example"})
    assert (tmp_path / "runs" / "growth" / "report.html").exists()


@pytest.mark.more
@pytest.mark.timeout(1200)
def test_the_students_question_has_the_same_answer_as_a_command_and_in_python(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "studies.md").read_text()
    [block] = [block for block in PYTHON_BLOCK.findall(page) if "kf.sweep(" in block]
    lines = [line for line in block.splitlines() if line and not line.startswith("import")]
    assert len(lines) == 6, "five lines, and one that saves"
    exec(compile(block, "studies.md", "exec"), {"__name__": "example"})
    command = re.search(r"```sh\n(kinfolk sweep eval .*?)```", page, re.S)[1].replace("\\\n", " ")
    with pytest.raises(SystemExit) as left:
        main([*shlex.split(command)[1:], "--out", "run"])
    assert left.value.code == 0
    assert (tmp_path / "run" / "table.csv").read_bytes() == (tmp_path / "margin.csv").read_bytes()
    assert (tmp_path / "run" / "figure.svg").exists()
    table = re.search(r"```text\n(.*?)```", page, re.S)[1]
    assert table.split() == capsys.readouterr().out.split()[: len(table.split())]


def test_the_architecture_lists_every_package_of_the_source():
    text = (ROOT / "ARCHITECTURE.md").read_text()
    for folder in sorted((ROOT / "src" / "kinfolk").iterdir()):
        if folder.is_dir() and (folder / "__init__.py").exists():
            assert f"`{folder.name}`" in text, f"ARCHITECTURE.md does not mention {folder.name}"
