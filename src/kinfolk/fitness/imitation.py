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
from kinfolk.core.random import fold_in
from kinfolk.engines.base import Engine
from kinfolk.evolution.populations import BasePop
from kinfolk.fitness.inherited_state import take_rows
from kinfolk.fitness.match_setup import MatchSetup
from kinfolk.fitness.match_task import MatchMeasures, MatchObservers
from kinfolk.fitness.trajectories import Trajectories, concat_trajectories
from kinfolk.fitness.trajectory_scoring import (
    DiscriminationTask,
    ImitationTask,
    TrajectoryScores,
    score_discrimination,
    score_imitation,
)
from kinfolk.fitness.world import PopulationScores, make_side, matches_task, random_permutation
from kinfolk.nets.running_stats import RunningStats, merge_running_stats
from kinfolk.play.task import RolloutTask, run_task


class ImitationFitness:
    """How nearly each member does what the target did, seeing what it saw."""

    def __init__(
        self, name: str, target: Trajectories, head: str, choices: Sequence[int], chunk_size: int
    ) -> None:
        self._name, self._target, self._chunk = name, target, chunk_size
        self._head, self._choices = head, choices

    def __call__(
        self, pops: Mapping[str, BasePop], generation: int, key: int, engine: Engine
    ) -> PopulationScores:
        """Run every member over all that the target saw."""
        del generation, key  # nothing is drawn
        nets: Any = pops[self._name].nets
        tasks = (
            ImitationTask(
                nets.config(),
                take_rows(nets.to_arrays(), here),
                self._target,
                self._head,
                self._choices,
            )
            for here in split_members(nets.num_nets, self._chunk)
        )
        parts = list(engine.map(score_imitation, tasks))
        merge_stats_into(nets, [concat_stats(parts)])
        fitness = np.concatenate([part.scores for part in parts])
        return PopulationScores(
            {self._name: fitness}, int(self._target.length.sum()) * nets.num_nets
        )

    def select(self, indices: Ints) -> None:
        """Nothing is inherited here."""


class AdversarialFitness:
    """Members act to pass for the target, and judge who does not."""

    def __init__(
        self,
        setup: MatchSetup,
        name: str,
        target: Trajectories,
        choices: Sequence[int],
        chunk_size: int,
    ) -> None:
        self.setup, self._name, self._chunk = setup, name, chunk_size
        self._choices = list(choices)
        self._target = append_one_hot_actions(target, self._choices)

    def __call__(
        self, pops: Mapping[str, BasePop], generation: int, key: int, engine: Engine
    ) -> PopulationScores:
        """Act, then judge."""
        pop, matches = pops[self._name], self.setup.matches
        nets: Any = pop.nets
        tasks = self._acting_tasks(pop, generation)
        acted = [result.observed for result in engine.map(run_task, tasks)]
        lives = concat_trajectories([part.record for part in acted if part.record is not None])
        partner = draw_partners(pop.num_nets, matches, key)
        judged = list(
            engine.map(
                score_discrimination, self._discrimination_tasks(nets, lives, partner, generation)
            )
        )
        belief = np.concatenate([part.scores for part in judged])  # [members, 2 matches]
        merge_stats_into(nets, [_acting_copies(acted, self._name, matches), concat_stats(judged)])
        fitness = adversarial_fitness(belief[:, :matches], belief[:, matches:], partner)
        return PopulationScores({self._name: fitness}, int(lives.length.sum()))

    def _acting_tasks(self, pop: BasePop, generation: int) -> Iterator[RolloutTask[MatchMeasures]]:
        matches = self.setup.matches
        for here in split_members(pop.num_nets, self._chunk):
            side = make_side(self.setup, self._name, pop, np.repeat(here, matches), {})
            numbers = [generation * matches + m for _ in here for m in range(matches)]
            wanted = MatchObservers({self._name: side}, record=self._name)
            yield matches_task(self.setup, wanted, numbers, self.setup.steps)

    def _discrimination_tasks(
        self, nets: Any, lives: Trajectories, partner: Ints, generation: int
    ) -> Iterator[DiscriminationTask]:
        matches, acting = self.setup.matches, sum(self._choices)
        ticks = max(self._target.shape[1], lives.x.shape[1])
        shown = (generation * matches + np.arange(matches)) % len(self._target)
        real = _pad_ticks(self._target[shown], ticks)
        fake = _pad_ticks(append_one_hot_actions(lives, self._choices), ticks)
        for here in split_members(nets.num_nets, self._chunk):
            which = partner[here] * matches + np.arange(matches)  # the lives they judge
            shared = np.broadcast_to(real, (len(here), *real.shape))
            x = np.concatenate([fake[which], shared], axis=1)
            yield DiscriminationTask(nets.config(), take_rows(nets.to_arrays(), here), x, acting)

    def select(self, indices: Ints) -> None:
        """Nothing is inherited here."""


