"""State of co-evolution: the populations, the hall of fame and best responses; its snapshots."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kinfolk.core.errors import require
from kinfolk.core.events import FileChunk, Snapshot
from kinfolk.core.random import fold_in, seed_key
from kinfolk.engines.base import Engine
from kinfolk.jobs.evolve_roles.coevolution.hall import (
    HallChampion,
    HallOfFame,
    hall_from_snapshot,
    roles_of,
)
from kinfolk.jobs.evolve_roles.coevolution.opponents import OpponentMixture
from kinfolk.jobs.evolve_roles.games import RoleGame, score_margin
from kinfolk.jobs.evolve_roles.settings import EvolveRoles
from kinfolk.jobs.evolve_roles.start import prepare
from kinfolk.jobs.evolve_roles.state import HISTORY_FILE, RoleEvolutionState
from kinfolk.policies.base import select_memory as select_arrays
from kinfolk.store.arrays import PolicyFile
from kinfolk.store.policy_references import make_member_chunk

HALL_FOLDER = "hall"  # `run:RUN@hall/1-50` plays a champion
# Between the seeds of populations, far more than between those of a run's training and evaluation.
_SEED_STRIDE = 10_000_019
_PAYOFF_SEED_OFFSET = 2_000_000  # added to the seed of a run: games between champions
_OPPONENTS_BRANCH = 103  # of the run's key; `racing` has the one below
_SUPPORT = 1e-6  # weight in a mixture above which a champion plays
RESPONSE_TARGETS = ("mixture", "latest")  # what fresh best responses evolve against, in this order


@dataclass
class Population:
    """One population of co-evolution, and the last shares of behaviors in its pool."""

    state: RoleEvolutionState
    shares: Mapping[str, float]


@dataclass
class CoevolutionState:
    """State of co-evolution between two steps.

    Attributes:
        settings: Settings of the run.
        populations: The populations, in a fixed order.
        hall: Champions and what they score against each other.
        response: The best response that is evolving now, if any.
        exploitability: By target, `[mean, low, high, n]` of the lead of its best response.
    """

    settings: EvolveRoles
    populations: list[Population]
    hall: HallOfFame = field(default_factory=HallOfFame)
    response: Population | None = None
    exploitability: dict[str, list[Any]] = field(default_factory=dict)

    def set_opponents(self, generation: int) -> None:
        """Set the opponents of every population for a generation.

        Args:
            generation: Number of the generation; with it, the draws of opponents change.
        """
        key = fold_in(fold_in(seed_key(self.settings.seed), _OPPONENTS_BRANCH), generation)
        champions = [HallChampion(i, generation, p.state.champion) for i, p in self._numbered()]
        hall = self.hall.champions
        use_mixture = self.settings.coevolution.opponents == "mixture" and len(hall) > 0
        weights = self.hall.nash() if use_mixture else []
        drawn = (
            [(c, w) for c, w in zip(hall, weights, strict=True) if w > _SUPPORT] if weights else []
        )
        for number, population in self._numbered():
            latest = [c for c in champions if c.population != number]
            teams = [self.champion_roles(c) for c in [*latest, *(c for c, _ in drawn)]]
            chances = [0.0] * len(latest) + [w for _, w in drawn] if drawn else [1.0] * len(latest)
            turns = range(len(latest)) if drawn else ()
            population.state.opponents = OpponentMixture(
                teams, chances, tuple(turns), int(fold_in(key, number))
            )

    def _numbered(self) -> list[tuple[int, Population]]:
        """Return the populations with their numbers."""
        return list(enumerate(self.populations))

    def champion_roles(self, champion: HallChampion) -> tuple[Any, ...]:
        """Return the role of every agent of a champion."""
        return roles_of(champion, [p.state.catalog.roles for p in self.populations])

    def add_champions(self, engine: Engine, generation: int) -> None:
        """Add the champion of every population to the hall of fame, and play the new pairs.

        Args:
            engine: Engine that plays the games.
            generation: Generations so far.
        """
        new = [HallChampion(i, generation, p.state.champion) for i, p in self._numbered()]
        pairs = self.hall.add(new)
        n_games = self.settings.coevolution.payoff_games // 2
        first = self.populations[0].state
        catalog = first.catalog.copy()
        catalog.roles = [r for c in self.hall.champions for r in self.champion_roles(c)]
        size = len(first.champion)
        ids = [tuple(range(i * size, (i + 1) * size)) for i in range(len(self.hall.champions))]
        games = []
        for a, b in pairs:  # every map is played from both sides
            for episode in range(n_games):
                games += [RoleGame(episode, (ids[a], ids[b])), RoleGame(episode, (ids[b], ids[a]))]
        seed = self.settings.seed + _PAYOFF_SEED_OFFSET
        results = first.play_games(engine, seed, games, catalog)
        leads = np.array([score_margin(result, 2) for result in results])
        for pair, scores in zip(pairs, leads.reshape(len(pairs), n_games, 2), strict=True):
            # The two games on a map are one sample: the advantage of a side cancels out.
            self.hall.record(pair, ((scores[:, 0] - scores[:, 1]) / 2).tolist())

    def start_response(self, target: str) -> None:
        """Start a fresh population that evolves against a fixed target.

        Args:
            target: `mixture` for the Nash mixture of all champions, or `latest` for the last champion
                of each population with equal weights.
        """
        self.response = self._make_response(target)

    def _make_response(self, target: str, snapshot: Snapshot | None = None) -> Population:
        """Return the population of a best response, as it was in a snapshot, if one is given."""
        number = len(self.populations) + RESPONSE_TARGETS.index(target)
        settings = population_settings(
            self.settings, number, self.settings.coevolution.best_response_generations
        )
        population = Population(*prepare(settings, snapshot))
        latest = self.hall.latest()
        weights = self.hall.nash()
        if target == "latest":
            weights = [1.0 if i in latest else 0.0 for i in range(len(weights))]
        used = [(c, w) for c, w in zip(self.hall.champions, weights, strict=True) if w > _SUPPORT]
        population.state.opponents = OpponentMixture(
            [self.champion_roles(c) for c, _ in used],
            [w for _, w in used],
            (),
            int(fold_in(fold_in(seed_key(self.settings.seed), _OPPONENTS_BRANCH), -1)),
        )
        return population

    def output_files(self) -> Iterator[FileChunk]:
        """Yield the role history of every population, and the champion's policy of the first."""
        for number, population in self._numbered():
            for chunk in population.state.output_files():
                if number == 0 or chunk.path == HISTORY_FILE:
                    yield rename_history(chunk, number)

    def hall_files(self) -> Iterator[FileChunk]:
        """Yield the policy of every champion of the hall of fame."""
        for champion in self.hall.champions:
            team = self.populations[champion.population].state.team_policy(champion.roles)
            policy = PolicyFile(team.class_path, team.settings, team.arrays)
            yield make_member_chunk(HALL_FOLDER, champion.name, policy)

    def snapshot(self, done: int) -> Snapshot:
        """Return a snapshot after `done` steps."""
        parts = {str(number): population for number, population in self._numbered()}
        if self.response is not None:
            parts["response"] = self.response
        arrays, notes = dict(self.hall.to_arrays()), {}
        for name, part in parts.items():
            whole = part.state.snapshot(done, part.shares)
            arrays |= {f"{name}/{key}": array for key, array in whole.arrays.items()}
            notes[name] = whole.notes
        values = {
            "done": done,
            "populations": notes,
            "hall": self.hall.to_notes(),
            "exploitability": self.exploitability,
        }
        return Snapshot(step=done, arrays=arrays, notes=values)


