"""Controls: with these what is gained must vanish, or be the roles' alone."""

from dataclasses import replace

import pytest

from kinfolk.core.errors import SettingsError
from kinfolk.core.events import Artefact, Event, Snapshot
from kinfolk.core.settings import read
from kinfolk.engines.local import Local
from kinfolk.engines.processes import Processes
from kinfolk.evaluation.summary import estimate
from kinfolk.jobs.evolve_roles import evolve_roles, start
from kinfolk.jobs.role_controls import as_vibes, hold_mix, mix_of, seated_as_vibes
from kinfolk.jobs.role_judging import judged_on
from kinfolk.jobs.role_settings import EvolveRoles
from kinfolk.jobs.role_state import HISTORY, found, from_snapshot
from kinfolk.policies.cogsguard.catalog import cogs_catalog
from kinfolk.policies.cogsguard.kit import KIT
from kinfolk.roles.model import RoleDef, RoleTier
from kinfolk.roles.vibes import same_vibe
from kinfolk.testing.job_contract import JobContract, lines

RUN = {"generations": 12, "judge_games": 100, "final_games": 24, "seed": 3}
TINY = {
    "preset": "tutorial",
    "world_settings": {"max_steps": 40, "agents": 5},
    "generations": 4,
    "games_per_generation": 20,
    "lineups": 9,
    "survivors": 3,
    "population": 8,
    "finalists": 2,
    "final_games": 2,
    "judge_games": 2,
    "showcase_every": 0,
}


def test_as_vibes_roles_are_what_the_original_played():
    catalog = cogs_catalog()
    mixed = catalog.add_role(
        RoleDef(
            (RoleTier(catalog.behavior_ids(["align_junction", "get_hearts", "mine_resource"])),)
        )
    )
    idle = catalog.add_role(RoleDef((RoleTier(catalog.behavior_ids(["explore"])),)))
    names = [catalog.roles[i].name for i in as_vibes(KIT, catalog, (0, mixed.id, idle.id))]
    assert sorted(names) == ["BaseAligner", "BaseMiner", "BaseScout"]


def tiny(**changes):
    return read(EvolveRoles, {**TINY, **changes})


def states_of(settings, items):
    """What each generation went on with, and what the run ended with."""
    kept = [item for item in items if isinstance(item, Snapshot)]
    return [from_snapshot(KIT.catalog(None), 5, settings.config, one) for one in kept]


class TestFixedMix(JobContract):
    @pytest.fixture
    def start(self):
        settings = tiny(control="fixed_mix", generations=3)  # resumed, it mixes again
        return lambda resume: evolve_roles(settings, Local(), resume)


@pytest.fixture(scope="module")
def free():
    return list(evolve_roles(tiny(), Local()))


def test_with_the_mix_fixed_every_line_up_of_every_generation_has_the_seeded_vibes():
    settings = tiny(control="fixed_mix")
    first, _ = start(settings, None)
    first.mix(9, 1, breed=True)
    states = [first, *states_of(settings, evolve_roles(settings, Local()))]
    assert len(states) == 1 + 4 + 1
    for state in states:
        catalog, mix = state.catalog, mix_of(state.catalog, state.seeded)
        for roles in (state.champion, *(lineup.roles for lineup in state.lineups)):
            assert mix_of(catalog, roles) == mix
            assert as_vibes(KIT, catalog, roles) == state.seeded
        assert len({lineup.roles for lineup in state.lineups}) > 4, "and yet they differ"
    bred = [role for role in catalog.roles if role.parents]
    assert any(not any(same_vibe(catalog, r.id, p) for p in r.parents) for r in bred), (
        "roles that changed their vibe were there, and could have taken a wrong seat"
    )


def test_without_the_control_the_mix_changes_and_the_numbers_are_those_of_no_control(free):
    last = states_of(tiny(), free)[-1]
    mixes = [mix_of(last.catalog, lineup.roles) for lineup in last.lineups]
    assert any(mix != mix_of(last.catalog, last.seeded) for mix in mixes)
    assert lines(list(evolve_roles(tiny(control="none"), Local()))) == lines(free)


