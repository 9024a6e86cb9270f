"""Self-play: copies join and leave, and rivals change only where an episode begins."""

import numpy as np
from training_scenes import TWO, settings_of

from kinfolk.core.settings import merged
from kinfolk.engines.local import Local
from kinfolk.jobs.train import train
from kinfolk.training.pool import PoolSettings, PoolState, seat_rivals

SELF_PLAY = merged(TWO, {
    "slots": {"pack": {"policy_uri": "kin://mlp?hidden=[16]", "trainable": False}},
    "pool": {"slot": "pack", "of": "herd", "every": 1, "size": 2},
})  # fmt: skip


def asked(choose="uniform", size=3):
    return PoolSettings(slot="b", of="a", size=size, choose=choose)


def pool_of(count, settings):
    pool = PoolState({}, (), ())
    for number in range(count):
        pool = pool.joined(number, {"w": np.full(1, number)}, settings)
    return pool


def test_the_oldest_leaves_but_stays_while_it_plays():
    pool = pool_of(5, asked())
    assert pool.drawn == (2, 3, 4)
    assert sorted(pool.without_idle([0]).weights) == [0, 2, 3, 4]
    assert sorted(pool.without_idle([]).weights) == [2, 3, 4]


def test_odds():
    assert pool_of(3, asked()).odds == (1000, 1000, 1000)
    assert pool_of(3, asked("recent")).odds == (250, 500, 1000)
    winning = pool_of(2, asked("win_rate"))
    for _ in range(100):
        winning = winning.scored(0, 1.0, asked("win_rate"))
    assert winning.odds[0] > 990
    assert winning.odds[1] == 501


def test_rivals_follow_from_the_episode_and_the_odds():
    pool = PoolState({0: {}, 7: {}}, (0, 7), (1, 3))
    members = np.full((4000, 2), -1)
    seat_rivals(members, np.arange(4000), np.arange(4000), pool, 5)
    assert (members[:, 0] == members[:, 1]).all()
    assert set(members[:, 0].tolist()) == {0, 7}
    assert abs((members[:, 0] == 7).mean() - 0.75) < 0.03
    again = np.full((1, 2), -1)
    seat_rivals(again, np.array([0]), np.array([17]), pool, 5)
    assert again[0, 0] == members[17, 0], "which world plays an episode has no effect"


def test_opponents_are_exchanged_only_at_the_start_of_an_episode():
    """Through several gatherings: the number of an episode and its rival go together."""
    settings = settings_of(SELF_PLAY, steps=2500, ticks=16, checkpoint_every=1)
    seen = {}
    rivals = set()
    for item in train(settings, Local()):
        if hasattr(item, "arrays"):
            episodes = item.arrays["chunk/0/stage/episodes"].tolist()
            members = item.arrays["chunk/0/stage/members"][:, 0].tolist()
            rivals |= set(members)
            for episode, member in zip(episodes, members, strict=True):
                assert seen.setdefault(episode, member) == member
    assert len(rivals) > 2, "copies of several moments have played"
    assert len(seen) > 8