def draw_partners(members: int, matches: int, key: int) -> Ints:
    """`[members, matches]`: whose life each member judges in each match.

    Every column is a random derangement: nobody judges itself, everybody is judged once.
    """
    columns = [draw_derangement(members, fold_in(key, match)) for match in range(matches)]
    return np.stack(columns, axis=1)


def draw_derangement(members: int, key: int) -> Ints:
    """A random order in which nobody keeps its place: orders are drawn until one is such."""
    attempt = 0
    while True:
        order = random_permutation(members, fold_in(key, attempt))
        if not (order == np.arange(members)).any():
            return order
        attempt += 1


def adversarial_fitness(fake_scores: AnyArray, real_scores: AnyArray, partners: Ints) -> AnyArray:
    """What members earn by acting and by judging; both are `[members, matches]` of the judges."""
    earned = np.zeros_like(fake_scores)
    for match in range(partners.shape[1]):
        earned[partners[:, match], match] = fake_scores[:, match]
    acting: AnyArray = earned.mean(axis=1)
    judging: AnyArray = real_scores.mean(axis=1) - fake_scores.mean(axis=1)
    return acting + judging


def append_one_hot_actions(lives: Trajectories, choices: Sequence[int]) -> AnyArray:
    """What was seen and, behind it, what was done: a place per choice, one of them 1."""
    parts = [lives.x]
    for part, size in enumerate(choices):
        parts.append(np.eye(size, dtype=np.float32)[lives.actions[..., part]])
    whole: AnyArray = np.concatenate(parts, axis=2) * lives.valid[..., None]
    return whole.astype(np.float32)


def split_members(members: int, size: int) -> list[Ints]:
    """Members in groups of `size`."""
    return [np.arange(a, min(a + size, members), dtype=np.int64) for a in range(0, members, size)]


def concat_stats(parts: Sequence[TrajectoryScores]) -> RunningStats | None:
    """What copies have learned, `[members, copies, room]`; None for nets that learn nothing."""
    found = [part.running_stats for part in parts if part.running_stats is not None]
    return RunningStats(*(np.concatenate(p) for p in zip(*found, strict=True))) if found else None


def merge_stats_into(nets: Any, copies: Sequence[RunningStats | None]) -> None:
    """Let nets keep what copies have learned: role by role, life by life."""
    found = [one for one in copies if one is not None]
    if found:
        base = RunningStats(*(nets.to_arrays()[name] for name in RunningStats._fields))
        together = (np.concatenate(part, axis=1) for part in zip(*found, strict=True))
        nets.set_running_stats(merge_running_stats(base, RunningStats(*together)))


def _acting_copies(parts: Sequence[MatchMeasures], name: str, matches: int) -> RunningStats | None:
    found = [part.calibration[name] for part in parts if name in part.calibration]
    if not found:
        return None
    whole = (np.concatenate(part) for part in zip(*found, strict=True))
    return RunningStats(*(a.reshape(-1, matches, a.shape[1]) for a in whole))


def _pad_ticks(array: AnyArray, ticks: int) -> AnyArray:
    pads = [(0, 0), (0, ticks - array.shape[1]), *[(0, 0)] * (array.ndim - 2)]
    return np.pad(array, pads)
