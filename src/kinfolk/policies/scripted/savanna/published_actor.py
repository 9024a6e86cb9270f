"""The PPO actors published with shared_prey of PredPreyGrass, run as they were trained.

They were trained with RLlib for 1,000 iterations. RLlib takes an observation of three axes for an image
with channels last, so the planes `(5, 9, 9)` are read as height 5, width 9 and nine channels: a channel
is a column y of the window, and the convolutions slide over the planes and the rows x. With x and y
exchanged, episodes with the same weights last 53 steps instead of 700.
"""

from __future__ import annotations

import numpy as np

from kinfolk.core.arrays import Arrays, Bytes, Ints
from kinfolk.core.errors import ContractError, require
from kinfolk.core.imports import optional_import
from kinfolk.core.spaces import AgentGroup, WorldSpec
from kinfolk.policies.base import AgentBatch, Memory, StatelessPolicy
from kinfolk.policies.neural.batch_invariance import (
    Batching,
    find_batching,
    require_invariant,
    run_batched,
)

with optional_import("A neural policy"):
    import torch
    from torch.nn import functional

WINDOW_SHAPE = (5, 9, 9)
N_ACTIONS = 9
# By name, as in the files of PredPreyGrass; the numbers count the layers of RLlib's encoder.
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
    """Takes the action with the largest logit of a net of PredPreyGrass, the first of equals.

    A net was trained for one species: play predators and prey with one policy each. It only plays
    groups that observe float32 planes `(5, 9, 9)` and have nine moves.

    Args:
        spec: Spec of a savanna.

    Raises:
        SettingsError: No group of the world can be played.
    """

    def __init__(self, spec: WorldSpec) -> None:
        torch.set_num_threads(1)
        self._groups = spec.groups
        self._is_playable = np.array([_is_playable(group) for group in spec.groups])
        needs = f"PublishedActor sees float32 planes {WINDOW_SHAPE} and has {N_ACTIONS} moves"
        require(any(self._is_playable), f"{needs}; no group of this {spec.world} does.")
        self._weights: dict[str, torch.Tensor] = {}
        self._batching = Batching()

    def load(self, arrays: Arrays) -> None:
        """Load weights under the names of the PredPreyGrass files; further arrays are ignored.

        Raises:
            SettingsError: A weight is missing or has another shape.
        """
        for name, expected in WEIGHT_SHAPES.items():
            require(name in arrays, f"The weights of PublishedActor lack '{name}'.")
            shape = arrays[name].shape
            message = f"PublishedActor's '{name}' must have shape {expected}, not {shape}."
            require(shape == expected, message)
            weight = np.ascontiguousarray(arrays[name], dtype=np.float32)
            self._weights[name] = torch.tensor(weight)
        self._batching = find_batching(self._forward, WINDOW_SHAPE)
        require_invariant("PublishedActor", self._batching)

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Run one forward pass for the whole batch."""
        if not self._weights:
            raise ContractError("PublishedActor plays only with weights; add ?weights=FILE.")
        playable = self._is_playable[batch.group]
        if not playable.all():
            refused = self._groups[batch.group[~playable][0]].name
            needs = f"it needs float32 planes {WINDOW_SHAPE} and {N_ACTIONS} moves"
            raise ContractError(f"PublishedActor cannot play {refused}: {needs}.")
        # All playable groups have the same layout, so the first one reads every row.
        group = self._groups[int(np.flatnonzero(self._is_playable)[0])]
        planes = group.read_field(observations, "window")
        (logits,) = run_batched(self._batching, self._forward, torch.from_numpy(planes))
        self._actions = logits.argmax(dim=1, keepdim=True).numpy()

    @torch.no_grad()
    def _forward(self, planes: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return the logits `[n, 9]` of planes `[n, 5, 9, 9]`."""
        x = planes.permute(0, 3, 1, 2)  # channels first, as torch expects
        for name in _CONVOLUTIONS:
            x = functional.relu(functional.conv2d(x, *self._get_layer(name), padding=1))
        flat = x.permute(0, 2, 3, 1).reshape(len(x), -1)  # channels last, as they were trained
        return (functional.linear(flat, *self._get_layer(_ACTOR_LAYER)),)

    def _get_layer(self, name: str) -> tuple[torch.Tensor, torch.Tensor]:
        """Return weight and bias of a layer."""
        return self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]


def _is_playable(group: AgentGroup) -> bool:
    """Return whether a group observes the planes and has the moves that the net was trained on."""
    field = group.fields[0]
    same_window = (field.name, field.shape, field.dtype) == ("window", WINDOW_SHAPE, "float32")
    return same_window and len(group.heads[0].choices) == N_ACTIONS
