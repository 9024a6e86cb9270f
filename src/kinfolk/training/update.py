"""One slot learns from its rows: its own optimiser, its own gradient clip."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils import clip_grad_norm_

from kinfolk.core.arrays import AnyArray, Arrays, Bools, Ints
from kinfolk.core.errors import ContractError, SettingsError
from kinfolk.core.keys import fold
from kinfolk.core.settings import Settings
from kinfolk.policies.neural.policy import Neural
from kinfolk.training.advantages import estimate_advantages, follow
from kinfolk.training.experience import Rows
from kinfolk.training.losses import LOSSES, Batch, Outputs, apply_loss
from kinfolk.training.profiles import LossProfiles
from kinfolk.training.sequences import (
    cut_stretches,
    minibatch_schedule,
    minibatches,
    stretch_batches,
)
from kinfolk.training.settings import Learning

_DROPOUT = 1 << 32  # branch of the key of an update; epochs are those below
_FAR_BELOW = -1e9  # the score of a choice that a group does not have


class Weights(NamedTuple):
    """How much losses count now."""

    learning_rate: float
    losses: Mapping[str, float]  # by name


class Learner:
    """A net, its optimiser, and what it learns from.

    Args:
        policy: The net.
        learning: How its rows are gone over.
        loss_settings: By name, the settings of every loss that a profile lists.
    """

    def __init__(
        self, policy: Neural, learning: Learning, loss_settings: Mapping[str, Settings]
    ) -> None:
        self.policy, self._learning, self._loss_settings = policy, learning, loss_settings
        self._parameters = [p for p in policy.module.parameters() if p.requires_grad]
        self._optimiser = torch.optim.Adam(
            self._parameters, lr=learning.learning_rate, eps=1e-5, fused=True
        )
        most = policy.limits.max(axis=0)
        self._sizes = most.tolist()
        forbidden = [np.arange(size)[None] >= policy.limits[:, [h]] for h, size in enumerate(most)]
        barred = np.concatenate(forbidden, axis=1)
        self._barred = torch.from_numpy(np.where(barred, _FAR_BELOW, 0.0).astype(np.float32))
        self._some_barred = bool(barred.any())

    def learn(
        self, rows: Rows, profiles: LossProfiles, weights: Weights, key: int
    ) -> dict[str, float]:
        """Go over the rows some epochs; say how it went. Rows of other slots must not be here."""
        asked, count = self._learning, len(rows["slot_id"])
        masks = {loss: profiles.mask(loss, rows) for loss in profiles.losses}
        if not any(mask.any() for mask in masks.values()):
            return {}
        rows = {**rows, "advantage": self._advantages(rows)}
        for group in self._optimiser.param_groups:
            group["lr"] = weights.learning_rate
        totals: dict[str, list[float]] = {}
        with _train_mode(self.policy.module, key):
            for epoch in range(minibatch_schedule(count, asked).epochs):
                spread: list[float] = []
                for at, new in self._passes(rows, count, key, epoch):
                    stats = self._step(rows, at, new, masks, weights)
                    spread += [stats["kl"]] if "kl" in stats else []
                    for name, value in stats.items():
                        totals.setdefault(name, []).append(value)
                if asked.target_kl is not None and spread and np.mean(spread) > asked.target_kl:
                    break
        found = {name: float(np.mean(values)) for name, values in totals.items()}
        return found | _fit(rows, masks.get("ppo_critic", np.zeros(count, dtype=np.bool_)))

    def _advantages(self, rows: Rows) -> AnyArray:
        asked = self._learning
        count, places = len(rows["place"]), int(rows["place"].max()) + 1
        following: Ints = np.empty(count, dtype=np.int64)
        follow(rows["place"], rows["ended"], rows["tail"], np.empty(places, np.int64), following)
        advantage = np.empty(count, dtype=np.float32)
        ratio = np.ones(count, dtype=np.float32)
        if asked.vtrace:
            ratio = np.minimum(1.0, np.exp(self._now(rows) - rows["log_chance"])).astype(np.float32)
        reward = rows["reward"] * np.float32(asked.reward_scale)
        estimate_advantages(
            reward, rows["value"], following, rows["tail"], rows["tail_value"], ratio,
            asked.discount, asked.smoothing, advantage,
        )  # fmt: skip
        return advantage

    @torch.no_grad()
    def _now(self, rows: Rows) -> AnyArray:
        """How likely the net is to act so, before it learns."""
        count = len(rows["slot_id"])
        now = np.empty(count, dtype=np.float32)
        for at, new in self._passes(rows, count, 0, 0):
            now[at] = new.log_chance(torch.from_numpy(rows["action"][at])).numpy()
        return now

    def _passes(
        self, rows: Rows, count: int, key: int, epoch: int
    ) -> Iterator[tuple[Ints, Outputs]]:
        """Minibatches: which rows, and what the net says of them now."""
        asked, net = self._learning, self.policy
        size, least = minibatch_schedule(count, asked).minibatch, asked.least_minibatches
        if not net.memory_size:
            for at in minibatches(count, size, least, key, epoch):
                x = net.reader.read(rows["observations"], rows["group"], at)
                scores, value = net.module(x)
                yield at, self._outputs(scores, value, rows["group"][at])
            return
        stretches = cut_stretches(rows, asked.sequence)
        for first, steps in stretch_batches(stretches, size, least, key, epoch):
            at = np.concatenate(steps)
            x = net.reader.read(rows["observations"], rows["group"], at)
            state = torch.from_numpy(rows["state"][first])
            said, values = [], []
            for part in torch.split(x, [len(step) for step in steps]):
                score, value, state = net.module(part, state[: len(part)])
                said.append(score)
                values.append(value)
            yield at, self._outputs(torch.cat(said), torch.cat(values), rows["group"][at])

    def _outputs(self, scores: torch.Tensor, value: torch.Tensor, group: Ints) -> Outputs:
        if self._some_barred:
            scores = scores + self._barred[torch.from_numpy(group)]
        parts = torch.split(scores, self._sizes, dim=1)
        return Outputs(tuple(functional.log_softmax(part, dim=1) for part in parts), value)

    def _step(
        self, rows: Rows, at: Ints, new: Outputs, masks: Mapping[str, Bools], weights: Weights
    ) -> dict[str, float]:
        batch = _tensors(rows, at)
        total = new.value.new_zeros(())
        stats: dict[str, torch.Tensor] = {}
        applied: list[str] = []
        for name, allowed in masks.items():
            weight, mask = weights.losses[name], allowed[at]
            if weight == 0.0 or not mask.any():
                continue
            used, said = batch, new
            if not mask.all():
                picked = torch.from_numpy(np.flatnonzero(mask))
                used, said = batch.pick(picked), new.pick(picked)
            value, about = apply_loss(LOSSES[name], used, said, self._loss_settings[name])
            total = total + weight * value
            stats |= about
            applied.append(name)
        if not applied:
            return {}
        if not total.requires_grad:
            raise ContractError(
                f"No gradient comes from the losses {', '.join(applied)}: none of them depends on "
                f"what the net says. Use tensors of the second argument, and detach none of them."
            )
        self._optimiser.zero_grad(set_to_none=True)
        total.backward()  # type: ignore[no-untyped-call]
        size = clip_grad_norm_(self._parameters, self._learning.gradient_clip)
        self._optimiser.step()
        return {name: float(value) for name, value in stats.items()} | {"gradient": float(size)}

    def state(self) -> dict[str, AnyArray]:
        """Weights and the optimiser's memory, for a snapshot."""
        found = {f"weights/{name}": array for name, array in self.policy.arrays().items()}
        for number, parameter in enumerate(self._parameters):
            for name, value in self._optimiser.state[parameter].items():
                # Files of arrays know no arrays without axes, which the count of steps is.
                found[f"optimiser/{number}/{name}"] = np.atleast_1d(value.detach().numpy()).copy()
        return found

    def restore(self, state: Arrays) -> None:
        """Go on from a state.

        Raises:
            SettingsError: It is of another net.
        """
        prefix = "weights/"
        self.policy.load({n[len(prefix) :]: a for n, a in state.items() if n.startswith(prefix)})
        for number, parameter in enumerate(self._parameters):
            start = f"optimiser/{number}/"
            own = {n[len(start) :]: a for n, a in state.items() if n.startswith(start)}
            self._optimiser.state[parameter] = {
                name: _shaped(name, array, parameter) for name, array in own.items()
            }


