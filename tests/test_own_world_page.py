"""The world, the policy and the contract tests of docs/own_world.md work as a reader saves them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parent.parent / "docs" / "own_world.md"
FILES = ("tag.py", "cats.py", "play.py", "test_tag.py")


@pytest.mark.more
def test_the_files_of_the_page_play_and_pass_their_contract_tests(tmp_path):
    blocks = re.findall(r"```(?:python|py)\n(.*?)```", PAGE.read_text(), re.S)
    for name, block in zip(FILES, blocks, strict=True):
        (tmp_path / name).write_text(
            block if name != "play.py" else f"import kinfolk as kf\n{block}"
        )
    played = subprocess.run(
        [sys.executable, "play.py"], cwd=tmp_path, capture_output=True, text=True
    )
    sentence = (
        r"class:cats:Cat is higher in caught than kin://random: by .*, 50 common episodes\.\n"
    )
    assert re.fullmatch(sentence, played.stdout), played.stderr
    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "test_tag.py"],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert re.search(r"^33 passed in ", tested.stdout, re.M), tested.stdout
