"""One world as text, with the symbols of drawn maps."""

from __future__ import annotations

from kinfolk.worlds.cogsguard.codes import AGENT, JUNCTION, KIND_MASK, WHOSE
from kinfolk.worlds.cogsguard.legend import symbol_of
from kinfolk.worlds.cogsguard.rules import Rules
from kinfolk.worlds.cogsguard.sites import PADS
from kinfolk.worlds.cogsguard.state import State


def picture(s: State, r: Rules, world: int) -> str:
    """The map as it is now; agents have the symbol of their team's pads."""
    lines = []
    for y in range(r.pad, r.pad + r.height):
        line = ""
        for x in range(r.pad, r.pad + r.width):
            cell = y * r.stride + x
            kind, number = int(s.shown[world, 0, cell]) & KIND_MASK, int(s.detail[world, cell])
            if kind == AGENT:
                line += PADS[number // r.rows_per_team]
            else:
                owner = int(s.junction[world, number, WHOSE]) if kind == JUNCTION else -1
                line += symbol_of(kind, owner, r.teams)
        lines.append(line)
    return "\n".join(lines)
