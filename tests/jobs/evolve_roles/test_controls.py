"""Controls: with these what is gained must vanish, or be the roles' alone."""

from collections import Counter
from dataclasses import replace

import pytest

from kinfolk.core.events import Event, FileChunk, Snapshot
from kinfolk.core.settings import validate_settings
from kinfolk.engines.base import LocalEngine
from kinfolk.engines.processes import ProcessEngine
from kinfolk.evaluation.statistics import estimate_mean
from kinfolk.jobs.evolve_roles.champion import evaluate_teams
from kinfolk.jobs.evolve_roles.job import evolve_roles, prepare
from kinfolk.jobs.evolve_roles.settings import EvolveRoles
from kinfolk.jobs.evolve_roles.state import (
    HISTORY_FILE,
    assign_vibe_roles,
    reduce_to_vibes,
    state_from_snapshot,
)
from kinfolk.policies.scripted.cogsguard.catalog import COGSGUARD_ROLES, cogs_catalog
from kinfolk.roles.catalog import RoleCatalog, have_same_vibe, map_role_to_vibe
from kinfolk.roles.model import RoleDef, RoleTier
from kinfolk.testing.contracts.job import JobContract

SEEDS = (0, 1, 2)  # those of docs/roles.md
TINY = {
    "preset": "tutorial",
    "world_settings": {"max_steps": 40, "agents": 5},
    "generations": 4,
    "games_per_generation": 20,
    "n_teams": 9,
    "survivors": 3,
    "population": 8,
    "finalists": 2,
    "finalist_games": 2,
    "eval_games": 2,
    "replay_every": 0,
}


def test_as_vibes_roles_are_what_the_original_played():
    catalog = cogs_catalog()
    mixed = catalog.add_role(
        RoleDef(
            (RoleTier(catalog.behavior_ids(["align_junction", "get_hearts", "mine_resource"])),)
        )
    )
    idle = catalog.add_role(RoleDef((RoleTier(catalog.behavior_ids(["explore"])),)))
    names = [
        catalog.roles[i].name
        for i in reduce_to_vibes(COGSGUARD_ROLES, catalog, (0, mixed.id, idle.id))
    ]
    assert sorted(names) == ["BaseAligner", "BaseMiner", "BaseScout"]


def test_a_catalogue_for_a_small_team_need_not_have_all_seeded_roles():
    whole = cogs_catalog()
    small = RoleCatalog(list(whole.behaviors))
    for name in ("BaseMiner", "BaseAligner"):
        small.add_role(whole.role(name))
    names = [small.roles[i].name for i in assign_vibe_roles(COGSGUARD_ROLES, small, (1, 0))]
    assert names == ["BaseAligner", "BaseMiner"]


def test_seeded_roles_of_one_vibe_are_handed_out_as_the_seeded_line_up_has_them():
    catalog = cogs_catalog()
    second = catalog.add_role(replace(catalog.role("BaseMiner"), name="SecondMiner"))
    kit = replace(COGSGUARD_ROLES, seeded_roles=("BaseMiner", "SecondMiner", "BaseScout"))
    assert reduce_to_vibes(kit, catalog, (0, 1, second.id)) == (0, 1, second.id)
    assert assign_vibe_roles(kit, catalog, (1, 0, 0)) == (1, 0, second.id)
    assert assign_vibe_roles(kit, catalog, (0, 0, 0)) == (0, second.id, second.id), (
        "as far as they go"
    )


def mix_of(catalog, lineup):
    """How many of a line-up show each vibe."""
    return Counter(map_role_to_vibe(catalog, catalog.roles[i]) for i in lineup)


def tiny(**changes):
    return validate_settings(EvolveRoles, {**TINY, **changes})


def states_of(settings, items):
    """What each generation went on with, and what the run ended with."""
    kept = [item for item in items if isinstance(item, Snapshot)]
    return [
        state_from_snapshot(settings, COGSGUARD_ROLES.make_catalog(None), 5, one) for one in kept
    ]


class TestFreeMix(JobContract):
    @pytest.fixture
    def start(self):
        settings = tiny(role_counts="free", generations=3)  # resumed, it mixes again
        return lambda resume: evolve_roles(settings, LocalEngine(), resume)


@pytest.fixture(scope="module")
def free():
    return list(evolve_roles(tiny(role_counts="free"), LocalEngine()))


