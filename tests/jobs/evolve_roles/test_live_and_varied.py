"""Live evolution, varied settings, and the explanation of a champion."""

import json
from dataclasses import replace

import pytest

from kinfolk.core.errors import SettingsError
from kinfolk.core.events import Event, FileChunk, Snapshot
from kinfolk.core.settings import validate_settings
from kinfolk.engines.base import LocalEngine
from kinfolk.jobs.evolve_roles.explanation import PARTS, ablate_team, describe_changes
from kinfolk.jobs.evolve_roles.games import fit_team
from kinfolk.jobs.evolve_roles.job import evolve_roles
from kinfolk.jobs.evolve_roles.settings import EvolveRoles
from kinfolk.jobs.evolve_roles.start import prepare
from kinfolk.jobs.evolve_roles.state import HISTORY_FILE
from kinfolk.policies.scripted.cogsguard.catalog import COGSGUARD_ROLES, cogs_catalog
from kinfolk.roles.history import parse_history
from kinfolk.roles.model import TierGuard
from kinfolk.testing.contracts.job import JobContract

SMALL = {
    "preset": "tutorial",
    "world_settings": {"max_steps": 50, "agents": 3},
    "generations": 2,
    "racing": (2, 1),
    "n_teams": 4,
    "survivors": 2,
    "population": 6,
    "finalists": 2,
    "finalist_games": 2,
    "eval_games": 3,
    "replay_every": 0,
}


def small(**changes):
    return validate_settings(EvolveRoles, {**SMALL, **changes})


def run(settings):
    return list(evolve_roles(settings, LocalEngine()))


def events_of(items, kind):
    return [item for item in items if isinstance(item, Event) and item.kind == kind]


class TestLiveEvolution(JobContract):
    @pytest.fixture
    def start(self):
        settings = small(live=True, games_per_generation=2)
        return lambda resume: evolve_roles(settings, LocalEngine(), resume)


def test_a_live_evolution_learns_from_game_to_game_and_keeps_its_history():
    items = run(small(live=True, games_per_generation=3))
    games = events_of(items, "live_game_played")
    assert [game.step for game in games] == [0, 1, 2, 3, 4, 5]
    assert [game.generation for game in games] == [0, 0, 1, 1, 1, 2]
    assert games[0].roles == games[1].roles, "agents keep their roles through a generation"
    histories = [i for i in items if isinstance(i, FileChunk) and i.path == HISTORY_FILE]
    after = [parse_history(chunk.data.decode(), "h") for chunk in histories]
    assert [history.games for history in after] == [1, 2, 3, 4, 5, 6, 6]
    played = [sum(role.own_games for role in history.roles) for history in after]
    assert played == sorted(played)
    assert played[0] > 0
    last = after[-1]
    assert all(role.own_games > 0 for role in last.roles if role.retired is None)
    [champion] = events_of(items, "champion_evaluated")
    assert sum(champion.team.values()) == 3
    assert len([i for i in items if isinstance(i, Snapshot)]) == 7


def test_hybrids_of_the_temple_join_the_pool_of_a_live_evolution():
    rules = {"max_steps": 120, "agents": 3, "temple_cooldown": 5, "store_hearts": 50}
    items = run(small(live=True, games_per_generation=2, trigger="temple", world_settings=rules))
    chunk = [i for i in items if isinstance(i, FileChunk) and i.path == HISTORY_FILE][-1]
    history = parse_history(chunk.data.decode(), "h")
    assert any(role.origin == "hybrid" and role.parents for role in history.roles)
    assert not [role for role in history.roles if role.origin in ("mutated", "recombined")]


def test_episodes_take_every_combination_of_varied_settings_in_turn():
    settings = small(vary={"agents": "2,4", "clips_align_every": "50,100"})
    rules = [dict(environment.world.settings) for environment in settings.environments]
    assert [(r["agents"], r["clips_align_every"]) for r in rules] == [
        (2, 50), (2, 100), (4, 50), (4, 100),
    ]  # fmt: skip
    assert all(r["max_steps"] == 50 for r in rules), "what does not vary stays"
    [kept] = small().environments
    assert kept == small().environment


