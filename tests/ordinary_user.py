"""How tests run a command as an ordinary user, also where the tests themselves run as root."""

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

USER_ID = 61234  # an account that no machine has
_OTHERS_MAY_ENTER = 0o001


class NoOrdinaryUser(Exception):  # noqa: N818, a reason to skip
    """Why this machine cannot run a command as an ordinary user."""


def ordinary_user_command(argv: list[str]) -> list[str]:
    """Return the command that runs `argv` as an ordinary user: itself, if this is one.

    Root's interpreter may lie in a folder that others may not enter. Such folders are hidden behind
    empty ones, in which only what Python needs is shown.

    Raises:
        NoOrdinaryUser: This is root, and there is no bubblewrap or setpriv.
    """
    if os.getuid() != 0:
        return argv
    missing = [name for name in ("bwrap", "setpriv") if shutil.which(name) is None]
    if missing:
        raise NoOrdinaryUser(f"root needs {' and '.join(missing)} to become an ordinary user")
    view = ["bwrap", "--die-with-parent", "--dev-bind", "/", "/"]
    needed = _needed_paths()
    hidden = dict.fromkeys(folder for path in needed if (folder := _closed_folder(path)))
    for folder in hidden:
        view += ["--tmpfs", str(folder)]
    for path in needed:
        if (hidden_folder := _closed_folder(path)) is not None:
            between = [
                folder for folder in reversed(path.parents) if hidden_folder in folder.parents
            ]
            for folder in between:  # bubblewrap would make them for root only
                view += ["--dir", str(folder)]
            view += ["--ro-bind", str(path), str(path)]
    identity = ["--reuid", str(USER_ID), "--regid", str(USER_ID), "--clear-groups"]
    return [*view, "setpriv", *identity, "--", *argv]


@cache
def _needed_paths() -> list[Path]:
    """Return the folders of the interpreter, of installed packages, of kinfolk and of the tests."""
    import kinfolk

    roots = [sys.base_prefix, sys.prefix, Path(kinfolk.__file__).parents[1], Path(__file__).parent]
    links = [os.path.realpath(root) for root in roots]
    return sorted({Path(path) for path in [*roots, *links]})


def _closed_folder(path: Path) -> Path | None:
    """Return the outermost folder on the way to a path that others may not enter."""
    for folder in reversed(path.parents):
        if not folder.stat().st_mode & _OTHERS_MAY_ENTER:
            return folder
    return None


@cache
def explain_no_ordinary_user() -> str:
    """Return why nothing can be run as an ordinary user; "" if it can, in a sandbox too."""
    check = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"]
    try:
        command = ordinary_user_command(check)
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    except NoOrdinaryUser as error:
        return f"{error}"
    except OSError as error:
        return f"bwrap cannot be run: {error.strerror}"
    return f"bwrap does not work: {done.stderr.strip()}" if done.returncode else ""