def test_with_the_mix_held_every_line_up_of_every_generation_has_the_seeded_vibes():
    settings = tiny()
    first, _ = prepare(settings, None)
    first.evolve_teams(9, 1, breed=True)
    states = [first, *states_of(settings, evolve_roles(settings, LocalEngine()))]
    assert len(states) == 1 + 4 + 1
    for state in states:
        catalog, mix = state.catalog, mix_of(state.catalog, state.seeded_roles)
        for roles in (state.champion, *(lineup.roles for lineup in state.teams)):
            assert mix_of(catalog, roles) == mix
            assert reduce_to_vibes(COGSGUARD_ROLES, catalog, roles) == state.seeded_roles
        assert len({lineup.roles for lineup in state.teams}) > 4, "and yet they differ"
    bred = [role for role in catalog.roles if role.parents]
    assert any(not any(have_same_vibe(catalog, r.id, p) for p in r.parents) for r in bred), (
        "roles that changed their vibe were there, and could have taken a wrong seat"
    )


def test_with_a_free_mix_line_ups_of_other_mixes_come_about(free):
    last = states_of(tiny(), free)[-1]
    mixes = [mix_of(last.catalog, lineup.roles) for lineup in last.teams]
    assert any(mix != mix_of(last.catalog, last.seeded_roles) for mix in mixes)


def mixes_before_and_after(text, mix):
    state, _ = prepare(tiny(history=text, role_counts=mix), None)
    before = [mix_of(state.catalog, one.roles) for one in state.teams]
    state.evolve_teams(40, len(before), breed=True)
    children = state.teams[len(before) :]
    assert len({child.roles for child in children}) == 40 - len(before) > 20
    return before, [mix_of(state.catalog, child.roles) for child in children]


def test_from_a_history_on_each_line_up_holds_the_mix_it_has(free):
    text = [i for i in free if isinstance(i, FileChunk) and i.path == HISTORY_FILE][
        -1
    ].data.decode()
    before, after = mixes_before_and_after(text, "fixed")
    assert any(mix != before[0] for mix in before)
    assert all(mix in before for mix in after)
    before, after = mixes_before_and_after(text, "free")
    assert not all(mix in before for mix in after)


@pytest.fixture(scope="module")
def engine():
    made = ProcessEngine(2)
    yield made
    made.close()


def judged(settings, engine):
    items = list(evolve_roles(settings, engine))
    [event] = [i for i in items if isinstance(i, Event) and i.kind == "champion_evaluated"]
    assert event.games == 100
    return event, items[-1]


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", SEEDS)
def test_with_scores_shuffled_among_line_ups_the_gain_vanishes(engine, seed):
    event, _ = judged(validate_settings(EvolveRoles, {"seed": seed, "control": "shuffled"}), engine)
    assert event.difference["seeded"][1] <= 0.0, event.difference["seeded"]


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", SEEDS)
def test_evolved_roles_gain_and_mapped_back_to_vibes_only_the_gain_vanishes(engine, seed):
    settings = validate_settings(EvolveRoles, {"seed": seed})
    event, snapshot = judged(settings, engine)
    assert event.difference["seeded"][1] > 0.0, f"roles gain: {event.difference['seeded']}"
    assert event.scores["vibes"] == event.scores["seeded"], "nothing is left of it"
    assert event.difference["vibes"] == event.difference["seeded"], "all of it was the roles'"
    state = state_from_snapshot(settings, COGSGUARD_ROLES.make_catalog(None), 8, snapshot)
    # Line-ups are sorted by role id, so the champion's crafts sit elsewhere, which is no gain either.
    seats = assign_vibe_roles(COGSGUARD_ROLES, state.catalog, state.champion)
    held, _ = evaluate_teams(settings, engine, state, [state.seeded_roles, seats], range(100))
    moved = estimate_mean(held[:, 1] - held[:, 0])
    assert moved[1] <= 0.0, f"the seeded roles in the champion's seats gain nothing: {moved}"


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_with_a_free_mix_mapped_back_to_vibes_what_is_lost_were_the_roles(engine):
    # The mix of crafts has evolved too, and a vibe still tells the craft: that part may stay.
    event, _ = judged(
        validate_settings(EvolveRoles, {"seed": SEEDS[0], "role_counts": "free"}), engine
    )
    assert event.difference["seeded"][1] > 0.0, "evolved roles gain"
    assert event.difference["vibes"][1] > 0.0, f"its roles gave some: {event.difference['vibes']}"
