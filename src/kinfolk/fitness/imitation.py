"""Fitness from imitation of a target: compared step by step, or by adversarial discrimination.

Adversarial: in each of N matches a member generates a trajectory x_G, which a partner discriminates, and
discriminates a partner's. Partners are random derangements, so that no member meets itself and each
plays exactly N times in each role. Its score as a generator is its partner's D(x_G). Its score as a
discriminator is D(x_T) - D(x_G), where x_T is a trajectory of the target: without it, to call
everything a fake would be best. Fitness is the sum of the 2 N scores, or that divided by N.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Ints
from kinfolk.core.random import fold_in
from kinfolk.engines.base import Engine
from kinfolk.evolution.base import BasePop
from kinfolk.fitness.inherited_state import concat_chunks, pad_axes, take_rows
from kinfolk.fitness.match_task import (
    MatchMeasures,
    MatchObservers,
    MatchSetup,
    make_match_task,
    population_policy,
)
from kinfolk.fitness.scores import PopulationScores, concat_stats, merge_stats_into
from kinfolk.fitness.trajectories import Trajectories
from kinfolk.fitness.trajectory_scoring import (
    DiscriminationTask,
    ImitationTask,
    score_discrimination,
    score_imitation,
)
from kinfolk.fitness.world import match_stats, random_permutation
from kinfolk.play.task import RolloutTask, run_task


class ImitationFitness:
    """Fitness is how closely each member's actions match the target's on the same observations.

    Args:
        name: Name of the population.
        target: Demonstrations.
        head: Output head of the nets.
        choices: Number of choices of each part of an action.
        chunk_size: Members per task of the engine.
    """

    def __init__(
        self, name: str, target: Trajectories, head: str, choices: Sequence[int], chunk_size: int
    ) -> None:
        self._name, self._target, self._chunk = name, target, chunk_size
        self._head, self._choices = head, choices

    def __call__(
        self, pops: Mapping[str, BasePop], generation: int, key: int, engine: Engine
    ) -> PopulationScores:
        """Score every member on all demonstrations.

        Args:
            pops: The population by name.
            generation: Not used.
            key: Not used.
            engine: Runs the tasks.
        """
        del generation, key  # imitation is deterministic
        nets: Any = pops[self._name].nets
        imitation = self._target, self._head, self._choices
        tasks = (
            ImitationTask(nets.config(), take_rows(nets.to_arrays(), members), *imitation)
            for members in split_members(nets.num_nets, self._chunk)
        )
        parts = list(engine.map(score_imitation, tasks))
        merge_stats_into(nets, [concat_stats([part.running_stats for part in parts])])
        fitness = np.concatenate([part.scores for part in parts])
        steps = int(self._target.length.sum()) * nets.num_nets
        return PopulationScores({self._name: fitness}, steps)

    def select(self, indices: Ints) -> None:
        """Do nothing, as there are no worlds to inherit."""


class AdversarialFitness:
    """Fitness of members that imitate the target and discriminate imitations from it.

    Args:
        setup: World and policies of the matches, with one population.
        target: Demonstrations.
        chunk_size: Members per task of the engine.
        summed: Whether fitness is the sum of all scores; else it is divided by the matches.
    """

    def __init__(
        self, setup: MatchSetup, target: Trajectories, chunk_size: int, summed: bool = True
    ) -> None:
        self.setup, self._chunk, self._summed = setup, chunk_size, summed
        self._name, (group,) = next(iter(setup.groups.items()))
        self._choices = setup.spec.n_choices[setup.spec.group_index(group)].tolist()
        self._target = append_one_hot_actions(target, self._choices)

    def __call__(
        self, pops: Mapping[str, BasePop], generation: int, key: int, engine: Engine
    ) -> PopulationScores:
        """Let all members act in the world, then discriminate each other's trajectories.

        Args:
            pops: The population by name.
            generation: Decides the episodes and which demonstrations are shown.
            key: Random key of the partners.
            engine: Runs the tasks.
        """
        nets: Any = pops[self._name].nets
        members, matches = nets.num_nets, self.setup.matches
        tasks = self._make_acting_tasks(nets, generation)
        acted = [result.observed for result in engine.map(run_task, tasks)]
        recorded = [part.trajectories for part in acted if part.trajectories is not None]
        trajectories = Trajectories(**concat_chunks([part._asdict() for part in recorded]))
        partners = draw_partners(members, matches, key)
        discrimination = self._make_discrimination_tasks(nets, trajectories, partners, generation)
        parts = list(engine.map(score_discrimination, discrimination))
        scores = np.concatenate([part.scores for part in parts])  # [members, 2 matches]
        acting_stats = match_stats(acted, self._name, np.arange(members * matches), matches)
        scoring_stats = concat_stats([part.running_stats for part in parts])
        merge_stats_into(nets, [acting_stats, scoring_stats])
        by_role = adversarial_scores(scores[:, :matches], scores[:, matches:], partners)
        fitness = by_role.sum(axis=1)
        if not self._summed:
            fitness = fitness / matches
        return PopulationScores({self._name: fitness}, int(trajectories.length.sum()))

    def _make_acting_tasks(
        self, nets: Any, generation: int
    ) -> Iterator[RolloutTask[MatchMeasures]]:
        """Yield the tasks in which members play their matches and are recorded."""
        setup, name, matches = self.setup, self._name, self.setup.matches
        for members in split_members(nets.num_nets, self._chunk):
            policies = {name: population_policy(setup, name, nets, np.repeat(members, matches))}
            episodes = [generation * matches + m for _ in members for m in range(matches)]
            observers = MatchObservers({name: {}}, record=name)
            yield make_match_task(setup, policies, observers, episodes, setup.steps)

    def _make_discrimination_tasks(
        self, nets: Any, trajectories: Trajectories, partners: Ints, generation: int
    ) -> Iterator[DiscriminationTask]:
        """Yield the tasks in which members score their partners' trajectories and the target's.

        Args:
            nets: The population's nets.
            trajectories: `matches` trajectories of each member.
            partners: `[members, matches]`, whose trajectory each member scores.
            generation: Decides which demonstrations are shown.
        """
        matches, acting = self.setup.matches, sum(self._choices)
        ticks = max(self._target.shape[1], trajectories.x.shape[1])
        shown = (generation * matches + np.arange(matches)) % len(self._target)
        shape = (ticks, self._target.shape[2])
        real = pad_axes(self._target[shown], shape)
        fake = pad_axes(append_one_hot_actions(trajectories, self._choices), shape)
        for members in split_members(nets.num_nets, self._chunk):
            indices = partners[members] * matches + np.arange(matches)
            shared = np.broadcast_to(real, (len(members), *real.shape))
            x = np.concatenate([fake[indices], shared], axis=1)
            arrays = take_rows(nets.to_arrays(), members)
            yield DiscriminationTask(nets.config(), arrays, x, acting)

    def select(self, indices: Ints) -> None:
        """Do nothing, as there are no worlds to inherit."""


def draw_partners(members: int, matches: int, key: int) -> Ints:
    """Draw whose trajectory each member discriminates in each match: `[members, matches]`.

    Every column is a random derangement: no member meets itself, and each is met once.

    Args:
        members: Size of the population.
        matches: Matches per member.
        key: Random key.
    """
    columns = [draw_derangement(members, fold_in(key, match)) for match in range(matches)]
    return np.stack(columns, axis=1)


def draw_derangement(members: int, key: int) -> Ints:
    """Draw a random permutation without fixed points, by rejection."""
    attempt = 0
    while True:
        order = random_permutation(members, fold_in(key, attempt))
        if not (order == np.arange(members)).any():
            return order
        attempt += 1


def adversarial_scores(fake_scores: AnyArray, real_scores: AnyArray, partners: Ints) -> AnyArray:
    """Return each member's scores, `[members, 2 * matches]`: as generator, then as discriminator.

    Args:
        fake_scores: `[members, matches]`, scores that each member gave its partners' trajectories.
        real_scores: `[members, matches]`, scores that it gave the target's.
        partners: `[members, matches]`, whose trajectory it scored.

    >>> adversarial_scores(np.array([[0.2], [0.7]]), np.array([[0.9], [0.8]]), np.array([[1], [0]]))
    array([[0.7, 0.7],
           [0.2, 0.1]])
    """
    received = np.zeros_like(fake_scores)
    for match in range(partners.shape[1]):
        received[partners[:, match], match] = fake_scores[:, match]
    return np.concatenate([received, real_scores - fake_scores], axis=1)


def append_one_hot_actions(trajectories: Trajectories, choices: Sequence[int]) -> AnyArray:
    """Return observations with one-hot actions appended, `[trajectories, ticks, features]`.

    Ticks after the end of a trajectory are zero.
    """
    parts = [trajectories.x]
    for part, size in enumerate(choices):
        parts.append(np.eye(size, dtype=np.float32)[trajectories.actions[..., part]])
    features: AnyArray = np.concatenate(parts, axis=2) * trajectories.valid[..., None]
    return features.astype(np.float32)


def split_members(members: int, size: int) -> list[Ints]:
    """Split the indices of members into chunks of `size`."""
    return [np.arange(a, min(a + size, members), dtype=np.int64) for a in range(0, members, size)]
