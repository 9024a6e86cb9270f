"""Who is there: the lives of one world, each under a name that is never used again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from kinfolk.worlds.base import Columns


@dataclass
class Life:
    """One agent, from the step of its birth to the step of its end."""

    uid: int
    name: str
    row: int
    group: int
    born: int  # steps made before the one that brought it; 0 for founders too, as published
    parents: tuple[str, ...]
    earned: float = 0.0  # all rewards so far
    counts: dict[str, int] = field(default_factory=dict)  # what a teller counts over a life


# The name of a life: its group's name, how many of the group came before it, its uid.
Namer = Callable[[str, int, int], str]


class Lives:
    """The lives in a world of a batch of one, in uid order, kept up step by step.

    Those that ended stay for one step, as their rows do.
    """

    def __init__(self, groups: tuple[str, ...], namer: Namer) -> None:
        self._groups = groups
        self._namer = namer
        self._born = [0] * len(groups)
        self.by_uid: dict[int, Life] = {}

    def begin(self, columns: Columns) -> None:
        """Start over with the founders."""
        self._born = [0] * len(self._groups)
        self.by_uid = {}
        self.update(columns, 0)

    def update(self, columns: Columns, step: int) -> None:
        """Take in the step number `step`: let go of those that had ended, enter newborns, pay."""
        uid = columns.uid
        rows = np.flatnonzero(uid >= 0)
        rows = rows[np.argsort(uid[rows])]
        before, self.by_uid = self.by_uid, {}
        for row, life, reward in zip(
            rows.tolist(), uid[rows].tolist(), columns.reward[rows].tolist(), strict=True
        ):
            known = before.get(life)
            self.by_uid[life] = known or self._enter(columns, before, life, row, step)
            self.by_uid[life].earned += reward

    def _enter(
        self, columns: Columns, before: dict[int, Life], uid: int, row: int, step: int
    ) -> Life:
        group = int(columns.group[row])
        number = self._born[group]
        self._born[group] += 1
        # A parent was there before the step, or is older and was entered just now.
        known = [
            before.get(p) or self.by_uid.get(p) for p in columns.parents[row].tolist() if p >= 0
        ]
        parents = tuple(parent.name for parent in known if parent is not None)
        return Life(uid, self._namer(self._groups[group], number, uid), row, group, step, parents)
