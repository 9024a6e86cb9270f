"""How far a job is, for progress bars: every job that Python users can start has its count."""

from kinfolk.core.settings import validate_settings
from kinfolk.jobs.crossplay import CrossPlay
from kinfolk.jobs.progress import JobProgress
from kinfolk.jobs.tournament.meetings import GamePlayed
from kinfolk.jobs.tournament.settings import Tournament

THREE = {"a": "kin://random", "b": "kin://noop", "c": "kin://random"}
SETTINGS = {"world": "cogsguard", "preset": "head_to_head", "policies": THREE, "games": 2}


def test_a_tournament_counts_the_games_of_all_pairings():
    progress = JobProgress("tournament", validate_settings(Tournament, SETTINGS))
    assert (progress.label, progress.total) == ("Games", 3 * 2)


def test_cross_play_counts_games_with_oneself_too():
    progress = JobProgress("crossplay", validate_settings(CrossPlay, SETTINGS))
    assert progress.total == 6 * 2


def test_games_are_counted_as_they_are_played():
    progress = JobProgress("tournament", validate_settings(Tournament, SETTINGS))

    class Played:
        kind = GamePlayed.kind

    assert [progress.update(Played()) for _ in range(8)] == [1, 2, 3, 4, 5, 6, 6, 6]
