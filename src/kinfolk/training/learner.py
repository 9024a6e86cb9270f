"""The learner of one slot: computes advantages and takes optimiser steps on its own net."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Bools, Ints
from kinfolk.core.errors import ContractError, require
from kinfolk.core.imports import optional_import
from kinfolk.core.random import fold_in
from kinfolk.core.settings import Settings
from kinfolk.policies.base import select_memory as select_arrays
from kinfolk.policies.neural.normalization import RewardScale
from kinfolk.policies.neural.policy import MASKED_LOGIT, NeuralPolicy
from kinfolk.training.buffer import RolloutColumns, estimate_advantages, link_next_rows
from kinfolk.training.loss_calls import apply_loss
from kinfolk.training.losses import LOSSES
from kinfolk.training.minibatches import (
    iter_minibatches,
    iter_sequence_minibatches,
    iter_team_minibatches,
    minibatch_schedule,
    split_sequences,
)
from kinfolk.training.outputs import ActorCriticOutput, make_ranges, to_minibatch
from kinfolk.training.profiles import LossProfiles
from kinfolk.training.settings import PPOSettings

with optional_import("Training"):
    import torch
    from torch import nn
    from torch.nn import functional
    from torch.nn.utils import clip_grad_norm_

_DROPOUT_BRANCH = 1 << 32  # of an update's random key; lower branches are epochs
_ENCODED_ROWS = 8192  # rows that are encoded at once for the running moments


class LossWeights(NamedTuple):
    """Learning rate and loss coefficients at the current step."""

    learning_rate: float
    losses: Mapping[str, float]  # coefficient by name of the loss


class Learner:
    """A net with its optimiser (Adam) and the settings of its losses.

    Args:
        policy: The policy whose net is trained, in place.
        settings: Settings of PPO: discount, minibatches, epochs, gradient clipping.
        loss_settings: By name, the settings of every loss that a profile lists.
    """

    def __init__(
        self, policy: NeuralPolicy, settings: PPOSettings, loss_settings: Mapping[str, Settings]
    ) -> None:
        self.policy, self._settings, self._loss_settings = policy, settings, loss_settings
        self._parameters = [p for p in policy.module.parameters() if p.requires_grad]
        rate = settings.learning_rate
        self._optimizer = torch.optim.Adam(self._parameters, lr=rate, eps=1e-5, fused=True)
        layout = policy.layout
        self._head_sizes = layout.sizes
        heads = zip(self._head_sizes, layout.n_choices.T, strict=True)
        unavailable = [
            (np.arange(size)[None] >= n_choices[:, None]) & (n_choices[:, None] > 0)
            for size, n_choices in heads
        ]
        masked = np.concatenate(unavailable, axis=1)  # [groups, logits]
        self._logit_mask = torch.from_numpy(np.where(masked, MASKED_LOGIT, 0.0).astype(np.float32))
        self._has_masked_logits = bool(masked.any())
        self._ranges = make_ranges(layout)
        normalizes = settings.normalize_rewards
        if normalizes is None:
            normalizes = policy.normalizer is not None
        self._reward_scale = RewardScale(settings.gamma) if normalizes else None

    def learn(
        self, rows: RolloutColumns, profiles: LossProfiles, weights: LossWeights, key: int
    ) -> dict[str, float]:
        """Run one update: several epochs of minibatch gradient steps over the rows of this slot.

        Args:
            rows: Columns of a rollout; every row must have this slot as `learner_slot`.
            profiles: Which losses may use which rows.
            weights: Learning rate and loss coefficients of this update.
            key: Random key of shuffling and dropout.

        Returns:
            Statistics by name, averaged over the minibatches; empty if no loss may use any row.
        """
        settings, count = self._settings, len(rows["slot_id"])
        masks = {loss: profiles.mask(loss, rows) for loss in profiles.losses}
        if not any(mask.any() for mask in masks.values()):
            return {}
        rows = {**rows, "advantage": self._compute_advantages(rows)}
        for group in self._optimizer.param_groups:
            group["lr"] = weights.learning_rate
        history: dict[str, list[float]] = {}
        with _train_mode(self.policy.module, key):
            for epoch in range(minibatch_schedule(count, settings).n_epochs):
                n_before = len(history.get("approx_kl", ()))
                for indices, output in self._forward_minibatches(rows, count, key, epoch):
                    for name, value in self._step(rows, indices, output, masks, weights).items():
                        history.setdefault(name, []).append(value)
                divergences = history.get("approx_kl", [])[n_before:]  # of this epoch
                target_kl = settings.target_kl
                if target_kl is not None and divergences and np.mean(divergences) > target_kl:
                    break
        self._update_normalizer(rows)
        means = {name: float(np.mean(values)) for name, values in history.items()}
        return means | _explained_variance(rows, masks.get("ppo_critic", np.zeros(count, bool)))

    def _update_normalizer(self, rows: RolloutColumns) -> None:
        """Add the rows to the running moments of the net's inputs, for the next rollout.

        During an update they stay as they were when the rows were played: otherwise the probability
        of the same action would change without a gradient step.
        """
        normalizer, encoder = self.policy.normalizer, self.policy.encoder
        if normalizer is None:
            return
        count = len(rows["slot_id"])
        for indices in np.array_split(np.arange(count), count // _ENCODED_ROWS + 1):
            normalizer.update(encoder.encode(rows["observations"], rows["group"], indices))

    def _compute_advantages(self, rows: RolloutColumns) -> AnyArray:
        """Return the advantage of each row, `[n]`; corrected by V-trace if the settings say so."""
        settings, count = self._settings, len(rows["slot_id"])
        memory_index, bootstrap = rows["memory_index"], rows["bootstrap_index"]
        scratch: Ints = np.empty(int(memory_index.max()) + 1, np.int64)
        next_row: Ints = np.empty(count, dtype=np.int64)
        link_next_rows(memory_index, rows["done"], bootstrap, scratch, next_row)
        advantage = np.empty(count, dtype=np.float32)
        rho = np.ones(count, dtype=np.float32)
        if settings.vtrace:
            ratio = np.exp(self._compute_log_prob(rows) - rows["log_prob"])
            rho = np.minimum(1.0, ratio).astype(np.float32)
        reward = rows["reward"] + rows["shaping"] if "shaping" in rows else rows["reward"]
        reward = reward * np.float32(settings.reward_scale)
        if self._reward_scale is not None:
            reward = self._reward_scale(reward, rows["done"], memory_index)
        inputs = reward, rows["value"], next_row, bootstrap, rows["bootstrap_value"], rho
        estimate_advantages(*inputs, settings.gamma, settings.gae_lambda, advantage)
        return advantage

    @torch.no_grad()
    def _compute_log_prob(self, rows: RolloutColumns) -> AnyArray:
        """Return the log-probability of every row's action under the net before the update, `[n]`."""
        count = len(rows["slot_id"])
        log_prob = np.empty(count, dtype=np.float32)
        for indices, output in self._forward_minibatches(rows, count, 0, 0):
            log_prob[indices] = output.log_prob(torch.from_numpy(rows["action"][indices])).numpy()
        return log_prob

    def _forward_minibatches(
        self, rows: RolloutColumns, count: int, key: int, epoch: int
    ) -> Iterator[tuple[Ints, ActorCriticOutput]]:
        """Yield the shuffled minibatches of an epoch with the net's current outputs.

        Recurrent nets are unrolled over sequences, from the hidden state recorded at their start;
        nets with a team critic get whole teams.

        Args:
            rows: Columns of the rollout.
            count: How many rows there are.
            key: Random key of the update.
            epoch: Number of the epoch, folded into the key.

        Yields:
            Indices of the rows, and the outputs for them.
        """
        settings, net = self._settings, self.policy
        size, least = minibatch_schedule(count, settings).minibatch_size, settings.min_minibatches
        observations, group = rows["observations"], rows["group"]
        if net.uses_team:
            for indices in iter_team_minibatches(rows["team"], size, least, key, epoch):
                x = net.encoder.encode(observations, group, indices)
                logits, value = net.module(x, torch.from_numpy(rows["team"][indices]))
                yield indices, self._mask_output(logits, value, rows, indices)
            return
        if not net.memory_size:
            for indices in iter_minibatches(count, size, least, key, epoch):
                logits, value = net.module(net.encoder.encode(observations, group, indices))
                yield indices, self._mask_output(logits, value, rows, indices)
            return
        sequences = split_sequences(rows, settings.sequence_length)
        for first, steps in iter_sequence_minibatches(sequences, size, least, key, epoch):
            indices = np.concatenate(steps)
            x = net.encoder.encode(observations, group, indices)
            state = torch.from_numpy(rows["state"][first])
            outputs = []
            for step in torch.split(x, [len(step) for step in steps]):
                *output, state = net.module(step, state[: len(step)])
                outputs.append(output)
            logits, value = map(torch.cat, zip(*outputs, strict=True))
            yield indices, self._mask_output(logits, value, rows, indices)

    def _mask_output(
        self, logits: torch.Tensor, value: torch.Tensor, rows: RolloutColumns, indices: Ints
    ) -> ActorCriticOutput:
        """Normalise logits to log-probabilities; choices that an agent lacks get probability 0.

        Args:
            logits: `[n, logits]` of all heads.
            value: `[n]`, outputs of the critic.
            rows: Columns of the rollout, with groups and observations.
            indices: `[n]`, which rows.
        """
        if self._has_masked_logits:
            logits = logits + self._logit_mask[torch.from_numpy(rows["group"][indices])]
        if self.policy.has_action_mask:
            mask = self.policy.read_action_mask(rows["observations"][indices])
            logits = logits + torch.from_numpy(mask)
        heads = torch.split(logits, self._head_sizes, dim=1)
        if not self._ranges:
            log_probs = tuple(functional.log_softmax(head, dim=1) for head in heads)
            return ActorCriticOutput(log_probs, value)
        mixed = zip(heads, self._ranges, strict=True)
        parts = tuple(h if r is not None else functional.log_softmax(h, dim=1) for h, r in mixed)
        return ActorCriticOutput(parts, value, self._ranges)

    def _step(
        self,
        rows: RolloutColumns,
        indices: Ints,
        output: ActorCriticOutput,
        masks: Mapping[str, Bools],
        weights: LossWeights,
    ) -> dict[str, float]:
        """Take one gradient step on the weighted sum of the losses.

        Args:
            rows: Columns of the rollout, with advantages.
            indices: Rows of the minibatch.
            output: The net's outputs for them.
            masks: By loss, which of all rows it may use.
            weights: Coefficients of the losses.

        Returns:
            Statistics of the losses and the norm of the gradient; empty if no loss had rows.

        Raises:
            ContractError: No loss depends on the net's outputs, or one is unusable.
        """
        batch = to_minibatch(rows, indices)
        total = output.value.new_zeros(())
        stats: dict[str, torch.Tensor] = {}
        applied: list[str] = []
        for name, allowed in masks.items():
            weight, mask, arguments = weights.losses[name], allowed[indices], (batch, output)
            if weight == 0.0 or not mask.any():
                continue
            if not mask.all():
                selected = torch.from_numpy(np.flatnonzero(mask))
                arguments = batch.select(selected), output.select(selected)
            loss, loss_stats = apply_loss(LOSSES[name], *arguments, self._loss_settings[name])
            total = total + weight * loss
            stats |= loss_stats
            applied.append(name)
        if not applied:
            return {}
        if not total.requires_grad:
            raise ContractError(
                f"The losses {', '.join(applied)} have no gradient: none of them depends on the "
                f"net's outputs. Use tensors of the second argument, and detach none of them."
            )
        self._optimizer.zero_grad(set_to_none=True)
        total.backward()  # type: ignore[no-untyped-call]
        grad_norm = clip_grad_norm_(self._parameters, self._settings.max_grad_norm)
        self._optimizer.step()
        stats["grad_norm"] = grad_norm
        return {name: float(value) for name, value in stats.items()}

    def state_dict(self) -> dict[str, AnyArray]:
        """Return the weights and the state of the optimiser as arrays."""
        state = {f"weights/{name}": array for name, array in self.policy.arrays().items()}
        for number, parameter in enumerate(self._parameters):
            for name, value in self._optimizer.state[parameter].items():
                # Adam's step count has no axes, which files of arrays do not support.
                state[f"optimiser/{number}/{name}"] = np.atleast_1d(value.detach().numpy()).copy()
        if self._reward_scale is not None:
            state |= {f"reward/{n}": a for n, a in self._reward_scale.state_dict().items()}
        return state

    def load_state_dict(self, state: Arrays) -> None:
        """Restore the state that `state_dict` returned.

        Raises:
            SettingsError: The shapes are those of another net.
        """
        self.policy.load(select_arrays(state, "weights"))
        for number, parameter in enumerate(self._parameters):
            stored = select_arrays(state, f"optimiser/{number}")
            entries = {name: _reshape_state(name, a, parameter) for name, a in stored.items()}
            self._optimizer.state[parameter] = entries
        if self._reward_scale is not None:
            self._reward_scale.load_state_dict(select_arrays(state, "reward"))


