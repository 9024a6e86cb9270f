"""Observations and actions of the probe world, and the kernel that writes observations."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.core.jit import kernel
from kinfolk.core.spaces import ActionHead, AgentGroup, ObservationField, WorldSpec
from kinfolk.testing.probe import state
from kinfolk.testing.probe.state import Probe, ProbeState

VIEW_RADIUS = (2, 1)  # of grazers and hunters, in cells to each side


BODY_LABELS = ("energy", "age", "callers_in_view", "episode_fraction_elapsed")
BODY_SIZE = len(BODY_LABELS)


def build_spec(settings: Probe) -> WorldSpec:
    """Return observations and actions of a probe world with these settings."""
    heads = (ActionHead("move", ("left", "stay", "right")), ActionHead("voice", ("quiet", "call")))
    groups = []
    for name, radius in zip(("grazer", "hunter"), VIEW_RADIUS, strict=True):
        window = ObservationField("window", (2 * radius + 1, 3), "uint8")
        body = ObservationField("body", (BODY_SIZE,), "float32", BODY_LABELS)
        groups.append(AgentGroup(name, (window, body), heads))
    return WorldSpec("probe", settings.rows, tuple(groups), settings.max_ticks)


@kernel
def write_observations(
    s: ProbeState,
    worlds: Ints,
    body_offset: Ints,
    max_ticks: int,
    out: Bytes,
    out_floats: npt.NDArray[np.float32],
) -> None:
    """Write the observations of some worlds.

    Args:
        s: State of all worlds; read only.
        worlds: Indices of the worlds to observe.
        body_offset: `[groups]`, where the body starts in a row of `out_floats`.
        max_ticks: Length of an episode.
        out: `[worlds * rows, bytes]`, observations to write; 0 for empty rows.
        out_floats: The same memory as float32.
    """
    rows, cells = s.uid.shape[1], s.food.shape[1]
    for i in range(worlds.shape[0]):
        w = worlds[i]
        for row in range(rows):
            index = w * rows + row
            out[index] = 0
            if s.uid[w, row] < 0:
                continue
            group = s.group[w, row]
            radius = 2 if group == state.GRAZER else 1
            callers = 0
            for offset in range(2 * radius + 1):
                cell = (s.cell[w, row] + offset - radius + cells) % cells
                out[index, 3 * offset] = s.food[w, cell]
            for j in range(s.living[w]):
                other = s.order[w, j]
                other_offset = (s.cell[w, other] - s.cell[w, row] + radius + cells) % cells
                if other_offset <= 2 * radius:
                    out[index, 3 * other_offset + 1 + s.group[w, other]] += 1
                    if s.calling[w, other]:
                        callers += 1
            start = body_offset[group]
            out_floats[index, start] = s.energy[w, row]
            out_floats[index, start + 1] = s.age[w, row]
            out_floats[index, start + 2] = callers
            out_floats[index, start + 3] = s.tick[w] / max_ticks
