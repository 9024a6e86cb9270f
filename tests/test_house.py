"""Rules of the house that no linter knows, checked over the sources."""

import ast
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src" / "kinfolk"
# Who may touch the disk, and why.
MAY_TOUCH_DISK = {
    "store/": "the only layer that does",
    "core/temporary_folder.py": "makes and removes temporary folders",
    "core/kernel_cache.py": "compiled kernels, which numba would write beside their sources",
    "testing/contracts/engine.py": "a task that dies once has to remember that it did",
    "testing/inspection.py": "looks at /proc",
    "replay/reader.py": "reads replays",
    "isolation/forkserver_main.py": "looks at /proc",
    "isolation/worker_main.py": "looks at /proc",
    "isolation/limits.py": "looks at /proc",
    "isolation/shared_buffers.py": "writes into memory by its descriptor",
    "isolation/sandbox/landlock.py": "names the folder that stays writable by a handle on it",
    "isolation/sandbox/namespaces.py": "writes the identity of a process into /proc",
    "isolation/cgroups/hierarchy.py": "looks for control groups, which are folders of the kernel",
    "isolation/cgroups/watcher.py": "removes control groups",
    "isolation/cgroups/worker_cgroups.py": "makes control groups and reads their counters",
    "isolation/sandbox/policy_files.py": "looks for imports in files that nothing may execute",
    "policies/policy_code.py": "looks at files of a stranger without following links",
    "cli/app.py": "gives stdout to the null device when its reader has gone",
}
CALLS = {"open", "io.open", "os.open", "os.mkdir", "os.makedirs", "os.remove", "os.unlink",
         "os.rename", "os.replace", "gzip.open", "sqlite3.connect", "np.save", "np.load",
         "np.savez", "np.loadtxt", "np.savetxt", "np.fromfile", "torch.save", "torch.load",
         "save_file", "load_file", "safe_open"}  # fmt: skip
METHODS = {"read_text", "read_bytes", "write_text", "write_bytes", "mkdir", "touch", "unlink",
           "rmdir", "rglob", "glob", "iterdir", "symlink_to", "tofile"}  # fmt: skip
MODULES = {"tempfile", "sqlite3", "glob", "fileinput"}


def disk_uses(source: str, name: str) -> list[str]:
    """Where a source touches the disk, as 'file:line what'."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            opened = method == "open" and called.split(".")[0] not in ("webbrowser",)
            if called.endswith("segment.unlink"):  # shared memory, not a file
                continue
            if called in CALLS or method in METHODS or opened:
                found.append(f"{name}:{node.lineno} {called}")
        elif isinstance(node, ast.Import | ast.ImportFrom):
            modules = {alias.name.split(".")[0] for alias in node.names}
            if isinstance(node, ast.ImportFrom):
                modules = {(node.module or "").split(".")[0]}
            found += [f"{name}:{node.lineno} import {m}" for m in sorted(modules & MODULES)]
    return found


def test_only_the_store_touches_the_disk():
    found = []
    for path in sorted(SOURCES.rglob("*.py")):
        name = path.relative_to(SOURCES).as_posix()
        if not name.startswith(tuple(MAY_TOUCH_DISK)):
            found += disk_uses(path.read_text(), name)
    assert found == [], "These belong into kinfolk.store: " + ", ".join(found)


@pytest.mark.parametrize(
    ("source", "where"),
    [
        ("def f():\n    return open('x')", ["a.py:2 open"]),
        ("Path('x').write_text('y')", ["a.py:1 Path('x').write_text"]),
        ("path.open('rb')", ["a.py:1 path.open"]),
        ("import tempfile", ["a.py:1 import tempfile"]),
        ("np.load('x.npy')", ["a.py:1 np.load"]),
        ("text = 'open the door'", []),
    ],
)
def test_the_check_for_the_disk_finds_it(source, where):
    assert disk_uses(source, "a.py") == where


def test_sources_unpickle_only_what_our_own_parent_sent():
    users = {
        p.relative_to(SOURCES).as_posix()
        for p in SOURCES.rglob("*.py")
        if "pickle.load" in p.read_text()
    }
    # Compiled kernels lie in the user's own cache folder, which isolated policies cannot write.
    assert users == {"core/kernel_cache.py", "engines/processes.py"}


def test_no_public_class_name_is_used_twice():
    places = defaultdict(list)
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(path.relative_to(SOURCES).as_posix())
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_the_repository_names_no_path_of_a_machine():
    for path in [*ROOT.glob("*.md"), *SOURCES.rglob("*.py"), *(ROOT / "tests").rglob("*.py")]:
        text = path.read_text()
        for word in ("/" + "root/", "/" + "home/", "/" + "work/"):
            assert word not in text, f"{path} names {word}"


def test_the_citation_names_the_version_that_is_released():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {project['version']}\n" in citation
    assert f'  - name: "{project["authors"][0]["name"]}"\n' in citation
