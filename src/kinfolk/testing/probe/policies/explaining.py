"""The Python forager with explanations: an example of an explainable policy."""

from __future__ import annotations

import numpy as np

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.policies.base import AgentBatch, Memory
from kinfolk.policies.explain import ACTED, ExplanationBatch, ExplanationSchema
from kinfolk.testing.probe.policies.python import PythonForager

WANDER, FORAGE = 0, 1  # indices of the behaviors
ACTS, NOT_DUE, SKIPPED = 0, 1, 2  # indices of the outcomes


class ExplainingForager(PythonForager):
    """Acts as `PythonForager` does, and explains whether it wanders or forages."""

    _enabled = False
    _explanation = ExplanationBatch(
        np.zeros((0, 2), dtype=np.int64), np.zeros((0, 2), dtype=np.int64)
    )

    @property
    def explanation_schema(self) -> ExplanationSchema:
        """Name the two behaviors, their outcomes, and the agent's age in ticks as a fact."""
        return ExplanationSchema(
            behaviors=("wander", "go_to_food"),
            outcomes=(ACTED, "is not due", "is passed over: wander acts"),
            facts={"lived": ()},
            depth=2,
        )

    def enable_explanations(self, enabled: bool) -> None:
        """Start or stop recording explanations."""
        self._enabled = enabled

    def last_explanation(self) -> ExplanationBatch:
        """Return the explanations of the last batch of actions."""
        return self._explanation

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Choose actions, and record their explanations if that is enabled."""
        super().act_async(observations, batch, memory, keys)
        if self._enabled:
            lived = memory["lived"][batch.memory_index]
            wanders = lived % self._wander == 0
            first = np.where(wanders, ACTS, NOT_DUE)
            second = np.where(wanders, SKIPPED, ACTS)
            considered = np.tile([WANDER, FORAGE], (len(lived), 1))
            self._explanation = ExplanationBatch(
                considered, np.stack([first, second], axis=1), {"lived": lived.copy()}
            )
