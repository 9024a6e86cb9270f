"""Behaviours in plain Python: what they see, and how they are asked."""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from pathlib import PurePath
from typing import Any, NamedTuple

from kinfolk.core.hooks import call_here
from kinfolk.core.tracebacks import explain
from kinfolk.policies.cogsguard.exploring import ANYWHERE
from kinfolk.policies.cogsguard.knowledge import EXPLORE_TOOL, HOME_TOOL, MOST_JUNCTIONS, WALK_TOOL
from kinfolk.policies.cogsguard.memory import (
    CELL,
    CHEST_AT,
    CLOCK,
    HUB_AT,
    KEY,
    KIND,
    NEXT_EXTRACTOR,
    NEXT_JUNCTION,
    OWNER,
    SEEN,
    STATION_AT,
    TICK,
    WHERE,
    Mind,
    apart,
)
from kinfolk.policies.cogsguard.needs import can_have
from kinfolk.roles.execution import ACT, CAN_START, SHOULD_TERMINATE
from kinfolk.roles.model import BehaviorDef
from kinfolk.worlds.cogsguard.codes import ELEMENTS, GEARS, KINDS, OWNERS
from kinfolk.worlds.cogsguard.layout import FACTS

_CANNOT = -1000  # an answer without a reason
_HOOKS = {CAN_START: "can_start", ACT: "act", SHOULD_TERMINATE: "should_terminate"}


class Known(NamedTuple):
    """A junction or extractor as an agent remembers it."""

    kind: str
    owner: str
    cell: int
    seen: int  # tick of the agent's own clock


class AgentView:
    """What an agent knows, for behaviours in plain Python.

    `agent["hp"]` and the like are the facts of the observation. Cells are numbers; moves are those
    of the world, and None means that there is none.
    """

    def __init__(self, mind: Mind, place: int) -> None:
        self.mind, self.place = mind, place

    def __getitem__(self, fact: str) -> int:
        """A fact, as named in `worlds.cogsguard.layout.FACTS`; the share of the episode as a tick."""
        return int(self.mind.notes[self.place, FACTS.index(fact)])

    @property
    def tick(self) -> int:
        """The tick of the game."""
        return int(self.mind.notes[self.place, TICK])

    @property
    def clock(self) -> int:
        """How often it has looked."""
        return int(self.mind.notes[self.place, CLOCK])

    @property
    def key(self) -> int:
        """The key of this tick's chance, for `kinfolk.core.keys`."""
        return int(self.mind.notes[self.place, KEY])

    @property
    def cell(self) -> int:
        """Where it stands."""
        return int(self.mind.notes[self.place, CELL])

    @property
    def gear(self) -> str:
        """What it wears."""
        return GEARS[self["gear"]]

    @property
    def cargo(self) -> int:
        """Elements it carries."""
        return sum(self[element] for element in ELEMENTS)

    def building(self, name: str) -> int | None:
        """The cell of the team's own `hub`, `chest` or `miner_station`; None while unknown."""
        columns = {"hub": HUB_AT, "chest": CHEST_AT}
        columns |= {f"{gear}_station": STATION_AT + i for i, gear in enumerate(GEARS[1:])}
        return int(self.mind.notes[self.place, columns[name]]) or None

    def junctions(self, owner: str | None = None) -> list[Known]:
        """Known junctions, all or those of one owner: nobody, own, clips, other."""
        found = self._objects(0, NEXT_JUNCTION)
        return [one for one in found if owner is None or one.owner == owner]

    def extractors(self, element: str | None = None) -> list[Known]:
        """Known extractors that are not used up, all or those of one element."""
        found = self._objects(int(self.mind.rules[MOST_JUNCTIONS]), NEXT_EXTRACTOR)
        return [one for one in found if element is None or one.kind == f"{element}_extractor"]

    def distance(self, cell: int) -> int:
        """Steps to a cell if nothing is in the way."""
        return apart(self.mind, self.cell, cell)

    def walk_to(self, cell: int) -> int | None:
        """The move that leads to a cell, and at last into it, which uses what stands there."""
        return self._move(WALK_TOOL, cell, 0)

    def go_home(self) -> int | None:
        """The move to the nearest friendly area; staying once there."""
        return self._move(HOME_TOOL, 0, 0)

    def explore(self) -> int | None:
        """The move towards the frontier of the known map."""
        return self._move(EXPLORE_TOOL, ANYWHERE, 0)

    def fetch(self, gear: str) -> int | None:
        """The move that gets gear; None if it wears it or cannot have it."""
        wanted = GEARS.index(gear)
        if self.gear == gear or not can_have(self.mind, self.place, wanted, 0):
            return None
        return self.walk_to(int(self.mind.notes[self.place, STATION_AT + wanted - 1]))

    def _move(self, tool: int, a: int, b: int) -> int | None:
        move = call_here(int(self.mind.rules[tool]), self.mind, self.place, a, b)
        return move if move >= 0 else None

    def _objects(self, first: int, counter: int) -> list[Known]:
        count = int(self.mind.notes[self.place, counter])
        entries = self.mind.objects[self.place, first : first + count].tolist()
        return [
            Known(KINDS[one[KIND]], OWNERS[one[OWNER]], one[WHERE], one[SEEN])
            for one in entries
            if one[WHERE] > 0
        ]


class BehaviorError(Exception):
    """A behavior in plain Python raised something, or returned what is no move."""


def ask_plainly(behavior: BehaviorDef, hook: int, mind: Mind, place: int) -> int:
    """The answer of one hook in plain Python, as a number for the runner.

    Args:
        behavior: Whose hook it is.
        hook: `CAN_START`, `ACT` or `SHOULD_TERMINATE`.
        mind: What all agents know.
        place: Which of them is asked.

    Raises:
        BehaviorError: It failed; the message names the behavior and the function.
    """
    name = _HOOKS[hook]
    asked: Callable[[AgentView], Any] = getattr(behavior, name)
    try:
        answer = asked(AgentView(mind, place))
    except Exception as error:
        raise BehaviorError(
            f"behavior '{behavior.name}', {name} raised {explain(error).what}"
        ) from error
    try:
        if hook == ACT:
            return _CANNOT if answer is None or answer < 0 else index(answer)
        return 1 if answer else 0
    except (TypeError, ValueError):
        wanted = "a move (a whole number) or None" if hook == ACT else "True or False"
        raise BehaviorError(
            f"behavior '{behavior.name}', {name}{_place_of(asked)} returned {answer!r}; {wanted} was "
            f"asked for"
        ) from None


def _place_of(function: Callable[..., Any]) -> str:
    code = getattr(function, "__code__", None)
    return f" ({PurePath(code.co_filename).name}:{code.co_firstlineno})" if code else ""
