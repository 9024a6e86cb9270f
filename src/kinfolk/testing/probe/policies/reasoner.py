"""The plain forager, telling why: an example of a policy that gives reasons."""

from __future__ import annotations

import numpy as np

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.policies.base import Memory, Rows
from kinfolk.policies.reasons import ACTED, Reasons, Why
from kinfolk.testing.probe.policies.plain import Plain

WANDER, FORAGE = 0, 1
ACTS, NOT_YET, PASSED_OVER = 0, 1, 2


class Reasoner(Plain):
    """Plays as `Plain` does, and says whether it wanders or forages."""

    _is_kept = False
    _why = Why(np.zeros((0, 2), dtype=np.int64), np.zeros((0, 2), dtype=np.int64))

    @property
    def reasons(self) -> Reasons:
        """Two behaviours, and how often it has been asked as a fact."""
        return Reasons(
            behaviours=("wander", "go_to_food"),
            verdicts=(ACTED, "is not due", "is passed over: wander acts"),
            facts={"lived": ()},
            depth=2,
        )

    def explain(self, on: bool) -> None:
        """Keep reasons from now on, or stop."""
        self._is_kept = on

    def why(self) -> Why:
        """Why the rows of the last question act as they do."""
        return self._why

    def ask(self, observations: Bytes, rows: Rows, memory: Memory, keys: Ints) -> None:
        """Decide, and keep why."""
        super().ask(observations, rows, memory, keys)
        if self._is_kept:
            lived = memory["lived"][rows.place]
            wanders = lived % self._wander == 0
            first = np.where(wanders, ACTS, NOT_YET)
            second = np.where(wanders, PASSED_OVER, ACTS)
            considered = np.tile([WANDER, FORAGE], (len(lived), 1))
            self._why = Why(considered, np.stack([first, second], axis=1), {"lived": lived.copy()})
