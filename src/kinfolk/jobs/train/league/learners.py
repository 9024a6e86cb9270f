"""The learners of a league: which sides there are, who learns on them, and the training of each.

Every learner has worlds of its own, in which it plays one side and members of the league the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from kinfolk.core.errors import SettingsError, require
from kinfolk.jobs.train.settings import Train
from kinfolk.jobs.train.state import build_plan
from kinfolk.play.sides import WorldSides, find_sides
from kinfolk.play.slots import PolicySlot, SlotMap
from kinfolk.play.task import RolloutTask
from kinfolk.training.collect import Collection, Experience
from kinfolk.training.matchmaking import LearnerKind

OPPONENTS = "opponents"  # slot that members of the league play in a learner's worlds
# Between the seeds of learners, far more than between those of a run's training and its games.
_SEED_STRIDE = 10_000_019


class LeagueLearner(NamedTuple):
    """One of those who learn in a league; its number is also that of its present self as opponent."""

    number: int
    name: str
    side: int  # 0 for all if sides can be exchanged
    kind: LearnerKind


@dataclass(frozen=True)
class LeagueSides:
    """The two sides of a league, and all who learn on them.

    Attributes:
        world_sides: Sides of the world, for games between members.
        slots: Slot of the main agent of each side; one if sides can be exchanged.
        learners: Everybody who learns: of each side the main agent, then its exploiters.
    """

    world_sides: WorldSides
    slots: tuple[PolicySlot, ...]
    learners: tuple[LeagueLearner, ...]

    @property
    def are_interchangeable(self) -> bool:
        """Whether every member can play either side."""
        return self.world_sides.are_interchangeable

    def other_side(self, side: int) -> int:
        """Return the side that the opponents of a side play."""
        return 0 if self.are_interchangeable else 1 - side

    def main_of(self, side: int) -> LeagueLearner:
        """Return the main agent of a side."""
        return next(x for x in self.learners if x.kind == "main" and x.side == side)


def find_league_sides(settings: Train) -> LeagueSides:
    """Return the sides of a league: the two teams of a world, or the groups of each of two slots.

    Raises:
        SettingsError: The world or the slot map has other than two sides.
    """
    spec, slots = settings.world_ref.spec, settings.slots
    if len(slots) == 1:
        sides = find_sides(spec) if len(spec.groups) > 1 else None
        require(
            sides is not None and sides.kind == "teams" and len(sides.names) == 2,
            f"A league of one slot, {slots[0].id}, is for worlds with two teams that it can play in "
            f"turn; {spec.world} has {' and '.join(group.name for group in spec.groups)}. Give a slot "
            f"for each side, and --map GROUP=SLOT.",
        )
        assert sides is not None
    else:
        sides = find_sides(spec, None, _group_slots(settings), exchange=False)
    learners: list[LeagueLearner] = []
    for side, slot in enumerate(slots):
        for kind, name in _name_learners(slot.id, settings):
            learners.append(LeagueLearner(len(learners), name, side, kind))
    n_chunks = settings.n_chunks * len(sides.slot_maps)
    require(
        settings.worlds % n_chunks == 0,
        f"{settings.worlds} worlds cannot be split into {n_chunks} equal chunks: a league of teams "
        f"plays half of its worlds on each side.",
    )
    return LeagueSides(sides, slots, tuple(learners))


def _group_slots(settings: Train) -> dict[str, list[str]]:
    """Return the groups that each slot plays.

    Raises:
        SettingsError: A group is divided between slots, or a slot plays nobody.
    """
    spec = settings.world_ref.spec
    groups: dict[str, list[str]] = {slot.id: [] for slot in settings.slots}
    for group, row in zip(spec.groups, settings.build_assignments()[0].tolist(), strict=True):
        if len(set(row)) > 1:
            raise SettingsError(
                f"The sides of a league are whole groups; the slot map divides {group.name}. Write "
                f"--map {group.name}=SLOT."
            )
        groups[settings.slot_ids[row[0]]].append(group.name)
    for name, members in groups.items():
        require(bool(members), f"Slot '{name}' plays nobody. Give it a group: --map GROUP={name}.")
    return groups


def _name_learners(slot: str, settings: Train) -> list[tuple[LearnerKind, str]]:
    """Return kind and name of everybody who learns on a side."""
    chosen = settings.matchmaking
    named: list[tuple[LearnerKind, str]] = [("main", slot)]
    kinds: Sequence[tuple[LearnerKind, int]] = (
        ("exploiter", chosen.exploiters),
        ("league_exploiter", chosen.league_exploiters),
    )
    for kind, count in kinds:
        for i in range(count):
            named.append((kind, f"{slot}_{kind}" + (f"_{i + 1}" if count > 1 else "")))
    return named


def learner_settings(settings: Train, sides: LeagueSides, learner: LeagueLearner) -> Train:
    """Return the settings of the training of one learner.

    Its steps, on which schedules depend, are its share of those of the league.

    Args:
        settings: Settings of the league.
        sides: Sides and learners of the league.
        learner: The learner.
    """
    main, other = sides.slots[learner.side], sides.slots[sides.other_side(learner.side)]
    slots = (
        main.model_copy(update={"id": learner.name}),
        other.model_copy(update={"id": OPPONENTS, "trainable": False, "loss_profile": None}),
    )
    changes = {
        "league": False,
        "slots": slots,
        "agent_slot_map": league_slot_maps(sides.world_sides, learner.side, learner.name)[0],
        "world_slot_maps": {},
        "seed": settings.seed + learner.number * _SEED_STRIDE,
        "steps": max(1, settings.steps // len(sides.learners)),
        "n_chunks": settings.n_chunks * len(sides.world_sides.slot_maps),
    }
    return settings.model_copy(update=changes)


def league_slot_maps(sides: WorldSides, side: int, name: str) -> list[SlotMap]:
    """Return the slot map of each rotation of two sides, of which a learner plays one.

    Args:
        sides: Sides of the world.
        side: Side of the learner in the first rotation.
        name: Slot of the learner; the other side is that of the opponents.
    """
    names = {slot: name if i == side else OPPONENTS for i, slot in enumerate(sides.slots)}
    maps: list[SlotMap] = []
    for rotation in sides.slot_maps:
        assert isinstance(rotation, dict)  # only rows of one group have lists
        maps.append({group: names[str(slot)] for group, slot in rotation.items()})
    return maps


def learner_plans(
    settings: Train, sides: LeagueSides, learner: LeagueLearner
) -> list[RolloutTask[Experience]]:
    """Return the collection tasks of a learner, one for each side that it plays.

    Args:
        settings: Settings of the learner, from `learner_settings`.
        sides: Sides and learners of the league.
        learner: The learner.
    """
    plan = build_plan(settings)
    assert isinstance(plan.observer, Collection)
    observer = replace(plan.observer, pool_slot=OPPONENTS)
    slot_maps = league_slot_maps(sides.world_sides, learner.side, learner.name)
    return [replace(plan, slot_map=slot_map, observer=observer) for slot_map in slot_maps]
