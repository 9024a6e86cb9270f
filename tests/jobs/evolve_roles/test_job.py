import json
import re
from pathlib import Path

import numpy as np
import pytest

from kinfolk.core.errors import DamagedRunError, SettingsError, UnknownNameError
from kinfolk.core.events import Event, FileChunk
from kinfolk.core.settings import validate_settings
from kinfolk.engines.base import LocalEngine
from kinfolk.engines.processes import ProcessEngine
from kinfolk.jobs.evolve_roles.job import evolve_roles
from kinfolk.jobs.evolve_roles.settings import EvolveRoles
from kinfolk.jobs.evolve_roles.start import prepare
from kinfolk.jobs.evolve_roles.state import HISTORY_FILE
from kinfolk.policies.scripted.cogsguard.catalog import cogs_catalog
from kinfolk.roles.history import parse_history
from kinfolk.testing.contracts.job import JobContract, event_lines

SMALL = {
    "preset": "tutorial",
    "world_settings": {"max_steps": 60, "agents": 3},
    "generations": 3,
    "racing": (2, 1),
    "n_teams": 5,
    "survivors": 2,
    "population": 6,
    "finalists": 2,
    "finalist_games": 2,
    "eval_games": 3,
    "chunk_size": 5,
}


def small(**changes):
    return validate_settings(EvolveRoles, {**SMALL, **changes})


def run(settings, resume=None):
    return list(evolve_roles(settings, LocalEngine(), resume))


def last_history(items):
    kept = [item for item in items if isinstance(item, FileChunk) and item.path == HISTORY_FILE]
    return kept[-1].data.decode()


class TestEvolveRoles(JobContract):
    @pytest.fixture
    def start(self):
        settings = small(generations=2)
        return lambda resume: evolve_roles(settings, LocalEngine(), resume)


@pytest.fixture(scope="module")
def played():
    return run(small())


def test_a_generation_reports_what_the_specification_asks_for(played):
    generations = [i for i in played if isinstance(i, Event) and i.kind == "generation_scored"]
    assert [event.step for event in generations] == [0, 1, 2]
    for event in generations:
        facts = json.loads(event.to_json_line())
        assert facts["best"][1] <= facts["best"][0] <= facts["best"][2]
        for share in (
            "win_rate_vs_seeded",
            "win_rate",
            "diversity",
            "roles_best",
        ):
            assert 0.0 <= facts[share] <= 1.0, share
        assert sum(facts["team"].values()) == 3
        assert set(facts["behavior_shares"]) == {b.name for b in cogs_catalog().behaviors}
    assert generations[-1].games >= 3 * (5 * 2 + 2 * 1), "a race of two stages, per generation"


def test_the_history_tells_of_every_role_and_reads_back(played):
    history = parse_history(last_history(played), "h")
    assert history.generation == 3
    assert [role.name for role in history.roles[:4]] == [
        "BaseMiner",
        "BaseScout",
        "BaseAligner",
        "BaseScrambler",
    ]
    assert sum(role.retired is None for role in history.roles) >= 6
    assert {role.origin for role in history.roles} > {"manual", "sampled"}
    assert all(behavior.games <= behavior.uses for behavior in history.behaviors)
    assert any(behavior.games < behavior.uses for behavior in history.behaviors)
    assert all(0.0 <= role.fitness <= 1.0 for role in history.roles)
    assert all(max(lineup.roles) < len(history.roles) for lineup in history.teams)


@pytest.mark.more
def test_engine_chunk_and_number_of_jobs_change_nothing(played):
    engine = ProcessEngine(2)
    try:
        others = list(evolve_roles(small(chunk_size=3), engine))
    finally:
        engine.close()
    assert event_lines(others) == event_lines(played)
    assert last_history(others) == last_history(played)


def test_a_run_can_start_from_the_history_of_another(played):
    items = run(small(history=last_history(played), generations=1, seed=5))
    before, after = (
        parse_history(last_history(played), "a"),
        parse_history(last_history(items), "b"),
    )
    assert after.generation == before.generation + 1
    assert [r.name for r in after.roles[: len(before.roles)]] == [r.name for r in before.roles]
    assert after.games >= before.games + 12


