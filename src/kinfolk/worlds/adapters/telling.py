"""What a world tells of its agents beyond the columns: their names, and infos about them.

A world that has more to tell than `PlainTeller` gets a teller of its own in `TELLERS`, under the
name in its spec. Other packages add theirs through the entry-point group `kinfolk.tellers`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from kinfolk.core.registry import Entry, Registry
from kinfolk.worlds.adapters.lives import Life
from kinfolk.worlds.base import World

Infos = dict[int, dict[str, Any]]

TELLERS = Registry(
    "teller",
    "tellers",
    {
        "savanna": Entry(
            "kinfolk.worlds.adapters.savanna:SavannaTeller", "published ids and infos"
        ),
    },
)


class Teller(Protocol):
    """Names and infos. It has no state: what it counts over a life lies in `Life.counts`."""

    @property
    def bounds(self) -> tuple[float, float]:
        """The range that spaces state for observed numbers with a fraction."""
        ...

    @property
    def watches(self) -> bool:
        """Whether it reads happenings, so that the world has to keep them."""
        ...

    def name(self, group: str, number: int, uid: int) -> str:
        """The id of a life that `number` others of its group preceded."""
        ...

    def infos(self, world: World, lives: Mapping[int, Life]) -> Infos:
        """What there is to say of each of `lives` after a step, by uid."""
        ...


def teller_of(world: World) -> Teller:
    """The teller of a world's own, or the plain one."""
    name = world.spec.world
    teller: Teller = TELLERS.load(name)() if name in TELLERS else PlainTeller()
    return teller


def at_the_end(world: World, life: Life) -> dict[str, Any]:
    """What is said of a life in its last step, or in the last of the episode; else nothing.

    `lifetime_steps` is counted as published: from the number of the birth step to that of the
    last, so a founder that dies in the first step has 0. One that is cut off gets one more.
    """
    terminated, truncated = world.columns.terminated[life.row], world.columns.truncated[life.row]
    if not (terminated or truncated):
        return {}
    last = int(world.tick[0]) - (1 if terminated else 0)
    return {
        "final_cumulative_reward": life.earned,
        "lifetime_steps": max(last - life.born, 0),
        "parent_id": life.parents[0] if life.parents else None,
        "species": world.spec.groups[life.group].name,
    }


class PlainTeller:
    """Agents are called `group_uid`; infos come at the end of a life."""

    bounds = (float("-inf"), float("inf"))
    watches = False

    def name(self, group: str, number: int, uid: int) -> str:  # noqa: ARG002 - of the contract
        """Uids are never reused, so neither are the names."""
        return f"{group}_{uid}"

    def infos(self, world: World, lives: Mapping[int, Life]) -> Infos:
        """The ends of lives; for a world with two parents, both their names."""
        found: Infos = {}
        for uid, life in lives.items():
            found[uid] = at_the_end(world, life)
            if found[uid]:
                found[uid]["parent_ids"] = life.parents
        return found
