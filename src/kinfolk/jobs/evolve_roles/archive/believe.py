"""Evaluate the elites of an archive anew, and write the archive as a file and as policies.

The score of an elite is the largest of many, and its cell was estimated from few games. So every
elite plays fresh games; it is *believed* if by these alone it falls into its own cell again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from kinfolk.core.events import Event, FileChunk
from kinfolk.engines.base import Engine
from kinfolk.evaluation.statistics import Estimate, estimate_mean, estimate_proportion
from kinfolk.jobs.evolve_roles.archive.file import ARCHIVE_FILE
from kinfolk.jobs.evolve_roles.archive.records import BehaviorRecord, Descriptors
from kinfolk.jobs.evolve_roles.champion import count_roles, play_held_out
from kinfolk.jobs.evolve_roles.state import RoleEvolutionState
from kinfolk.store.arrays import PolicyFile
from kinfolk.store.policy_references import make_member_chunk

TEAM_FOLDER, ROLE_FOLDER = "archive", "role-archive"
_FRESH_EPISODES = 300_000  # first of the held-out episodes that only elites play


@dataclass(frozen=True, kw_only=True)
class ArchiveEvaluated(Event):
    """How the elites of an archive fared in fresh games."""

    kind: ClassVar[str] = "archive_evaluated"
    axes: list[str]
    cells: int
    games: int  # fresh, of every elite
    filled: int  # cells with a team
    believed: Estimate  # share of teams that fell into their own cell again
    score: Estimate  # of the teams, in fresh games
    optimism: Estimate  # their score in the archive less that in fresh games
    qd_score: float  # sum of fresh scores of teams that are believed
    filled_by_roles: int
    believed_roles: Estimate | None  # None if no role has enough games


class Elite(NamedTuple):
    """An elite with what it did in fresh games."""

    cell: int
    key: Any  # role ids of a team, or a role id
    record: BehaviorRecord
    fresh: BehaviorRecord
    fresh_cell: int

    @property
    def is_believed(self) -> bool:
        """Whether it fell into its own cell again."""
        return self.cell == self.fresh_cell


def evaluate_archive(
    state: RoleEvolutionState,
    engine: Engine,
    descriptors: Descriptors,
    teams: Mapping[tuple[int, ...], BehaviorRecord],
    team_elites: Mapping[int, tuple[int, ...]],
    roles: Mapping[int, BehaviorRecord],
    role_elites: Mapping[int, int],
) -> Iterator[Event | FileChunk]:
    """Play fresh games with every elite; yield the event, the archive file and the policies.

    A role plays as one agent of the champion's team.

    Args:
        state: State of the evolution.
        engine: Engine that plays the games.
        descriptors: The grid.
        teams: Records of teams.
        team_elites: Team of each filled cell.
        roles: Records of roles.
        role_elites: Role of each filled cell.
    """
    champion = state.champion
    team_roles = [*team_elites.values(), *((role, *champion[1:]) for role in role_elites.values())]
    described = [range(len(champion))] * len(team_elites) + [range(1)] * len(role_elites)
    fresh = play_fresh(state, engine, descriptors, team_roles, described)
    cells = descriptors.find_cells(fresh).tolist()
    keys = [*team_elites.items(), *role_elites.items()]
    known = [teams[k] for k in team_elites.values()] + [roles[k] for k in role_elites.values()]
    elites = [
        Elite(cell, key, record, again, fresh_cell)
        for (cell, key), record, again, fresh_cell in zip(keys, known, fresh, cells, strict=True)
    ]
    of_teams, of_roles = elites[: len(team_elites)], elites[len(team_elites) :]
    yield from write_archive(state, descriptors, of_teams, of_roles)
    scores = np.array([elite.fresh.mean_score for elite in of_teams])
    optimism = np.array([elite.record.mean_score for elite in of_teams]) - scores
    yield ArchiveEvaluated(
        step=state.coordinator.generation,
        axes=[axis.name for axis in descriptors.axes],
        cells=int(np.prod(descriptors.dims)),
        games=state.settings.quality_diversity.final_games,
        filled=len(of_teams),
        believed=_estimate_believed(of_teams),
        score=estimate_mean(scores),
        optimism=estimate_mean(optimism),
        qd_score=float(sum(e.fresh.mean_score for e in of_teams if e.is_believed)),
        filled_by_roles=len(of_roles),
        believed_roles=_estimate_believed(of_roles) if of_roles else None,
    )


def _estimate_believed(elites: Sequence[Elite]) -> Estimate:
    """Return the share of elites that fell into their own cell again."""
    return estimate_proportion(np.array([float(elite.is_believed) for elite in elites]))


def play_fresh(
    state: RoleEvolutionState,
    engine: Engine,
    descriptors: Descriptors,
    team_roles: Sequence[tuple[int, ...]],
    described: Sequence[range],
) -> list[BehaviorRecord]:
    """Return the records of teams in fresh games.

    Args:
        state: State of the evolution.
        engine: Engine that plays the games.
        descriptors: The grid.
        team_roles: Role ids of each team.
        described: Agents of each team that are described.
    """
    n_games = state.settings.quality_diversity.final_games
    episodes = range(_FRESH_EPISODES, _FRESH_EPISODES + n_games)
    played = play_held_out(state, engine, team_roles, episodes)
    n_ticks = state.settings.environment.world.spec.max_ticks
    records: list[BehaviorRecord | None] = [None] * len(team_roles)
    for number, result in enumerate(played.results):
        team = number % len(team_roles)
        score = float(played.margins[number // len(team_roles), team])
        record = descriptors.describe(result, described[team], score, n_ticks)
        before = records[team]
        records[team] = record if before is None else before + record
    return [record for record in records if record is not None]


def write_archive(
    state: RoleEvolutionState,
    descriptors: Descriptors,
    teams: Sequence[Elite],
    roles: Sequence[Elite],
) -> Iterator[FileChunk]:
    """Yield the archive as a file, and the policy of every elite.

    Args:
        state: State of the evolution.
        descriptors: The grid.
        teams: Elite teams.
        roles: Elite roles.
    """
    catalog, size = state.catalog, len(state.champion)
    entries: dict[str, list[dict[str, Any]]] = {"teams": [], "roles": []}
    for kind, folder, elites in (("teams", TEAM_FOLDER, teams), ("roles", ROLE_FOLDER, roles)):
        for elite in elites:
            ids = elite.key if isinstance(elite.key, tuple) else (elite.key,) * size
            used = [catalog.roles[i] for i in dict.fromkeys(ids)]
            name = descriptors.name_cell(elite.cell)
            entries[kind].append(
                {
                    "cell": name,
                    "score": elite.record.mean_score,
                    "games": elite.record.games,
                    "measures": elite.record.measures.tolist(),
                    "fresh_score": elite.fresh.mean_score,
                    "fresh_cell": descriptors.name_cell(elite.fresh_cell),
                    "fresh_measures": elite.fresh.measures.tolist(),
                    "believed": elite.is_believed,
                    "team": count_roles(catalog, ids),
                    "programs": {role.name: catalog.format_role(role) for role in used},
                }
            )
            team = state.team_policy(ids)
            policy = PolicyFile(team.class_path, team.settings, team.arrays)
            yield make_member_chunk(folder, name, policy)
    axes = [axis.model_dump() for axis in descriptors.axes]
    metric = state.settings.environment.domain.score_name
    games = state.settings.quality_diversity.final_games
    document = {"metric": metric, "games": games, "axes": axes, **entries}
    yield FileChunk(path=ARCHIVE_FILE, data=(json.dumps(document, indent=1) + "\n").encode())
