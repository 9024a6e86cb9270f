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
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from annotated_types import MinLen
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

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
# Names of bounds, in annotations and in pydantic's errors -> how they are described.
_BOUND_TEXTS = {
    "gt": "greater than",
    "ge": "at least",
    "lt": "less than",
    "le": "at most",
    "multiple_of": "a multiple of",
}
_TYPES = {int: "integer", float: "number", bool: "boolean", str: "text", Any: "any value"}
MAX_INTEGER = 2**63  # exclusive
_MAX_SHOWN = 60  # characters of a value in a table or message


@dataclass(frozen=True)
class Flag:
    """How a setting is written on the command line, as metadata of its annotation.

    Args:
        name: Name of the flag; by default the setting's own name with dashes.
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
        bounds: Limits as keywords of pydantic: ge, gt, le, lt, min_length.
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
    _check_values(settings_class.__name__, data)
    try:
        return settings_class.model_validate(dict(data))
    except ValidationError as error:
        raise SettingsError(_format_error(settings_class, error.errors()[0])) from None


def _check_values(name: str, data: Mapping[str, Any]) -> None:
    """Check that integers fit 64 bits, in which kernels count, and that texts can be written.

    Args:
        name: Name of the settings.
        data: Values by name; nested tables and lists are checked too.

    Raises:
        SettingsError: A value is out of range, or a text has half a character (a lone surrogate).
    """
    unchecked: list[tuple[str, Any]] = [(name, data)]
    while unchecked:
        place, value = unchecked.pop()
        if isinstance(value, Mapping):
            _check_text(place, " ".join(map(str, value)))
            unchecked += [(f"{place}.{key}", inner) for key, inner in value.items()]
        elif isinstance(value, list | tuple):
            unchecked += [(place, inner) for inner in value]
        elif isinstance(value, str):
            _check_text(place, value)
        elif isinstance(value, int) and value >= MAX_INTEGER:
            raise SettingsError(f"{place} must be less than 2**63, not {shorten_repr(value)}.")
        elif isinstance(value, int) and value < -MAX_INTEGER:
            raise SettingsError(f"{place} must be at least -2**63, not {shorten_repr(value)}.")


def _check_text(place: str, text: str) -> None:
    """Check that a text can be written to a file.

    Raises:
        SettingsError: It cannot.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise SettingsError(f"{place} is not valid Unicode: {shorten_repr(text)}.") from None


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
    """Parse a value of a command line or URI as JSON; other text is returned unchanged.

    Raises:
        SettingsError: It is a number of thousands of digits, or nested thousands of times.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
    except (ValueError, RecursionError) as error:
        problem = f"{shorten_repr(text)} is not a value that can be read"
        raise SettingsError(f"{problem}: {error}.") from None


def _format_error(settings_class: type[Settings], error: Any) -> str:
    """Describe one error of pydantic, such as "Lake.size must be at least 1, not 0."."""
    path = [str(part) for part in error["loc"]]
    setting = ".".join([settings_class.__name__, *path])
    reason, value = error["type"], shorten_repr(error["input"])
    if reason == "extra_forbidden":
        *parents, unknown = path
        known = _find_model(settings_class, parents).model_fields
        model = ".".join([settings_class.__name__, *parents])
        hint = format_suggestion(unknown, known, "`kinfolk settings NAME` lists all")
        return f"{model} has no setting '{unknown}'.{hint}"
    if reason == "missing":
        return f"{setting} is missing and has no default."
    if reason in _TYPE_TEXTS:
        return f"{setting} must be {_TYPE_TEXTS[reason]}, not {value}."
    for bound, words in _BOUND_TEXTS.items():
        if bound in error.get("ctx", {}):
            return f"{setting} must be {words} {error['ctx'][bound]}, not {value}."
    if reason == "too_short":
        minimum, actual = error["ctx"]["min_length"], error["ctx"]["actual_length"]
        return f"{setting} needs at least {minimum} entries; it has {actual}."
    if reason in ("literal_error", "enum"):
        return f"{setting} must be {error['ctx']['expected']}, not {value}."
    if reason == "value_error":
        return str(error["ctx"]["error"])
    return f"{setting} is wrong: {error['msg']}; it was {value}."


def _find_model(settings_class: type[Settings], path: list[str]) -> type[Settings]:
    """Return the nested settings model at `path`, or the innermost model on the way there."""
    for part in path:
        field = settings_class.model_fields.get(part)
        inner = field and field.annotation
        if not (isinstance(inner, type) and issubclass(inner, Settings)):
            break
        settings_class = inner
    return settings_class


def shorten_repr(value: Any) -> str:
    """Return the `repr` of a value, cut to at most 60 characters for an error message."""
    text = repr(value)
    return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 3] + "..."


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
        """The path with dots between its names."""
        return ".".join(self.path)

    @property
    def table(self) -> type[Settings] | None:
        """The settings model that the setting holds; None for other types."""
        kind = self.annotation
        return kind if isinstance(kind, type) and issubclass(kind, Settings) else None

    @property
    def choices(self) -> tuple[str, ...]:
        """Values that a literal type allows; empty for other types."""
        return get_args(self.annotation) if get_origin(self.annotation) is Literal else ()

    @property
    def type_name(self) -> str:
        """Type in words, such as "integer" or "list of text"."""
        return type_in_words(self.annotation) + (" or none" if self.optional else "")

    @property
    def default_text(self) -> str:
        """The default as written in a settings file; for a long value its number of entries."""
        if self.required:
            return "required"
        if self.table is not None:
            return ""
        value = plain(self.default)
        if isinstance(value, str):
            return value
        text = "none" if value is None else json.dumps(value)
        return text if len(text) <= _MAX_SHOWN else f"{len(self.default)} entries"

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
    return _iterate_fields(model, (), model.model_construct().model_dump())


def _iterate_fields(
    model: type[Settings], path: tuple[str, ...], defaults: Mapping[str, Any]
) -> Iterator[SettingField]:
    """Yield the settings of the model at `path`, with plain default values by name."""
    for name, info in model.model_fields.items():
        annotation, optional = without_none(info.annotation)
        field = SettingField(
            (*path, name),
            annotation,
            optional,
            info.is_required(),
            defaults.get(name),
            _describe_bounds(info),
            info.description or "",
            next((each for each in info.metadata if isinstance(each, Flag)), Flag()),
        )
        yield field
        if field.table is not None:
            inner = defaults.get(name) or field.table.model_construct().model_dump()
            yield from _iterate_fields(field.table, field.path, inner)


def without_none(annotation: Any) -> tuple[Any, bool]:
    """Return a union without None, and whether None was in it; other types unchanged."""
    members = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else ()
    if NoneType not in members:
        return annotation, False
    rest = tuple(member for member in members if member is not NoneType)
    return rest[0] if len(rest) == 1 else Union[rest], True  # noqa: UP007, made at run time


def type_in_words(annotation: Any) -> str:
    """Return the name of a type, as help texts and the reference show it.

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
    """Return a default as JSON values; infinity becomes text, which settings accept."""
    if isinstance(value, float) and math.isinf(value):
        return str(value)
    if isinstance(value, Mapping):
        return {name: plain(inner) for name, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def _describe_bounds(info: FieldInfo) -> str:
    """Describe the bounds of a field, such as "at least 0, at most 1"."""
    texts = []
    for limit in info.metadata:
        bounds = [bound for bound in _BOUND_TEXTS if hasattr(limit, bound)]
        texts += [f"{_BOUND_TEXTS[bound]} {getattr(limit, bound)}" for bound in bounds]
        if isinstance(limit, MinLen):
            least = limit.min_length
            texts.append("not empty" if least == 1 else f"at least {least} entries")
    return ", ".join(texts)
