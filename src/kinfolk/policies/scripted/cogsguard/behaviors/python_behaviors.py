"""Behaviors in plain Python: the view of an agent that they get, and how their hooks are called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import index
from pathlib import PurePath
from typing import Any, NamedTuple

from kinfolk.core.errors import summarize_error
from kinfolk.core.jit import call_address
from kinfolk.policies.scripted.cogsguard import columns as col
from kinfolk.policies.scripted.cogsguard.exploration import ANYWHERE
from kinfolk.policies.scripted.cogsguard.memory import AgentMemory, grid_distance
from kinfolk.policies.scripted.cogsguard.primitives import can_obtain_gear
from kinfolk.roles.execution import ACT, CAN_START, SHOULD_TERMINATE
from kinfolk.roles.model import BehaviorDef
from kinfolk.worlds.cogsguard import codes
from kinfolk.worlds.cogsguard.spec import FACTS

_NO_ACTION = -1000  # no move, and no reason code
_HOOK_NAMES = {CAN_START: "can_start", ACT: "act", SHOULD_TERMINATE: "should_terminate"}


FACT_DESCRIPTIONS = {
    "hp": "hit points",
    "energy": "energy, which moves cost",
    **{element: f"{element} that it carries" for element in codes.ELEMENTS},
    "hearts": "hearts that it holds",
    "influence": "influence that it holds",
    "gear": "code of its gear; `agent.gear` is the name",
    "vibe": "code of the vibe that it shows",
    **{f"store_{element}": f"{element} in the store of its team" for element in codes.ELEMENTS},
    "store_hearts": "hearts in the store of its team",
    "south": "cells south of where it was born",
    "east": "cells east of where it was born",
    "last_action_succeeded": "1 if its last action succeeded, else 0",
    "episode_fraction_elapsed": "tick of the game",
}


class KnownObject(NamedTuple):
    """A junction or extractor as an agent remembers it."""

    kind: str  # such as "junction" or "carbon_extractor"
    owner: str  # nobody, own, clips or other
    cell: int
    last_seen: int  # the agent's clock at that time


class AgentView:
    """What an agent knows, for behaviors in plain Python.

    `agent["hp"]` and the like are the facts of the observation. Cells are integers; moves are those of
    the world, and None stands for no move.

    Args:
        memory: Memory of all agents.
        agent: The agent's row in memory.
        parameter_columns: Column of the state that holds each parameter, by name.
    """

    def __init__(
        self, memory: AgentMemory, agent: int, parameter_columns: Mapping[str, int] | None = None
    ) -> None:
        self.memory, self.agent = memory, agent
        self._parameter_columns = parameter_columns or {}

    def __getitem__(self, fact: str) -> int:
        """Return a fact, see `FACT_DESCRIPTIONS`; the elapsed share as the tick.

        Raises:
            KeyError: There is no such fact.
        """
        if fact not in FACTS:
            raise KeyError(f"no fact is named {fact!r}; `kinfolk behaviors --facts` lists them")
        return int(self.memory.state[self.agent, FACTS.index(fact)])

    def parameter(self, name: str) -> int:
        """Return a parameter as the agent's role sets it, or its default.

        Raises:
            KeyError: No behavior of the catalog has such a parameter.
        """
        if name not in self._parameter_columns:
            known = ", ".join(self._parameter_columns)
            raise KeyError(f"no behavior has a parameter {name!r}; known are {known}")
        return int(self.memory.state[self.agent, self._parameter_columns[name]])

    @property
    def tick(self) -> int:
        """Number of the tick of the game."""
        return int(self.memory.state[self.agent, col.TICK])

    @property
    def clock(self) -> int:
        """Number of observations that the agent has had."""
        return int(self.memory.state[self.agent, col.CLOCK])

    @property
    def key(self) -> int:
        """Random key of this tick, for `kinfolk.core.random`."""
        return int(self.memory.state[self.agent, col.RANDOM_KEY])

    @property
    def cell(self) -> int:
        """Number of the cell that the agent stands on."""
        return int(self.memory.state[self.agent, col.CELL])

    @property
    def gear(self) -> str:
        """Name of the gear that the agent wears."""
        return codes.GEARS[self["gear"]]

    @property
    def cargo(self) -> int:
        """Number of elements that the agent carries."""
        return sum(self[element] for element in codes.ELEMENTS)

    def building(self, name: str) -> int | None:
        """Return the cell of the team's own `hub`, `chest`, `miner_station`...; None if unknown."""
        columns = {"hub": col.HUB_CELL, "chest": col.CHEST_CELL}
        for i, gear in enumerate(codes.GEARS[1:]):
            columns[f"{gear}_station"] = col.STATION_CELL + i
        return int(self.memory.state[self.agent, columns[name]]) or None

    def junctions(self, owner: str | None = None) -> list[KnownObject]:
        """Return known junctions: all, or those of the owner nobody, own, clips or other."""
        junctions = self._list_known_objects(0, col.N_JUNCTIONS)
        return [junction for junction in junctions if owner in (None, junction.owner)]

    def extractors(self, element: str | None = None) -> list[KnownObject]:
        """Return known extractors that are not used up, all or those of one element."""
        extractors = self._list_known_objects(
            int(self.memory.rules[col.MAX_JUNCTIONS]), col.N_EXTRACTORS
        )
        return [e for e in extractors if element is None or e.kind == f"{element}_extractor"]

    def distance(self, cell: int) -> int:
        """Return the Manhattan distance from the agent to a cell."""
        return grid_distance(self.memory, self.cell, cell)

    def walk_to(self, cell: int) -> int | None:
        """Return the move towards a cell, at last into it, which uses the object on it."""
        return self._call_move_kernel(col.STEP_KERNEL, cell, 0)

    def go_home(self) -> int | None:
        """Return the move to the nearest friendly area; staying once there."""
        return self._call_move_kernel(col.HOME_KERNEL, 0, 0)

    def explore(self) -> int | None:
        """Return the move towards a frontier of the known map."""
        return self._call_move_kernel(col.EXPLORE_KERNEL, ANYWHERE, 0)

    def fetch(self, gear: str) -> int | None:
        """Return the move that gets gear; None if it is worn or cannot be obtained."""
        code = codes.GEARS.index(gear)
        if self.gear == gear or not can_obtain_gear(self.memory, self.agent, code, 0):
            return None
        return self.walk_to(int(self.memory.state[self.agent, col.STATION_CELL + code - 1]))

    def _call_move_kernel(self, kernel: int, a: int, b: int) -> int | None:
        """Call a shared kernel that returns a move, and return the move; None if it has none.

        Args:
            kernel: Column of the rules that holds the address of the kernel.
            a: Third argument of the kernel.
            b: Fourth argument of the kernel.
        """
        move = call_address(int(self.memory.rules[kernel]), self.memory, self.agent, a, b)
        return move if move >= 0 else None

    def _list_known_objects(self, first: int, counter: int) -> list[KnownObject]:
        """Return the known objects from index `first`; `counter` is the state column of their count."""
        count = int(self.memory.state[self.agent, counter])
        objects = []
        for row in self.memory.objects[self.agent, first : first + count].tolist():
            cell, kind, owner, last_seen = row[: col.LAST_SEEN + 1]
            if cell > 0:
                objects.append(KnownObject(codes.KINDS[kind], codes.OWNERS[owner], cell, last_seen))
        return objects


