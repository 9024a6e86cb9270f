"""How far a job is: what is counted, how many there are, and how many an event reports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from kinfolk.core.events import Event


class _Counted(NamedTuple):
    """What the progress of a job counts."""

    label: str
    kind: str  # of the events that report progress
    total: Callable[[Any], int]  # of the job's settings
    by_step: int | None  # what to add to `step` for the number done; None counts the events


def _count_pairs(settings: Any) -> int:
    """Return the number of games of a round robin."""
    n = len(settings.policies)
    return int(settings.episodes * n * (n - 1) // 2)


def _count_tournament_games(settings: Any) -> int:
    """Return the number of games of a tournament."""
    from kinfolk.jobs.tournament.job import count_pairings

    return int(count_pairings(settings)) * int(settings.games)


def _count_crossplay_games(settings: Any) -> int:
    """Return the number of games of cross-play."""
    from kinfolk.jobs.tournament.players import list_players, pool_players
    from kinfolk.jobs.tournament.schedule import pair_all

    sides = settings.find_sides()
    pools = pool_players(list_players(settings.policies, sides), sides)
    return len(pair_all(sides, pools, with_self=True)) * int(settings.games)


def _count_response_steps(settings: Any) -> int:
    """Return the steps of all best responses."""
    from kinfolk.jobs.exploit.targets import count_responses

    return int(count_responses(settings)) * int(settings.steps)


_COUNTED = {
    "evaluate": _Counted("Episodes", "episode_played", lambda s: s.episodes, None),
    "compare": _Counted(
        "Episodes", "candidate_played", lambda s: s.episodes * len(s.policies), None
    ),
    "round_robin": _Counted("Games", "pair_played", _count_pairs, None),
    "tournament": _Counted("Games", "game_played", _count_tournament_games, None),
    "crossplay": _Counted("Games", "game_played", _count_crossplay_games, None),
    "scenarios": _Counted(
        "Episodes", "scenario_episode_played", lambda s: s.episodes * s.n_scenarios, None
    ),
    "train": _Counted("Steps", "update_done", lambda s: s.steps, 0),
    "exploit": _Counted("Steps", "update_done", _count_response_steps, 0),
    "evolve_roles": _Counted("Generations", "generation_scored", lambda s: s.generations, 1),
    "evolve_nets": _Counted("Generations", "generation_scored", lambda s: s.generations, 1),
    "study": _Counted("Runs", "study_point_done", lambda s: s.n_runs, 0),
    "sweep": _Counted("Runs", "point_done", lambda s: s.n_points, 0),
}


class JobProgress:
    """Counts how far a job is, from its events.

    Args:
        job: Name of the job in a run's folder.
        settings: Settings of the job.
    """

    def __init__(self, job: str, settings: Any) -> None:
        self._counted = _COUNTED[job]
        self.label, self.total, self.done = self._counted.label, self._counted.total(settings), 0

    def update(self, event: Event) -> int:
        """Return the number done after an event, at most `total`."""
        if event.kind == self._counted.kind:
            by_step = self._counted.by_step
            done = self.done + 1 if by_step is None else event.step + by_step
            self.done = min(done, self.total)
        return self.done
