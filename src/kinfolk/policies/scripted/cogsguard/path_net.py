"""`PathNet`: an actor-critic net over map features that rates the four moves by the same weights.

Which landmark to go to follows from the situation; which move leads there follows from the map. A dense
net has to learn the second for every landmark and every move. This net learns the first only: from the
situation it computes a weight for each landmark, and a move's rating is the sum of the weights of those
to which a shortest path begins with it, plus what a small net, the same for all four, makes of both.
"""

from __future__ import annotations

from kinfolk.core.errors import require
from kinfolk.core.imports import optional_import
from kinfolk.policies.neural.encoding import NetShape
from kinfolk.policies.scripted.cogsguard import map_features as features
from kinfolk.policies.scripted.cogsguard.distance_map import LANDMARKS
from kinfolk.worlds.cogsguard import codes

with optional_import("A neural policy"):
    import torch
    from torch import Tensor, nn

_OPPOSITE = [1, 0, 3, 2]  # of north, south, west and east
_N_MOVES = len(codes.MOVES)
_ACTOR_GAIN = 0.01  # small initial weights make the initial policy nearly uniform


class PathNet(nn.Module):
    """Rates each move by the landmarks to which it leads; its inputs are the transform `map_features`.

    Args:
        shape: Input and output sizes.
        hidden: Width of every hidden layer.

    Raises:
        SettingsError: The inputs are no map features.
    """

    def __init__(self, shape: NetShape, hidden: int = 64) -> None:
        super().__init__()
        require(
            shape.inputs == features.COLUMNS,
            f"PathNet reads {features.COLUMNS} map features, not {shape.inputs} inputs: "
            f"give transform=map_features.",
        )
        landmarks = torch.arange(len(LANDMARKS) * features.COLUMNS_PER_LANDMARK)
        landmarks = landmarks.reshape(len(LANDMARKS), -1) + features.LANDMARKS_OFFSET
        situation = torch.arange(features.MOVED + 1)
        self._situation = torch.cat([situation, landmarks[:, : features.FIRST_MOVE].flatten()])
        heading = torch.arange(features.MOVED + 1, features.MOVED + _N_MOVES)[:, None]
        moves = torch.arange(_N_MOVES - 1)[:, None]
        # Inputs of each move, [4, inputs]: of landmarks, its cell, and whether the last step was it.
        self._of_moves = torch.cat(
            [
                landmarks[:, features.FIRST_MOVE :].T,
                moves + features.FREE,
                moves + features.TAKEN,
                heading,
                heading[_OPPOSITE],
            ],
            dim=1,
        )
        n_inputs = self._of_moves.shape[1] + _N_MOVES - 1  # and which move it is
        self.body = nn.Sequential(
            nn.Linear(len(self._situation), hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU()
        )
        self.weights = nn.Linear(hidden, n_inputs)
        self.of_move, self.of_body = nn.Linear(n_inputs, hidden), nn.Linear(hidden, hidden)
        self.mixing = nn.Linear(hidden, hidden)
        self.rating = nn.Linear(hidden, 2)  # two outputs, as in `_Heads` of modules.py
        self.others = nn.Linear(hidden, shape.outputs - _N_MOVES + 1)  # noop and vibes
        self.critic = nn.Linear(hidden, 2)
        for layer in (self.weights, self.rating, self.others):
            nn.init.orthogonal_(layer.weight, _ACTOR_GAIN)
            nn.init.zeros_(layer.bias)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits `[n, outputs]` and values `[n]` for map features `[n, inputs]`."""
        body = self.body(x[:, self._situation])
        which = torch.eye(_N_MOVES - 1).expand(x.shape[0], -1, -1)
        moves = torch.cat([x[:, self._of_moves], which], dim=2)  # [n, 4, inputs of a move]
        mixed = torch.relu(self.of_move(moves) + self.of_body(body)[:, None])
        rating = self.rating(torch.relu(self.mixing(mixed)))[:, :, 0]
        rating = rating + (moves * self.weights(body)[:, None]).sum(dim=2)
        others = self.others(body)
        logits = torch.cat([others[:, :1], rating, others[:, 1:]], dim=1)
        return logits, self.critic(body)[:, 0]
