"""What a probe agent sees: the cells around it and its own body."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.core.jit import kernel
from kinfolk.core.spaces import ActionHead, AgentGroup, ObservationField, WorldSpec
from kinfolk.testing.probe.state import GRAZER, Probe, ProbeState

RADIUS = (2, 1)  # grazers see further than hunters
BODY_SIZE = 4  # energy, age, callers in sight, share of the episode gone


def build_spec(rules: Probe) -> WorldSpec:
    """The face of a probe world."""
    heads = (ActionHead("move", ("left", "stay", "right")), ActionHead("voice", ("quiet", "call")))
    groups = tuple(
        AgentGroup(
            name,
            (
                ObservationField("window", (2 * radius + 1, 3), "uint8"),
                ObservationField("body", (BODY_SIZE,), "float32"),
            ),
            heads,
        )
        for name, radius in zip(("grazer", "hunter"), RADIUS, strict=True)
    )
    return WorldSpec("probe", rules.rows, groups, rules.max_ticks)


@kernel
def observe(
    s: ProbeState,
    worlds: Ints,
    body_at: Ints,
    max_ticks: int,
    out: Bytes,
    words: npt.NDArray[np.float32],
) -> None:
    """Write the rows of `worlds`; `words` is `out` seen as float32, `body_at` counts in words."""
    rows, cells = s.uid.shape[1], s.food.shape[1]
    for i in range(worlds.shape[0]):
        w = worlds[i]
        for row in range(rows):
            place = w * rows + row
            for byte in range(out.shape[1]):
                out[place, byte] = 0
            if s.uid[w, row] < 0:
                continue
            group = s.group[w, row]
            radius = 2 if group == GRAZER else 1
            callers = 0
            for offset in range(2 * radius + 1):
                out[place, 3 * offset] = s.food[
                    w, (s.cell[w, row] + offset - radius + cells) % cells
                ]
            for j in range(s.living[w]):
                other = s.order[w, j]
                apart = (s.cell[w, other] - s.cell[w, row] + radius + cells) % cells
                if apart <= 2 * radius:
                    out[place, 3 * apart + 1 + s.group[w, other]] += 1
                    if s.calling[w, other]:
                        callers += 1
            at = body_at[group]
            words[place, at] = s.energy[w, row]
            words[place, at + 1] = s.age[w, row]
            words[place, at + 2] = callers
            words[place, at + 3] = s.tick[w] / max_ticks