def test_two_teams_play_head_to_head_against_frozen_line_ups():
    items = run(small(preset="head_to_head", generations=2))
    [judged] = [i for i in items if isinstance(i, Event) and i.kind == "champion_evaluated"]
    assert set(judged.scores) == {"seeded", "baseline", "vibes", "champion"}


def test_scores_at_a_further_moment_count_as_further_records():
    plain, twice = (
        parse_history(last_history(run(small(generations=1, score_step=s))), "h")
        for s in (None, 30)
    )
    assert [r.games for r in twice.roles[:4]] == [2 * r.games for r in plain.roles[:4]]
    assert plain.games == twice.games


def test_newborns_of_the_temple_bring_hybrids_into_the_pool():
    settings = small(
        trigger="temple",
        world_settings={"max_steps": 120, "agents": 3, "temple_cooldown": 5, "store_hearts": 50},
        generations=2,
    )
    history = parse_history(last_history(run(settings)), "h")
    hybrids = [role for role in history.roles if role.origin == "hybrid"]
    assert 1 <= len(hybrids) <= 6
    assert all(role.parents and role.games >= 1 for role in hybrids)
    assert not [role for role in history.roles if role.origin in ("recombined", "mutated")]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"population": 1}, "EvolveRoles.population must be at least 2, not 1."),
        (
            {"racing": (0,)},
            "EvolveRoles.racing must give at least 1 game per stage, not 0.",
        ),
        ({"seed": "lucky"}, "EvolveRoles.seed must be a whole number, not 'lucky'."),
        ({"trigger": "altar"}, "EvolveRoles.trigger must be 'cadence' or 'temple', not 'altar'."),
    ],
)
def test_bad_settings_are_refused_in_a_sentence(changes, sentence):
    with pytest.raises(SettingsError, match=f"^{re.escape(sentence)}$"):
        small(**changes)


def test_what_only_the_world_can_tell_is_refused_before_anything_is_played(played):
    with pytest.raises(UnknownNameError, match=r"^No world with roles is named 'savanna'\."):
        prepare(small(world="savanna", preset=None), None)
    with pytest.raises(
        SettingsError,
        match=r"^EvolveRoles.score_step must lie within a game of 60 ticks, not at 60\.$",
    ):
        prepare(small(score_step=60), None)
    text = last_history(played)
    with pytest.raises(DamagedRunError, match=r"^The history is damaged at line \d+: "):
        prepare(small(history=text[: len(text) // 2]), None)
    edited = re.sub('"sha256": "[0-9a-f]+"', '"sha256": null', text)
    strange = edited.replace('"recharge"', '"dance"')
    with pytest.raises(
        UnknownNameError, match=r"^The history names behaviors that are not registered: 'dance'\."
    ):
        prepare(small(history=strange), None)


def test_line_ups_are_judged_on_the_same_episodes_as_the_seeded_one(played):
    [judged] = [i for i in played if isinstance(i, Event) and i.kind == "champion_evaluated"]
    gap = np.array(judged.scores["champion"][0]) - judged.scores["seeded"][0]
    assert judged.difference["seeded"][0] == pytest.approx(gap)
    assert judged.seed == 1_000_000
    assert sum(judged.team.values()) == 3
    assert set(judged.credit) == set(judged.team) == set(judged.programs)


def test_a_behaviour_of_ones_own_evolves_without_a_change_to_the_operators(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "examples"))
    history = parse_history(last_history(run(small(catalog="own_behavior.python_catalog"))), "h")
    held = [role for role in history.roles if any("medic" in t.behaviors for t in role.tiers)]
    assert {role.origin for role in held} > {"manual"}, "sampled, mutated or recombined roles too"
    assert sum(role.games for role in held) > 0
    [medic] = [behavior for behavior in history.behaviors if behavior.name == "medic"]
    assert medic.games <= medic.uses, "it is credited for games in which it acted"
    assert medic.uses > 0


def test_some_fields_of_the_evolution_leave_the_others_at_the_defaults_of_the_job():
    changed = small(evolution={"guard_rate": 0.0}).evolution
    assert changed == EvolveRoles().evolution.model_copy(update={"guard_rate": 0.0})
    assert changed.parameter_rate > 0
