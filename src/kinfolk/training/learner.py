"""One slot learns from its rows: its own optimiser, its own gradient clip."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Bools, Ints
from kinfolk.core.errors import ContractError, SettingsError
from kinfolk.core.optional_dependencies import optional_import
from kinfolk.core.random import fold_in
from kinfolk.core.settings import Settings
from kinfolk.policies.neural.policy import NeuralPolicy
from kinfolk.training.advantages import estimate_advantages, link_next_rows
from kinfolk.training.buffer import (
    RolloutColumns,
    iter_minibatches,
    iter_sequence_minibatches,
    minibatch_schedule,
    split_sequences,
)
from kinfolk.training.losses import LOSSES, ActorCriticOutput, Minibatch, apply_loss
from kinfolk.training.profiles import LossProfiles
from kinfolk.training.settings import PPOSettings

with optional_import("Training"):
    import torch
    from torch import nn
    from torch.nn import functional
    from torch.nn.utils import clip_grad_norm_

_DROPOUT = 1 << 32  # branch of the key of an update; epochs are those below
_MASKED_LOGIT = -1e9  # the score of a choice that a group does not have


class LossWeights(NamedTuple):
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
        self, policy: NeuralPolicy, settings: PPOSettings, loss_settings: Mapping[str, Settings]
    ) -> None:
        self.policy, self._settings, self._loss_settings = policy, settings, loss_settings
        self._parameters = [p for p in policy.module.parameters() if p.requires_grad]
        self._optimizer = torch.optim.Adam(
            self._parameters, lr=settings.learning_rate, eps=1e-5, fused=True
        )
        most = policy.n_choices.max(axis=0)
        self._sizes = most.tolist()
        forbidden = [
            np.arange(size)[None] >= policy.n_choices[:, [h]] for h, size in enumerate(most)
        ]
        barred = np.concatenate(forbidden, axis=1)
        self._logit_mask = torch.from_numpy(np.where(barred, _MASKED_LOGIT, 0.0).astype(np.float32))
        self._has_masked_logits = bool(barred.any())

    def learn(
        self, rows: RolloutColumns, profiles: LossProfiles, weights: LossWeights, key: int
    ) -> dict[str, float]:
        """Go over the rows some epochs; say how it went. Rows of other slots must not be here."""
        asked, count = self._settings, len(rows["slot_id"])
        masks = {loss: profiles.mask(loss, rows) for loss in profiles.losses}
        if not any(mask.any() for mask in masks.values()):
            return {}
        rows = {**rows, "advantage": self._advantages(rows)}
        for group in self._optimizer.param_groups:
            group["lr"] = weights.learning_rate
        totals: dict[str, list[float]] = {}
        with _train_mode(self.policy.module, key):
            for epoch in range(minibatch_schedule(count, asked).n_epochs):
                spread: list[float] = []
                for at, new in self._forward_minibatches(rows, count, key, epoch):
                    stats = self._step(rows, at, new, masks, weights)
                    spread += [stats["approx_kl"]] if "approx_kl" in stats else []
                    for name, value in stats.items():
                        totals.setdefault(name, []).append(value)
                if asked.target_kl is not None and spread and np.mean(spread) > asked.target_kl:
                    break
        found = {name: float(np.mean(values)) for name, values in totals.items()}
        return found | _explained_variance(
            rows, masks.get("ppo_critic", np.zeros(count, dtype=np.bool_))
        )

    def _advantages(self, rows: RolloutColumns) -> AnyArray:
        asked = self._settings
        count, places = len(rows["memory_index"]), int(rows["memory_index"].max()) + 1
        following: Ints = np.empty(count, dtype=np.int64)
        link_next_rows(
            rows["memory_index"],
            rows["done"],
            rows["bootstrap_index"],
            np.empty(places, np.int64),
            following,
        )
        advantage = np.empty(count, dtype=np.float32)
        ratio = np.ones(count, dtype=np.float32)
        if asked.vtrace:
            ratio = np.minimum(1.0, np.exp(self._current_log_prob(rows) - rows["log_prob"])).astype(
                np.float32
            )
        reward = rows["reward"] * np.float32(asked.reward_scale)
        estimate_advantages(
            reward, rows["value"], following, rows["bootstrap_index"], rows["bootstrap_value"], ratio,
            asked.gamma, asked.gae_lambda, advantage,
        )  # fmt: skip
        return advantage

    @torch.no_grad()
    def _current_log_prob(self, rows: RolloutColumns) -> AnyArray:
        """How likely the net is to act so, before it learns."""
        count = len(rows["slot_id"])
        now = np.empty(count, dtype=np.float32)
        for at, new in self._forward_minibatches(rows, count, 0, 0):
            now[at] = new.log_prob(torch.from_numpy(rows["action"][at])).numpy()
        return now

    def _forward_minibatches(
        self, rows: RolloutColumns, count: int, key: int, epoch: int
    ) -> Iterator[tuple[Ints, ActorCriticOutput]]:
        """Minibatches: which rows, and what the net says of them now."""
        asked, net = self._settings, self.policy
        size, least = minibatch_schedule(count, asked).minibatch_size, asked.min_minibatches
        if not net.memory_size:
            for at in iter_minibatches(count, size, least, key, epoch):
                x = net.encoder.encode(rows["observations"], rows["group"], at)
                scores, value = net.module(x)
                yield at, self._masked_output(scores, value, rows["group"][at])
            return
        stretches = split_sequences(rows, asked.sequence_length)
        for first, steps in iter_sequence_minibatches(stretches, size, least, key, epoch):
            at = np.concatenate(steps)
            x = net.encoder.encode(rows["observations"], rows["group"], at)
            state = torch.from_numpy(rows["state"][first])
            said, values = [], []
            for part in torch.split(x, [len(step) for step in steps]):
                score, value, state = net.module(part, state[: len(part)])
                said.append(score)
                values.append(value)
            yield at, self._masked_output(torch.cat(said), torch.cat(values), rows["group"][at])

    def _masked_output(
        self, logits: torch.Tensor, value: torch.Tensor, group: Ints
    ) -> ActorCriticOutput:
        if self._has_masked_logits:
            logits = logits + self._logit_mask[torch.from_numpy(group)]
        parts = torch.split(logits, self._sizes, dim=1)
        return ActorCriticOutput(
            tuple(functional.log_softmax(part, dim=1) for part in parts), value
        )

    def _step(
        self,
        rows: RolloutColumns,
        indices: Ints,
        output: ActorCriticOutput,
        masks: Mapping[str, Bools],
        weights: LossWeights,
    ) -> dict[str, float]:
        batch = _to_minibatch(rows, indices)
        total = output.value.new_zeros(())
        stats: dict[str, torch.Tensor] = {}
        applied: list[str] = []
        for name, allowed in masks.items():
            weight, mask = weights.losses[name], allowed[indices]
            if weight == 0.0 or not mask.any():
                continue
            used, said = batch, output
            if not mask.all():
                picked = torch.from_numpy(np.flatnonzero(mask))
                used, said = batch.select(picked), output.select(picked)
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
        self._optimizer.zero_grad(set_to_none=True)
        total.backward()  # type: ignore[no-untyped-call]
        size = clip_grad_norm_(self._parameters, self._settings.max_grad_norm)
        self._optimizer.step()
        return {name: float(value) for name, value in stats.items()} | {"grad_norm": float(size)}

    def state_dict(self) -> dict[str, AnyArray]:
        """Weights and the optimiser's memory, for a snapshot."""
        found = {f"weights/{name}": array for name, array in self.policy.arrays().items()}
        for number, parameter in enumerate(self._parameters):
            for name, value in self._optimizer.state[parameter].items():
                # Files of arrays know no arrays without axes, which the count of steps is.
                found[f"optimiser/{number}/{name}"] = np.atleast_1d(value.detach().numpy()).copy()
        return found

    def load_state_dict(self, state: Arrays) -> None:
        """Go on from a state.

        Raises:
            SettingsError: It is of another net.
        """
        prefix = "weights/"
        self.policy.load({n[len(prefix) :]: a for n, a in state.items() if n.startswith(prefix)})
        for number, parameter in enumerate(self._parameters):
            start = f"optimiser/{number}/"
            own = {n[len(start) :]: a for n, a in state.items() if n.startswith(start)}
            self._optimizer.state[parameter] = {
                name: _reshape_state(name, array, parameter) for name, array in own.items()
            }


