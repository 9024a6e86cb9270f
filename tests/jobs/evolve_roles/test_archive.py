import json

import numpy as np
import pytest

from kinfolk.core.errors import SettingsError, UnknownNameError, UsageError
from kinfolk.core.events import Event, FileChunk, Snapshot
from kinfolk.core.settings import validate_settings
from kinfolk.engines.base import LocalEngine
from kinfolk.engines.processes import ProcessEngine
from kinfolk.jobs.evolve_nets.settings import read_axes
from kinfolk.jobs.evolve_roles.archive.records import (
    BehaviorRecord,
    Descriptors,
    estimate_values,
    pack_records,
    select_elites,
    unpack_records,
)
from kinfolk.jobs.evolve_roles.games import RoleGameResult
from kinfolk.jobs.evolve_roles.job import evolve_roles
from kinfolk.jobs.evolve_roles.settings import EvolveRoles
from kinfolk.policies.resolve import resolve
from kinfolk.policies.scripted.cogsguard.catalog import COGSGUARD_ROLES, cogs_catalog
from kinfolk.roles.history import parse_history
from kinfolk.store.run import create_run
from kinfolk.store.run_job import run_and_store
from kinfolk.testing.contracts.job import event_lines

pytest.importorskip("ribs")

SMALL = {
    "preset": "tutorial",
    "world_settings": {"max_steps": 60, "agents": 3},
    "generations": 3,
    "n_teams": 4,
    "survivors": 2,
    "population": 6,
    "finalists": 2,
    "finalist_games": 2,
    "eval_games": 2,
    "replay_every": 0,
    "archive": True,
    "quality_diversity": {
        "axes": "miner=0..1x4,moves=0..1x3",
        "new_teams": 5,
        "games": 1,
        "confirmation_games": 2,
        "rechecked": 2,
        "final_games": 3,
    },
}


def small(**changes):
    return validate_settings(EvolveRoles, {**SMALL, **changes})


def run(settings, resume=None, engine=None):
    return list(evolve_roles(settings, engine or LocalEngine(), resume))


def of_kind(items, kind):
    return [item for item in items if isinstance(item, Event) and item.kind == kind]


def axes_of(text):
    return small(quality_diversity={"axes": text}).quality_diversity.axes


@pytest.fixture(scope="module")
def played():
    return run(small())


@pytest.fixture(scope="module")
def document(played):
    [last] = [i for i in played if isinstance(i, FileChunk) and i.path == "archive.json"]
    return json.loads(last.data)


def test_every_generation_reports_the_archive(played):
    events = of_kind(played, "archive_updated")
    assert [event.step for event in events] == [0, 1, 2]
    assert all(event.coverage == event.num_elites / 12 for event in events)
    assert all(0 <= event.entered <= event.confirmed for event in events)
    assert events[-1].num_role_elites >= 1


def test_every_elite_plays_fresh_games_before_it_is_believed(played, document):
    [event] = of_kind(played, "archive_evaluated")
    assert (event.cells, event.games, event.axes) == (12, 3, ["miner", "moves"])
    assert event.filled == len(document["teams"]) == event.believed.n
    believed = [elite["believed"] for elite in document["teams"]]
    assert believed == [elite["cell"] == elite["fresh_cell"] for elite in document["teams"]]
    assert event.believed.mean == pytest.approx(np.mean(believed))
    assert all(elite["games"] >= 3 for elite in document["teams"]), "confirmed before they entered"


def test_elites_have_a_cell_each_and_consist_of_living_roles(played, document):
    cells = [elite["cell"] for elite in document["teams"]]
    assert len(set(cells)) == len(cells)
    histories = [i for i in played if isinstance(i, FileChunk) and i.path == "role_history.json"]
    roles = {r.name: r for r in parse_history(histories[-1].data.decode(), "h").roles}
    for elite in document["teams"]:
        assert sum(elite["team"].values()) == 3
        assert all(roles[name].retired is None for name in elite["team"])
        assert all(roles[name].own_games > 0 for name in elite["team"])


def test_a_cell_of_a_stored_run_can_be_played(tmp_path, played, document):
    stored = create_run(tmp_path / "run", "evolve_roles", small().model_dump(mode="json"))
    list(run_and_store(stored, lambda _: iter(played)))
    name = document["teams"][0]["cell"]
    team = resolve(f"run:{tmp_path}/run@archive/{name}")
    assert team.class_path.endswith("TeamPolicy")
    assert len(team.settings["roles"]) == 3
    role = resolve(f"run:{tmp_path}/run@role-archive/{document['roles'][0]['cell']}")
    assert role.settings["roles"] == [0, 0, 0]
    assert resolve(f"run:{tmp_path}/run").settings["roles"], "the champion is still the default"
    with pytest.raises(UsageError, match=r"The archive of .*run has no elite '9-9'\."):
        resolve(f"run:{tmp_path}/run@archive/9-9")
    with pytest.raises(
        UsageError, match=r"A run has no policies '@archiv/'\. Did you mean 'archive'"
    ):
        resolve(f"run:{tmp_path}/run@archiv/0-0")


