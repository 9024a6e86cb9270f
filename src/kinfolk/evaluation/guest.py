"""The far end of isolation: the process in which one policy lives."""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from kinfolk.core.spaces import WorldSpec
from kinfolk.engines.lifeline import tie_to_parent
from kinfolk.evaluation.wire import ASK, BEGIN, LEAVE, RAISED, READY, Wire, WireShape
from kinfolk.policies.base import allocate
from kinfolk.policies.resolve import ResolvedPolicy, build


def host_policy(
    pipe: Connection, name: str, shape: WireShape, resolved: ResolvedPolicy, spec: dict[str, Any]
) -> None:
    """Build the policy, then answer questions until told to leave or the host is gone."""
    tie_to_parent(at_once=True)
    wire = Wire(shape, name)

    def answer(question: Callable[[], None]) -> bool:
        """Do what was asked, say how it went, and wake the host."""
        asked = int(wire.header[0])
        try:
            question()
            outcome = READY
        except BaseException as error:  # even SystemExit: the host must hear of it
            wire.put_text(f"{type(error).__name__}: {error}")
            outcome = RAISED
        wire.header[4] = outcome
        wire.header[3] = asked
        pipe.send_bytes(b".")
        return outcome == READY

    policy: Any = None
    memory: Any = None

    def start() -> None:
        nonlocal policy, memory
        policy = build(resolved, WorldSpec.from_dict(spec))
        memory = allocate(policy.memory, shape.capacity)

    def begin() -> None:
        rows, keys = wire.get_rows()
        for array in memory.values():
            array[rows.place] = 0
        policy.begin(rows, memory, keys)

    def ask() -> None:
        rows, keys = wire.get_rows()
        policy.ask(wire.observations[: len(keys)].copy(), rows, memory, keys)
        wire.actions[: len(keys)] = policy.answer()

    going = answer(start)
    while going:
        try:
            pipe.recv_bytes()
        except EOFError:
            break
        kind = int(wire.header[1])
        if kind == LEAVE:
            policy.close()
            break
        going = answer({BEGIN: begin, ASK: ask}[kind])
    wire.close(remove=False)
