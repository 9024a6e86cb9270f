"""Progress without a terminal: a line at each quarter and each minute, with the time left."""

import pytest

from kinfolk.cli import output


@pytest.fixture
def clock(monkeypatch):
    """A clock that tests set."""
    now = [0.0]
    monkeypatch.setattr(output.time, "monotonic", lambda: now[0])
    return now


def test_a_line_at_each_quarter_tells_how_long_the_rest_will_take(capsys, clock):
    with output.progress("Runs", 8) as tell:
        for done in range(1, 9):
            clock[0] += 10.0
            tell(done, "note" if done == 4 else "")
    assert capsys.readouterr().err.splitlines() == [
        "Runs: 2 of 8, about 1 min 0 s left",
        "Runs: 4 of 8, about 40 s left, note",
        "Runs: 6 of 8, about 20 s left",
        "Runs: 8 of 8",
    ]


def test_a_long_job_has_a_line_each_minute_and_what_was_done_before_a_resume_counts_not(
    capsys, clock
):
    with output.progress("Steps", 1000, 500) as tell:
        for done in (510, 520, 530):
            clock[0] += 40.0
            tell(done)
    assert capsys.readouterr().err.splitlines() == ["Steps: 520 of 1000, about 32 min 0 s left"]
