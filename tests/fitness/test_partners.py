import numpy as np
import pytest

from kinfolk.core.random import seed_key
from kinfolk.fitness.imitation import adversarial_scores, draw_derangement, draw_partners
from kinfolk.fitness.world import pairings


@pytest.mark.parametrize("members", [2, 3, 5, 32])
@pytest.mark.parametrize("matches", [1, 4, 7])
def test_every_member_has_both_roles_n_times_and_never_meets_itself(members, matches):
    partner = draw_partners(members, matches, seed_key(members))
    assert partner.shape == (members, matches)
    judged = np.bincount(partner.ravel(), minlength=members)
    assert judged.tolist() == [matches] * members, "each is discriminated N times"
    assert not (partner == np.arange(members)[:, None]).any()
    for match in range(matches):
        assert sorted(partner[:, match].tolist()) == list(range(members))


def test_derangements_are_random_and_all_of_them_come_up():
    found = {tuple(draw_derangement(4, seed_key(seed)).tolist()) for seed in range(300)}
    assert len(found) == 9  # all there are of four


def test_a_member_has_two_scores_per_match():
    of_fakes = np.array([[0.2, 0.4], [0.6, 0.8], [1.0, 0.0]])  # by discriminator
    of_real = np.array([[0.9, 0.7], [0.5, 0.5], [0.1, 0.3]])
    partner = np.array([[1, 2], [2, 0], [0, 1]])
    # Member 0 was judged by member 2 in match 0 (1.0) and by member 1 in match 1 (0.8).
    acting = [[1.0, 0.8], [0.2, 0.0], [0.6, 0.4]]
    judging = [[0.7, 0.3], [-0.1, -0.3], [-0.9, 0.3]]
    scores = adversarial_scores(of_fakes, of_real, partner)
    assert np.allclose(scores, np.hstack([acting, judging]))


def test_populations_meet_equally_often():
    paired = pairings(["predator", "prey"], 5, 3, seed_key(1))
    assert paired["predator"].tolist() == [i for i in range(5) for _ in range(3)]
    for match in range(3):
        assert sorted(paired["prey"][match::3].tolist()) == list(range(5))
    assert (
        paired["prey"].tolist()
        != pairings(["predator", "prey"], 5, 3, seed_key(2))["prey"].tolist()
    )
