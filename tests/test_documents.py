"""Tests that the Python code in the documents runs and that README lists every package."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PYTHON_BLOCK = re.compile(r"```python\n(.*?)```", re.S)


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", "docs/roles.md", "docs/neuroevolution.md"]
)
def test_python_code_in_the_page_runs(page, tmp_path, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    blocks = PYTHON_BLOCK.findall((ROOT / page).read_text())
    assert blocks, f"{page} has no Python example"
    if any("register_loss" in block for block in blocks):  # which needs torch
        request.getfixturevalue("registered_losses")
    for block in blocks:
        exec(compile(block, page, "exec"), {"__name__": "example"})


def test_readme_lists_every_package_of_the_source():
    text = (ROOT / "README.md").read_text()
    for folder in sorted((ROOT / "src" / "kinfolk").iterdir()):
        if folder.is_dir() and (folder / "__init__.py").exists():
            assert f"`{folder.name}`" in text, f"README.md does not mention {folder.name}"
