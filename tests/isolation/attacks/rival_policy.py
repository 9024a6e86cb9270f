"""The rival of the attackers: moves by its weights; those after the first eight are a secret."""

import numpy as np

from kinfolk.policies.base import MemoryField, NoopPolicy


class Rival(NoopPolicy):
    """Moves as its weights say, in turn."""

    @property
    def memory_layout(self):
        return {"n_steps": MemoryField((), "int64")}

    def load(self, arrays):
        self.weights = arrays["weights"]

    def act_async(self, observations, batch, memory, keys):
        super().act_async(observations, batch, memory, keys)
        memory["n_steps"][batch.memory_index] += 1
        step = memory["n_steps"][batch.memory_index]
        self._actions = np.array(self._actions)
        self._actions[:, 0] = self.weights[step % 8].astype(np.int64) % 3
