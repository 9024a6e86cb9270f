"""Evolution that starts anew several times, and brings the best teams of all starts together."""

import pytest

from kinfolk.core.errors import SettingsError
from kinfolk.core.events import Snapshot
from kinfolk.core.settings import validate_settings
from kinfolk.engines.base import LocalEngine
from kinfolk.jobs.evolve_roles.job import evolve_roles
from kinfolk.jobs.evolve_roles.restarts import begin_start, ends_start
from kinfolk.jobs.evolve_roles.settings import EvolveRoles
from kinfolk.jobs.evolve_roles.start import prepare
from kinfolk.roles.history import parse_history
from kinfolk.roles.teams import TeamComposition

SMALL = {
    "preset": "tutorial",
    "world_settings": {"max_steps": 40, "agents": 3},
    "generations": 9,
    "racing": (2,),
    "n_teams": 5,
    "survivors": 2,
    "population": 8,
    "finalists": 2,
    "finalist_games": 2,
    "eval_games": 2,
    "replay_every": 0,
    "restarts": 1,
}


def small(**changes):
    return validate_settings(EvolveRoles, {**SMALL, **changes})


@pytest.fixture(scope="module")
def played():
    return list(evolve_roles(small(), LocalEngine()))


def notes_after(played, done):
    [found] = [i for i in played if isinstance(i, Snapshot) and i.notes["done"] == done]
    return found, found.notes["evolution"]


def roles_after(played, done):
    text = notes_after(played, done)[0].arrays["history"].tobytes().decode()
    return parse_history(text, "x").roles


def test_two_starts_share_two_thirds_of_the_generations():
    settings = small()
    assert settings.start_generations == 3
    assert [done for done in range(1, 10) if ends_start(settings, done)] == [3, 6]
    assert small(restarts=0).start_generations == 9
    assert not any(ends_start(small(restarts=0), done) for done in range(1, 20))


def test_a_start_begins_with_the_seeded_roles_and_new_ones_alone(played):
    first, second = notes_after(played, 3)[1], notes_after(played, 4)[1]
    born = {i: role.generation for i, role in enumerate(roles_after(played, 4))}
    assert {i for i in second["pool"] if born[i] < 3} <= {0, 1, 2, 3}, "the seeded roles"
    assert set(first["pool"]) - {0, 1, 2, 3}, "others had been bred"


def test_the_best_teams_of_a_start_are_kept_alive_and_come_back():
    state, _ = prepare(small(), None)
    coordinator = state.coordinator
    a, b, *others = sorted(set(coordinator.pool) - {0, 1, 2, 3})
    state.teams = [TeamComposition((a, a, b), 9.0, 4), TeamComposition((0, 1, a), 7.0, 4)]
    coordinator.generation = 3
    [event] = begin_start(state, 3)
    assert (event.start, event.values) == (1, [9.0, 7.0])
    assert [sum(team.values()) for team in event.set_aside] == [3, 3], "agents of each"
    roles = coordinator.catalog.roles
    assert [roles[i].retired for i in (a, b, *others)] == [None, None] + [3] * len(others)
    assert not {a, b, *others} & set(coordinator.pool)
    assert len(coordinator.pool) == 8
    assert [team.roles for team in state.teams] == [state.seeded_roles]
    new = max(coordinator.pool)
    state.teams = [TeamComposition((0, 0, new), 8.0, 4), TeamComposition((0, 1, a), 7.0, 4)]
    [event] = begin_start(state, 6)
    assert (event.start, event.values) == (2, [9.0, 7.0, 8.0])
    assert [team.roles for team in state.teams] == [(a, a, b), (0, 0, new), (0, 1, a)]
    assert {a, b, new} <= set(coordinator.pool)
    assert list(begin_start(state, 7)) == list(begin_start(state, 9)) == []


def test_the_champion_consists_of_living_roles_with_games_of_their_own(played):
    last = [i for i in played if isinstance(i, Snapshot)][-1]
    roles = roles_after(played, last.notes["done"])
    champion = last.notes["evolution"]["champion"]
    assert all(roles[i].retired is None and roles[i].own_games > 0 for i in champion)
    assert all(roles[i].own_games > 0 for i in last.notes["evolution"]["pool"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"generations": 5}, "1 restarts need 6 generations or more, not 5."),
        ({"live": True}, "Restarts cannot be combined with live: leave one out."),
        ({"trigger": "temple"}, "Restarts cannot be combined with trigger temple: leave one out."),
    ],
)
def test_settings_that_do_not_go_together_are_refused(changes, message):
    with pytest.raises(SettingsError) as error:
        next(evolve_roles(small(**changes), LocalEngine()))
    assert str(error.value) == message
