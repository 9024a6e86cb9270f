import json

import numpy as np
import pytest

from kinfolk.core.errors import SettingsError
from kinfolk.core.events import Event, FileChunk, Snapshot
from kinfolk.core.settings import validate_settings
from kinfolk.engines.base import LocalEngine
from kinfolk.engines.processes import ProcessEngine
from kinfolk.jobs.evolve_roles.coevolution.hall import HallChampion, HallOfFame
from kinfolk.jobs.evolve_roles.coevolution.opponents import OpponentMixture
from kinfolk.jobs.evolve_roles.job import evolve_roles
from kinfolk.jobs.evolve_roles.settings import EvolveRoles
from kinfolk.policies.scripted.cogsguard.catalog import cogs_catalog
from kinfolk.testing.contracts.job import event_lines

SMALL = {
    "preset": "head_to_head",
    "world_settings": {"max_steps": 40, "agents": 2},
    "generations": 3,
    "racing": (2,),
    "n_teams": 4,
    "survivors": 2,
    "population": 6,
    "finalists": 2,
    "finalist_games": 2,
    "eval_games": 2,
    "replay_every": 0,
    "coevolve": 2,
    "coevolution": {"hall_every": 2, "payoff_games": 4, "best_response_generations": 1},
}


def small(**changes):
    return validate_settings(EvolveRoles, {**SMALL, **changes})


def run(settings, resume=None, engine=None):
    return list(evolve_roles(settings, engine or LocalEngine(), resume))


def of_kind(items, kind):
    return [item for item in items if isinstance(item, Event) and item.kind == kind]


@pytest.fixture(scope="module")
def played():
    return run(small())


def hall_of(payoffs, errors=0.1):
    """A hall of fame of one population with these payoffs, of 10 games each."""
    hall = HallOfFame()
    hall.add([HallChampion(0, generation, (0,)) for generation in range(len(payoffs))])
    table = np.array(payoffs, dtype=np.float64)
    hall.n_games = 10
    hall.total, hall.squares = 10 * table, 10 * (table**2 + 9 * errors**2)
    return hall


def test_each_population_reports_every_generation_and_so_do_best_responses(played):
    generations = of_kind(played, "generation_scored")
    assert [(event.step, event.population) for event in generations] == [
        (0, "population 1"),
        (0, "population 2"),
        (1, "population 1"),
        (1, "population 2"),
        (2, "population 1"),
        (2, "population 2"),
        (0, "response to mixture"),
        (0, "response to latest"),
    ]


def test_champions_of_both_populations_join_the_hall_and_play_all_others(played):
    first, last = of_kind(played, "hall_updated")
    assert first.champions == ["1-2", "2-2"]
    assert last.champions == ["1-2", "2-2", "1-3", "2-3"]
    payoffs = np.array(last.payoffs)
    assert (payoffs == -payoffs.T).all(), "sides are exchanged, so a lead is the other's deficit"
    assert (payoffs[:2, :2] == np.array(first.payoffs)).all(), "known pairs do not play again"
    assert last.games == 4
    assert sum(last.nash) == pytest.approx(1.0)
    assert last.triples == 4


def test_the_outcome_says_how_exploitable_it_is_and_with_which_budget(played):
    [event] = of_kind(played, "coevolution_evaluated")
    assert set(event.exploitability) == {"mixture", "latest"}
    assert event.exploitability["mixture"].n == 2
    assert event.best_response_games == 1 * (4 * 2 + 2)
    assert sum(event.support.values()) == pytest.approx(1.0)
    assert played[-1].notes["exploitability"].keys() == {"mixture", "latest"}
    assert of_kind(played, "champion_evaluated")


def test_files_hold_each_population_and_each_champion(played):
    paths = {item.path for item in played if isinstance(item, FileChunk)}
    assert {"role_history.json", "role_history-2.json"} <= paths
    assert {"hall/1-2.safetensors", "hall/2-3.safetensors"} <= paths
    assert "policies/champion/best.safetensors" in paths


@pytest.mark.more
def test_a_co_evolution_resumes_at_every_snapshot_with_the_same_results(played):
    places = [i for i, item in enumerate(played) if isinstance(item, Snapshot)]
    assert len(places) == 3 + 2 + 1
    for place in places[:-1]:
        rest = run(small(), resume=played[place])
        assert event_lines(rest) == event_lines(played[place + 1 :])
        files = [i.data for i in rest if isinstance(i, FileChunk)]
        assert files == [i.data for i in played[place + 1 :] if isinstance(i, FileChunk)]
    assert event_lines(run(small(), resume=played[-1])) == []


@pytest.mark.more
def test_the_engine_changes_nothing_in_a_co_evolution(played):
    engine = ProcessEngine(2)
    try:
        others = run(small(chunk_size=3), engine=engine)
    finally:
        engine.close()
    assert event_lines(others) == event_lines(played)


def test_rock_paper_scissors_is_shown_as_a_cycle():
    hall = hall_of([[0, 1, -2], [-1, 0, 3], [2, -3, 0]])
    [cycle] = hall.find_cycles()
    assert cycle.champions == ["1-0", "1-1", "1-2"]
    assert cycle.leads == [1.0, 3.0, 2.0]
    assert cycle.is_clear
    assert hall.nash() == pytest.approx([3 / 6, 2 / 6, 1 / 6])
    assert hall.share_later_wins() == pytest.approx(1 / 3)
    [noisy] = hall_of([[0, 1, -2], [-1, 0, 3], [2, -3, 0]], errors=1.0).find_cycles()
    assert not noisy.is_clear


def test_a_transitive_hall_has_no_cycle_and_its_best_champion_is_the_mixture():
    hall = hall_of([[0, -1, -2], [1, 0, -1], [2, 1, 0]])
    assert hall.find_cycles() == []
    assert hall.nash() == pytest.approx([0, 0, 1])
    assert hall.share_later_wins() == 1.0


def test_opponents_take_turns_with_draws_from_the_mixture():
    catalog = cogs_catalog()
    teams = [[role, role] for role in catalog.roles[:3]]
    mixture = OpponentMixture(teams, [0.0, 0.0, 1.0], (0, 1), key=7)
    assert [mixture.pick(episode) for episode in range(6)] == [0, 2, 1, 2, 0, 2]
    assert mixture.role_ids(catalog, 2) == (6, 7)
    extended = mixture.extend(catalog)
    assert [extended.roles[i].name for i in (6, 7)] == ["BaseScout", "BaseScout"]
    assert len(catalog.roles) == 4


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"preset": "tutorial"},
            "Co-evolution is of worlds with two teams, not 1: use --preset head_to_head.",
        ),
        ({"coevolve": 1}, "EvolveRoles.coevolve must be 2 or more, not 1."),
        ({"live": True}, "Co-evolution cannot be combined with live: leave one out."),
    ],
)
def test_settings_that_do_not_go_together_are_refused(changes, message):
    with pytest.raises(SettingsError) as caught:
        run(small(**changes))
    assert str(caught.value) == message


def test_events_of_a_hall_are_plain_json(played):
    facts = json.loads(of_kind(played, "hall_updated")[-1].to_json_line())
    assert facts["champions"][0] == "1-2"