@pytest.mark.more
def test_an_archive_resumes_at_every_snapshot_with_the_same_results(played):
    places = [i for i, item in enumerate(played) if isinstance(item, Snapshot)]
    for place in places[:-1]:
        rest = run(small(), resume=played[place])
        assert event_lines(rest) == event_lines(played[place + 1 :])
        files = [i.data for i in rest if isinstance(i, FileChunk)]
        assert files == [i.data for i in played[place + 1 :] if isinstance(i, FileChunk)]
    assert event_lines(run(small(), resume=played[-1])) == []


@pytest.mark.more
def test_the_engine_changes_nothing_in_an_archive(played):
    engine = ProcessEngine(2)
    try:
        others = run(small(chunk_size=3), engine=engine)
    finally:
        engine.close()
    assert event_lines(others) == event_lines(played)


def make_result():
    """A game of two agents: one mines for 30 of 40 ticks, one scrambles for 10 of 20."""
    catalog = cogs_catalog()
    acted = np.zeros((2, len(catalog.behaviors)), dtype=np.int64)
    acted[0, catalog.behavior_id("mine_resource")] = 30
    acted[0, catalog.behavior_id("explore")] = 10
    acted[1, catalog.behavior_id("scramble_junction")] = 10
    acted[1, catalog.behavior_id("explore")] = 10
    counters = {name: np.zeros((1, 2)) for name in COGSGUARD_ROLES.counters}
    counters["moves"][0] = 20, 5
    counters["scrambled"][0], counters["aligned"][0] = (0, 1), (0, 3)
    return RoleGameResult(np.zeros((1, 2)), counters, 2, (), acted)


def test_descriptors_are_shares_of_ticks_and_ratios_of_counters():
    axes = axes_of("miner=0..1x10,scrambled=0..0.5x10,moves=0..1x5")
    descriptors = Descriptors(COGSGUARD_ROLES, cogs_catalog(), axes)
    record = descriptors.describe(make_result(), range(2), 12.0, 50)
    assert record.measures.tolist() == [0.5, 0.25, 0.25]
    alone = descriptors.describe(make_result(), [0], 12.0, 50)
    assert alone.measures.tolist() == [0.75, 0.0, 0.4], "no junction changed: 0, not undefined"
    [cell] = descriptors.find_cells([record])
    assert descriptors.name_cell(int(cell)) == "5-5-1"


def test_an_unknown_descriptor_is_refused_with_a_suggestion():
    with pytest.raises(UnknownNameError, match="No behaviour descriptor is named 'minr'"):
        Descriptors(COGSGUARD_ROLES, cogs_catalog(), axes_of("minr=0..1x2"))


def make_record(games, mean, *measures):
    return BehaviorRecord(games, games * mean, np.array(measures), np.ones(len(measures)))


def test_few_lucky_games_do_not_win_a_cell():
    descriptors = Descriptors(COGSGUARD_ROLES, cogs_catalog(), axes_of("moves=0..1x2"))
    records = {
        (1,): make_record(1, 160.0, 0.1),
        (2,): make_record(40, 150.0, 0.2),
        (3,): make_record(8, 90.0, 0.9),
    }
    values = estimate_values(list(records.values()))
    mean = (160 + 40 * 150 + 8 * 90) / 49
    assert values[0] == pytest.approx((160 + 3 * mean) / 4)
    assert select_elites(descriptors, records) == {0: (2,), 1: (3,)}


def test_records_read_back_from_a_snapshot():
    records = {(1, 2): make_record(2, 5.0, 0.5), (1, 3): make_record(1, 4.0, 0.25)}
    again = unpack_records("teams", pack_records("teams", records))
    assert list(again) == [(1, 2), (1, 3)]
    assert again[(1, 2)].mean_score == 5.0
    assert again[(1, 3)].measures.tolist() == [0.25]


def test_an_archive_is_not_for_live_evolution():
    with pytest.raises(SettingsError) as caught:
        run(small(live=True))
    assert str(caught.value) == "An archive cannot be combined with live: leave one out."


def test_axes_are_written_as_for_nets():
    assert [axis.model_dump() for axis in axes_of("miner=0..1x4")] == read_axes("miner=0..1x4")
