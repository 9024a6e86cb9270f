"""Reason codes of behaviors, and the explanation of a decision in the terms of `policies.explain`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinfolk.core.arrays import AnyArray, Ints
from kinfolk.policies.explain import ACTED as ACTS
from kinfolk.policies.explain import ExplanationBatch, ExplanationSchema
from kinfolk.roles.execution import (
    ACTED,
    COULD_NOT_ACT,
    COULD_NOT_START,
    ENDED,
    NOT_CONSIDERED,
    REASON_BASE,
)
from kinfolk.roles.model import MAX_BEHAVIORS

YES = 1

HOLD = 16  # added to a move: not to be interrupted now

REASON_TEXTS = (
    "",
    "no way is known",
    "it needs no recharging",
    "the cargo is full",
    "no usable extractor is known",
    "it carries nothing",
    "no depot is known",
    "the cargo is not full and there is more to mine",
    "a usable extractor is known",
    "all buildings are known",
    "enough extractors are known",
    "no more junctions are expected",
    "it has enough hearts",
    "the store can pay no heart",
    "no chest is known",
    "it has enough influence",
    "this edition has no influence",
    "the gear cannot be had",
    "it has no heart",
    "it has too little influence for the way",
    "no junction that can be aligned is known",
    "no enemy junction is known",
    "an enemy junction is known",
    "it says so",
)

(
    _,
    NO_PATH,
    NO_RECHARGE_NEEDED,
    CARGO_FULL,
    NO_EXTRACTOR,
    NOTHING_CARRIED,
    NO_DEPOT,
    NOT_FULL_YET,
    HAS_EXTRACTOR,
    ALL_BUILDINGS,
    ENOUGH_EXTRACTORS,
    NO_MORE_JUNCTIONS,
    ENOUGH_HEARTS,
    STORE_EMPTY,
    NO_CHEST,
    ENOUGH_INFLUENCE,
    NO_INFLUENCE_RULE,
    NO_GEAR,
    NO_HEART,
    LITTLE_INFLUENCE,
    NO_ALIGNABLE_JUNCTION,
    NO_ENEMY,
    HAS_ENEMY,
    PYTHON_NO,
) = (-i for i in range(len(REASON_TEXTS)))


def reason_text(code: int) -> str:
    """The words of a reason, given as kernels give it: a number below zero."""
    return REASON_TEXTS[-code] if 0 < -code < len(REASON_TEXTS) else "it says so"


# What stands in place of a role of the tables, in the order of the numbers -3, -2, -1: a new role
# drawn in play, a hybrid born in play, and an agent that changes among the seeded roles.
UNTABLED_ROLES = ("explored", "hybrid", "smart")

IDLE_NAME = "idle"  # a row of the tables without behaviours: games without one agent have it

_OUTCOMES = {NOT_CONSIDERED: "lower priority", ACTED: ACTS, ENDED: "has ended"}

_FAILURES = {COULD_NOT_START: "cannot start", COULD_NOT_ACT: "cannot act"}


def outcome_texts() -> tuple[str, ...]:
    """All that can come of a behaviour, in the order of the numbers of `told`."""
    found = list(_OUTCOMES.values())
    for kind in _FAILURES.values():
        found += [f"{kind}: {reason_text(-code)}" for code in range(len(REASON_TEXTS))]
    return tuple(found)


def make_schema(behaviors: Sequence[str], roles: Sequence[str]) -> ExplanationSchema:
    """What the numbers stand for: the roles of the tables, then what is in none."""
    names = {"role": (*roles, *UNTABLED_ROLES)}
    return ExplanationSchema(tuple(behaviors), outcome_texts(), names, MAX_BEHAVIORS)


def explain_step(
    trace: AnyArray, programs: AnyArray, role_ids: Ints, agents: Ints, n_roles: int
) -> ExplanationBatch:
    """The trace of a round as numbers of `reasons_of`, with so many roles."""
    considered = programs[agents].astype(np.int64)
    code = trace.astype(np.int64)
    verdict = np.where(code < REASON_BASE, code, 0)
    for at, kind in enumerate(_FAILURES):
        reason = np.minimum(code - kind, len(REASON_TEXTS) - 1)
        here = (code >= kind) & (code < kind + REASON_BASE)
        verdict = np.where(here, len(_OUTCOMES) + at * len(REASON_TEXTS) + reason, verdict)
    verdict = np.where(considered < 0, -1, verdict)
    own = role_ids[agents]
    return ExplanationBatch(
        considered, verdict, {"role": np.where(own < 0, n_roles + len(UNTABLED_ROLES) + own, own)}
    )


def empty_explanation() -> ExplanationBatch:
    """Before the first question."""
    nothing = np.zeros((0, MAX_BEHAVIORS), dtype=np.int64)
    return ExplanationBatch(nothing, nothing, {"role": np.zeros(0, dtype=np.int64)})
