"""Settings models as lists of fields, from which flags, tables and documents are made."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt, MinLen
from pydantic.fields import FieldInfo

from kinfolk.core.settings import Flag, Settings

_TYPES = {int: "integer", float: "number", bool: "boolean", str: "text", Any: "any value"}
_SHOWN = 60  # characters of a default in a table; longer lists are counted


@dataclass(frozen=True)
class SettingField:
    """One setting of a model, or of a table within it.

    Args:
        path: Names from the model down to the setting.
        annotation: Its type, without None.
        optional: Whether None is allowed.
        required: Whether there is no default.
        default: Default as a plain value.
        bounds: Limits of the value in words, such as "at least 1".
        description: What it means, in a line.
        flag: How it is written on the command line.
    """

    path: tuple[str, ...]
    annotation: Any
    optional: bool
    required: bool
    default: Any
    bounds: str
    description: str
    flag: Flag

    @property
    def name(self) -> str:
        """Return the path with dots between its names."""
        return ".".join(self.path)

    @property
    def table(self) -> type[Settings] | None:
        """Return the settings model that the setting holds, if it holds one."""
        kind = self.annotation
        return kind if isinstance(kind, type) and issubclass(kind, Settings) else None

    @property
    def choices(self) -> tuple[str, ...]:
        """Return the values that a literal type allows, none for other types."""
        return get_args(self.annotation) if get_origin(self.annotation) is Literal else ()

    @property
    def type_name(self) -> str:
        """Return the type in words, such as "integer" or "list of text"."""
        return type_in_words(self.annotation) + (" or none" if self.optional else "")

    @property
    def default_text(self) -> str:
        """Return the default as it is written in a settings file; long ones are counted."""
        if self.required:
            return "required"
        if self.table is not None:
            return ""
        value = plain(self.default)
        if isinstance(value, str):
            return value
        text = "none" if value is None else json.dumps(value)
        return text if len(text) <= _SHOWN else f"{len(self.default)} entries"

    def to_dict(self) -> dict[str, Any]:
        """Return the setting as plain values, for a JSON document."""
        return {
            "name": self.name,
            "type": self.type_name,
            "default": None if self.required else plain(self.default),
            "required": self.required,
            "bounds": self.bounds,
            "choices": list(self.choices),
            "description": self.description,
        }


def fields_of(model: type[Settings]) -> Iterator[SettingField]:
    """Yield every setting of a model; a table is followed by the settings within it."""
    return _fields(model, (), model.model_construct().model_dump())


def _fields(
    model: type[Settings], path: tuple[str, ...], defaults: Mapping[str, Any]
) -> Iterator[SettingField]:
    for name, info in model.model_fields.items():
        annotation, optional = without_none(info.annotation)
        field = SettingField(
            (*path, name),
            annotation,
            optional,
            info.is_required(),
            defaults.get(name),
            _bounds(info),
            info.description or "",
            next((each for each in info.metadata if isinstance(each, Flag)), Flag()),
        )
        yield field
        if field.table is not None:
            inner = defaults.get(name) or field.table.model_construct().model_dump()
            yield from _fields(field.table, field.path, inner)


def without_none(annotation: Any) -> tuple[Any, bool]:
    """Take None out of a union; say whether it was there."""
    members = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else ()
    if NoneType not in members:
        return annotation, False
    rest = tuple(member for member in members if member is not NoneType)
    return rest[0] if len(rest) == 1 else Union[rest], True  # noqa: UP007, made at run time


def type_in_words(annotation: Any) -> str:
    """Name a type as the documents do.

    >>> type_in_words(tuple[int, ...]), type_in_words(dict[str, float])
    ('list of integer', 'table of number')
    """
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return " | ".join(map(str, inner))
    if origin in (Union, UnionType):
        return " or ".join(type_in_words(part) for part in inner)
    if origin is tuple:
        return f"list of {type_in_words(inner[0])}"
    if origin is dict:
        return f"table of {type_in_words(inner[1])}"
    if isinstance(annotation, type) and issubclass(annotation, Settings):
        return "table"
    return _TYPES[annotation]


def plain(value: Any) -> Any:
    """Return a default as JSON has it; infinity is written as text, which settings accept."""
    if isinstance(value, float) and math.isinf(value):
        return str(value)
    if isinstance(value, Mapping):
        return {name: plain(inner) for name, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def _bounds(info: FieldInfo) -> str:
    words = []
    for bound in info.metadata:
        if isinstance(bound, Ge):
            words.append(f"at least {bound.ge}")
        elif isinstance(bound, Gt):
            words.append(f"greater than {bound.gt}")
        elif isinstance(bound, Le):
            words.append(f"at most {bound.le}")
        elif isinstance(bound, Lt):
            words.append(f"less than {bound.lt}")
        elif isinstance(bound, MinLen):
            least = bound.min_length
            words.append("not empty" if least == 1 else f"at least {least} entries")
    return ", ".join(words)
