"""Event logs, statistics, lineages and infos equal those that the published code kept."""

import copy
import gzip
import json
import shutil
from pathlib import Path

import pytest

from kinfolk.worlds.savanna.io.golden_trace import add_log, parse_trace, replay_golden_trace
from kinfolk.worlds.savanna.io.trace_format import TraceError

FOLDER = Path(__file__).parents[5] / "shared" / "golden" / "savanna_logs"
TRACES = sorted(path for path in FOLDER.glob("*.json.gz") if ".log." not in path.name)
pytestmark = pytest.mark.skipif(not TRACES, reason=f"there are no logs in {FOLDER}")


def read(path):
    return add_log(parse_trace(path.read_bytes(), str(path)), path)


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name.partition(".")[0])
def test_a_log_is_equal_to_ours_in_every_key_and_value(path):
    trace = read(path)
    alone = replay_golden_trace({k: v for k, v in trace.items() if k != "log"})
    result = replay_golden_trace(trace)
    assert result.difference is None
    assert result.n_values > alone.n_values + 1000


@pytest.fixture(scope="module")
def lineage():
    return read(FOLDER / "log_lineage_s3002.json.gz")


@pytest.fixture(scope="module")
def shared():
    return read(FOLDER / "log_shared_r2_s3001.json.gz")


PREY, PREDATOR = "type_1_prey_44", "type_1_predator_1"


@pytest.mark.parametrize(
    ("name", "change", "field"),
    [
        ("lineage", lambda log: log["agent_event_log"][PREY]["eating_events"][3].update(bite_size=9.0),
         "agent_event_log.eating_events[3].bite_size"),
        ("lineage", lambda log: log["agent_event_log"][PREY]["fertility_events"][1].update(reason="x"),
         "agent_event_log.fertility_events[1].reason"),
        ("lineage", lambda log: log["agent_stats"][PREY].update(avg_energy_sum=0.0), "agent_stats.avg_energy_sum"),
        ("lineage", lambda log: log["agent_stats"][PREY].update(more=1), "agent_stats.more"),
        ("lineage", lambda log: log["lineage_tracker"][PREY].update(live_descendants=7),
         "lineage_tracker.live_descendants"),
        ("lineage", lambda log: log["infos"][9]["agents"]["type_1_prey_11"].update(lifetime_steps=9),
         "infos.lifetime_steps"),
        ("shared", lambda log: log["infos"][4]["all"].update(team_capture_failures=0), "infos.team_capture_failures"),
        ("shared", lambda log: log["agent_event_log"][PREDATOR]["eating_events"][0].update(predator_list=[]),
         "agent_event_log.eating_events[0].predator_list.length"),
        ("shared", lambda log: log["agent_event_log"]["type_1_predator_0"]["failed_eating_events"].pop(),
         "agent_event_log.failed_eating_events.length"),
    ],
)  # fmt: skip
def test_a_doctored_log_is_found_out(name, change, field, request):
    trace = request.getfixturevalue(name)
    doctored = trace | {"log": copy.deepcopy(trace["log"])}
    change(doctored["log"])
    assert replay_golden_trace(doctored).difference.field == field


def test_a_log_may_be_given_in_place_of_its_trace(lineage):
    path = FOLDER / "log_lineage_s3002.log.json.gz"
    assert add_log(parse_trace(path.read_bytes()), path) == lineage


def test_a_log_without_its_trace_gets_an_error_message(tmp_path):
    path = tmp_path / "lonely.log.json.gz"
    shutil.copy(FOLDER / "log_lineage_s3002.log.json.gz", path)
    with pytest.raises(TraceError) as caught:
        add_log(parse_trace(path.read_bytes()), path)
    assert str(caught.value) == (f"{path} is a log whose trace lonely.json.gz is not beside it.")


def test_a_log_without_statistics_gets_an_error_message(tmp_path):
    path = tmp_path / "a.json.gz"
    shutil.copy(TRACES[0], path)
    log = {"agent_event_log": {}, "infos": []}
    (tmp_path / "a.log.json.gz").write_bytes(gzip.compress(json.dumps(log).encode()))
    with pytest.raises(TraceError, match=r"^The log beside a\.json\.gz has no 'agent_stats'\.$"):
        read(path)
