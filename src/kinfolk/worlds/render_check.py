"""Check what a world gives to replays: its `render_spec` once, and each frame against it.

A frame that does not fit its spec would be drawn as something else, such as a series under the
name of the next one. The errors name the world's class and the line of its method.
"""

from __future__ import annotations

from collections.abc import Iterator
from inspect import getattr_static
from typing import Any

import numpy as np

from kinfolk.core.errors import (
    ContractError,
    find_definition,
    format_suggestion,
    summarize_error,
)
from kinfolk.worlds.base import World
from kinfolk.worlds.render import (
    CELL_SHAPES,
    COLOURS,
    GROUP_SHAPES,
    AgentAttribute,
    CellLayer,
    Renderable,
    RenderFrame,
    RenderSpec,
    Symbol,
)

_PARTS: dict[str, type] = {
    "layers": CellLayer,
    "attributes": AgentAttribute,
    "view_radius": int,
    "owners": str,
    "series": str,
    "symbols": Symbol,
    "main_events": str,
    "pair_events": str,
}
_ENCODINGS = ("code", "amount", "bits")
_MAX_LABELS = {"kind": 32, "owner": 8, "area": 5}  # that the page can tell apart
_DRAWN_AS = ("", "size", "letter", "cross", "hidden")
_MAX_BYTE = 255
_KINDS = {"cells": "", "agent_cell": "iu", "attributes": "iu", "series": "iuf"}  # beside uint8
_AXES = {
    "cells": "[layers, height * width]",
    "agent_cell": "[rows]",
    "attributes": "[attributes, rows]",
    "series": "[series]",
}
_TYPES = {
    "cells": "uint8",
    "agent_cell": "whole numbers, such as int64",
    "attributes": "whole numbers, such as int64",
    "series": "numbers",
}
_VERBS = {name: f"{name} {'has' if name == 'agent_cell' else 'have'}" for name in _AXES}


def find_missing_member(world: World) -> str:
    """Return what a world lacks to be recorded: `render_spec` or `render_frame`; "" if nothing."""
    names = ("render_spec", "render_frame")  # read statically: a property may raise
    return next((name for name in names if getattr_static(world, name, None) is None), "")


class CheckedRenderer:
    """Renders a world and checks the result.

    Args:
        world: The batch of worlds.

    Attributes:
        spec: The world's `render_spec`, read once.

    Raises:
        ContractError: The `render_spec` contradicts itself or the world's groups, or raised.
    """

    def __init__(self, world: Renderable) -> None:
        self._world, kind = world, type(world)
        self._name = kind.__name__
        getter = getattr(getattr(kind, "render_spec", None), "fget", None)
        self._spec_line = find_definition(getter) if getter else ""
        self._frame_line = find_definition(world.render_frame)
        try:
            self.spec = world.render_spec
        except Exception as error:
            raise self._name_failure("render_spec", error) from error
        for problem in _find_spec_problems(self.spec, [g.name for g in world.spec.groups]):
            raise ContractError(f"{self._name}.render_spec{problem}", self._spec_line)
        spec = self.spec
        self._shapes = {
            "cells": (len(spec.layers), spec.height * spec.width),
            "agent_cell": (world.spec.rows,),
            "attributes": (len(spec.attributes), world.spec.rows),
            "series": (len(spec.series),),
        }

    def render(self, world: int, with_values: bool = False) -> RenderFrame:
        """Return the current frame of one world.

        Args:
            world: Index of the world in the batch.
            with_values: Whether cells and codes are checked too, beside shapes and types.

        Raises:
            ContractError: The frame does not fit the spec, or `render_frame` raised.
        """
        try:
            frame = self._world.render_frame(world)
        except Exception as error:
            raise self._name_failure("render_frame", error) from error
        if not isinstance(frame, RenderFrame):
            raise self._make_error(f" returned {type(frame).__name__}; expected a RenderFrame.")
        for (name, shape), array in zip(self._shapes.items(), frame, strict=True):
            if not isinstance(array, np.ndarray) or array.shape != shape:
                raise self._make_error(self._describe_shape(name, array))
            is_byte = array.dtype == np.uint8
            if not is_byte and array.dtype.kind not in _KINDS[name]:
                raise self._make_error(
                    f": {_VERBS[name]} type {array.dtype}, expected {_TYPES[name]}."
                )
        if with_values:
            self._check_values(frame, world)
        return frame

    def _describe_shape(self, name: str, array: Any) -> str:
        """Return what is wrong with a part of a frame that is no array of the right shape."""
        series, expected = self.spec.series, f"{self._shapes[name]}: {_AXES[name]}"
        if not isinstance(array, np.ndarray):
            return f": {_VERBS[name]} type {type(array).__name__}, expected an array {expected}."
        if name == "series" and array.ndim == 1:
            names = f": {', '.join(series)}" if series else ""
            return f" gave {len(array)} series; render_spec names {len(series)}{names}."
        return f": {_VERBS[name]} shape {array.shape}, expected {expected}."

    def _check_values(self, frame: RenderFrame, world: int) -> None:
        """Check that agents are on the map and that codes have labels."""
        spec, rows = self.spec, self._world.spec.rows
        uid = self._world.columns.uid[world * rows : (world + 1) * rows]
        cell, last = frame.agent_cell, spec.height * spec.width - 1
        for row in np.flatnonzero((uid >= 0) & ((cell < 0) | (cell > last)))[:1].tolist():
            raise self._make_error(
                f": agent {uid[row]} is in cell {cell[row]}, expected 0 to {last}, row * width + column."
            )
        for layer, values in zip(spec.layers, frame.cells, strict=True):
            if layer.encoding == "code" and values.max(initial=0) >= len(layer.labels):
                raise self._make_error(
                    f": layer '{layer.name}' holds code {values.max()}, expected 0 to"
                    f" {len(layer.labels) - 1}: {', '.join(layer.labels)}."
                )

    def _make_error(self, problem: str) -> ContractError:
        """Return the error for a frame."""
        return ContractError(f"{self._name}.render_frame{problem}", self._frame_line)

    def _name_failure(self, method: str, error: Exception) -> ContractError:
        """Return the error for one that the world's own code raised, with its file and line."""
        description, location, _ = summarize_error(error)
        return ContractError(f"{self._name}.{method} failed: {description}", location)


