"""Behaviours in plain Python: what they see, and how they are asked."""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from pathlib import PurePath
from typing import Any, NamedTuple

from kinfolk.core.function_table import call_address
from kinfolk.core.tracebacks import summarize_error
from kinfolk.policies.scripted.cogsguard.exploration import ANYWHERE
from kinfolk.policies.scripted.cogsguard.memory import (
    CELL,
    CHEST_CELL,
    CLOCK,
    HUB_CELL,
    KIND,
    LAST_SEEN,
    N_EXTRACTORS,
    N_JUNCTIONS,
    OBJECT_CELL,
    OWNER,
    RANDOM_KEY,
    STATION_CELL,
    TICK,
    AgentMemory,
    grid_distance,
)
from kinfolk.policies.scripted.cogsguard.parameters import (
    EXPLORE_KERNEL,
    HOME_KERNEL,
    MAX_JUNCTIONS,
    STEP_KERNEL,
)
from kinfolk.policies.scripted.cogsguard.requirements import can_obtain_gear
from kinfolk.roles.execution import ACT, CAN_START, SHOULD_TERMINATE
from kinfolk.roles.model import BehaviorDef
from kinfolk.worlds.cogsguard.codes import ELEMENTS, GEARS, KINDS, OWNERS
from kinfolk.worlds.cogsguard.spec import FACTS

_NO_ACTION = -1000  # an answer without a reason
_HOOK_NAMES = {CAN_START: "can_start", ACT: "act", SHOULD_TERMINATE: "should_terminate"}


class KnownObject(NamedTuple):
    """A junction or extractor as an agent remembers it."""

    kind: str
    owner: str
    cell: int
    last_seen: int  # tick of the agent's own clock


class AgentView:
    """What an agent knows, for behaviours in plain Python.

    `agent["hp"]` and the like are the facts of the observation. Cells are numbers; moves are those
    of the world, and None means that there is none.
    """

    def __init__(self, memory: AgentMemory, agent: int) -> None:
        self.memory, self.agent = memory, agent

    def __getitem__(self, fact: str) -> int:
        """A fact, as named in `worlds.cogsguard.layout.FACTS`; the share of the episode as a tick."""
        return int(self.memory.state[self.agent, FACTS.index(fact)])

    @property
    def tick(self) -> int:
        """The tick of the game."""
        return int(self.memory.state[self.agent, TICK])

    @property
    def clock(self) -> int:
        """How often it has looked."""
        return int(self.memory.state[self.agent, CLOCK])

    @property
    def key(self) -> int:
        """The key of this tick's chance, for `kinfolk.core.random`."""
        return int(self.memory.state[self.agent, RANDOM_KEY])

    @property
    def cell(self) -> int:
        """Where it stands."""
        return int(self.memory.state[self.agent, CELL])

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
        columns = {"hub": HUB_CELL, "chest": CHEST_CELL}
        columns |= {f"{gear}_station": STATION_CELL + i for i, gear in enumerate(GEARS[1:])}
        return int(self.memory.state[self.agent, columns[name]]) or None

    def junctions(self, owner: str | None = None) -> list[KnownObject]:
        """Known junctions, all or those of one owner: nobody, own, clips, other."""
        found = self._objects(0, N_JUNCTIONS)
        return [one for one in found if owner is None or one.owner == owner]

    def extractors(self, element: str | None = None) -> list[KnownObject]:
        """Known extractors that are not used up, all or those of one element."""
        found = self._objects(int(self.memory.rules[MAX_JUNCTIONS]), N_EXTRACTORS)
        return [one for one in found if element is None or one.kind == f"{element}_extractor"]

    def distance(self, cell: int) -> int:
        """Steps to a cell if nothing is in the way."""
        return grid_distance(self.memory, self.cell, cell)

    def walk_to(self, cell: int) -> int | None:
        """The move that leads to a cell, and at last into it, which uses what stands there."""
        return self._move(STEP_KERNEL, cell, 0)

    def go_home(self) -> int | None:
        """The move to the nearest friendly area; staying once there."""
        return self._move(HOME_KERNEL, 0, 0)

    def explore(self) -> int | None:
        """The move towards the frontier of the known map."""
        return self._move(EXPLORE_KERNEL, ANYWHERE, 0)

    def fetch(self, gear: str) -> int | None:
        """The move that gets gear; None if it wears it or cannot have it."""
        wanted = GEARS.index(gear)
        if self.gear == gear or not can_obtain_gear(self.memory, self.agent, wanted, 0):
            return None
        return self.walk_to(int(self.memory.state[self.agent, STATION_CELL + wanted - 1]))

    def _move(self, tool: int, a: int, b: int) -> int | None:
        move = call_address(int(self.memory.rules[tool]), self.memory, self.agent, a, b)
        return move if move >= 0 else None

    def _objects(self, first: int, counter: int) -> list[KnownObject]:
        count = int(self.memory.state[self.agent, counter])
        entries = self.memory.objects[self.agent, first : first + count].tolist()
        return [
            KnownObject(KINDS[one[KIND]], OWNERS[one[OWNER]], one[OBJECT_CELL], one[LAST_SEEN])
            for one in entries
            if one[OBJECT_CELL] > 0
        ]


class BehaviorError(Exception):
    """A behavior in plain Python raised something, or returned what is no move."""


def call_python_hook(behavior: BehaviorDef, hook: int, memory: AgentMemory, agent: int) -> int:
    """The answer of one hook in plain Python, as a number for the runner.

    Args:
        behavior: Whose hook it is.
        hook: `CAN_START`, `ACT` or `SHOULD_TERMINATE`.
        memory: What all agents know.
        agent: Which of them is asked.

    Raises:
        BehaviorError: It failed; the message names the behavior and the function.
    """
    name = _HOOK_NAMES[hook]
    asked: Callable[[AgentView], Any] = getattr(behavior, name)
    try:
        answer = asked(AgentView(memory, agent))
    except Exception as error:
        raise BehaviorError(
            f"behavior '{behavior.name}', {name} raised {summarize_error(error).message}"
        ) from error
    try:
        if hook == ACT:
            return _NO_ACTION if answer is None or answer < 0 else index(answer)
        return 1 if answer else 0
    except (TypeError, ValueError):
        wanted = "a move (a whole number) or None" if hook == ACT else "True or False"
        raise BehaviorError(
            f"behavior '{behavior.name}', {name}{_source_of(asked)} returned {answer!r}; {wanted} was "
            f"asked for"
        ) from None


def _source_of(function: Callable[..., Any]) -> str:
    code = getattr(function, "__code__", None)
    return f" ({PurePath(code.co_filename).name}:{code.co_firstlineno})" if code else ""
