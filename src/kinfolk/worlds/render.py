"""What a world exposes to replays and the viewer: layers of cells and attributes of agents.

A world that can be recorded and viewed has a `render_spec`, which describes the numbers, and
`render_frame(world)`, which returns their current values. Both are plain data: replays and the
viewer's page know no world by name.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Bytes, Floats, Ints
from kinfolk.worlds.base import World


@dataclass(frozen=True)
class CellLayer:
    """A layer of the map with one byte per cell.

    Attributes:
        name: Name of the layer.
        encoding: `code`: an index into `labels`; `amount`: 0 to `max_value`; `bits`: one bit for
            each of `labels`.
        labels: Meaning of the codes or bits.
        max_value: Largest amount.
    """

    name: str
    encoding: str
    labels: tuple[str, ...] = ()
    max_value: int = 0


@dataclass(frozen=True)
class AgentAttribute:
    """An integer per agent: `round(value * scale)`, or an index into `labels`.

    Attributes:
        name: Name of the attribute.
        scale: Factor by which the value was multiplied before rounding.
        labels: Meaning of the values if they are codes.
        max_value: Value that fills a bar in the viewer, 0 if there is no maximum.
        drawn_as: How the map shows it: `size` of the agent, `letter` (the letter of the label's
            symbol), `cross` (agents with code 1 are dead); `hidden` even from the panel of an agent,
            "" in that panel only.
    """

    name: str
    scale: float = 1.0
    labels: tuple[str, ...] = ()
    max_value: float = 0.0
    drawn_as: str = ""


@dataclass(frozen=True)
class Symbol:
    """How the viewer draws something that a world names; what has no symbol gets a free colour.

    Attributes:
        name: A group, an owner, a label of the layer `kind` or of an attribute, or a line of a chart.
        colour: `blue`, `vermillion`, `green`, `orange`, `sky`, `purple`, `yellow`, `grey` or `grass`.
        shape: Of a group: `circle`, `triangle`, `square` or `diamond`. Of a kind of cell: `ground`,
            `wall`, `amount` (the denser its colour, the larger the amount), `tile`, `stock` (a tile
            that fades with its amount), or `diamond` (hollow without an owner).
        letter: Letter or sign on it.
        label: Its name in the legend; "" for the name itself.
        size: Side of a tile, in cells.
    """

    name: str
    colour: str = ""
    shape: str = ""
    letter: str = ""
    label: str = ""
    size: float = 1.0


@dataclass(frozen=True)
class RenderSpec:
    """Describe the contents of the frames of a world.

    Attributes:
        height: Rows of the map.
        width: Columns of the map.
        layers: Layers of `RenderFrame.cells`.
        attributes: Rows of `RenderFrame.attributes`.
        view_radius: Per group, the cells that an agent sees to each side.
        owners: Who can own a cell, if not a group.
        series: Time series of `RenderFrame.series`, named `chart/line`.
        symbols: How things are drawn, and what they are called in the legend.
        main_events: Kinds of events that are worth jumping to, the most important first.
        pair_events: Kinds of events whose `other` is the uid of another agent.
    """

    height: int
    width: int
    layers: tuple[CellLayer, ...]
    attributes: tuple[AgentAttribute, ...]
    view_radius: tuple[int, ...]
    owners: tuple[str, ...] = ()
    series: tuple[str, ...] = ()
    symbols: tuple[Symbol, ...] = ()
    main_events: tuple[str, ...] = ()
    pair_events: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the specification as JSON-compatible values."""
        return asdict(self)


class RenderFrame(NamedTuple):
    """The contents of one world at one tick."""

    cells: Bytes  # [layers, height * width]
    agent_cell: Ints  # [N] cell of the agent in each row
    attributes: npt.NDArray[np.int64]  # [attributes, N]
    series: Floats  # [series]


@runtime_checkable
class Renderable(World, Protocol):
    """A world that replays can record and the viewer can show."""

    @property
    def render_spec(self) -> RenderSpec:
        """Description of this world's frames."""
        ...

    def render_frame(self, world: int) -> RenderFrame:
        """Return the current frame of one world; the arrays are copies."""
        ...
