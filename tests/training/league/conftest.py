import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def league(tmp_path_factory):
    """A league of grazers and hunters, of a single update."""
    from small_trainings import TWO

    import kinfolk as kf

    folder = tmp_path_factory.mktemp("runs") / "league"
    kf.train(**{**TWO, "worlds": 2, "rollout_length": 4, "steps": 8}, world_settings={"max_ticks": 20},
             league=True, matchmaking={"payoff_games": 2}, out=folder)  # fmt: skip
    return folder
