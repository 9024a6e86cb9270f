import pytest

import kinfolk
from kinfolk.core.events import Event, Snapshot, TimingEvent
from kinfolk.core.settings import validate_settings
from kinfolk.engines.base import LocalEngine
from kinfolk.engines.processes import ProcessEngine
from kinfolk.jobs.evaluate import Evaluate, evaluate
from kinfolk.testing.contracts.job import JobContract, event_lines

SETTINGS = {
    "slots": {"g": "kin://probe-python", "h": "kin://random"},
    "agent_slot_map": {"grazer": "g", "hunter": "h"},
    "episodes": 12,
    "chunk_size": 5,
}


class TestEvaluate(JobContract):
    @pytest.fixture
    def start(self):
        settings = validate_settings(Evaluate, SETTINGS)
        return lambda resume: evaluate(settings, LocalEngine(), resume)


def test_the_engine_and_the_chunk_have_no_effect():
    here = event_lines(list(evaluate(validate_settings(Evaluate, SETTINGS), LocalEngine())))
    engine = ProcessEngine(2)
    try:
        settings = validate_settings(Evaluate, {**SETTINGS, "chunk_size": 3})
        assert event_lines(list(evaluate(settings, engine))) == here
    finally:
        engine.close()


def test_isolated_slots_give_the_same_results():
    plain = event_lines(list(evaluate(validate_settings(Evaluate, SETTINGS), LocalEngine())))
    isolated = validate_settings(Evaluate, {**SETTINGS, "isolate": "slot", "step_timeout": 20.0})
    assert event_lines(list(evaluate(isolated, LocalEngine()))) == plain


def test_the_summary_is_of_the_episodes():
    items = list(evaluate(validate_settings(Evaluate, SETTINGS), LocalEngine()))
    events = [i for i in items if isinstance(i, Event) and not isinstance(i, TimingEvent)]
    played, summary = events[:-1], events[-1]
    assert [event.step for event in played] == list(range(12))
    assert sum(isinstance(item, Snapshot) for item in items) == 3
    for slot in ("g", "h"):
        assert summary.returns[slot][0] == pytest.approx(sum(e.returns[slot] for e in played) / 12)
    assert summary.ticks[0] == pytest.approx(sum(e.ticks for e in played) / 12)


def test_a_forager_earns_more_than_chance():
    forager = kinfolk.evaluate(slots={"main": "kin://probe-python"}, episodes=40).returns["main"]
    chance = kinfolk.evaluate(slots={"main": "kin://random"}, episodes=40).returns["main"]
    assert forager[1] > chance[2], "the intervals are apart"
