"""The actors published with shared_prey: PPO nets, played as they were trained.

They were trained with RLlib for 1,000 iterations. RLlib takes an observation of three axes for an
image with the colours last, so the planes `(5, 9, 9)` are read as height 5, width 9 and nine
colours: a "colour" is a column y of the window, and what the filters slide over are the planes and
the rows x. With x and y exchanged the same weights last 53 steps instead of 700.
"""

from __future__ import annotations

import numpy as np

from kinfolk.core.arrays import Arrays, Bytes, Ints
from kinfolk.core.errors import ContractError, SettingsError, require
from kinfolk.core.optional_dependencies import optional_import
from kinfolk.core.spaces import AgentGroup, WorldSpec
from kinfolk.policies.base import AgentBatch, Memory
from kinfolk.policies.neural.batch_invariance import (
    Batching,
    find_batching,
    require_invariant,
    run_batched,
)
from kinfolk.policies.stateless import StatelessPolicy

with optional_import("A neural policy"):
    import torch
    from torch.nn import functional

WINDOW_SHAPE = (5, 9, 9)
N_ACTIONS = 9
# name -> shape, as they were published; the numbers count the layers of RLlib's encoder
WEIGHT_SHAPES = {
    "cnn.1.weight": (16, 9, 3, 3),
    "cnn.1.bias": (16,),
    "cnn.4.weight": (32, 16, 3, 3),
    "cnn.4.bias": (32,),
    "cnn.7.weight": (64, 32, 3, 3),
    "cnn.7.bias": (64,),
    "cnn.10.weight": (64, 64, 3, 3),
    "cnn.10.bias": (64,),
    "pi.net.mlp.0.weight": (N_ACTIONS, WINDOW_SHAPE[0] * WINDOW_SHAPE[1] * 64),
    "pi.net.mlp.0.bias": (N_ACTIONS,),
}
_CONVOLUTIONS = ("cnn.1", "cnn.4", "cnn.7", "cnn.10")
_ACTOR_LAYER = "pi.net.mlp.0"


class PublishedActor(StatelessPolicy):
    """One net, and the action it scores highest; the first of equals.

    It was trained for one species: play predators and prey with one policy each. Groups that do
    not see float32 planes `(5, 9, 9)` or do not have nine moves cannot be played with it.

    Raises:
        SettingsError: No group of the world can be played.
    """

    def __init__(self, spec: WorldSpec) -> None:
        torch.set_num_threads(1)
        self._groups = spec.groups
        self._is_playable = np.array([_is_playable(group) for group in spec.groups])
        require(
            bool(self._is_playable.any()),
            f"PublishedActor sees float32 planes {WINDOW_SHAPE} and has {N_ACTIONS} moves; "
            f"no group of this {spec.world} does.",
        )
        self._weights: dict[str, torch.Tensor] = {}
        self._batching = Batching()

    def load(self, arrays: Arrays) -> None:
        """Take weights, under their published names.

        Raises:
            SettingsError: One is missing or has another shape.
        """
        for name, shape in WEIGHT_SHAPES.items():
            if name not in arrays:
                raise SettingsError(f"The weights of PublishedActor lack '{name}'.")
            if arrays[name].shape != shape:
                raise SettingsError(
                    f"PublishedActor's '{name}' must have shape {shape}, not {arrays[name].shape}."
                )
            weight = torch.tensor(np.ascontiguousarray(arrays[name], dtype=np.float32))
            self._weights[name] = weight
        self._batching = find_batching(self._forward, WINDOW_SHAPE)
        require_invariant("PublishedActor", self._batching)

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """One forward for all rows."""
        if not self._weights:
            raise ContractError("PublishedActor plays only with weights, and has none.")
        if not self._is_playable[batch.group].all():
            other = self._groups[batch.group[~self._is_playable[batch.group]][0]].name
            raise ContractError(f"PublishedActor cannot play {other}: see its windows and moves.")
        first = (
            int(batch.group[0]) if len(batch.group) else int(np.flatnonzero(self._is_playable)[0])
        )
        planes = self._groups[first].read_field(
            observations, "window"
        )  # all that fit are laid alike
        (scores,) = run_batched(self._batching, self._forward, torch.from_numpy(planes))
        self._actions = scores.argmax(dim=1, keepdim=True).numpy()

    @torch.no_grad()
    def _forward(self, planes: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Scores of all actions for planes `[n, 5, 9, 9]`."""
        x = planes.permute(0, 3, 1, 2)  # colours first, where torch wants them
        for name in _CONVOLUTIONS:
            weight, bias = self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]
            x = functional.relu(functional.conv2d(x, weight, bias, padding=1))
        flat = x.permute(0, 2, 3, 1).reshape(len(x), -1)  # colours last, as they were trained
        return (
            functional.linear(
                flat, self._weights[f"{_ACTOR_LAYER}.weight"], self._weights[f"{_ACTOR_LAYER}.bias"]
            ),
        )


def _is_playable(group: AgentGroup) -> bool:
    field = group.fields[0]
    seen = (field.name, field.shape, field.dtype) == ("window", WINDOW_SHAPE, "float32")
    return seen and len(group.heads[0].choices) == N_ACTIONS
