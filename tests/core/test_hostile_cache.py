"""Compiled kernels are code: none is loaded that another account could have written."""

import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import ordinary_user
import pytest

USERS = ["root", "user"] if os.getuid() == 0 else ["user"]
STRANGER = 61235
KERNEL = "from kinfolk.core import jit\n\n\n@jit.kernel\ndef double(x):\n    return 2 * x\n"


class Evil:
    """Writes a file when it is unpickled."""

    def __init__(self, mark):
        self._mark = mark

    def __reduce__(self):
        return (Path.touch, (Path(self._mark),))


@pytest.fixture
def place():
    """A folder that every account may enter, with a folder for each purpose."""
    folder = Path(tempfile.mkdtemp(prefix="kinfolk-test-", dir="/var/tmp"))
    folder.chmod(0o755)
    (folder / "tiny_kernel.py").write_text(KERNEL)
    for name in ("marks", "temporary"):
        (folder / name).mkdir()
        (folder / name).chmod(0o1777)
    (folder / "home").mkdir(mode=0o555)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(params=USERS)
def call(request, place, as_ordinary_user):
    """Call the kernel as root or as an ordinary user; returns exit code and output."""

    def call(**changed):
        argv = [sys.executable, "-c", "import tiny_kernel; print(tiny_kernel.double(21))"]
        env = {name: value for name, value in os.environ.items() if name != "KINFOLK_CACHE"}
        env |= {"TMPDIR": str(place / "temporary"), "PYTHONPATH": str(place), **changed}
        command = as_ordinary_user(argv) if request.param == "user" else argv
        done = subprocess.run(command, env=env, capture_output=True, text=True, cwd="/")
        return done.returncode, done.stdout.strip() + done.stderr

    call.user = 0 if request.param == "root" else ordinary_user.USER_ID
    if os.getuid():
        call.user = os.getuid()
    return call


def poison(folder, mark):
    """Replace every kernel in a folder by one that leaves a mark."""
    kernels = list(folder.rglob("*.kernel"))
    assert len(kernels) == 1
    for kernel in kernels:
        kernel.write_bytes(pickle.dumps(Evil(mark)))


def give_away(folder, how):
    """Make a folder and its content another account's, or let every account write it."""
    for path in [folder, *folder.rglob("*")]:
        if how == "owner":
            os.chown(path, STRANGER, STRANGER)
            path.chmod(0o755)
        else:
            path.chmod(0o777)


HOW = ["owner", "mode"] if os.getuid() == 0 else ["mode"]


@pytest.mark.parametrize("how", HOW)
def test_a_strangers_temporary_folder_is_refused(place, call, how):
    # Not even root can create a folder here.
    home = {"HOME": "/proc", "XDG_CACHE_HOME": "/proc"}
    assert call(**home) == (0, "42")
    folder = place / "temporary" / f"kinfolk-kernels-{call.user}"
    poison(folder, place / "marks" / "was_here")
    give_away(folder, how)
    code, said = call(**home)
    assert [*(place / "marks").iterdir()] == []
    assert code != 0
    assert f"{folder} can be written by another account" in said


@pytest.mark.parametrize("how", HOW)
def test_a_strangers_chosen_folder_is_refused(place, call, how):
    folder = place / "chosen"
    folder.mkdir()
    os.chown(folder, call.user, -1)
    assert call(KINFOLK_CACHE=str(folder)) == (0, "42")
    poison(folder, place / "marks" / "was_here")
    give_away(folder, how)
    code, said = call(KINFOLK_CACHE=str(folder))
    assert [*(place / "marks").iterdir()] == []
    assert code != 0
    assert f"{folder} can be written by another account" in said


@pytest.mark.parametrize("how", HOW)
def test_a_strangers_kernel_in_a_good_folder_is_compiled_again(place, call, how):
    folder = place / "chosen"
    folder.mkdir()
    os.chown(folder, call.user, -1)
    assert call(KINFOLK_CACHE=str(folder)) == (0, "42")
    poison(folder, place / "marks" / "was_here")
    for path in folder.iterdir():
        give_away(path, how)
    assert call(KINFOLK_CACHE=str(folder)) == (0, "42")
    assert [*(place / "marks").iterdir()] == []


@pytest.mark.parametrize("how", HOW)
def test_a_strangers_cache_in_the_home_is_not_read(place, call, how):
    folder = place / "cache"
    folder.mkdir()
    os.chown(folder, call.user, -1)
    assert call(XDG_CACHE_HOME=str(folder)) == (0, "42")
    kernels = folder / "kinfolk" / "kernels"
    poison(kernels, place / "marks" / "was_here")
    give_away(kernels, how)
    assert call(XDG_CACHE_HOME=str(folder)) == (0, "42")
    assert [*(place / "marks").iterdir()] == []
    if how == "mode":  # it was our own, and is closed again
        assert kernels.stat().st_mode & 0o022 == 0


def test_whatever_the_umask_nobody_else_can_write_the_cache(place, call):
    before = os.umask(0)
    try:
        folder = place / "open"
        folder.mkdir()
        os.chown(folder, call.user, -1)
        assert call(XDG_CACHE_HOME=str(folder)) == (0, "42")
        assert call(HOME="/proc", XDG_CACHE_HOME="/proc") == (0, "42")
    finally:
        os.umask(before)
    for root in (folder / "kinfolk", place / "temporary"):
        found = [path for path in root.rglob("*") if path.name != "kinfolk"]
        assert len(found) >= 3
        assert not any(path.stat().st_mode & 0o022 for path in found)
