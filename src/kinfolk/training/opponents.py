"""A pool of earlier selves to play against: frozen copies, one drawn for each episode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from pydantic import Field

from kinfolk.core.arrays import AnyArray, Arrays, Bytes, Ints
from kinfolk.core.errors import SettingsError
from kinfolk.core.random import episode_key, fold_in, randint
from kinfolk.core.settings import Settings, setting
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import AgentBatch, Memory, MemoryLayout, Policy
from kinfolk.policies.neural.policy import NeuralPolicy

OpponentSampling = Literal["uniform", "recent", "win_rate"]
_OPPONENT_BRANCH = 4  # the branch of an episode's key from which its rival is drawn
_WEIGHT_UNITS = 1000  # weights of a draw are whole numbers, so that it is the same everywhere


class OpponentPoolSettings(Settings):
    """Self-play: `slot` is played by copies of what `of` was.

    `every` so many updates a copy joins; the oldest of more than `size` leaves. A rival is drawn
    uniformly, from the most recent (`recent`: twice as often as the one before it), or the more
    often the more it wins (`win_rate`).
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
    """The copies, by number; those that left but are still in play stay until their episode ends."""

    weights: dict[int, Arrays]
    active: tuple[int, ...]  # numbers that are drawn from, oldest first
    sampling_weights: tuple[int, ...]  # their weights
    win_rates: dict[int, float] = field(default_factory=dict)  # share of episodes won, smoothed

    def with_snapshot(
        self, number: int, arrays: Arrays, settings: OpponentPoolSettings
    ) -> OpponentPool:
        """With one more copy."""
        drawn = (*self.active, number)[-settings.max_size :]
        weights = {**self.weights, number: arrays}
        won = {**self.win_rates, number: 0.5}
        return replace(self, weights=weights, active=drawn, win_rates=won).with_sampling_weights(
            settings
        )

    def with_sampling_weights(self, settings: OpponentPoolSettings) -> OpponentPool:
        """With odds as the settings ask."""
        count = len(self.active)
        odds = [_WEIGHT_UNITS] * count
        if settings.sampling == "recent":
            odds = [max(1, _WEIGHT_UNITS >> (count - 1 - i)) for i in range(count)]
        elif settings.sampling == "win_rate":
            odds = [1 + round(_WEIGHT_UNITS * self.win_rates[number]) for number in self.active]
        return replace(self, sampling_weights=tuple(odds))

    def with_result(
        self, number: int, share: float, settings: OpponentPoolSettings
    ) -> OpponentPool:
        """After an episode in which a copy won `share`."""
        if number not in self.win_rates:
            return self
        won = {**self.win_rates, number: 0.95 * self.win_rates[number] + 0.05 * share}
        return replace(self, win_rates=won).with_sampling_weights(settings)

    def without_unused(self, playing: Sequence[int]) -> OpponentPool:
        """Forget copies that are neither drawn from nor in play."""
        kept = {*self.active, *playing}
        return replace(
            self,
            weights={n: a for n, a in self.weights.items() if n in kept},
            win_rates={n: share for n, share in self.win_rates.items() if n in kept},
        )

    def arrays(self) -> dict[str, AnyArray]:
        """For a snapshot."""
        return {
            f"pool/{number}/{name}": array
            for number, arrays in self.weights.items()
            for name, array in arrays.items()
        }

    def notes(self) -> dict[str, object]:
        """For a snapshot."""
        won = {str(number): share for number, share in self.win_rates.items()}
        return {
            "active": list(self.active),
            "sampling_weights": list(self.sampling_weights),
            "win_rates": won,
        }

    @staticmethod
    def from_snapshot(arrays: Arrays, notes: dict[str, object]) -> OpponentPool:
        """The pool that `arrays` and `notes` laid down."""
        weights: dict[int, dict[str, AnyArray]] = {}
        for path, array in arrays.items():
            if path.startswith("pool/"):
                _, number, name = path.split("/", 2)
                weights.setdefault(int(number), {})[name] = array
        drawn, odds, won = notes["active"], notes["sampling_weights"], notes["win_rates"]
        assert isinstance(drawn, list) and isinstance(odds, list) and isinstance(won, dict)  # noqa: PT018
        shares = {int(number): float(share) for number, share in won.items()}
        ordered = {number: weights[number] for number in sorted(weights)}
        return OpponentPool(dict(ordered), tuple(drawn), tuple(odds), shares)


def assign_opponents(
    members: Ints, worlds: Ints, episodes: Ints, pool: OpponentPool, seed: int
) -> None:
    """Draw the rival of each of `worlds`, from the key of its episode."""
    reached = np.cumsum(pool.sampling_weights)
    for world in worlds.tolist():
        key = fold_in(episode_key(seed, int(episodes[world])), _OPPONENT_BRANCH)
        draw = int(randint(key, 0, int(reached[-1])))
        members[world] = pool.active[int(np.searchsorted(reached, draw, side="right"))]


class OpponentPolicy:
    """Plays each row with the copy that its member number names.

    Raises:
        SettingsError: The slot's policy is not a net.
    """

    def __init__(self, policy: Policy, spec: WorldSpec) -> None:
        if not isinstance(policy, NeuralPolicy):
            raise SettingsError(
                f"A pool holds copies of nets; {type(policy).__name__} is none (world {spec.world})."
            )
        self._net, self._heads = policy, spec.n_heads
        self._weights: dict[int, Arrays] = {}
        self._loaded: int | None = None

    def load_pool(self, pool: OpponentPool) -> None:
        """Play with these copies from now on."""
        self._weights, self._loaded = pool.weights, None

    @property
    def memory_layout(self) -> MemoryLayout:
        """That of the net."""
        return self._net.memory_layout

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Lives that start now."""
        self._net.reset_agents(batch, memory, keys)

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """One forward per copy that is in play."""
        self._actions = np.empty((len(keys), self._heads), dtype=np.int64)
        for number in np.unique(batch.member).tolist():
            at = np.flatnonzero(batch.member == number)
            some = AgentBatch(*(column[at] for column in batch))
            if self._loaded != number:
                self._net.load(self._weights[number])
                self._loaded = number
            self._net.act_async(observations[at], some, memory, keys[at])
            self._actions[at] = self._net.act_wait()

    def act_wait(self) -> Ints:
        """The choices."""
        return self._actions

    def close(self) -> None:
        """Close the net."""
        self._net.close()

    _actions: Ints