def _find_spec_problems(spec: Any, groups: list[str]) -> Iterator[str]:
    """Yield what is wrong with a `render_spec`, as ends of a sentence."""
    if not isinstance(spec, RenderSpec):
        yield f" is of type {type(spec).__name__}; expected a RenderSpec."
    for name in ("height", "width"):
        value = getattr(spec, name)
        if not isinstance(value, int) or value < 1:
            yield f".{name} is {value!r}; expected a whole number from 1 on."
    for name, kind in _PARTS.items():
        parts = getattr(spec, name)
        if not isinstance(parts, (tuple, list)) or not all(isinstance(p, kind) for p in parts):
            yield f".{name} is {parts!r}; expected a tuple of {kind.__name__}."
    if len(spec.view_radius) != len(groups) or min(spec.view_radius, default=0) < 0:
        wanted = f"one number of cells per group ({', '.join(groups)})"
        yield f".view_radius is {spec.view_radius!r}; expected {wanted}."
    for name in spec.series:
        if not all(name.partition("/")):
            yield f".series has '{name}'; expected 'chart/line', such as '{name.strip('/')}/all'."
    for name, names in (
        ("layers", [layer.name for layer in spec.layers]),
        ("attributes", [attribute.name for attribute in spec.attributes]),
        ("symbols", [symbol.name for symbol in spec.symbols]),
        ("series", list(spec.series)),
    ):
        for twice in (each for each in names if names.count(each) > 1):
            yield f".{name} names '{twice}' twice."
    yield from _find_layer_problems(spec)
    for attribute in spec.attributes:
        yield from _find_attribute_problems(attribute)
    kinds = next(layer.labels for layer in spec.layers if layer.name == "kind")
    for symbol in spec.symbols:
        yield from _find_symbol_problems(symbol, groups, kinds)


def _find_layer_problems(spec: RenderSpec) -> Iterator[str]:
    """Yield what is wrong with the layers of cells."""
    if ("kind", "code") not in [(layer.name, layer.encoding) for layer in spec.layers]:
        yield ".layers lacks the kinds of cells: CellLayer('kind', 'code', ('ground',))."
    for layer in spec.layers:
        start, n_labels = f": layer '{layer.name}' has", len(layer.labels)
        if layer.encoding not in _ENCODINGS:
            hint = format_suggestion(layer.encoding, _ENCODINGS)
            yield f": layer '{layer.name}' cannot have the encoding '{layer.encoding}'.{hint}"
        if isinstance(layer.labels, str):
            yield f"{start} the labels {layer.labels!r}; expected a tuple of str."
        most = _MAX_LABELS.get(layer.name, 8 if layer.encoding == "bits" else _MAX_BYTE + 1)
        if layer.encoding != "amount" and not 1 <= n_labels <= most:
            yield f"{start} {n_labels} labels; expected 1 to {most}."
        if layer.encoding == "amount" and not 1 <= layer.max_value <= _MAX_BYTE:
            yield f"{start} the max_value {layer.max_value}; expected 1 to {_MAX_BYTE}."


def _find_attribute_problems(attribute: AgentAttribute) -> Iterator[str]:
    """Yield what is wrong with an attribute of agents."""
    start, drawn_as = f": attribute '{attribute.name}' has", attribute.drawn_as
    if drawn_as not in _DRAWN_AS:
        hint = format_suggestion(drawn_as, _DRAWN_AS[1:])
        yield f": attribute '{attribute.name}' cannot have drawn_as '{drawn_as}'.{hint}"
    if drawn_as == "letter" and not attribute.labels:
        yield f"{start} drawn_as 'letter' and no labels, whose symbols have the letters."
    if isinstance(attribute.labels, str):
        yield f"{start} the labels {attribute.labels!r}; expected a tuple of str."
    if not attribute.scale > 0:
        yield f"{start} the scale {attribute.scale}; expected a number above 0."


def _find_symbol_problems(
    symbol: Symbol, groups: list[str], kinds: tuple[str, ...]
) -> Iterator[str]:
    """Yield what is wrong with a symbol: its colour, or a shape that its thing cannot have."""
    start = f": symbol '{symbol.name}' cannot have the"
    if symbol.colour not in ("", *COLOURS):
        yield f"{start} colour '{symbol.colour}'.{format_suggestion(symbol.colour, COLOURS)}"
    is_group, is_kind = symbol.name in groups, symbol.name in kinds
    shapes = (*(GROUP_SHAPES if is_group or not is_kind else ()),
              *(CELL_SHAPES if is_kind or not is_group else ()))  # fmt: skip
    if symbol.shape not in ("", *shapes):
        yield f"{start} shape '{symbol.shape}'.{format_suggestion(symbol.shape, dict.fromkeys(shapes))}"
