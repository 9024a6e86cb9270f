"""Scratch folders: gone whatever was put into them, and after a kill at the next start."""

import os
import subprocess
import sys
import threading
import time

import pytest

from kinfolk.core.temporary_folder import TemporaryFolder, remove_stale_folders, remove_tree

DEEPEN = """
import os, sys
for _ in range(int(sys.argv[1])):
    os.mkdir("d" * 100)
    os.chdir("d" * 100)
"""
SHUT = """
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


def deepen(folder, depth):
    """Folders within folders, deeper than any path may be long."""
    subprocess.run([sys.executable, "-c", DEEPEN, str(depth)], cwd=folder, check=True)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Where temporary folders are made."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("depth", [1100, pytest.param(3000, marks=pytest.mark.more)])
def test_thousands_of_folders_within_folders_are_removed(here, depth):
    scratch = TemporaryFolder("guest-")
    deepen(scratch.folder, depth)
    scratch.remove()
    scratch.remove()
    assert list(here.iterdir()) == []


def test_links_are_removed_and_what_they_lead_to_is_kept(tmp_path):
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


def test_longest_names_and_names_that_are_no_text_are_removed(tmp_path):
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
    done = subprocess.run([sys.executable, "-c", SHUT], capture_output=True, text=True)
    assert done.stdout == "True False\n", done.stderr


def test_files_that_appear_meanwhile_are_removed_or_left_in_bounded_time(tmp_path):
    folder = tmp_path / "folder"
    (folder / "inner").mkdir(parents=True)
    stop = threading.Event()

    def write():
        number = 0
        while not stop.is_set():
            number += 1
            try:
                (folder / "inner" / str(number)).mkdir(parents=True)
            except OSError:
                continue

    writer = threading.Thread(target=write)
    writer.start()
    remove_tree(folder, timeout=0.5)
    stop.set()
    writer.join()
    assert remove_tree(folder)
    assert remove_tree(folder), "what is not there is gone"


def test_what_a_killed_process_left_goes_at_the_next_start(here):
    script = (
        "import tempfile, time; from kinfolk.core.temporary_folder import TemporaryFolder\n"
        f"tempfile.tempdir = {str(here)!r}\n"
        "print(TemporaryFolder('guest-').folder, flush=True); time.sleep(60)"
    )
    other = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    folder = other.stdout.readline().strip()
    [home] = here.iterdir()
    os.utime(home, (0, 0))
    remove_stale_folders()
    assert os.path.isdir(folder), "its process lives"
    other.kill()
    other.wait()
    other.stdout.close()
    os.utime(home, (time.time(), time.time()))
    remove_stale_folders()
    assert os.path.isdir(folder), "it may be that of a process that is just starting"
    os.utime(home, (0, 0))
    (here / "kin-mine.txt").write_text("a file of somebody's")
    scratch = TemporaryFolder("guest-")
    assert not home.exists()
    scratch.remove()
    assert [path.name for path in here.iterdir()] == ["kin-mine.txt"]
