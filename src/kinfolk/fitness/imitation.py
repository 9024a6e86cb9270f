"""Fitness from being like somebody: compared step by step, or told apart by other members.

Adversarial: each member acts N times and judges N times, partners dealt by derangements, so that nobody
meets itself and everybody plays exactly N and N; each also judges N lives of the target.
fit_G = mean D(x_G), fit_D = mean D(x_T) - mean D(x_G), fitness = their sum.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Ints
from kinfolk.core.keys import fold
from kinfolk.engines.base import Engine
from kinfolk.evolution.populations import BasePop
from kinfolk.fitness.arena import Arena
from kinfolk.fitness.carried import taken
from kinfolk.fitness.games import Played, play_games
from kinfolk.fitness.judging import Copying, Judged, Verdicts, copy_scores, verdicts
from kinfolk.fitness.recording import Trajectories, joined_lives
from kinfolk.fitness.worlds import Scores, games_of, shuffled, side_of
from kinfolk.nets.calibration import Calibration, merged


class ImitationFitness:
    """How nearly each member does what the target did, seeing what it saw."""

    def __init__(
        self, name: str, target: Trajectories, head: str, choices: Sequence[int], chunk: int
    ) -> None:
        self._name, self._target, self._chunk = name, target, chunk
        self._head, self._choices = head, choices

    def __call__(
        self, pops: Mapping[str, BasePop], generation: int, key: int, engine: Engine
    ) -> Scores:
        """Run every member over all that the target saw."""
        del generation, key  # nothing is drawn
        nets: Any = pops[self._name].nets
        tasks = (
            Copying(
                nets.about(), taken(nets.to_arrays(), here), self._target, self._head, self._choices
            )
            for here in chunks(nets.num_nets, self._chunk)
        )
        parts = list(engine.map(copy_scores, tasks))
        absorb(nets, [copies_of(parts)])
        fitness = np.concatenate([part.scores for part in parts])
        return Scores({self._name: fitness}, int(self._target.length.sum()) * nets.num_nets)

    def select(self, indices: Ints) -> None:
        """Nothing is inherited here."""


class AdversarialFitness:
    """Members act to pass for the target, and judge who does not."""

    def __init__(
        self, arena: Arena, name: str, target: Trajectories, choices: Sequence[int], chunk: int
    ) -> None:
        self.arena, self._name, self._chunk = arena, name, chunk
        self._choices = list(choices)
        self._target = with_actions(target, self._choices)

    def __call__(
        self, pops: Mapping[str, BasePop], generation: int, key: int, engine: Engine
    ) -> Scores:
        """Act, then judge."""
        pop, matches = pops[self._name], self.arena.matches
        nets: Any = pop.nets
        acted = list(engine.map(play_games, self._acting(pop, generation)))
        lives = joined_lives([part.record for part in acted if part.record is not None])
        partner = partners(pop.num_nets, matches, key)
        judged = list(engine.map(verdicts, self._judging(nets, lives, partner, generation)))
        belief = np.concatenate([part.scores for part in judged])  # [members, 2 matches]
        absorb(nets, [_acting_copies(acted, self._name, matches), copies_of(judged)])
        fitness = adversarial_fitness(belief[:, :matches], belief[:, matches:], partner)
        return Scores({self._name: fitness}, int(lives.length.sum()))

    def _acting(self, pop: BasePop, generation: int) -> Iterator[Any]:
        matches = self.arena.matches
        for here in chunks(pop.num_nets, self._chunk):
            side = side_of(self.arena, self._name, pop, np.repeat(here, matches), {})
            numbers = [generation * matches + m for _ in here for m in range(matches)]
            yield games_of(
                self.arena, {self._name: side}, numbers, steps=self.arena.steps, record=self._name
            )

    def _judging(
        self, nets: Any, lives: Trajectories, partner: Ints, generation: int
    ) -> Iterator[Verdicts]:
        matches, acting = self.arena.matches, sum(self._choices)
        ticks = max(self._target.shape[1], lives.x.shape[1])
        shown = (generation * matches + np.arange(matches)) % len(self._target)
        real = _long(self._target[shown], ticks)
        fake = _long(with_actions(lives, self._choices), ticks)
        for here in chunks(nets.num_nets, self._chunk):
            which = partner[here] * matches + np.arange(matches)  # the lives they judge
            shared = np.broadcast_to(real, (len(here), *real.shape))
            x = np.concatenate([fake[which], shared], axis=1)
            yield Verdicts(nets.about(), taken(nets.to_arrays(), here), x, acting)

    def select(self, indices: Ints) -> None:
        """Nothing is inherited here."""


def partners(members: int, matches: int, key: int) -> Ints:
    """`[members, matches]`: whose life each member judges in each match.

    Every column is a random derangement: nobody judges itself, everybody is judged once.
    """
    columns = [derangement(members, fold(key, match)) for match in range(matches)]
    return np.stack(columns, axis=1)


def derangement(members: int, key: int) -> Ints:
    """A random order in which nobody keeps its place: orders are drawn until one is such."""
    attempt = 0
    while True:
        order = shuffled(members, fold(key, attempt))
        if not (order == np.arange(members)).any():
            return order
        attempt += 1


def adversarial_fitness(of_fakes: AnyArray, of_real: AnyArray, partner: Ints) -> AnyArray:
    """What members earn by acting and by judging; both are `[members, matches]` of the judges."""
    earned = np.zeros_like(of_fakes)
    for match in range(partner.shape[1]):
        earned[partner[:, match], match] = of_fakes[:, match]
    acting: AnyArray = earned.mean(axis=1)
    judging: AnyArray = of_real.mean(axis=1) - of_fakes.mean(axis=1)
    return acting + judging


def with_actions(lives: Trajectories, choices: Sequence[int]) -> AnyArray:
    """What was seen and, behind it, what was done: a place per choice, one of them 1."""
    parts = [lives.x]
    for part, size in enumerate(choices):
        parts.append(np.eye(size, dtype=np.float32)[lives.actions[..., part]])
    whole: AnyArray = np.concatenate(parts, axis=2) * lives.valid[..., None]
    return whole.astype(np.float32)


def chunks(members: int, size: int) -> list[Ints]:
    """Members in groups of `size`."""
    return [np.arange(a, min(a + size, members), dtype=np.int64) for a in range(0, members, size)]


def copies_of(parts: Sequence[Judged]) -> Calibration | None:
    """What copies have learned, `[members, copies, room]`; None for nets that learn nothing."""
    found = [part.calibration for part in parts if part.calibration is not None]
    return Calibration(*(np.concatenate(p) for p in zip(*found, strict=True))) if found else None


def absorb(nets: Any, copies: Sequence[Calibration | None]) -> None:
    """Let nets keep what copies have learned: role by role, life by life."""
    found = [one for one in copies if one is not None]
    if found:
        base = Calibration(*(nets.to_arrays()[name] for name in Calibration._fields))
        together = (np.concatenate(part, axis=1) for part in zip(*found, strict=True))
        nets.set_calibration(merged(base, Calibration(*together)))


def _acting_copies(parts: Sequence[Played], name: str, matches: int) -> Calibration | None:
    found = [part.calibration[name] for part in parts if name in part.calibration]
    if not found:
        return None
    whole = (np.concatenate(part) for part in zip(*found, strict=True))
    return Calibration(*(a.reshape(-1, matches, a.shape[1]) for a in whole))


def _long(array: AnyArray, ticks: int) -> AnyArray:
    pads = [(0, 0), (0, ticks - array.shape[1]), *[(0, 0)] * (array.ndim - 2)]
    return np.pad(array, pads)
