"""Why agents act as they do: the trace of a round, in the words of `policies.reasons`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinfolk.core.arrays import AnyArray, Ints
from kinfolk.policies.cogsguard.reasons import REASONS, reason_words
from kinfolk.policies.reasons import ACTED as ACTS
from kinfolk.policies.reasons import Reasons, Why
from kinfolk.roles.execution import ACTED, COULD_NOT_ACT, COULD_NOT_START, ENDED, NOT_ASKED, REASON
from kinfolk.roles.model import MOST_BEHAVIORS

# What stands in place of a role of the tables, in the order of the numbers -3, -2, -1: a new role
# drawn in play, a hybrid born in play, and an agent that changes among the seeded roles.
NOT_IN_TABLES = ("explored", "hybrid", "smart")
IDLE_NAME = "idle"  # a row of the tables without behaviours: games without one agent have it
_PLAIN = {NOT_ASKED: "lower priority", ACTED: ACTS, ENDED: "has ended"}
_KINDS = {COULD_NOT_START: "cannot start", COULD_NOT_ACT: "cannot act"}


def verdicts() -> tuple[str, ...]:
    """All that can come of a behaviour, in the order of the numbers of `told`."""
    found = list(_PLAIN.values())
    for kind in _KINDS.values():
        found += [f"{kind}: {reason_words(-code)}" for code in range(len(REASONS))]
    return tuple(found)


def reasons_of(behaviors: Sequence[str], roles: Sequence[str]) -> Reasons:
    """What the numbers stand for: the roles of the tables, then what is in none."""
    names = {"role": (*roles, *NOT_IN_TABLES)}
    return Reasons(tuple(behaviors), verdicts(), names, MOST_BEHAVIORS)


def told(trace: AnyArray, program: AnyArray, role: Ints, place: Ints, roles: int) -> Why:
    """The trace of a round as numbers of `reasons_of`, with so many roles."""
    considered = program[place].astype(np.int64)
    code = trace.astype(np.int64)
    verdict = np.where(code < REASON, code, 0)
    for at, kind in enumerate(_KINDS):
        reason = np.minimum(code - kind, len(REASONS) - 1)
        here = (code >= kind) & (code < kind + REASON)
        verdict = np.where(here, len(_PLAIN) + at * len(REASONS) + reason, verdict)
    verdict = np.where(considered < 0, -1, verdict)
    own = role[place]
    return Why(
        considered, verdict, {"role": np.where(own < 0, roles + len(NOT_IN_TABLES) + own, own)}
    )


def nothing_told() -> Why:
    """Before the first question."""
    nothing = np.zeros((0, MOST_BEHAVIORS), dtype=np.int64)
    return Why(nothing, nothing, {"role": np.zeros(0, dtype=np.int64)})
