"""How a world is looked at: layers of cells, and what is told of each agent.

A world that can be recorded and viewed has a `scene`, which says what the numbers mean, and
`show(world)`, which gives them as they are now. Both are plain data: recordings and the page of
the viewer know no world by name.
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
    """One number of a byte per cell.

    `form` says how it is read: `code` is an index into `names`; `amount` goes from 0 to `most`;
    `bits` has a bit for each of `names`.
    """

    name: str
    encoding: str
    labels: tuple[str, ...] = ()
    max_value: int = 0


@dataclass(frozen=True)
class AgentAttribute:
    """One whole number per agent: `value * scale`, rounded; or an index into `names`.

    `most` is what a full bar would be, 0 if there is no such thing.
    """

    name: str
    scale: float = 1.0
    labels: tuple[str, ...] = ()
    max_value: float = 0.0


@dataclass(frozen=True)
class RenderSpec:
    """What `Shown` means. `sight` has the cells that each group sees to each side."""

    height: int
    width: int
    layers: tuple[CellLayer, ...]
    attributes: tuple[AgentAttribute, ...]
    view_radius: tuple[int, ...]
    owners: tuple[str, ...] = ()  # whose a cell can be, if not a group's
    series: tuple[str, ...] = ()  # names as `chart/line`

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


class RenderFrame(NamedTuple):
    """One world as it is now."""

    cells: Bytes  # [layers, height * width]
    agent_cell: Ints  # [N] where each row's agent is
    attributes: npt.NDArray[np.int64]  # [traits, N]
    series: Floats  # [series]


@runtime_checkable
class Renderable(World, Protocol):
    """A world that can be looked at."""

    @property
    def render_spec(self) -> RenderSpec:
        """What is shown."""
        ...

    def render_frame(self, world: int) -> RenderFrame:
        """One world as it is now; the arrays are the caller's."""
        ...
