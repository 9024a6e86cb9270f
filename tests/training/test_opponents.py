"""Self-play: snapshots join and leave, and opponents change only between episodes."""

import numpy as np
from small_trainings import TWO, settings_of

from kinfolk.core.settings import merge_settings
from kinfolk.engines.base import LocalEngine
from kinfolk.jobs.train.job import train
from kinfolk.training.opponents import OpponentPool, OpponentPoolSettings, assign_opponents

SELF_PLAY = merge_settings(TWO, {
    "slots": {"pack": {"policy_uri": "kin://mlp?hidden=[16]", "trainable": False}},
    "opponent_pool": {"slot": "pack", "source_slot": "herd", "add_every": 1, "max_size": 2},
})  # fmt: skip


def pool_settings(choose="uniform", size=3):
    return OpponentPoolSettings(slot="b", source_slot="a", max_size=size, sampling=choose)


def pool_of(count, settings):
    pool = OpponentPool({}, (), ())
    for number in range(count):
        pool = pool.with_snapshot(number, {"w": np.full(1, number)}, settings)
    return pool


def test_the_oldest_leaves_but_stays_while_it_plays():
    pool = pool_of(5, pool_settings())
    assert pool.active == (2, 3, 4)
    assert sorted(pool.without_unused([0]).weights) == [0, 2, 3, 4]
    assert sorted(pool.without_unused([]).weights) == [2, 3, 4]


def test_sampling_weights_follow_the_settings():
    assert pool_of(3, pool_settings()).sampling_weights == (1000, 1000, 1000)
    assert pool_of(3, pool_settings("recent")).sampling_weights == (250, 500, 1000)
    winning = pool_of(2, pool_settings("win_rate"))
    for _ in range(100):
        winning = winning.with_result(0, 1.0, pool_settings("win_rate"))
    assert winning.sampling_weights[0] > 990
    assert winning.sampling_weights[1] == 501


def test_opponents_depend_on_the_episode_and_the_sampling_weights():
    pool = OpponentPool({0: {}, 7: {}}, (0, 7), (1, 3))
    members = np.full((4000, 2), -1)
    assign_opponents(members, np.arange(4000), np.arange(4000), pool, 5)
    assert (members[:, 0] == members[:, 1]).all()
    assert set(members[:, 0].tolist()) == {0, 7}
    assert abs((members[:, 0] == 7).mean() - 0.75) < 0.03
    again = np.full((1, 2), -1)
    assign_opponents(again, np.array([0]), np.array([17]), pool, 5)
    assert again[0, 0] == members[17, 0], "which world plays an episode has no effect"


def test_opponents_are_exchanged_only_at_the_start_of_an_episode():
    """Through several rollouts an episode keeps its opponent."""
    settings = settings_of(SELF_PLAY, steps=2500, rollout_length=16, checkpoint_every=1)
    seen = {}
    opponents = set()
    for item in train(settings, LocalEngine()):
        if hasattr(item, "arrays"):
            episodes = item.arrays["chunk/0/worker/episodes"].tolist()
            members = item.arrays["chunk/0/worker/members"][:, 0].tolist()
            opponents |= set(members)
            for episode, member in zip(episodes, members, strict=True):
                assert seen.setdefault(episode, member) == member
    assert len(opponents) > 2, "snapshots of several updates have played"
    assert len(seen) > 8
