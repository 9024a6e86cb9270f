"""The committed page is built from the sources in viewer-page."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "viewer-page"
PAGE = ROOT / "src" / "kinfolk" / "viewer" / "page"

pytestmark = pytest.mark.xdist_group("viewer")


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """Copy the sources with their dependencies to a temporary folder."""
    if shutil.which("npm") is None:
        pytest.skip("Node.js is not installed, so the page cannot be built.")
    folder = tmp_path_factory.mktemp("page") / "viewer-page"
    shutil.copytree(SOURCES, folder, ignore=shutil.ignore_patterns("node_modules"))
    if (SOURCES / "node_modules").is_dir():
        (folder / "node_modules").symlink_to(SOURCES / "node_modules")
        return folder
    process = run(folder, "npm", "ci", "--prefer-offline", "--ignore-scripts")
    if process.returncode:
        if os.environ.get("KINFOLK_NEED_BROWSER"):
            pytest.fail(process.stderr)
        pytest.skip("The registry of npm cannot be reached, so the page cannot be built.")
    return folder


def run(folder, *command):
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_the_committed_page_is_built_from_its_sources(sources, tmp_path):
    process = run(sources, "node", "build.mjs", str(tmp_path))
    assert process.returncode == 0, process.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["app.css", "app.js", "index.html"]
    for built in tmp_path.iterdir():
        same = built.read_bytes() == (PAGE / built.name).read_bytes()
        assert same, f"{built.name} is not built from viewer-page; run `npm run build` there"


def test_the_sources_pass_the_type_check(sources):
    process = run(sources, "npm", "run", "--silent", "check")
    assert process.returncode == 0, process.stdout


FORMAT_TICKS = """
const { outputFiles } = require("esbuild").buildSync(
  { entryPoints: ["src/dom.ts"], bundle: true, format: "cjs", write: false });
const module_ = { exports: {} };
new Function("module", "exports", outputFiles[0].text)(module_, module_.exports);
console.log(JSON.stringify(TICKS.map(module_.exports.formatTicks)));
"""


def test_the_numbers_of_an_axis_can_be_told_apart(sources):
    ticks = [[1.7905, 1.791, 1.7915], [0, 0.00002, 0.00004], [0, 0.25, 0.5], [1000, 2500], [3]]
    process = run(sources, "node", "-e", FORMAT_TICKS.replace("TICKS", json.dumps(ticks)))
    assert process.returncode == 0, process.stderr
    assert json.loads(process.stdout) == [
        ["1.7905", "1.791", "1.7915"], ["0", "2e-5", "4e-5"], ["0", "0.25", "0.5"],
        ["1,000", "2,500"], ["3"],
    ]  # fmt: skip


def test_the_page_loads_nothing_from_other_hosts():
    """The only addresses are XML namespaces and those in the licences of bundled libraries."""
    text = "".join((PAGE / name).read_text() for name in ("index.html", "app.js", "app.css"))
    hosts = set(re.findall(r"https?://([\w.-]+)", text))
    assert hosts <= {"www.w3.org", "github.com"}
    lock = (SOURCES / "package-lock.json").read_text()
    assert "resolved" not in lock


def test_the_bundle_contains_the_licences_of_its_libraries():
    text = (PAGE / "app.js").read_text()
    assert "Leon Sorokin" in text
    assert "Mike Bostock" in text
