"""Hostile policies, each as root and as an ordinary user, without and with a sandbox.

Without a sandbox and limits an attack succeeds, which shows that it is real, or says why it cannot. With one, its
rival's results are as if it had not taken place, only the attacker is named, and nothing is changed,
read or left behind.
"""

import json
import os
import platform
import sys
from pathlib import Path

import pytest

ATTACKS_FOLDER = Path(__file__).parent / "attacks"
sys.path.append(str(ATTACKS_FOLDER))

from runner_process import RunnerProcess, list_attacks  # noqa: E402

ATTACKS = list_attacks()
# One attack of each kind, in the quick tests.
QUICK = {
    "signals.KillsBySigqueue", "processes.LimitsOthers", "files.ChangesModes", "reading.ReadsRivalsFiles",
    "ipc.LeavesSegments", "network.ConnectsToAbstractSockets", "kernel.UnsharesNamespaces",
    "resources.TakesMemfds", "bombs.LeavesReforkingDaemons", "protocol.ForgesCounters",
}  # fmt: skip
USERS = ("root", "user")
TABLE = os.environ.get("KINFOLK_ATTACK_TABLE")  # file to which reports are added, as lines of JSON
SECONDS_TO_HANG = 150.0

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the sandbox needs Linux"),
    pytest.mark.skipif(
        platform.machine() != "x86_64", reason="attacks call x86_64's kernel by number"
    ),
]


def cases(sandbox):
    """Return all attacks by all users, as parameters; those of one runner form a group."""
    for user in USERS:
        for name in ATTACKS:
            group = pytest.mark.xdist_group(f"attacks-{user}-{sandbox}")
            is_quick = name in QUICK and sandbox and user == "user"
            marks = [group] if is_quick else [group, pytest.mark.more]
            yield pytest.param(user, name, marks=marks, id=f"{user}-{name}")


@pytest.fixture(scope="module")
def runners(as_ordinary_user):
    """Runners by user and mode, started when they are first asked."""
    import ordinary_user

    ordinary_id = ordinary_user.USER_ID if os.getuid() == 0 else os.getuid()
    commands = {"root": (lambda argv: argv, 0), "user": (as_ordinary_user, ordinary_id)}
    started = {
        (user, sandbox): RunnerProcess(*commands[user], sandbox)
        for user in USERS
        for sandbox in (False, True)
    }
    yield started
    for runner in started.values():
        runner.close()


def play(runners, user, name, sandbox):
    """Play an attack and return its report, which is added to the table that the documents show."""
    if user == "root" and os.getuid() != 0:
        pytest.skip("only root can attack as root")
    if getattr(ATTACKS[name], "needs_torch", False):
        pytest.importorskip("torch")
    report = runners[user, sandbox].play(name, SECONDS_TO_HANG)
    if TABLE:
        row = {**report, "user": user, "sandbox": sandbox, "tries": ATTACKS[name].__doc__}
        with open(TABLE, "a") as file:
            file.write(json.dumps(row) + "\n")
    return report


def reason_without_sandbox(name, user):
    """Return why an attack cannot succeed without a sandbox; "" if it can."""
    reason = ATTACKS[name].without_sandbox
    return reason.get(user, "") if isinstance(reason, dict) else reason


@pytest.mark.parametrize(("user", "name"), list(cases(sandbox=True)))
def test_with_a_sandbox_an_attack_harms_nobody(runners, user, name):
    report = play(runners, user, name, sandbox=True)
    assert report["error"] == "", "every episode has a result"
    assert report["episodes"] == report["expected_episodes"]
    assert report["blamed"] == [], "nobody but the attacker is named"
    assert report["same"], "the rival plays as if there were no attack"
    assert report["achieved"] == [], report["failures"]
    assert report["damage"] == []
    assert report["leaked"] == []
    assert report["left"] == []
    assert report["unprintable"] == []
    assert report["seconds"] < ATTACKS[name].max_seconds


@pytest.mark.parametrize(("user", "name"), list(cases(sandbox=False)))
def test_without_a_sandbox_an_attack_is_real(runners, user, name):
    report = play(runners, user, name, sandbox=False)
    effects = [
        *report["achieved"],
        *report["damage"],
        *report["leaked"],
        *report["left"],
        *report["blamed"],
    ]
    effects += [] if report["same"] else ["another result"]
    reason = reason_without_sandbox(name, user)
    if user in ATTACKS[name].either:
        assert report["error"] == ""
    elif reason:
        assert report["error"] == ""
        assert effects == [], f"it was said that {reason}"
    else:
        assert effects != [], report["failures"]


def test_there_are_attacks_of_every_kind():
    assert len(ATTACKS) >= 45
    assert {name.partition(".")[0] for name in QUICK} <= {
        name.partition(".")[0] for name in ATTACKS
    }
    assert set(ATTACKS) >= QUICK
    assert all(attack.__doc__ for attack in ATTACKS.values()), "a docstring says what it tries"