@contextmanager
def _train_mode(module: nn.Module, key: int) -> Iterator[None]:
    """Put a module in training mode, with dropout drawn from `key`, and in eval mode afterwards."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(fold_in(key, _DROPOUT_BRANCH)))
        module.train()
        try:
            yield
        finally:
            module.eval()


def _reshape_state(name: str, array: AnyArray, parameter: torch.Tensor) -> torch.Tensor:
    """Return an entry of the optimiser's state in the shape of its parameter.

    Args:
        name: Name of the entry, such as `exp_avg`; `step` is a scalar.
        array: The stored entry.
        parameter: Parameter to which the entry belongs.

    Raises:
        SettingsError: The shape is that of another net.
    """
    shape = () if name == "step" else tuple(parameter.shape)
    require(
        array.shape == (shape or (1,)),
        f"The optimiser's '{name}' has shape {array.shape}; the weights have {shape}.",
    )
    return torch.tensor(array).reshape(shape)


def _explained_variance(rows: RolloutColumns, mask: Bools) -> dict[str, float]:
    """Return the share of the returns' variance that the critic explained, over the rows of `mask`."""
    if mask.sum() < 2:
        return {}
    advantage = rows["advantage"][mask].astype(np.float64)
    target = advantage + rows["value"][mask]
    variance = float(target.var())
    return {"explained_variance": 1.0 - float(advantage.var()) / variance} if variance > 0 else {}
