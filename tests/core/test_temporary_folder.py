"""Temporary folders are removed whatever they contain, and after a kill at the next start."""

import os
import subprocess
import sys
import threading
import time

import pytest

from kinfolk.core import temporary_folder
from kinfolk.core.temporary_folder import TemporaryFolder, remove_stale_folders, remove_tree

NEST_FOLDERS = """
import os, sys
for _ in range(int(sys.argv[1])):
    os.mkdir("d" * 100)
    os.chdir("d" * 100)
"""
REMOVE_WITHOUT_PERMISSIONS = """
import os, tempfile
from pathlib import Path
from kinfolk.core.temporary_folder import remove_tree
os.setuid(65534)
folder = Path(tempfile.mkdtemp(dir="/tmp"))
for name in ("a", "a/b", "a/b/c"):
    (folder / name).mkdir(parents=True)
    (folder / name / "file").write_text("x")
for name in ("a/b/c", "a/b", "a", ""):
    (folder / name).chmod(0)
print(remove_tree(folder), folder.exists())
"""


def nest_folders(folder, depth):
    """Create nested folders whose path exceeds the maximum length."""
    subprocess.run([sys.executable, "-c", NEST_FOLDERS, str(depth)], cwd=folder, check=True)


@pytest.fixture
def temp_root(tmp_path, monkeypatch):
    """A folder in which all temporary folders are created."""
    # An earlier test of this process may still use a folder; these begin without one.
    monkeypatch.setattr(temporary_folder, "_process_folder", temporary_folder._ProcessFolder())
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("depth", [1100, pytest.param(3000, marks=pytest.mark.more)])
def test_thousands_of_nested_folders_are_removed(temp_root, depth):
    temporary = TemporaryFolder("worker-")
    nest_folders(temporary.folder, depth)
    temporary.remove()
    temporary.remove()
    assert list(temp_root.iterdir()) == []


def test_links_are_removed_and_their_targets_are_kept(tmp_path):
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("x")
    folder = tmp_path / "folder"
    (folder / "inner").mkdir(parents=True)
    for where in (folder, folder / "inner"):
        (where / "to_folder").symlink_to(precious)
        (where / "to_file").symlink_to(precious / "file")
        (where / "to_nothing").symlink_to("nowhere")
        (where / "up").symlink_to("..")
    link = tmp_path / "link"
    link.symlink_to(precious)
    assert remove_tree(folder)
    assert not remove_tree(link), "a link in place of the folder is not followed either"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "link", "precious"]


def test_files_with_the_longest_names_and_names_that_are_not_text_are_removed(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in (b"n" * 255, b"\xff\xfe", b"new\nline", "ü".encode()):
        os.mkdir(os.path.join(os.fsencode(folder), name))
        os.close(os.open(os.path.join(os.fsencode(folder), name, name), os.O_CREAT))
    os.mkfifo(folder / "pipe")
    assert remove_tree(folder)
    assert not folder.exists()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become nobody")
def test_folders_without_permissions_are_removed():
    done = subprocess.run(
        [sys.executable, "-c", REMOVE_WITHOUT_PERMISSIONS], capture_output=True, text=True
    )
    assert done.stdout == "True False\n", done.stderr


def test_removal_ends_in_time_while_another_thread_creates_files(tmp_path):
    folder = tmp_path / "folder"
    (folder / "inner").mkdir(parents=True)
    stop = threading.Event()

    def write():
        number = 0
        while not stop.is_set():
            number = (number + 1) % 200  # never so many that their removal takes long
            try:
                (folder / "inner" / str(number)).mkdir(parents=True)
            except OSError:
                continue

    writer = threading.Thread(target=write)
    writer.start()
    start = time.monotonic()
    remove_tree(folder, timeout=0.5)
    seconds = time.monotonic() - start
    stop.set()
    writer.join()
    assert seconds < 15.0, "it gave up in time, as far as a busy machine lets it"
    assert remove_tree(folder)
    assert remove_tree(folder), "a missing folder counts as removed"


def test_folders_of_a_killed_process_are_removed_at_the_next_start(temp_root):
    script = (
        "import tempfile, time; from kinfolk.core.temporary_folder import TemporaryFolder\n"
        f"tempfile.tempdir = {str(temp_root)!r}\n"
        "print(TemporaryFolder('worker-').folder, flush=True); time.sleep(60)"
    )
    other = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    folder = other.stdout.readline().strip()
    [process_folder] = temp_root.iterdir()
    os.utime(process_folder, (0, 0))
    remove_stale_folders()
    assert os.path.isdir(folder), "its process is alive"
    other.kill()
    other.wait()
    other.stdout.close()
    os.utime(process_folder, (time.time(), time.time()))
    remove_stale_folders()
    assert os.path.isdir(folder), "its process may not have locked it yet"
    os.utime(process_folder, (0, 0))
    (temp_root / "kin-mine.txt").write_text("a file of another program")
    temporary = TemporaryFolder("worker-")
    assert not process_folder.exists()
    temporary.remove()
    assert [path.name for path in temp_root.iterdir()] == ["kin-mine.txt"]
