"""The plain forager, telling why: an example of a policy that gives reasons."""

from __future__ import annotations

import numpy as np

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.policies.base import AgentBatch, Memory
from kinfolk.policies.explain import ACTED, ExplanationBatch, ExplanationSchema
from kinfolk.testing.probe.policies.python import PythonForager

WANDER, FORAGE = 0, 1
ACTS, NOT_YET, PASSED_OVER = 0, 1, 2


class ExplainingForager(PythonForager):
    """Plays as `Plain` does, and says whether it wanders or forages."""

    _is_kept = False
    _why = ExplanationBatch(np.zeros((0, 2), dtype=np.int64), np.zeros((0, 2), dtype=np.int64))

    @property
    def explanation_schema(self) -> ExplanationSchema:
        """Two behaviours, and how often it has been asked as a fact."""
        return ExplanationSchema(
            behaviors=("wander", "go_to_food"),
            outcomes=(ACTED, "is not due", "is passed over: wander acts"),
            facts={"lived": ()},
            depth=2,
        )

    def enable_explanations(self, enabled: bool) -> None:
        """Keep reasons from now on, or stop."""
        self._is_kept = enabled

    def last_explanation(self) -> ExplanationBatch:
        """Why the rows of the last question act as they do."""
        return self._why

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Decide, and keep why."""
        super().act_async(observations, batch, memory, keys)
        if self._is_kept:
            lived = memory["lived"][batch.memory_index]
            wanders = lived % self._wander == 0
            first = np.where(wanders, ACTS, NOT_YET)
            second = np.where(wanders, PASSED_OVER, ACTS)
            considered = np.tile([WANDER, FORAGE], (len(lived), 1))
            self._why = ExplanationBatch(
                considered, np.stack([first, second], axis=1), {"lived": lived.copy()}
            )
