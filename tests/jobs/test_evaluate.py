import pytest

import kinfolk
from kinfolk.core.events import Event, Measured, Snapshot
from kinfolk.core.settings import read
from kinfolk.engines.local import Local
from kinfolk.engines.processes import Processes
from kinfolk.jobs.evaluate import Evaluate, evaluate
from kinfolk.testing.job_contract import JobContract, lines

SETTINGS = {
    "slots": {"g": "kin://probe-plain", "h": "kin://random"},
    "agent_slot_map": {"grazer": "g", "hunter": "h"},
    "episodes": 12,
    "chunk": 5,
}


class TestEvaluate(JobContract):
    @pytest.fixture
    def start(self):
        settings = read(Evaluate, SETTINGS)
        return lambda resume: evaluate(settings, Local(), resume)


def test_the_engine_and_the_chunk_have_no_effect():
    here = lines(list(evaluate(read(Evaluate, SETTINGS), Local())))
    engine = Processes(2)
    try:
        settings = read(Evaluate, {**SETTINGS, "chunk": 3})
        assert lines(list(evaluate(settings, engine))) == here
    finally:
        engine.close()


def test_isolated_slots_give_the_same_results():
    plain = lines(list(evaluate(read(Evaluate, SETTINGS), Local())))
    isolated = read(Evaluate, {**SETTINGS, "isolate": "slot", "step_timeout": 20.0})
    assert lines(list(evaluate(isolated, Local()))) == plain


def test_the_summary_is_of_the_episodes():
    items = list(evaluate(read(Evaluate, SETTINGS), Local()))
    events = [i for i in items if isinstance(i, Event) and not isinstance(i, Measured)]
    played, summary = events[:-1], events[-1]
    assert [event.step for event in played] == list(range(12))
    assert sum(isinstance(item, Snapshot) for item in items) == 3
    for slot in ("g", "h"):
        assert summary.returns[slot][0] == pytest.approx(sum(e.returns[slot] for e in played) / 12)
    assert summary.ticks[0] == pytest.approx(sum(e.ticks for e in played) / 12)


def test_a_forager_earns_more_than_chance():
    forager = kinfolk.evaluate(slots={"main": "kin://probe-plain"}, episodes=40)["returns"]["main"]
    chance = kinfolk.evaluate(slots={"main": "kin://random"}, episodes=40)["returns"]["main"]
    assert forager[1] > chance[2], "the intervals are apart"