@contextmanager
def _train_mode(module: nn.Module, key: int) -> Iterator[None]:
    """Let a module learn: dropout, drawn from the key, and the statistics of its batches."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(fold_in(key, _DROPOUT)))
        module.train()
        try:
            yield
        finally:
            module.eval()


def _reshape_state(name: str, array: AnyArray, parameter: torch.Tensor) -> torch.Tensor:
    if name == "step":
        return torch.tensor(array).reshape(())
    if array.shape != (tuple(parameter.shape) or (1,)):
        raise SettingsError(
            f"The optimiser's '{name}' has shape {array.shape}; the weights have "
            f"{tuple(parameter.shape)}."
        )
    return torch.tensor(array).reshape(parameter.shape)


def _to_minibatch(rows: RolloutColumns, at: Ints) -> Minibatch:
    def column(name: str) -> torch.Tensor | None:
        return torch.from_numpy(rows[name][at]) if name in rows else None

    return Minibatch(*(column(name) for name in Minibatch._fields))  # type: ignore[arg-type]


def _explained_variance(rows: RolloutColumns, mask: Bools) -> dict[str, float]:
    """How much of the returns the values explained, over the rows that the critic learns from."""
    if mask.sum() < 2:
        return {}
    advantage = rows["advantage"][mask].astype(np.float64)
    target = advantage + rows["value"][mask]
    spread = float(target.var())
    return {"explained_variance": 1.0 - float(advantage.var()) / spread} if spread > 0 else {}
