import numpy as np
import pytest

from kinfolk.jobs.evolve_roles.games import (
    BirthRecord,
    GameScores,
    RoleGameResult,
    agent_records,
    score_game,
    score_margin,
)
from kinfolk.jobs.evolve_roles.hybrids import GameBirths, add_hybrids
from kinfolk.policies.scripted.cogsguard.catalog import COGSGUARD_ROLES, cogs_catalog
from kinfolk.roles.coordinator import EvolutionaryRoleCoordinator
from kinfolk.roles.fitness import record_game, role_weight
from kinfolk.roles.model import EvolutionConfig


def result(held, **deeds):
    agents = max((len(counts) for counts in deeds.values()), default=2)
    all_deeds = {name: np.zeros((1, agents)) for name in COGSGUARD_ROLES.contribution_weights}
    all_deeds |= {name: np.array([counts], dtype=float) for name, counts in deeds.items()}
    return RoleGameResult(np.array([held]), all_deeds)


def test_a_line_up_is_judged_by_what_it_held_less_the_best_other_team():
    assert score_margin(result([700, 300]), n_teams=1) == 700.0, "the clips are no team"
    assert score_margin(result([700, 200, 450, 90]), n_teams=3) == 250.0


def test_a_score_blends_the_team_with_the_agents_own_deeds():
    # 500 held ticks are worth 2, 80 deposited elements 2, one scrambling 3.
    found = score_game(
        COGSGUARD_ROLES,
        result([750, 250], held_ticks=[500, 0, 0], deposited=[0, 80, 0], scrambled=[0, 0, 1]),
        0.5,
    )
    own = np.array([2 / 3, 2 / 3, 1.0])
    assert found.scores.tolist() == [pytest.approx((0.5 * 0.75 + 0.5 * own).tolist())]
    assert found.won == (True,)


def test_a_miner_that_feeds_the_team_is_not_worth_nothing_and_weights_differ_and_names_lock():
    catalog, config = cogs_catalog(), EvolutionConfig()
    game = result([9000, 1000], deposited=[800, 0, 0], held_ticks=[0, 6000, 0])
    for _ in range(10):
        for records in agent_records(score_game(COGSGUARD_ROLES, game, 0.5), (0, 2, 1), game):
            record_game(catalog, records, config)
    miner, scout, aligner, scrambler = catalog.roles
    assert aligner.fitness > miner.fitness > scout.fitness > 0.0
    assert role_weight(aligner) > role_weight(miner) > role_weight(scout) > role_weight(scrambler)
    assert (aligner.locked_name, miner.locked_name, scout.locked_name) == (True, True, False)


def test_the_best_hybrids_of_a_generation_enter_the_pool_with_their_parents():
    catalog = cogs_catalog()
    config = EvolutionConfig(generated_role_count=4)
    coordinator = EvolutionaryRoleCoordinator(2, rng=0, catalog=catalog, config=config)
    tiers = catalog.roles[3].tiers
    # Agent 3 is a child of agent 2, which was born first and scored too little to stay.
    babies = (
        BirthRecord(2, (0, 1), tiers),
        BirthRecord(3, (2, 1), tiers),
        BirthRecord(4, (3, 0), tiers),
    )
    scores = GameScores(np.array([[0.1, 0.1, 0.2, 0.9, 0.8]]), (True,))
    taken = add_hybrids(coordinator, [GameBirths((0, 2), babies, scores)])
    assert [role.parents for role in taken] == [(0, 2), (4, 0)]
    assert [catalog.roles[role.id].fitness for role in taken] == [0.9, 0.8]
    assert all(role.origin == "hybrid" and role.id in coordinator.pool for role in taken)
