"""Play a round robin: every policy meets every other in one game, from both sides, and is rated.

The games are those of a tournament (`jobs/tournament`) of two sides, with settings of an evaluation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

from pydantic import Field, model_validator

from kinfolk.core.errors import require
from kinfolk.core.events import Event, FileChunk, Snapshot
from kinfolk.core.spaces import WorldSpec
from kinfolk.engines.base import Engine
from kinfolk.evaluation.ratings import Rating, rate_games
from kinfolk.evaluation.rollout import Isolation
from kinfolk.isolation.worker_pool import closing_pools
from kinfolk.jobs.evaluate import Evaluate
from kinfolk.jobs.tournament.meetings import (
    GamePlayed,
    MeetingPlan,
    MeetingRecord,
    ReplayPlan,
    play_pairings,
)
from kinfolk.play.settings import SlotConfig
from kinfolk.play.sides import WorldSides, find_sides, have_equal_layouts
from kinfolk.play.slots import parse_slot

_BOTH_SIDES = (0, 1)  # rotations of two sides


class RoundRobin(Evaluate):
    """Settings of a round robin; `episodes` is the number of games per pair and side."""

    policies: tuple[str, ...] = Field(
        min_length=2, description="Two or more policies that meet each other in one game."
    )

    @model_validator(mode="after")
    def _check_unused(self) -> RoundRobin:
        """Refuse slots and maps, which would have no effect.

        Raises:
            SettingsError: One of them differs from its default.
        """
        for name, field in SlotConfig.model_fields.items():
            require(
                getattr(self, name) == field.get_default(),
                f"A round robin takes no {name}: its policies play all slots in turn. Leave it out.",
            )
        return self


@dataclass(frozen=True, kw_only=True)
class PairPlayed(Event):
    """Two policies, by number, have met; scores are returns per life, averaged over both sides."""

    kind: ClassVar[str] = "pair_played"
    first: int
    second: int
    first_score: float
    second_score: float
    failures: list[dict[str, Any]]  # fields of `Failure`, and `mirrored`: with sides exchanged


@dataclass(frozen=True, kw_only=True)
class RatingsComputed(Event):
    """All policies have met; ratings are in the order of the policies."""

    kind: ClassVar[str] = "rated"
    policies: list[str]  # their URIs
    ratings: list[Rating]  # of each policy
    failures: list[int]  # of each policy
    failed_slots: list[dict[str, Any]]  # of each policy, over the games that it played


def assign_sides(spec: WorldSpec) -> WorldSides:
    """Return the two sides of a world.

    Two groups with equal observations and actions are two teams, a side each. In any other world
    the rows alternate, so that both sides have the same share of every group.
    """
    if len(spec.groups) == 2 and have_equal_layouts(spec, [[group.name] for group in spec.groups]):
        return find_sides(spec, exchange=True)
    return find_sides(spec, "rows")


def plan_round_robin(settings: RoundRobin) -> MeetingPlan:
    """Resolve the policies of a round robin and return the plan of its games."""
    slots = [parse_slot("policy", uri) for uri in settings.policies]
    modes = {i: slot.isolate for i, slot in enumerate(slots) if slot.isolate is not None}
    return MeetingPlan(
        world=settings.world_ref,
        sides=assign_sides(settings.world_ref.spec),
        seed=settings.seed,
        n_games=settings.episodes,
        chunk_size=settings.chunk_size,
        metric="return_per_life",
        isolation=Isolation(settings.isolate, settings.isolation_settings),
        labels=settings.policies,
        policies=[slot.resolve_policy(settings.is_trusted(slot)) for slot in slots],
        isolate_players=modes,
        recording=ReplayPlan(settings.replays, rotations=_BOTH_SIDES),
    )


def round_robin(
    settings: RoundRobin, engine: Engine, resume: Snapshot | None = None
) -> Iterator[Event | Snapshot | FileChunk]:
    """Yield every meeting, a snapshot after each chunk of them, and the ratings at the end.

    Replays of the first games of each pair, from both sides, follow those games.

    Args:
        settings: The policies and where they meet.
        engine: Engine that runs the tasks.
        resume: Last snapshot of a stopped run to continue from; None starts anew.
    """
    plan, n_policies = plan_round_robin(settings), len(settings.policies)
    pairings = list(combinations(range(n_policies), 2))
    record = MeetingRecord(n_policies, len(plan.sides.slots), resume)
    with closing_pools():
        for item in play_pairings(plan, engine, list(enumerate(pairings)), record, record.done):
            if isinstance(item, GamePlayed):
                first, second = pairings[item.pairing]
                yield PairPlayed(
                    step=item.step, first=first, second=second, first_score=item.scores[0],
                    second_score=item.scores[1], failures=item.failures,
                )  # fmt: skip
            else:
                yield item
    yield RatingsComputed(
        step=record.done,
        policies=list(settings.policies),
        ratings=rate_games(n_policies, record.games()),
        failures=[sum(slot["failures"] for slot in slots.values()) for slots in record.failed],
        failed_slots=record.failed,
    )