class BehaviorError(Exception):
    """A behavior in plain Python raised an exception, or returned something invalid."""


def call_python_hook(behavior: BehaviorDef, hook: int, view: AgentView) -> int:
    """Call one hook in plain Python and return its result as an integer.

    Args:
        behavior: The behavior that has the hook.
        hook: `CAN_START`, `ACT` or `SHOULD_TERMINATE`.
        view: What its agent knows.

    Returns:
        1 or 0, or for `ACT` a move or a number below zero.

    Raises:
        BehaviorError: The hook failed; the message names the behavior and the function.
    """
    name = _HOOK_NAMES[hook]
    label = f"behavior '{behavior.name}', {name}"
    function: Callable[[AgentView], Any] = getattr(behavior, name)
    try:
        result = function(view)
    except Exception as error:
        raise BehaviorError(f"{label} raised {summarize_error(error).message}") from error
    try:
        if hook == ACT:
            return _NO_ACTION if result is None or result < 0 else index(result)
        return 1 if result else 0
    except (TypeError, ValueError):
        expected = "a move (an integer) or None" if hook == ACT else "True or False"
        returned = f"{label}{_describe_source(function)} returned {result!r}"
        raise BehaviorError(f"{returned}; it must return {expected}") from None


def _describe_source(function: Callable[..., Any]) -> str:
    """Return ` (file:line)` of a function for a message, or an empty text for a builtin."""
    code = getattr(function, "__code__", None)
    return f" ({PurePath(code.co_filename).name}:{code.co_firstlineno})" if code else ""
