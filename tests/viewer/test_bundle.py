"""The page in the package is what its sources make."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "viewer-page"
PAGE = ROOT / "src" / "kinfolk" / "viewer" / "page"

pytestmark = pytest.mark.xdist_group("viewer")


@pytest.fixture(scope="module")
def workshop(tmp_path_factory):
    """The sources with what they are built with, apart from the repository."""
    if shutil.which("npm") is None:
        pytest.skip("Node.js is not installed, so the page cannot be built again.")
    folder = tmp_path_factory.mktemp("page") / "viewer-page"
    shutil.copytree(SOURCES, folder, ignore=shutil.ignore_patterns("node_modules"))
    if (SOURCES / "node_modules").is_dir():
        (folder / "node_modules").symlink_to(SOURCES / "node_modules")
        return folder
    done = run(folder, "npm", "ci", "--prefer-offline", "--ignore-scripts")
    if done.returncode:
        if os.environ.get("KINFOLK_NEED_BROWSER"):
            pytest.fail(done.stderr)
        pytest.skip("The registry of npm cannot be reached, so the page cannot be built again.")
    return folder


def run(folder, *words):
    return subprocess.run(words, cwd=folder, capture_output=True, text=True)


def test_the_committed_page_is_what_its_sources_make(workshop, tmp_path):
    done = run(workshop, "node", "build.mjs", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["app.css", "app.js", "index.html"]
    for built in tmp_path.iterdir():
        same = built.read_bytes() == (PAGE / built.name).read_bytes()
        assert same, f"{built.name} is not built from viewer-page; run `npm run build` there"


def test_the_sources_have_the_types_they_say(workshop):
    done = run(workshop, "npm", "run", "--silent", "check")
    assert done.returncode == 0, done.stdout


def test_the_page_calls_nobody(tmp_path):
    """No address but those of names that XML needs and of the licences that are told of."""
    text = "".join((PAGE / name).read_text() for name in ("index.html", "app.js", "app.css"))
    import re

    hosts = set(re.findall(r"https?://([\w.-]+)", text))
    assert hosts <= {"www.w3.org", "github.com"}
    lock = (SOURCES / "package-lock.json").read_text()
    assert "resolved" not in lock


def test_the_licences_of_what_is_bundled_go_with_it():
    text = (PAGE / "app.js").read_text()
    assert "Leon Sorokin" in text
    assert "Mike Bostock" in text
