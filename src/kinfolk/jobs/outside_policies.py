"""Policies that settings name and that lie outside of their run: files, other runs, classes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

from kinfolk.core.errors import UsageError
from kinfolk.core.imports import find_source_file
from kinfolk.policies.policy_code import split_code_file
from kinfolk.store.files import read_bytes
from kinfolk.store.policy_references import find_policy

# A URI at the start of a text, or of a slot in 'a=URI;b=URI'; its settings behind ? are no part of it.
_URI = re.compile(r"(^|;)([\w.-]+=)?((?:file|run|class):[^;?]+)")
T = TypeVar("T")


def find_outside_policies(settings: Any) -> list[str]:
    """Return the URIs in settings, as plain values, whose code or weights lie outside of the run.

    >>> find_outside_policies({"slots": {"a": "file:x.safetensors"}, "policies": ["m=run:one;n=kin://noop"]})
    ['file:x.safetensors', 'run:one']
    """
    return list(dict.fromkeys(_iterate_uris(settings)))


def _iterate_uris(settings: Any) -> Iterator[str]:
    """Yield the URIs of nested settings in order."""
    if isinstance(settings, str):
        yield from (match[3] for match in _URI.finditer(settings))
    elif isinstance(settings, Mapping):
        for name, value in settings.items():
            if name == "class_path" and isinstance(value, str):
                yield f"class:{value}"
            else:
                yield from _iterate_uris(value)
    elif isinstance(settings, list | tuple):
        for value in settings:
            yield from _iterate_uris(value)


def replace_uris(value: T, replaced: Mapping[str, str]) -> T:
    """Return nested values in which policies are named by other URIs.

    Args:
        value: Settings or an event, as plain values.
        replaced: The new URI of each old one.
    """
    changed: Any = value
    if isinstance(value, str):
        changed = _URI.sub(lambda m: f"{m[1]}{m[2] or ''}{replaced.get(m[3], m[3])}", value)
    elif isinstance(value, Mapping):
        changed = {name: replace_uris(inner, replaced) for name, inner in value.items()}
    elif isinstance(value, list | tuple):
        changed = type(value)(replace_uris(inner, replaced) for inner in value)
    result: T = changed
    return result


def read_policy_bytes(uri: str) -> bytes:
    """Return the policy file that a `file:` or `run:` URI names.

    Raises:
        UsageError: There is no such run or policy.
        StoreError: The file cannot be read.
    """
    scheme, _, name = uri.partition(":")
    return read_bytes(Path(unquote(name)) if scheme == "file" else find_policy(unquote(name)))


def is_source(uri: str) -> bool:
    """Return whether a URI names Python code: a class, or a file of code."""
    return uri.startswith("class:") or _find_code_file(uri) is not None


def _find_code_file(uri: str) -> Path | None:
    """Return the file of `file:FILE.py[:Class]`; None for other URIs."""
    if not uri.startswith("file:"):
        return None
    name = unquote(uri.removeprefix("file:"))
    code = split_code_file(name)
    return None if code is None else code[0]


def hash_source(uri: str) -> str:
    """Return the SHA-256 of the source file that defines a policy; nothing is imported.

    Raises:
        UsageError: There is no such module, or it has no source file.
    """
    file = _find_code_file(uri)
    if file is None:
        path = uri.removeprefix("class:")
        module = path.partition(":")[0] if ":" in path else path.rpartition(".")[0]
        found = find_source_file(module)
        if found is None:
            raise UsageError(
                f"The policy {uri} is not here: there is no module {module}. Run this in the folder of its "
                "file."
            )
        file = Path(found)
    return hashlib.sha256(read_bytes(file)).hexdigest()
