"""Settings models: frozen, validated where they enter, with readable error messages.

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

# Pydantic's error type -> what follows "must be" in the error message.
_TYPE_TEXTS = {
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "string_type": "a string",
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
    """Base of all settings models: frozen, and unknown keys are an error."""

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
    """Build a settings model from JSON values.

    Args:
        settings_class: The model.
        data: Values by name; nested models as nested mappings.

    Raises:
        SettingsError: `data` is invalid; the message describes the first error.
    """
    try:
        return settings_class.model_validate(dict(data))
    except ValidationError as error:
        raise SettingsError(_error_message(settings_class, error.errors()[0])) from None


def parse_settings(text: str, file_format: str, source: str) -> dict[str, Any]:
    """Parse the text of a settings file.

    Args:
        text: Content of the file.
        file_format: `toml` or `json`.
        source: Name of the file, for error messages.

    Raises:
        SettingsError: The text is not valid, or does not hold a table.
    """
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
    """Parse settings given as `key=value`, where dots in a key make nested tables.

    Args:
        overrides: Texts such as `food.growth=0.1`; a value that is not JSON is taken as a string.

    Raises:
        SettingsError: A text is not `key=value`, or two of them contradict each other.

    >>> parse_overrides(["size=8", "food.growth=0.1", "name=lake"])
    {'size': 8, 'food': {'growth': 0.1}, 'name': 'lake'}
    """
    settings: dict[str, Any] = {}
    for flag in overrides:
        path, equals, text = flag.partition("=")
        if not equals or not path:
            raise SettingsError(f"A setting is given as key=value, not '{flag}'.")
        *tables, last = path.split(".")
        target = settings
        for table in tables:
            target = target.setdefault(table, {})
            if not isinstance(target, dict):
                raise SettingsError(f"'{flag}' needs a table at {table}, which is a value already.")
        target[last] = parse_value(text)
    return settings


def merge_settings(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return `base` updated by `changes`, merging nested tables key by key.

    >>> merge_settings({"a": 1, "food": {"growth": 1, "size": 2}}, {"food": {"size": 3}})
    {'a': 1, 'food': {'growth': 1, 'size': 3}}
    """
    merged = dict(base)
    for name, value in changes.items():
        inner = merged.get(name)
        if isinstance(inner, Mapping) and isinstance(value, Mapping):
            value = merge_settings(inner, value)
        merged[name] = value
    return merged


def parse_value(text: str) -> Any:
    """Parse a value of a command line or URI as JSON; other text is returned unchanged."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _error_message(settings_class: type[Settings], error: Any) -> str:
    """Describe one error of pydantic, such as "Lake.size must be at least 1, not 0."."""
    path = [str(part) for part in error["loc"]]
    setting = ".".join([settings_class.__name__, *path])
    reason, value = error["type"], _shorten_repr(error["input"])
    if reason == "extra_forbidden":
        *parents, unknown = path
        known = _model_at(settings_class, parents).model_fields
        model = ".".join([settings_class.__name__, *parents])
        return f"{model} has no setting '{unknown}'.{format_suggestion(unknown, known)}"
    if reason == "missing":
        return f"{setting} is missing and has no default."
    if reason in _TYPE_TEXTS:
        return f"{setting} must be {_TYPE_TEXTS[reason]}, not {value}."
    if reason in _BOUND_TEXTS:
        words, bound = _BOUND_TEXTS[reason]
        return f"{setting} must be {words} {error['ctx'][bound]}, not {value}."
    if reason == "too_short":
        minimum, actual = error["ctx"]["min_length"], error["ctx"]["actual_length"]
        return f"{setting} needs at least {minimum} entries; it has {actual}."
    if reason in ("literal_error", "enum"):
        return f"{setting} must be {error['ctx']['expected']}, not {value}."
    if reason == "value_error":
        return str(error["ctx"]["error"])
    return f"{setting} is wrong: {error['msg']}; it was {value}."


def _model_at(settings_class: type[Settings], path: list[str]) -> type[Settings]:
    """Return the nested settings model at `path`, or the innermost model on the way there."""
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
