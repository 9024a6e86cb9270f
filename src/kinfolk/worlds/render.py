"""What a world exposes to replays and the viewer: layers of cells and attributes of agents.

A world that can be recorded and viewed has a `render_spec`, which describes the numbers, and
`render_frame(world)`, which returns their current values. Both are plain data: replays and the
viewer's page know no world by name. `render_check` refuses what does not fit together.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Bytes, Floats, Ints
from kinfolk.worlds.base import World

COLOURS = ("blue", "vermillion", "green", "orange", "sky", "purple", "yellow", "grey", "grass")
GROUP_SHAPES = ("circle", "triangle", "square", "diamond")
CELL_SHAPES = ("ground", "wall", "amount", "tile", "stock", "diamond")


@dataclass(frozen=True)
class CellLayer:
    """A layer of the map with one byte per cell: a row of `RenderFrame.cells`.

    The page draws the layers `kind`, which every world has, and `owner`, `area` and `amount`.

    Attributes:
        name: Name of the layer. `kind`: what is in the cell; `owner`: to whom it belongs, code 0 to
            nobody; `area`: in whose territories it lies; `amount`: how much it holds.
        encoding: `code`: an index into `labels`; `amount`: 0 to `max_value`; `bits`: one bit for
            each of `labels`.
        labels: Meaning of the codes or bits; at most 32 of `kind`, 8 of `owner` and 5 of `area`.
        max_value: Largest amount, 1 to 255.
    """

    name: str
    encoding: str
    labels: tuple[str, ...] = ()
    max_value: int = 0


@dataclass(frozen=True)
class AgentAttribute:
    """An integer per agent, `round(value * scale)` or an index into `labels`.

    It is a row of `RenderFrame.attributes`.

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
        colour: `blue`, `vermillion`, `green`, `orange`, `sky`, `purple`, `yellow`, `grey` or `grass`;
            "" for a free one.
        shape: Of a group: `circle`, `triangle`, `square` or `diamond`. Of a kind of cell: `ground`,
            `wall`, `amount` (the denser its colour, the larger the amount), `tile`, `stock` (a tile
            that fades with its amount), or `diamond` (hollow without an owner).
        letter: Letter or sign on a cell (not on `ground`, `wall` and `amount`), or on agents whose
            attribute with `drawn_as="letter"` has this name as its label. That of a group is drawn
            only so; without such an attribute groups are told apart by colour and shape.
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
        width: Columns of the map; a ring or a line has height 1.
        layers: Layers of `RenderFrame.cells`, among them `kind`.
        attributes: Rows of `RenderFrame.attributes`. One called `energy` gets a chart of its mean.
        view_radius: One number per group: the cells that an agent sees to each side, 0 if none.
        owners: Who can own a cell, if not a group.
        series: Names of the values of `RenderFrame.series`, as `chart/line`. The numbers of agents
            by group and the returns by slot are recorded for every world.
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
    """The contents of one world with N rows at one tick, in the order of its `RenderSpec`.

    Agents in one cell are drawn on top of each other. Rows without an agent may hold anything.

    Attributes:
        cells: `[layers, height * width]` uint8; a cell's index is `row * width + column`.
        agent_cell: `[N]` whole numbers, the cell of the agent in each row.
        attributes: `[attributes, N]` whole numbers.
        series: `[series]` numbers.
    """

    cells: Bytes
    agent_cell: Ints
    attributes: npt.NDArray[np.int64]
    series: Floats


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
