"""The base of neural policies: encode observations, run the net, sample actions.

Sampling uses one random key per agent, so that it does not depend on the batch. For choices it is the
Gumbel-max trick: each logit gets Gumbel noise from the agent's key, and the largest is taken, which
samples from the softmax of the logits (Gumbel 1954; Maddison et al. 2014). `distributions.py` has it.

Training changes the weights; `architectures.py` has the nets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, NamedTuple

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Bytes, Ints
from kinfolk.core.imports import optional_import
from kinfolk.core.random import fold_in, seed_key
from kinfolk.core.spaces import ACTION_MASK, WorldSpec
from kinfolk.policies import base
from kinfolk.policies.base import (
    IDENTITY,
    AgentBatch,
    Memory,
    MemoryField,
    MemoryLayout,
    StatelessPolicy,
    make_transform,
)
from kinfolk.policies.build import check_weights
from kinfolk.policies.neural.batch_invariance import (
    ALONE,
    find_batching,
    require_invariant,
    run_batched,
)
from kinfolk.policies.neural.distributions import (
    Distribution,
    make_action_layout,
    sample_actions,
    sample_numbers,
)
from kinfolk.policies.neural.encoding import FeatureEncoder, Float32Array, NetShape
from kinfolk.policies.neural.normalization import RunningNorm, add_normalizer

with optional_import("A neural policy"):
    import torch
    from torch import nn

_TRANSFORM = "transform"  # prefix of the memory fields of the observation transform
MASKED_LOGIT = -1e9  # of a choice that an agent does not have
_INIT_BRANCH = 3  # branch of the seed's key from which initial weights are drawn


class PolicyOutput(NamedTuple):
    """Outputs of the net for the last batch, `n` rows."""

    logits: Float32Array  # [n, outputs] of all heads side by side; see `distributions.py`
    value: Float32Array  # [n], the critic's value
    log_prob: Float32Array  # [n], log-probability of the chosen actions


class NeuralPolicy(StatelessPolicy):
    """Base class of neural policies; a subclass chooses the net and its settings.

    Args:
        spec: Spec of the world to play.
        make_module: Makes the net from its input and output sizes.
        seed: Seed of the initial weights.
        greedy: Take the most probable action instead of sampling.
        transform: Observation transform applied before encoding; see `transforms.py`.
        normalize: Scale inputs by their running mean and standard deviation, which are learnt and
            stored with the weights.
        distribution: Distribution of continuous actions, `gaussian` or `squashed`.
    """

    pads_inputs: ClassVar[bool] = True  # with zeros, to a width at which every row is aligned

    def __init__(
        self,
        spec: WorldSpec,
        make_module: Callable[[NetShape], nn.Module],
        seed: int = 0,
        greedy: bool = False,
        transform: str = IDENTITY,
        normalize: bool = False,
        distribution: Distribution = "gaussian",
    ) -> None:
        torch.set_num_threads(1)
        self._transform = make_transform(transform, spec)
        self.input_spec = spec if self._transform is None else self._transform.spec
        self.spec, self.greedy = spec, greedy
        self.encoder = FeatureEncoder(self.input_spec, self.pads_inputs)
        self.layout = make_action_layout(spec, distribution)
        has_mask = any(field.name == ACTION_MASK for field in self.input_spec.groups[0].fields)
        self.has_action_mask = has_mask  # the observations say which choices are allowed
        self._continuous = np.flatnonzero(self.layout.n_choices[0] == 0).tolist()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(fold_in(seed_key(seed), _INIT_BRANCH)))
            self.module: nn.Module = make_module(self.encoder.shape)
        self.normalizer: RunningNorm | None = None
        if normalize:
            self.normalizer = add_normalizer(self.module, self.encoder.shape.inputs)
        self.module.eval()  # dropout and batch statistics are for training only
        self.memory_size = int(getattr(self.module, "memory_size", 0))
        self.uses_team = bool(getattr(self.module, "uses_team", False))  # see `modules.py`
        shapes = [(self.encoder.shape.inputs,)] + [(self.memory_size,)] * bool(self.memory_size)
        self._batching = find_batching(self.forward, *shapes, module=self.module)
        self.noise_correlation = 0.0  # of continuous actions; see `PPOSettings`

    @property
    def memory_layout(self) -> MemoryLayout:
        """The recurrent state and the last noise, zero when a life begins; the transform's memory."""
        state = {"state": MemoryField((self.memory_size,), "float32")} if self.memory_size else {}
        if self._keeps_noise:
            state["noise"] = MemoryField((len(self.layout.sizes),), "float32")
        if self._transform is None:
            return state
        return state | base.prefix_layout(_TRANSFORM, self._transform.memory_layout)

    @property
    def _keeps_noise(self) -> bool:
        """Whether the noise of an action depends on that of the agent's last action."""
        return bool(self._continuous) and self.noise_correlation > 0.0

    def require_batch_invariant(self) -> None:
        """Make sure that the outputs for a row do not depend on the rest of its batch.

        A net whose rows depend on each other is run one row at a time from now on.

        Raises:
            ContractError: The outputs change from call to call; the message says how.
        """
        if self._batching.mixes_rows:
            self._batching = ALONE
        require_invariant(type(self.module).__name__, self._batching)

    @property
    def needs_sequence(self) -> bool:
        """Whether learning from an agent needs all its earlier observations, in order.

        Then the policy must also be run on agents that a teacher plays.
        """
        return self.memory_size > 0 or self._transform is not None

    @torch.no_grad()
    def forward(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Run the net on encoded inputs, without gradients."""
        outputs: tuple[torch.Tensor, ...] = self.module(*inputs)
        return outputs

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Reset the transform's memory; the recurrent state is zero already."""
        if self._transform is not None:
            self._transform.reset_agents(batch, base.select_memory(memory, _TRANSFORM), keys)

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Run one forward pass for the whole batch, update memory and sample the actions."""
        self.last_inputs = observations
        if self._transform is not None:
            fields = base.select_memory(memory, _TRANSFORM)
            self.last_inputs = self._transform.transform(observations, batch, fields, keys)
        state = memory["state"][batch.memory_index] if self.memory_size else None
        logits, value, state = self.evaluate(self.last_inputs, batch.group, state)
        if state is not None:
            memory["state"][batch.memory_index] = state
        layout = self.layout
        self._actions = np.empty((len(keys), len(layout.sizes)), dtype=np.int64)
        log_prob = np.empty(len(keys), dtype=np.float32)
        choices = (layout.offsets, layout.n_choices, batch.group)
        sample_actions(logits, *choices, keys, self.greedy, self._actions, log_prob)
        if self._continuous:
            self._sample_numbers(logits, batch, memory, keys, log_prob)
        self.last_output = PolicyOutput(logits, value, log_prob)

    def _sample_numbers(
        self,
        logits: Float32Array,
        batch: AgentBatch,
        memory: Memory,
        keys: Ints,
        log_prob: Float32Array,
    ) -> None:
        """Draw the numbers of the continuous heads, and add their log-densities to `log_prob`.

        Args:
            logits: `[n, outputs]`.
            batch: The agents that act.
            memory: The policy's memory, with the noise of their last actions if that matters.
            keys: `[n]`, random keys.
            log_prob: `[n]`, changed in place.
        """
        layout, numbers = self.layout, self._actions.view(np.float64)
        noise = np.zeros(numbers.shape, dtype=np.float32)
        if self._keeps_noise:
            noise = memory["noise"][batch.memory_index]
        for head in self._continuous:
            drawn = (head, keys, self.greedy, layout.squashed, self.noise_correlation, noise)
            sample_numbers(logits, layout.offsets, layout.ranges, *drawn, numbers, log_prob)
        if self._keeps_noise:
            memory["noise"][batch.memory_index] = noise

    def observe_next(self, observations: Bytes, batch: AgentBatch, memory: Memory) -> Bytes:
        """Transform observations without changing memory, to bootstrap the value after a rollout.

        Args:
            observations: `[n, spec.row_bytes]`, as the world shows them.
            batch: The agents that observe.
            memory: The policy's memory, which stays as it is.

        Returns:
            `[n, input_spec.row_bytes]`, what the net would be shown.
        """
        if self._transform is None:
            return observations
        indices = np.arange(len(batch.memory_index), dtype=np.int64)
        fields = base.select_memory(memory, _TRANSFORM)
        copies = {name: array[batch.memory_index] for name, array in fields.items()}
        batch = batch._replace(memory_index=indices)
        return self._transform.transform(observations, batch, copies, np.zeros_like(indices))

    def evaluate(
        self, observations: Bytes, group: Ints, state: Float32Array | None
    ) -> tuple[Float32Array, Float32Array, Float32Array | None]:
        """Compute logits and values without choosing actions.

        Args:
            observations: `[n, input_spec.row_bytes]`, transformed observations.
            group: `[n]`, group of each row.
            state: `[n, memory_size]`, recurrent state; None for a net without memory.

        Returns:
            Logits `[n, outputs]`, values `[n]` and the next recurrent state (None without memory).
        """
        inputs = [self.encoder.encode(observations, group)]
        if state is not None:
            inputs.append(torch.from_numpy(state))
        logits, value, *next_state = run_batched(self._batching, self.forward, *inputs)
        state = next_state[0].numpy() if next_state else None
        if self.has_action_mask:
            logits = logits + torch.from_numpy(self.read_action_mask(observations))
        return np.ascontiguousarray(logits.numpy()), np.ascontiguousarray(value.numpy()), state

    @torch.no_grad()
    def team_values(self, observations: Bytes, group: Ints, team: Ints) -> Float32Array:
        """Compute the values of a critic that sees the observations of whole teams.

        Args:
            observations: `[n, input_spec.row_bytes]`, transformed observations.
            group: `[n]`, group of each row.
            team: `[n]`, rows of one team have the same number.
        """
        x = self.encoder.encode(observations, group)
        value: Float32Array = self.module(x, torch.from_numpy(team))[1].numpy()
        return value

    def read_action_mask(self, observations: Bytes) -> Float32Array:
        """Return what the observations' action mask adds to the logits, `[n, outputs]`.

        It is 0 for a choice that is allowed and a large negative number for one that is not.
        """
        allowed = self.input_spec.groups[0].read_field(observations, ACTION_MASK)
        return np.where(allowed != 0, 0.0, MASKED_LOGIT).astype(np.float32)

    def arrays(self) -> dict[str, AnyArray]:
        """Return a copy of the weights by name."""
        return {name: tensor.numpy().copy() for name, tensor in self.module.state_dict().items()}

    def load(self, arrays: Arrays) -> None:
        """Copy weights into the net.

        Raises:
            SettingsError: A weight is missing, unknown or of another shape.
        """
        state = self.module.state_dict()
        shapes = {name: tensor.shape for name, tensor in state.items()}
        check_weights(type(self).__name__, self.spec, arrays, shapes)
        for name, tensor in state.items():
            tensor.copy_(torch.from_numpy(np.ascontiguousarray(arrays[name])).reshape(tensor.shape))

    last_inputs: Bytes  # transformed observations of the last batch
    last_output: PolicyOutput  # of the last batch
