"""The benchmark of isolation, made small: its figures hang together, and its tables fit."""

import os

import pytest

from kinfolk.bench import isolation, isolation_scaling
from kinfolk.bench.isolated_agents import NOOP, make_spec
from kinfolk.cli.commands.bench import _show_isolation
from kinfolk.core.errors import EngineError
from kinfolk.testing.inspection import children_of


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(isolation_scaling, "_AGENT_STEPS", 10)
    monkeypatch.setattr(isolation_scaling, "_ROUNDS", 1)
    monkeypatch.setattr(isolation_scaling, "_SLOT_ROUNDS", 1)
    monkeypatch.setattr(isolation_scaling, "_SLOT_AGENTS", 2)
    monkeypatch.setattr(isolation_scaling, "_SLOT_POLICIES", {"numpy": NOOP})


def test_numbers_of_agents_go_up_to_sixty_four():
    assert isolation_scaling.SCALING_COUNTS == (1, 2, 4, 8, 16, 32, 64)
    assert make_spec(64).rows == 64


def test_scaling_measures_steps_starts_and_memory_by_number_of_agents():
    before = set(children_of(os.getpid()))
    one, three = isolation_scaling.measure_scaling((1, 3))
    assert (one["agents"], three["agents"]) == (1, 3)
    for row in (one, three):
        assert row["times_bare"] == row["us"] / row["bare_us"] > 0
        assert min(row["first_ms"], row["start_ms"], row["initialise_ms"], row["clean_up_ms"]) > 0
        assert 0 < row["own_megabytes"] < 50, "most of it is shared with the fork server"
    assert three["all_megabytes"] == pytest.approx(3 * three["own_megabytes"], rel=0.2)
    assert set(children_of(os.getpid())) <= before


def test_a_slot_and_its_agents_are_started_with_and_without_a_sandbox():
    [row] = isolation_scaling.measure_slot_starts()
    if "skipped" in row:
        pytest.skip(row["skipped"])
    assert row["policy"] == "numpy"
    assert row["slot_times"] == row["slot_ms"] / row["plain_slot_ms"]
    assert row["agent_times"] == row["agent_ms"] / row["plain_agent_ms"]
    assert 0 < row["plain_agent_ms"] < row["plain_slot_ms"]
    assert 0 < row["agent_ms"] < row["slot_ms"]


def test_without_a_sandbox_its_start_is_skipped_with_the_reason(monkeypatch):
    def refuse(*_):
        raise EngineError("This machine has no bubblewrap.")

    monkeypatch.setattr(isolation_scaling, "WorkerPool", refuse)
    assert isolation_scaling.measure_slot_starts() == [
        {"policy": "numpy", "skipped": "This machine has no bubblewrap."}
    ]


SCALING = {
    "us": 12.34, "bare_us": 9.9, "times_bare": 1.25, "first_ms": 432.1, "start_ms": 12.3,
    "initialise_ms": 10.7, "clean_up_ms": 10.6, "own_megabytes": 12.3, "all_megabytes": 787.2,
}  # fmt: skip
STARTS = {"slot_ms": 1234.5, "plain_slot_ms": 1030.0, "slot_times": 1.2, "agent_ms": 34.5,
          "plain_agent_ms": 33.3, "agent_times": 1.1}  # fmt: skip
QUEUES = {"gathered_us": 12.3, "queue_one_by_one_us": 491.0, "queue_gathered_us": 202.0,
          "times_one_by_one": 39.9, "times_gathered": 16.4}  # fmt: skip


def test_its_tables_fit_a_hundred_columns(capsys):
    _show_isolation(
        {
            "by_agents": [{"agents": 16, **QUEUES}],
            "scaling": [{"agents": n, **SCALING} for n in isolation_scaling.SCALING_COUNTS],
            "slots": [{"policy": "numpy", **STARTS}, {"policy": "torch", "skipped": "No torch."}],
            "busy": {"agents": 8, "cores": 2, "in_process_us": 1000.0, "isolated_us": 580.0,
                     "times_faster": 1.72},
        }
    )  # fmt: skip
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 100
    words = [line.split() for line in lines]
    assert ["64", "12.3", "1.2", "12.3", "10.7", "10.6", "12.3", "787"] in words
    assert ["numpy", "1234", "1030", "1.2", "34.5", "33.3", "1.1"] in words
    assert "The torch policy was skipped. No torch." in lines
    assert "The first worker takes 432 ms." in " ".join(lines)


@pytest.mark.more
def test_the_whole_benchmark_reports_what_the_design_note_wants_measured(monkeypatch):
    """Overhead per step, overhead per episode, memory, and scalability with the number of agents."""
    monkeypatch.setattr(isolation, "AGENT_COUNTS", (1,))
    monkeypatch.setattr(
        isolation, "measure_scaling", lambda: isolation_scaling.measure_scaling((1, 2))
    )
    monkeypatch.setattr(isolation, "_ROUNDS", 1)
    monkeypatch.setattr(isolation, "_LOAD_ROUNDS", 1)
    report = isolation.bench_isolation()
    assert set(report) == {"by_agents", "scaling", "slots", "busy"}
    [row] = report["by_agents"]
    assert row["times_one_by_one"] == row["queue_one_by_one_us"] / row["gathered_us"]
    assert [row["agents"] for row in report["scaling"]] == [1, 2]
    assert report["busy"]["times_faster"] > 0
