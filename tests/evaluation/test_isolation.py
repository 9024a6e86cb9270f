import os
import signal
import time
from multiprocessing.shared_memory import SharedMemory

import numpy as np
import pytest

from kinfolk.core.errors import PolicyFailedError
from kinfolk.evaluation.isolation import Isolated
from kinfolk.play.episode import Play, play_episodes
from kinfolk.play.slots import Slot, slot_table
from kinfolk.policies.base import founder_rows
from kinfolk.policies.resolve import ResolvedPolicy
from kinfolk.testing.processes import is_alive
from kinfolk.worlds import build as build_world

HERE = "isolation_zoo"


@pytest.fixture(autouse=True)
def zoo(tmp_path, monkeypatch):
    """Bad policies in a package of their own, as a user's would be."""
    (tmp_path / f"{HERE}.py").write_text(ZOO)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


ZOO = """
import os, time
import numpy as np
from kinfolk.policies.simple import Noop

class Bad(Noop):
    def __init__(self, spec, after=3):
        super().__init__(spec)
        self.left = after
    def ask(self, *arguments):
        self.left -= 1
        if self.left == 0:
            self.misbehave()
        super().ask(*arguments)

class Raises(Bad):
    def misbehave(self):
        raise ZeroDivisionError("boom")

class Hangs(Bad):
    def misbehave(self):
        time.sleep(60)

class Exits(Bad):
    def misbehave(self):
        os._exit(3)

class Segfaults(Bad):
    def misbehave(self):
        import ctypes
        ctypes.string_at(0)

class Quits(Bad):
    def misbehave(self):
        raise SystemExit("bye")

class WrongShape(Bad):
    def answer(self):
        return np.zeros((2, 7), dtype=np.int64)

class CannotStart(Noop):
    def __init__(self, spec):
        raise ValueError("no weights")

class StartsForEver(Noop):
    def __init__(self, spec):
        time.sleep(60)
"""


def isolate(kind, patience=1.0, start=30.0):
    world = build_world("probe", {}, 1)
    guest = Isolated(
        "bad", ResolvedPolicy(f"{HERE}.{kind}"), world.spec, world.spec.rows, patience, start
    )
    return world, guest


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("Raises", "bad failed in ask: ZeroDivisionError: boom."),
        ("Hangs", "bad gave no answer to ask in 1.0 s."),
        ("Exits", "bad died in ask with exit code 3."),
        ("Segfaults", "bad died in ask with exit code -11."),
        ("Quits", "bad failed in ask: SystemExit: bye."),
        ("WrongShape", "bad failed in ask: ValueError: could not broadcast input array from shape (2,7) into shape (8,2)."),
    ],
)  # fmt: skip
def test_a_policy_that_fails_is_named_and_leaves_nothing_behind(kind, why):
    world, guest = isolate(kind)
    pid, segment = guest.pid, guest._wire.segment.name
    play = Play(world, [Slot("all", guest)], slot_table(world.spec, ["all"]), 0, range(1))
    with pytest.raises(PolicyFailedError) as failed:
        list(play_episodes(play))
    assert str(failed.value) == why
    assert not is_alive(pid)
    with pytest.raises(FileNotFoundError):
        SharedMemory(segment)
    with pytest.raises(PolicyFailedError) as failed:
        guest.begin(founder_rows(0, 0), {}, np.zeros(1, dtype=np.int64))
    assert str(failed.value) == "bad has ended and cannot be asked to begin."
    guest.close()


def test_starting_has_a_limit_and_a_sentence_of_its_own():
    with pytest.raises(PolicyFailedError) as failed:
        isolate("CannotStart")
    assert str(failed.value) == "bad failed in start: ValueError: no weights."
    with pytest.raises(PolicyFailedError) as failed:
        isolate("StartsForEver", start=3.0)
    assert str(failed.value) == "bad gave no answer to start in 3.0 s."


def test_a_late_answer_to_an_old_question_is_no_action():
    guest = isolate("Bad")[1]
    try:
        guest._wire.header[0] = 7
        guest._question = 9
        guest._wire.header[1] = 2
        guest._pipe.send_bytes(b".")  # an answer to question 7, while 9 is what we wait for
        with pytest.raises(PolicyFailedError) as failed:
            guest.answer()
        assert str(failed.value) == "bad answered question 7, not 9."
    finally:
        guest.close()


def test_a_policy_killed_from_outside_is_noticed_at_once():
    guest = isolate("Bad", patience=30.0)[1]
    os.kill(guest.pid, signal.SIGKILL)
    start = time.monotonic()
    with pytest.raises(PolicyFailedError, match=r"^bad died (before|in) begin"):
        guest.begin(founder_rows(0, 0), {}, np.zeros(1, dtype=np.int64))
    assert time.monotonic() - start < 5
