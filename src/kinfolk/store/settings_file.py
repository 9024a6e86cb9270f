"""The `settings.json` of a run: format, job, version of kinfolk and settings, with a checksum."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from kinfolk.core.errors import DamagedRunError
from kinfolk.store.files import MAX_TEXT_BYTES, parse_json, read_bytes, write_atomic
from kinfolk.store.integrity import (
    BLANK_CHECKSUM,
    CHECKSUM_FIELD,
    advising,
    has_checksum,
    seal,
    verify,
)

SETTINGS_FILE = "settings.json"
FORMAT_VERSION = 4  # raised whenever the rules of a world change
# Added to the message that refuses a file of an earlier format.
FORMER_FORMAT_REASON = (
    " Earlier formats hold games by former rules of their worlds; CHANGELOG.md says what changed."
)


def write_run_settings(
    folder: Path, job: str, settings: Mapping[str, Any], policies: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Write the `settings.json` of a run and return its content.

    Args:
        folder: The run folder.
        job: Name of the job.
        settings: Settings of the job, as JSON values.
        policies: Digests of policies by name; None: none are stored.

    Raises:
        StoreError: It could not be written.
    """
    header = {"format": FORMAT_VERSION, CHECKSUM_FIELD: BLANK_CHECKSUM}
    config: dict[str, Any] = {"job": job, "kinfolk": version("kinfolk"), "settings": settings}
    config |= {} if policies is None else {"policies": dict(policies)}
    # Keys are not sorted: the order of slots is that of the columns of a checkpoint.
    text = json.dumps(header | config, indent=2) + "\n"
    write_atomic(folder / SETTINGS_FILE, seal(text.encode()))
    return config


def read_run_settings(folder: Path) -> dict[str, Any]:
    """Return the content of a run's `settings.json`: job, version of kinfolk, settings.

    Raises:
        DamagedRunError: It is damaged, or of another format version.
    """
    path = folder / SETTINGS_FILE
    with advising(lambda: "A run cannot be used without its settings: start it again."):
        data = read_bytes(path, MAX_TEXT_BYTES)
        if has_checksum(data):
            verify(data, str(path))
        try:
            content = parse_json(data)
        except ValueError as error:
            raise DamagedRunError(f"{path} is damaged: {error}.") from None
        config = dict(content) if isinstance(content, dict) else {}
        actual = config.pop("format", None)
        is_former = isinstance(actual, int) and actual < FORMAT_VERSION
        if actual != FORMAT_VERSION:
            raise DamagedRunError(
                f"{path} has format {actual}; this kinfolk reads {FORMAT_VERSION}."
                f"{FORMER_FORMAT_REASON if is_former else ''}"
            )
        verify(data, str(path))
        if not isinstance(config.get("job"), str) or not isinstance(config.get("settings"), dict):
            raise DamagedRunError(f"{path} is damaged: it names no job with its settings.")
    config.pop(CHECKSUM_FIELD)
    return config
