"""Golden traces replay without a difference, and a doctored one is found out."""

import copy
import gzip
import json
import os
from pathlib import Path

import pytest

from kinfolk.core.errors import KinfolkError
from kinfolk.worlds.savanna.io.golden_trace import parse_trace, replay_golden_trace
from kinfolk.worlds.savanna.io.trace_format import TraceError

ROOT = Path(__file__).resolve().parents[4]
SHARED = Path(os.environ.get("KINFOLK_GOLDEN", ROOT.parent / "shared" / "golden"))
GOLDEN = SHARED / "savanna"
# Beside each trace in savanna_logs lies the log that the published code kept of it.
LOGGED = [p for p in SHARED.glob("savanna_logs/*.json.gz") if not p.name.endswith(".log.json.gz")]
# The published rules of the seasonal and the donation module are not replayed, see docs/savanna.md.
VARIANTS = [
    p
    for kind in ("stag_hunt", "metabolic_rate")
    for p in SHARED.glob(f"savanna_variants/{kind}*.gz")
]
TRACES = sorted(GOLDEN.glob("*.json.gz")) + sorted(LOGGED) + sorted(VARIANTS)
needs_golden = pytest.mark.skipif(not TRACES, reason=f"There are no golden traces in {GOLDEN}.")


@pytest.fixture(scope="module")
def short():
    """A short trace, parsed."""
    found = [path for path in TRACES if path.name == "shared_r2_s2.json.gz"]
    if not found:
        pytest.skip(f"There are no golden traces in {GOLDEN}.")
    return parse_trace(found[0].read_bytes())


def mark_long(path):
    """Mark the trace of a crowded grid, which takes as long as ten others."""
    marks = [pytest.mark.more] if path.name.startswith("lineage_dense") else []
    return pytest.param(path, marks=marks, id=path.name)


@needs_golden
@pytest.mark.parametrize("path", [mark_long(path) for path in TRACES])
def test_a_golden_trace_replays_without_a_difference(path):
    trace = parse_trace(path.read_bytes())
    result = replay_golden_trace(trace)
    assert result.difference is None
    assert result.steps == len(trace["steps"])
    assert result.n_values > 100 * result.steps


def changed(trace, change):
    doctored = copy.deepcopy(trace)
    change(doctored)
    return replay_golden_trace(doctored).difference


def nudge(table, agent, by):
    table[agent] = table[agent] + by


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("energy", lambda step: nudge(step["state"]["energy"], "type_1_predator_2", 1e-6)),
        ("age", lambda step: nudge(step["state"]["age"], "type_1_predator_2", 1)),
        ("reward", lambda step: nudge(step["rewards"], "type_1_predator_2", 0.5)),
        ("position", lambda step: step["state"]["pos"].update(type_1_predator_2=[0, 0])),
        ("observation", lambda step: step["obs_sha1"].update(type_1_predator_2="0" * 12)),
        ("terminated", lambda step: step["terminated"].append("type_1_predator_2")),
        ("truncated", lambda step: step["truncated"].append("type_1_predator_2")),
    ],
)
def test_one_changed_number_is_named_with_step_agent_and_field(short, field, change):
    found = changed(short, lambda trace: change(trace["steps"][7]))
    assert (found.step, found.agent, found.field) == (7, "type_1_predator_2", field)


def test_a_difference_says_what_was_expected_and_what_was_got(short):
    before = short["steps"][3]["state"]["grass"]["grass_4"]
    found = changed(short, lambda t: nudge(t["steps"][3]["state"]["grass"], "grass_4", 1.0))
    assert (found.step, found.agent, found.field) == (3, "grass_4", "energy")
    assert (found.expected, found.got) == (before + 1.0, before)
    assert "grass_4: energy should be" in str(found)


def test_counts_events_and_statistics_are_compared_too(short):
    assert changed(short, lambda t: nudge(t["steps"][5], "n_prey", 1)).field == "n_prey"
    found = changed(short, lambda t: t["steps"][5]["captures"].__setitem__(1, 99))
    assert (found.agent, found.field, found.expected) == ("captures", "failures", 99)
    found = changed(short, lambda t: nudge(t["event_log"]["type_1_predator_2"], "n_eat", 1))
    assert found.field == "event_log.n_eat"
    found = changed(short, lambda t: nudge(t["stats"]["type_1_predator_2"], "dist", 0.1))
    assert found.field == "stats.dist"


def test_another_seed_differs_at_the_start(short):
    found = changed(short, lambda trace: trace.update(seed=12345))
    assert found.step == -1


def test_a_setting_is_read_from_the_trace(short):
    found = changed(short, lambda trace: trace["config"].update(energy_loss_per_step_prey=0.06))
    assert (found.step, found.field) == (0, "energy")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda t: t.pop("steps"), "has no 'steps'"),
        (lambda t: t.pop("config"), "has no 'config'"),
        (
            lambda t: t["upstream"].update(rev="deadbeef"),
            "No rules are known for shared_prey at deadbeef",
        ),
        (lambda t: t["upstream"].update(module="chess"), "No rules are known for chess"),
        (lambda t: t["config"].pop("grid_size"), "configuration has no 'grid_size'"),
        (lambda t: t["config"].update(initial_energy_prey=-1), "initial_energy_prey must be"),
        (lambda t: t["steps"][4].pop("rewards"), "Step 4 of the trace has no 'rewards'"),
        (lambda t: t["steps"][4]["state"].pop("pos"), "state after step 4 has no 'pos'"),
        (lambda t: t.update(steps=[]), "has no steps"),
        (lambda t: t.update(seed="one"), "seed must be a whole number"),
        (lambda t: t["steps"][2]["actions"].append(["type_1_prey_0"]), "Step 2 .* actions"),
        (lambda t: t["steps"][2]["state"]["pos"].update(x=[1]), "after step 2 .* x"),
    ],
)
def test_a_malformed_trace_raises_an_error_that_says_why(short, change, why):
    doctored = copy.deepcopy(short)
    change(doctored)
    with pytest.raises(KinfolkError, match=why):
        replay_golden_trace(doctored)


def test_a_file_that_is_no_trace_raises_an_error_that_says_why():
    whole = gzip.compress(json.dumps({"steps": list(range(2000))}).encode())
    for data, why in (
        (b"not gzip at all", "not a gzip file"),
        (whole[: len(whole) // 2], "cut short"),
        (gzip.compress(b'{"steps": ['), "is not valid JSON"),
        (gzip.compress(b"[1, 2]"), "its JSON is no object"),
        (b"", "is empty"),
    ):
        with pytest.raises(TraceError, match=why):
            parse_trace(data)
    with pytest.raises(TraceError, match="has no 'upstream'"):
        replay_golden_trace(parse_trace(whole))