def test_a_team_of_another_size_keeps_the_proportions_of_its_roles():
    assert fit_team((1, 1, 1, 1, 2, 2, 3, 3), 4) == (1, 1, 2, 3)
    assert fit_team((1, 2), 5) == (1, 1, 1, 2, 2)
    assert fit_team((1, 2, 3), 3) == (1, 2, 3)


def test_team_sizes_vary_within_a_run_and_held_out_settings_are_reported():
    items = run(small(vary={"agents": "2,3,5"}, held_out={"agents": "4"}))
    [champion] = events_of(items, "champion_evaluated")
    assert list(champion.held_out) == ["agents 4"]
    found = champion.held_out["agents 4"]
    assert set(found) == {"seeded", "champion", "difference"}
    gap = found["champion"][0] - found["seeded"][0]
    assert found["difference"][0] == pytest.approx(gap)
    json.loads(champion.to_json_line())


def test_the_number_of_teams_must_not_vary():
    with pytest.raises(
        SettingsError, match=r"^The number of teams in a world must not vary; here it is 1 or 2\.$"
    ):
        prepare(small(vary={"teams": "1,2"}), None)


@pytest.fixture
def team():
    """A catalog, and a team of the miner, an altered aligner twice, and an altered scout."""
    catalog = cogs_catalog()
    aligner, scout = catalog.role("BaseAligner"), catalog.role("BaseScout")
    first, *others = aligner.tiers
    tiers = (others[0], replace(first, guard=TierGuard("hearts", "<", 1)), *others[1:])
    made = replace(aligner, id=-1, name="A", tiers=tiers, parameters=(("hearts_wanted", 1),))
    aligns = catalog.add_role(made).id
    scouts = catalog.add_role(replace(scout, id=-1, name="S", tiers=scout.tiers[1:])).id
    return catalog, (0, aligns, aligns, scouts)


def text_of(catalog, roles):
    return [catalog.format_role(catalog.roles[i]) for i in roles]


def test_each_part_of_a_champion_is_put_back_by_itself(team):
    catalog, roles = team
    seeded = {part: ablate_team(COGSGUARD_ROLES, catalog, roles, part) for part in PARTS}
    changed = "align_junction / [hearts < 1] get_hearts + get_influence / explore"
    assert text_of(catalog, seeded["parameters"]).count(changed) == 2
    assert (
        text_of(catalog, seeded["guards"]).count(
            "align_junction / get_hearts + get_influence / explore; hearts_wanted 1"
        )
        == 2
    )
    assert (
        text_of(catalog, seeded["order"]).count(
            "get_hearts + get_influence / align_junction / explore; hearts_wanted 1"
        )
        == 2
    )
    assert sorted(catalog.roles[i].name for i in seeded["mix"]) == [
        "A",
        "BaseMiner",
        "BaseScrambler",
        "S",
    ]
    same = (0, 1, 2, 3)
    assert {
        part: ablate_team(COGSGUARD_ROLES, catalog, same, part) for part in PARTS
    } == dict.fromkeys(PARTS, same)


def test_a_champion_is_described_as_a_diff_to_the_seeded_team(team):
    catalog, roles = team
    assert describe_changes(COGSGUARD_ROLES, catalog, roles) == [
        "- 1 aligner: get_hearts + get_influence / align_junction / explore",
        "+ 2 aligner: align_junction / [hearts < 1] get_hearts + get_influence / explore; hearts_wanted 1",
        "  1 miner: deposit_resource / mine_resource / find_extractor / explore",
        "- 1 scout: discover_stations / discover_extractors / discover_junctions / explore",
        "+ 1 scout: discover_extractors / discover_junctions / explore",
        "- 1 scrambler: get_hearts / find_enemy_junction / scramble_junction / explore",
    ]
    twice = describe_changes(COGSGUARD_ROLES, catalog, (0, 0, 1, 2))
    assert "  1 -> 2 miner: deposit_resource / mine_resource / find_extractor / explore" in twice


def test_a_champion_is_explained_by_its_parts_and_the_ticks_of_its_behaviors():
    [champion] = events_of(run(small()), "champion_evaluated")
    assert set(champion.parts) <= set(PARTS)
    for role, shares in champion.behavior_shares.items():
        assert role in champion.team
        assert sum(shares.values()) == pytest.approx(1.0)
    assert champion.changes