def rename_history(chunk: FileChunk, number: int) -> FileChunk:
    """Return a file of a population under a name of its own; the first keeps the usual names."""
    if number == 0 or chunk.path != HISTORY_FILE:
        return chunk
    path = HISTORY_FILE.replace(".json", f"-{number + 1}.json")
    return FileChunk(path=path, data=chunk.data, n_backups=chunk.n_backups)


def population_settings(settings: EvolveRoles, number: int, generations: int) -> EvolveRoles:
    """Return the settings of one population: its own seed and its number of generations.

    Args:
        settings: Settings of the run.
        number: Number of the population.
        generations: Generations for which it evolves.
    """
    seed = settings.seed + number * _SEED_STRIDE
    return settings.model_copy(update={"seed": seed, "generations": generations})


def start_coevolution(settings: EvolveRoles, resume: Snapshot | None) -> CoevolutionState:
    """Return the state before the first step to play.

    Args:
        settings: Settings of the run.
        resume: Snapshot to restore; None starts anew.

    Raises:
        SettingsError: The world has other than two teams, or settings do not go together.
    """
    check_coevolution(settings)
    parts = {} if resume is None else split_snapshot(resume)
    populations = [
        Population(
            *prepare(population_settings(settings, i, settings.generations), parts.get(str(i)))
        )
        for i in range(settings.coevolve)
    ]
    state = CoevolutionState(settings, populations)
    if resume is not None:
        state.hall = hall_from_snapshot(resume.notes["hall"], resume.arrays)
        state.exploitability = dict(resume.notes["exploitability"])
        if "response" in parts:
            target = RESPONSE_TARGETS[len(state.exploitability)]
            state.response = state._make_response(target, parts["response"])
    return state


def split_snapshot(snapshot: Snapshot) -> dict[str, Snapshot]:
    """Return the snapshot of each population by name."""
    notes: Mapping[str, Any] = snapshot.notes["populations"]
    return {
        name: Snapshot(step=snapshot.step, arrays=select_arrays(snapshot.arrays, name), notes=part)
        for name, part in notes.items()
    }


def check_coevolution(settings: EvolveRoles) -> None:
    """Check that the settings of co-evolution go together.

    Raises:
        SettingsError: They do not.
    """
    n_teams = settings.environment.n_teams
    require(
        settings.coevolve >= 2, f"EvolveRoles.coevolve must be 2 or more, not {settings.coevolve}."
    )
    require(
        n_teams == 2,
        f"Co-evolution is of worlds with two teams, not {n_teams}: use --preset head_to_head.",
    )
    others = {
        "live": settings.live,
        "archive": settings.archive,
        "trigger temple": settings.trigger == "temple",
        "vary": bool(settings.vary),
    }
    for name, is_used in others.items():
        require(not is_used, f"Co-evolution cannot be combined with {name}: leave one out.")


def count_support(weights: Sequence[float]) -> int:
    """Return the number of champions that play in a mixture."""
    return sum(weight > _SUPPORT for weight in weights)
