"""Files of which earlier versions are kept beside them."""

from __future__ import annotations

from pathlib import Path

from kinfolk.store.files import as_store_error, read_bytes, write_atomic


def write_with_backups(path: Path, data: bytes, n_backups: int) -> None:
    """Replace a file atomically and keep earlier versions as `NAME.1.SUFFIX`, `NAME.2.SUFFIX`, ...

    Args:
        path: The file.
        data: Its new content; if it is equal to the old one, nothing is written.
        n_backups: How many earlier versions are kept; with 0 the file is always written.

    Raises:
        StoreError: Something could not be written; the file has its old or its new content.
    """
    if path.exists() and n_backups > 0:
        earlier = read_bytes(path)
        if earlier == data:
            return
        for number in range(n_backups - 1, 0, -1):
            older = _backup_path(path, number)
            with as_store_error(f"{older} could not be renamed"):
                if older.exists():
                    older.replace(_backup_path(path, number + 1))
        write_atomic(_backup_path(path, 1), earlier)
    write_atomic(path, data)


def _backup_path(path: Path, number: int) -> Path:
    """Return the path of an earlier version of a file, such as `NAME.1.SUFFIX`."""
    return path.with_name(f"{path.stem}.{number}{path.suffix}")


def list_backups(path: Path) -> list[Path]:
    """Return the earlier versions of a file that `write_with_backups` has kept, newest first."""
    return sorted(path.parent.glob(f"{path.stem}.[0-9]{path.suffix}"))