@contextmanager
def _train_mode(module: nn.Module, key: int) -> Iterator[None]:
    """Let a module learn: dropout, drawn from the key, and the statistics of its batches."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(fold(key, _DROPOUT)))
        module.train()
        try:
            yield
        finally:
            module.eval()


def _shaped(name: str, array: AnyArray, parameter: torch.Tensor) -> torch.Tensor:
    if name == "step":
        return torch.tensor(array).reshape(())
    if array.shape != (tuple(parameter.shape) or (1,)):
        raise SettingsError(
            f"The optimiser's '{name}' has shape {array.shape}; the weights have "
            f"{tuple(parameter.shape)}."
        )
    return torch.tensor(array).reshape(parameter.shape)


def _tensors(rows: Rows, at: Ints) -> Batch:
    def column(name: str) -> torch.Tensor | None:
        return torch.from_numpy(rows[name][at]) if name in rows else None

    return Batch(*(column(name) for name in Batch._fields))  # type: ignore[arg-type]


def _fit(rows: Rows, mask: Bools) -> dict[str, float]:
    """How much of the returns the values explained, over the rows that the critic learns from."""
    if mask.sum() < 2:
        return {}
    advantage = rows["advantage"][mask].astype(np.float64)
    target = advantage + rows["value"][mask]
    spread = float(target.var())
    return {"explained_variance": 1.0 - float(advantage.var()) / spread} if spread > 0 else {}
