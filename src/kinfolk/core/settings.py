"""Settings: frozen, checked at the edge, refused in a sentence.

>>> class Forage(Settings):
...     growth: float = 0.02
...     size: int = 8
>>> validate_settings(Forage, {"growht": 0.1})
Traceback (most recent call last):
...
kinfolk.core.errors.SettingsError: Forage has no setting 'growht'. Did you mean 'growth'? Known: growth, size.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kinfolk.core.errors import SettingsError, format_suggestion

S = TypeVar("S", bound="Settings")

# What pydantic calls it -> how the sentence goes on after "must be".
_TYPE_TEXTS = {
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "string_type": "a text",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
}
_BOUND_TEXTS = {
    "greater_than": ("greater than", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("less than", "lt"),
    "less_than_equal": ("at most", "le"),
    "multiple_of": ("a multiple of", "multiple_of"),
}


@dataclass(frozen=True)
class Flag:
    """How a setting is written on the command line, as metadata of its annotation.

    Args:
        name: Of the flag; by default the setting's own name with dashes.
        metavar: Syntax of the value; by default from the setting's type.
        completes: What a shell completes: world, preset, policy or slot.
        repeats: Whether the flag is given once per entry, as NAME=VALUE.
    """

    name: str | None = None
    metavar: str | None = None
    completes: Literal["world", "preset", "policy", "slot"] | None = None
    repeats: bool = False


class Settings(BaseModel):
    """Base of every settings object: values only, frozen, no unknown keys."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=True, validate_default=True, strict=False
    )


def setting(default: Any, description: str, **bounds: float) -> Any:
    """Declare a field of a settings model.

    Args:
        default: Value if none is given.
        description: What it means, in a line; flags, tables and documents show it.
        bounds: Limits as pydantic has them: ge, gt, le, lt, min_length.
    """
    return Field(default=default, description=description, **bounds)  # type: ignore[call-overload]


def validate_settings(settings_class: type[S], data: Mapping[str, Any]) -> S:
    """Make settings from plain values.

    Raises:
        SettingsError: The first thing wrong with `data`, in a sentence.
    """
    try:
        return settings_class.model_validate(dict(data))
    except ValidationError as error:
        raise SettingsError(_error_message(settings_class, error.errors()[0])) from None


def parse_settings(text: str, file_format: str, source: str) -> dict[str, Any]:
    """Read the text of a settings file; `file_format` is 'toml' or 'json'."""
    try:
        if file_format == "toml":
            return tomllib.loads(text)
        data = json.loads(text)
    except (tomllib.TOMLDecodeError, json.JSONDecodeError) as error:
        raise SettingsError(f"{source} is not valid {file_format.upper()}: {error}.") from None
    if not isinstance(data, dict):
        raise SettingsError(f"{source} must hold a table of settings, not {_shorten_repr(data)}.")
    return data


def parse_overrides(overrides: Iterable[str]) -> dict[str, Any]:
    """Settings given as `key=value`; dots make tables, values are read as JSON where they can be.

    >>> parse_overrides(["size=8", "food.growth=0.1", "name=lake"])
    {'size': 8, 'food': {'growth': 0.1}, 'name': 'lake'}
    """
    found: dict[str, Any] = {}
    for flag in overrides:
        path, equals, text = flag.partition("=")
        if not equals or not path:
            raise SettingsError(f"A setting is given as key=value, not '{flag}'.")
        *tables, last = path.split(".")
        place = found
        for table in tables:
            place = place.setdefault(table, {})
            if not isinstance(place, dict):
                raise SettingsError(f"'{flag}' asks for a table where {table} is a value already.")
        place[last] = parse_value(text)
    return found


def merge_settings(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with what `changes` says otherwise, table by table.

    >>> merge_settings({"a": 1, "food": {"growth": 1, "size": 2}}, {"food": {"size": 3}})
    {'a': 1, 'food': {'growth': 1, 'size': 3}}
    """
    both = dict(base)
    for name, value in changes.items():
        inner = both.get(name)
        if isinstance(inner, Mapping) and isinstance(value, Mapping):
            value = merge_settings(inner, value)
        both[name] = value
    return both


def parse_value(text: str) -> Any:
    """A value written on a command line or in a URI: JSON if it parses, else the text itself."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _error_message(settings_class: type[Settings], error: Any) -> str:
    where = [str(part) for part in error["loc"]]
    place = ".".join([settings_class.__name__, *where])
    reason, given = error["type"], _shorten_repr(error["input"])
    if reason == "extra_forbidden":
        owner = _model_at(settings_class, where[:-1])
        name = ".".join([settings_class.__name__, *where[:-1]])
        return f"{name} has no setting '{where[-1]}'.{format_suggestion(where[-1], owner.model_fields)}"
    if reason == "missing":
        return f"{place} is missing and has no default."
    if reason in _TYPE_TEXTS:
        return f"{place} must be {_TYPE_TEXTS[reason]}, not {given}."
    if reason in _BOUND_TEXTS:
        words, bound = _BOUND_TEXTS[reason]
        return f"{place} must be {words} {error['ctx'][bound]}, not {given}."
    if reason == "too_short":
        least, most = error["ctx"]["min_length"], error["ctx"]["actual_length"]
        return f"{place} needs at least {least} entries; it has {most}."
    if reason in ("literal_error", "enum"):
        return f"{place} must be {error['ctx']['expected']}, not {given}."
    if reason == "value_error":
        return str(error["ctx"]["error"])
    return f"{place} is wrong: {error['msg']}; it was {given}."


def _model_at(settings_class: type[Settings], path: list[str]) -> type[Settings]:
    for part in path:
        inner = (
            settings_class.model_fields[part].annotation
            if part in settings_class.model_fields
            else None
        )
        if not (isinstance(inner, type) and issubclass(inner, Settings)):
            return settings_class
        settings_class = inner
    return settings_class


def _shorten_repr(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
