"""Reason codes of behaviors, and explanations of decisions for `policies.explain`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinfolk.core.arrays import AnyArray, Ints
from kinfolk.policies import base
from kinfolk.policies.base import ExplanationBatch, ExplanationSchema
from kinfolk.roles import execution
from kinfolk.roles.model import MAX_BEHAVIORS

YES = execution.YES  # what a `can_...` hook returns if the behavior can start
REASON_TEXTS = (
    "",
    "no path is known",
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
    "the store cannot pay for a heart",
    "no hub is known",
    "it has enough influence",
    "this edition has no influence",
    "the gear cannot be obtained",
    "it has no heart",
    "it has too little influence for the path",
    "no junction that can be aligned is known",
    "no enemy junction is known",
    "an enemy junction is known",
    "the store is full",
    "its Python hook says so",
    "the guard of its tier does not hold",
)
# The codes of the texts above, in their order.
NO_PATH, NO_RECHARGE_NEEDED = -1, -2
CARGO_FULL, NO_EXTRACTOR, NOTHING_CARRIED, NO_DEPOT, NOT_FULL_YET, HAS_EXTRACTOR = range(-3, -9, -1)
ALL_BUILDINGS, ENOUGH_EXTRACTORS, NO_MORE_JUNCTIONS = -9, -10, -11
ENOUGH_HEARTS, STORE_EMPTY, NO_HUB, ENOUGH_INFLUENCE, NO_INFLUENCE_RULE = range(-12, -17, -1)
NO_GEAR, NO_HEART, LITTLE_INFLUENCE, NO_ALIGNABLE_JUNCTION = range(-17, -21, -1)
NO_ENEMY, HAS_ENEMY, STORE_FULL, PYTHON_NO, GUARDED = range(-21, -26, -1)


def reason_text(code: int) -> str:
    """Return the text of a reason code, which is below zero."""
    return REASON_TEXTS[-code] if 0 < -code < len(REASON_TEXTS) else REASON_TEXTS[-PYTHON_NO]


# Names of the role ids -3, -2, -1, which are no rows of the role tables: a role sampled in play, a
# hybrid born in play, and an agent that switches among the seeded roles.
UNTABLED_ROLES = ("explored", "hybrid", "smart")
IDLE_NAME = "idle"  # of a row without behaviors, which an agent plays that is left out of a game
# Of a trace: texts of its lowest codes (NOT_CONSIDERED, ACTED, ENDED), and of those that hold a reason.
_OUTCOMES = ("lower priority", base.ACTED, "has ended")
_FAILURES = {execution.COULD_NOT_START: "cannot start", execution.COULD_NOT_ACT: "cannot act"}


def outcome_texts() -> tuple[str, ...]:
    """Return the texts of all outcomes, in the order of the indices of `explain_step`."""
    texts = list(_OUTCOMES)
    for failure in _FAILURES.values():
        texts += [f"{failure}: {reason_text(-code)}" for code in range(len(REASON_TEXTS))]
    return tuple(texts)


def make_schema(behaviors: Sequence[str], roles: Sequence[str]) -> ExplanationSchema:
    """Return the names of behaviors, outcomes and roles; roles of the tables come first."""
    names = {"role": (*roles, *UNTABLED_ROLES)}
    return ExplanationSchema(tuple(behaviors), outcome_texts(), names, MAX_BEHAVIORS)


def explain_step(
    trace: AnyArray,
    programs: AnyArray,
    role_ids: Ints,
    agents: Ints,
    n_roles: int,
    n_behaviors: int,
) -> ExplanationBatch:
    """Translate the trace of an execution step into an explanation.

    Args:
        trace: `[n, MAX_BEHAVIORS]`, codes of `roles.execution`.
        programs: `[capacity, MAX_BEHAVIORS]`, behavior ids of every agent's program.
        role_ids: `[capacity]`, role of every agent.
        agents: `[n]`, the agents' rows in memory.
        n_roles: Number of roles in the tables.
        n_behaviors: Number of behaviors in the catalog.

    Returns:
        Behaviors, outcomes and roles as indices into the names of `make_schema`.
    """
    considered = programs[agents].astype(np.int64)
    considered = np.where(considered < 0, -1, considered % n_behaviors)  # of disabled twins, too
    code = trace.astype(np.int64)
    outcome = np.where(code < execution.REASON_BASE, code, 0)
    for i, failure in enumerate(_FAILURES):
        reason = np.minimum(code - failure, len(REASON_TEXTS) - 1)
        failed = (code >= failure) & (code < failure + execution.REASON_BASE)
        outcome = np.where(failed, len(_OUTCOMES) + i * len(REASON_TEXTS) + reason, outcome)
    outcome = np.where(considered < 0, -1, outcome)
    role = role_ids[agents]
    role = np.where(role < 0, n_roles + len(UNTABLED_ROLES) + role, role)
    return ExplanationBatch(considered, outcome, {"role": role})


def empty_explanation() -> ExplanationBatch:
    """Return the explanation of no agents, which holds before the first decision."""
    empty = np.zeros((0, MAX_BEHAVIORS), dtype=np.int64)
    return ExplanationBatch(empty, empty, {"role": np.zeros(0, dtype=np.int64)})
