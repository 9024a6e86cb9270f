"""A pool of earlier selves to play against: frozen copies, one drawn for each episode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from pydantic import Field

from kinfolk.core.arrays import AnyArray, Arrays, Bytes, Ints
from kinfolk.core.errors import SettingsError
from kinfolk.core.keys import below, episode_key, fold
from kinfolk.core.settings import Settings
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import Memory, MemoryLayout, Policy, Rows
from kinfolk.policies.neural.policy import Neural

Choice = Literal["uniform", "recent", "win_rate"]
_RIVALS = 4  # the branch of an episode's key from which its rival is drawn
_UNITS = 1000  # weights of a draw are whole numbers, so that it is the same everywhere


class PoolSettings(Settings):
    """Self-play: `slot` is played by copies of what `of` was.

    `every` so many updates a copy joins; the oldest of more than `size` leaves. A rival is drawn
    uniformly, from the most recent (`recent`: twice as often as the one before it), or the more
    often the more it wins (`win_rate`).
    """

    slot: str
    of: str
    every: int = Field(default=10, ge=1)
    size: int = Field(default=8, ge=1)
    choose: Choice = "uniform"


@dataclass(frozen=True)
class PoolPlan:
    """Who plays for the pool."""

    slot: str


@dataclass(frozen=True)
class PoolState:
    """The copies, by number; those that left but are still in play stay until their episode ends."""

    weights: dict[int, Arrays]
    drawn: tuple[int, ...]  # numbers that are drawn from, oldest first
    odds: tuple[int, ...]  # their weights
    won: dict[int, float] = field(default_factory=dict)  # share of episodes won, smoothed

    def joined(self, number: int, arrays: Arrays, settings: PoolSettings) -> PoolState:
        """With one more copy."""
        drawn = (*self.drawn, number)[-settings.size :]
        weights = {**self.weights, number: arrays}
        won = {**self.won, number: 0.5}
        return replace(self, weights=weights, drawn=drawn, won=won).weighed(settings)

    def weighed(self, settings: PoolSettings) -> PoolState:
        """With odds as the settings ask."""
        count = len(self.drawn)
        odds = [_UNITS] * count
        if settings.choose == "recent":
            odds = [max(1, _UNITS >> (count - 1 - i)) for i in range(count)]
        elif settings.choose == "win_rate":
            odds = [1 + round(_UNITS * self.won[number]) for number in self.drawn]
        return replace(self, odds=tuple(odds))

    def scored(self, number: int, share: float, settings: PoolSettings) -> PoolState:
        """After an episode in which a copy won `share`."""
        if number not in self.won:
            return self
        won = {**self.won, number: 0.95 * self.won[number] + 0.05 * share}
        return replace(self, won=won).weighed(settings)

    def without_idle(self, playing: Sequence[int]) -> PoolState:
        """Forget copies that are neither drawn from nor in play."""
        kept = {*self.drawn, *playing}
        return replace(
            self,
            weights={n: a for n, a in self.weights.items() if n in kept},
            won={n: share for n, share in self.won.items() if n in kept},
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
        won = {str(number): share for number, share in self.won.items()}
        return {"drawn": list(self.drawn), "odds": list(self.odds), "won": won}

    @staticmethod
    def restored(arrays: Arrays, notes: dict[str, object]) -> PoolState:
        """The pool that `arrays` and `notes` laid down."""
        weights: dict[int, dict[str, AnyArray]] = {}
        for path, array in arrays.items():
            if path.startswith("pool/"):
                _, number, name = path.split("/", 2)
                weights.setdefault(int(number), {})[name] = array
        drawn, odds, won = notes["drawn"], notes["odds"], notes["won"]
        assert isinstance(drawn, list) and isinstance(odds, list) and isinstance(won, dict)  # noqa: PT018
        shares = {int(number): float(share) for number, share in won.items()}
        ordered = {number: weights[number] for number in sorted(weights)}
        return PoolState(dict(ordered), tuple(drawn), tuple(odds), shares)


def seat_rivals(members: Ints, worlds: Ints, episodes: Ints, pool: PoolState, seed: int) -> None:
    """Draw the rival of each of `worlds`, from the key of its episode."""
    reached = np.cumsum(pool.odds)
    for world in worlds.tolist():
        key = fold(episode_key(seed, int(episodes[world])), _RIVALS)
        draw = int(below(key, 0, int(reached[-1])))
        members[world] = pool.drawn[int(np.searchsorted(reached, draw, side="right"))]


class Pooled:
    """Plays each row with the copy that its member number names.

    Raises:
        SettingsError: The slot's policy is not a net.
    """

    def __init__(self, policy: Policy, spec: WorldSpec) -> None:
        if not isinstance(policy, Neural):
            raise SettingsError(
                f"A pool holds copies of nets; {type(policy).__name__} is none (world {spec.world})."
            )
        self._net, self._heads = policy, spec.heads
        self._weights: dict[int, Arrays] = {}
        self._loaded: int | None = None

    def take(self, pool: PoolState) -> None:
        """Play with these copies from now on."""
        self._weights, self._loaded = pool.weights, None

    @property
    def memory(self) -> MemoryLayout:
        """That of the net."""
        return self._net.memory

    def begin(self, rows: Rows, memory: Memory, keys: Ints) -> None:
        """Lives that start now."""
        self._net.begin(rows, memory, keys)

    def ask(self, observations: Bytes, rows: Rows, memory: Memory, keys: Ints) -> None:
        """One forward per copy that is in play."""
        self._actions = np.empty((len(keys), self._heads), dtype=np.int64)
        for number in np.unique(rows.member).tolist():
            at = np.flatnonzero(rows.member == number)
            some = Rows(*(column[at] for column in rows))
            if self._loaded != number:
                self._net.load(self._weights[number])
                self._loaded = number
            self._net.ask(observations[at], some, memory, keys[at])
            self._actions[at] = self._net.answer()

    def answer(self) -> Ints:
        """The choices."""
        return self._actions

    def close(self) -> None:
        """Close the net."""
        self._net.close()

    _actions: Ints
