"""Negative controls: with these, what is gained must vanish."""

import pytest

from kinfolk.core.events import Event
from kinfolk.core.settings import read
from kinfolk.engines.processes import Processes
from kinfolk.evaluation.summary import estimate
from kinfolk.jobs.evolve_roles import evolve_roles
from kinfolk.jobs.role_controls import as_vibes
from kinfolk.jobs.role_judging import judged_on
from kinfolk.jobs.role_settings import EvolveRoles
from kinfolk.jobs.role_state import from_snapshot
from kinfolk.policies.cogsguard.catalog import cogs_catalog
from kinfolk.policies.cogsguard.kit import KIT
from kinfolk.roles.model import RoleDef, RoleTier

RUN = {"generations": 12, "judge_games": 100, "final_games": 24, "seed": 3}


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
def test_with_roles_mapped_back_to_vibes_what_the_roles_gained_vanishes(engine):
    # The mix of crafts has evolved too, and a vibe still tells the craft: that part may stay.
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