def test_of_a_history_only_line_ups_of_the_seeded_mix_are_taken_up(free):
    text = [i for i in free if isinstance(i, Artefact) and i.name == HISTORY][-1].data.decode()
    every, _ = start(tiny(history=text), None)
    state, _ = start(tiny(history=text, control="fixed_mix"), None)
    mix = mix_of(state.catalog, state.seeded)
    fitting = [one for one in every.lineups if mix_of(every.catalog, one.roles) == mix]
    assert len(fitting) < len(every.lineups)
    assert state.lineups == (fitting or [state.reference])
    state.mix(9, len(state.lineups), breed=True)
    assert all(mix_of(state.catalog, lineup.roles) == mix for lineup in state.lineups)


def test_a_mix_that_cannot_be_held_is_refused_in_a_sentence():
    with pytest.raises(SettingsError, match=r"^EvolveRoles.control 'fixed_mix' needs the trigger"):
        tiny(control="fixed_mix", trigger="temple")
    catalog = cogs_catalog()
    catalog.add_role(replace(catalog.role("BaseMiner"), name="SecondMiner"))
    kit = replace(KIT, seeded=("BaseMiner", "SecondMiner"))
    state = found(kit, catalog, 2, tiny().config, 0)
    with pytest.raises(SettingsError, match="needs seeded roles that all show different vibes"):
        hold_mix(kit, state)


@pytest.fixture(scope="module")
def engine():
    made = Processes(2)
    yield made
    made.close()


def judged(settings, engine):
    items = list(evolve_roles(settings, engine))
    [event] = [i for i in items if isinstance(i, Event) and i.kind == "champion_judged"]
    return event, items[-1]


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_with_scores_shuffled_among_line_ups_the_gain_vanishes(engine):
    event, _ = judged(read(EvolveRoles, {**RUN, "control": "shuffled"}), engine)
    assert event.difference["seeded"][1] <= 0.0, event.difference["seeded"]


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_with_the_mix_fixed_roles_gain_and_mapped_back_to_vibes_the_gain_vanishes(engine):
    # That roles alone can gain, not that they do in every run: docs/roles.md has other seeds.
    settings = read(EvolveRoles, {**RUN, "control": "fixed_mix"})
    event, snapshot = judged(settings, engine)
    assert event.games == 100
    assert event.difference["seeded"][1] > 0.0, f"roles gain: {event.difference['seeded']}"
    state = from_snapshot(KIT.catalog(None), 8, settings.config, snapshot)
    vibes = as_vibes(KIT, state.catalog, state.champion)
    assert vibes == state.seeded != state.champion
    # Line-ups are sorted by role id, so the champion's crafts sit elsewhere, which is no gain either.
    seats = seated_as_vibes(KIT, state.catalog, state.champion)
    sides = [state.seeded, vibes, seats, state.champion]
    held, _ = judged_on(settings, engine, state, sides, range(settings.judge_games))
    assert (held[:, 1] == held[:, 0]).all(), "equal line-ups play equal games: nothing is left"
    moved = estimate(held[:, 2] - held[:, 0])
    assert moved[1] <= 0.0, f"the seeded roles in the champion's seats gain nothing: {moved}"
    gained = estimate(held[:, 3] - held[:, 1])
    assert gained == event.difference["seeded"], "all of the gain is the roles'"


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_with_a_free_mix_mapped_back_to_vibes_what_stays_is_the_mix(engine):
    # This measures how a gain is shared out. The mix of crafts has evolved too, and a vibe still
    # tells the craft: what is lost were the roles, what is left is the mix, and need not vanish.
    settings = read(EvolveRoles, RUN)
    event, snapshot = judged(settings, engine)
    assert event.difference["seeded"][1] > 0.0, "evolved roles gain"
    state = from_snapshot(KIT.catalog(None), 8, settings.config, snapshot)
    vibes = as_vibes(KIT, state.catalog, state.champion)
    sides = [state.seeded, vibes, state.champion]
    held, _ = judged_on(settings, engine, state, sides, range(settings.judge_games))
    lost = estimate(held[:, 2] - held[:, 1])
    assert lost[1] > 0.0, f"without its roles the champion is worse: {lost}"
    left = estimate(held[:, 1] - held[:, 0])
    whole = event.difference["seeded"][0]
    assert left[0] < 0.25 * whole, f"most of the gain of {whole} goes; {left} stays"
