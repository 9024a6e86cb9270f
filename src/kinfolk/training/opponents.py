"""Self-play: a pool of frozen snapshots of a learner, one drawn as opponent for each episode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from pydantic import Field

from kinfolk.core.arrays import AnyArray, Arrays, Bytes, Ints
from kinfolk.core.errors import SettingsError
from kinfolk.core.random import episode_key, fold_in, randint
from kinfolk.core.settings import Settings, setting
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import (
    AgentBatch,
    Memory,
    MemoryField,
    MemoryLayout,
    Policy,
    prefix_layout,
    select_memory,
)
from kinfolk.policies.neural.policy import NeuralPolicy

OpponentSampling = Literal["uniform", "recent", "win_rate"]
_OPPONENT_BRANCH = 4  # branch of an episode's key from which its opponent is drawn
_WEIGHT_UNITS = 1000  # sampling weights are integers, so that draws are exact everywhere


class OpponentPoolSettings(Settings):
    """Self-play: `slot` is played by earlier snapshots of `source_slot`.

    Every `add_every` updates a snapshot joins the pool; of more than `max_size` the oldest leaves.
    Opponents are drawn uniformly, with twice the weight of the snapshot before it (`recent`), or
    in proportion to their win rate (`win_rate`).
    """

    slot: str = Field(description="Slot that earlier copies play.")
    source_slot: str = Field(description="Trainable slot that is copied.")
    add_every: int = setting(10, "Updates between two copies.", ge=1)
    max_size: int = setting(8, "Most copies; the oldest leaves.", ge=1)
    sampling: OpponentSampling = setting(
        "uniform",
        "How opponents are drawn: uniformly, the recent more often, or those that win more often.",
    )


@dataclass(frozen=True)
class OpponentPool:
    """Snapshots of a learner, numbered by the update in which they were taken.

    Attributes:
        weights: Arrays of each snapshot. One that left the pool stays until the episodes that it
            plays have ended.
        active: Numbers that are drawn from, oldest first.
        sampling_weights: Integer weights of the draw, one per active snapshot.
        win_rates: Exponential average of the share of episodes won, by number.
    """

    weights: dict[int, Arrays]
    active: tuple[int, ...]
    sampling_weights: tuple[int, ...]
    win_rates: dict[int, float] = field(default_factory=dict)

    def with_snapshot(
        self, number: int, arrays: Arrays, settings: OpponentPoolSettings
    ) -> OpponentPool:
        """Return the pool with one more snapshot, and without the oldest of too many.

        Args:
            number: Update in which the snapshot was taken.
            arrays: Its weights.
            settings: Size of the pool and how opponents are drawn.
        """
        active = (*self.active, number)[-settings.max_size :]
        weights, win_rates = {**self.weights, number: arrays}, {**self.win_rates, number: 0.5}
        pool = OpponentPool(weights, active, (), win_rates)
        return pool.with_sampling_weights(settings)

    def with_sampling_weights(self, settings: OpponentPoolSettings) -> OpponentPool:
        """Return the pool with the sampling weights that the settings ask for."""
        count = len(self.active)
        sampling_weights = [_WEIGHT_UNITS] * count
        if settings.sampling == "recent":
            sampling_weights = [max(1, _WEIGHT_UNITS >> (count - 1 - i)) for i in range(count)]
        elif settings.sampling == "win_rate":
            sampling_weights = [1 + round(_WEIGHT_UNITS * self.win_rates[n]) for n in self.active]
        return replace(self, sampling_weights=tuple(sampling_weights))

    def with_result(
        self, number: int, share: float, settings: OpponentPoolSettings
    ) -> OpponentPool:
        """Return the pool with a win rate updated after an episode.

        Args:
            number: Number of the snapshot that played; unknown numbers are ignored.
            share: Share of the win of that snapshot, from 0 to 1.
            settings: How opponents are drawn.
        """
        if number not in self.win_rates:
            return self
        win_rates = {**self.win_rates, number: 0.95 * self.win_rates[number] + 0.05 * share}
        return replace(self, win_rates=win_rates).with_sampling_weights(settings)

    def without_unused(self, playing: Sequence[int]) -> OpponentPool:
        """Return the pool without snapshots that are neither active nor among `playing`."""
        used = {*self.active, *playing}
        weights = {n: arrays for n, arrays in self.weights.items() if n in used}
        win_rates = {n: share for n, share in self.win_rates.items() if n in used}
        return replace(self, weights=weights, win_rates=win_rates)

    def arrays(self) -> dict[str, AnyArray]:
        """Return the weights of all snapshots by path, for a checkpoint."""
        return {
            f"pool/{number}/{name}": array
            for number, arrays in self.weights.items()
            for name, array in arrays.items()
        }

    def notes(self) -> dict[str, Any]:
        """Return everything except the weights as plain values, for a checkpoint."""
        return {
            "active": list(self.active),
            "sampling_weights": list(self.sampling_weights),
            "win_rates": {str(number): rate for number, rate in self.win_rates.items()},
        }

    @staticmethod
    def from_snapshot(arrays: Arrays, notes: Mapping[str, Any]) -> OpponentPool:
        """Return the pool whose methods `arrays` and `notes` returned these values."""
        weights: dict[int, dict[str, AnyArray]] = {}
        for path, array in arrays.items():
            if path.startswith("pool/"):
                _, number, name = path.split("/", 2)
                weights.setdefault(int(number), {})[name] = array
        ordered: dict[int, Arrays] = {number: weights[number] for number in sorted(weights)}
        active, sampling_weights = tuple(notes["active"]), tuple(notes["sampling_weights"])
        win_rates = {int(number): float(rate) for number, rate in notes["win_rates"].items()}
        return OpponentPool(ordered, active, sampling_weights, win_rates)


def assign_opponents(
    members: Ints, worlds: Ints, episodes: Ints, pool: OpponentPool, seed: int
) -> None:
    """Draw an opponent for some worlds, each from the key of its episode.

    Args:
        members: `[worlds, rows]`, written: the number of the opponent in all rows of a world.
        worlds: Indices of the worlds to draw for.
        episodes: `[worlds]`, number of the episode that each world plays.
        pool: The snapshots and their sampling weights.
        seed: Seed of the training.
    """
    cumulative = np.cumsum(pool.sampling_weights)
    for world in worlds.tolist():
        key = fold_in(episode_key(seed, int(episodes[world])), _OPPONENT_BRANCH)
        draw = int(randint(key, 0, int(cumulative[-1])))
        members[world] = pool.active[int(np.searchsorted(cumulative, draw, side="right"))]


class OpponentPolicy:
    """Policy that plays each row with the snapshot that its `member` number names.

    Args:
        policy: The net into which snapshots are loaded.
        spec: Spec of the world.

    Raises:
        SettingsError: The policy is not a net.
    """

    def __init__(self, policy: Policy, spec: WorldSpec) -> None:
        if not isinstance(policy, NeuralPolicy):
            raise SettingsError(
                f"An opponent pool holds snapshots of nets; {type(policy).__name__} is not a net "
                f"(world {spec.world})."
            )
        self._net, self._heads = policy, spec.n_heads
        self._weights: dict[int, Arrays] = {}
        self._loaded: int | None = None

    def load_pool(self, pool: OpponentPool) -> None:
        """Use the snapshots of this pool from now on."""
        self._weights, self._loaded = pool.weights, None

    @property
    def memory_layout(self) -> MemoryLayout:
        """Memory layout of the net."""
        return self._net.memory_layout

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Initialise the memory of agents that begin to live."""
        self._net.reset_agents(batch, memory, keys)

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Choose actions, with one forward pass per snapshot in the batch."""
        self._actions: Ints = np.empty((len(keys), self._heads), dtype=np.int64)
        for number in np.unique(batch.member).tolist():
            rows = np.flatnonzero(batch.member == number)
            part = AgentBatch(*(column[rows] for column in batch))
            if self._loaded != number:
                self._net.load(self._weights[number])
                self._loaded = number
            self._net.act_async(observations[rows], part, memory, keys[rows])
            self._actions[rows] = self._net.act_wait()

    def act_wait(self) -> Ints:
        """Return the actions of the last `act_async`."""
        return self._actions

    def close(self) -> None:
        """Close the policy that is wrapped."""
        self._net.close()


class MixturePolicy:
    """Policy that plays each row with one of several policies, by its `member` number.

    Args:
        policies: The policies, which may be of different kinds.
        spec: Spec of the world.
    """

    def __init__(self, policies: Sequence[Policy], spec: WorldSpec) -> None:
        self._policies, self._heads = list(policies), spec.n_heads

    @property
    def memory_layout(self) -> MemoryLayout:
        """Memory layout of all policies, with their numbers as prefixes."""
        layout: dict[str, MemoryField] = {}
        for number, policy in enumerate(self._policies):
            layout |= prefix_layout(str(number), policy.memory_layout)
        return layout

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Initialise the memory of agents that begin to live, for every policy."""
        for number, policy in enumerate(self._policies):
            policy.reset_agents(batch, select_memory(memory, str(number)), keys)

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Choose actions, with one call of every policy that plays in the batch."""
        self._actions: Ints = np.empty((len(keys), self._heads), dtype=np.int64)
        for number in np.unique(batch.member).tolist():
            rows = np.flatnonzero(batch.member == number)
            part = AgentBatch(*(column[rows] for column in batch))
            policy, own_memory = self._policies[number], select_memory(memory, str(number))
            policy.act_async(observations[rows], part, own_memory, keys[rows])
            self._actions[rows] = policy.act_wait()

    def act_wait(self) -> Ints:
        """Return the actions of the last `act_async`."""
        return self._actions

    def close(self) -> None:
        """Close all policies of the mixture."""
        for policy in self._policies:
            policy.close()
