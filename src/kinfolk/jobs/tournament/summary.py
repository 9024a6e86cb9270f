"""What tournaments and cross-play report alike: payoff matrices, failures, pairings and replays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kinfolk.core.events import Event
from kinfolk.evaluation.payoffs import PayoffTable, build_payoffs
from kinfolk.jobs.tournament.meetings import MeetingPlan, MeetingRecord
from kinfolk.jobs.tournament.schedule import Pairing


@dataclass(frozen=True, kw_only=True)
class MeetingsDone(Event):
    """All games of a tournament or of cross-play are played."""

    sides: list[str]  # empty if policies change sides
    payoffs: list[PayoffTable]  # mean scores of each policy against each other, by side
    policies: list[str]  # names of all players
    failures: list[int]  # of each player
    failed_slots: list[dict[str, Any]]  # of each player, over the games that it played
    episodes: list[int]  # that each player has played
    pairings: list[list[str]]  # names of the players, by slot, in the order of the pairings
    replays: list[str]  # names of the recorded games, as many of each pairing, in their order


def summarize_meetings(
    plan: MeetingPlan,
    record: MeetingRecord,
    pools: Sequence[Sequence[int]],
    pairings: Sequence[Pairing],
) -> dict[str, Any]:
    """Return the fields of `MeetingsDone`, by name.

    Args:
        plan: What all games have in common.
        record: All games.
        pools: Players of each side.
        pairings: All pairings.
    """
    sides = plan.sides
    return {
        "step": record.done,
        "sides": [] if sides.are_interchangeable else list(sides.names),
        "payoffs": build_payoffs(
            record.games(), pools, plan.labels, sides.names, sides.are_interchangeable
        ),
        "policies": list(plan.labels),
        "failures": [sum(s["failures"] for s in slots.values()) for slots in record.failed],
        "failed_slots": record.failed,
        "episodes": record.episodes,
        "pairings": [[plan.labels[player] for player in pairing] for pairing in pairings],
        "replays": list(record.replays),
    }
