"""Tournaments end to end: ratings, matrices, failures, replays; the same bytes on every engine."""

import json

import pytest

from kinfolk.core.errors import SettingsError, UsageError
from kinfolk.core.events import FileChunk, Snapshot
from kinfolk.core.settings import validate_settings
from kinfolk.engines import make_engine
from kinfolk.engines.base import LocalEngine
from kinfolk.jobs.tournament.job import check_tournament, count_pairings, tournament
from kinfolk.jobs.tournament.settings import Tournament
from kinfolk.testing.contracts.job import JobContract, event_lines

TRUSTED = {"isolate": "none", "sandbox": False}
PROBE = {
    "policies": {
        "hunter": {"random": "kin://random", "still": "kin://noop"},
        "grazer": {"forager": "kin://probe-python", "still": "kin://noop"},
    },
    "world_settings": {"max_ticks": 20},
    "chunk_size": 2,
    "games": 4,
    **TRUSTED,
}
TEAMS = {
    "world": "cogsguard",
    "preset": "head_to_head",
    "world_settings": {"max_steps": 25},
    "policies": {"still": "kin://noop", "random": "kin://random", "miner": "kin://role/BaseMiner"},
    "games": 2,
    **TRUSTED,
}
FAILING = """
from kinfolk.policies.base import NoopPolicy


class Failing(NoopPolicy):
    def act_async(self, observations, batch, memory, keys):
        raise ValueError("boom")
"""


def run(engine=None, **settings):
    return list(tournament(validate_settings(Tournament, settings), engine or LocalEngine()))


class TestTournament(JobContract):
    @pytest.fixture
    def start(self):
        settings = validate_settings(Tournament, PROBE)
        return lambda resume: tournament(settings, LocalEngine(), resume)


class TestSwissTournament(JobContract):
    @pytest.fixture
    def start(self):
        policies = {f"p{i}": "kin://random" for i in range(4)} | {"still": "kin://noop"}
        swiss = {**TEAMS, "policies": policies, "format": "swiss", "rounds": 3, "games": 1}
        settings = validate_settings(Tournament, swiss)
        return lambda resume: tournament(settings, LocalEngine(), resume)


def test_sides_that_differ_have_a_leaderboard_and_a_matrix_each():
    last = run(**PROBE)[-1]
    assert [(row.side, row.rank) for row in last.standings] == [
        ("grazer", 1), ("grazer", 2), ("hunter", 1), ("hunter", 2),
    ]  # fmt: skip
    assert (last.standings[0].name, last.standings[2].name) == ("forager", "random")
    first, second = last.payoffs
    assert (first.side, first.against) == ("grazer", "hunter")
    assert (first.rows, first.columns) == (
        ["forager", "still (grazer)"], ["random", "still (hunter)"],
    )  # fmt: skip
    assert (second.side, len(second.cells), second.cells[0][0].n) == ("hunter", 2, 4)
    assert len(last.pairings) == len(last.replays) == 4


def test_teams_play_from_both_sides_and_the_matrix_has_no_diagonal():
    items = run(**TEAMS)
    last = items[-1]
    assert last.pairings == [["still", "random"], ["still", "miner"], ["random", "miner"]]
    assert [len(row) for row in last.payoffs[0].cells] == [3, 3, 3]
    assert [last.payoffs[0].cells[i][i] for i in range(3)] == [None] * 3
    assert last.episodes == [8, 8, 8], "two pairings of two games on two sides"
    assert [row.rank for row in last.standings] == [1, 1, 1], "in so short games nobody scores"
    files = {item.path: item.data for item in items if isinstance(item, FileChunk)}
    document = json.loads(files["tournament.json"])
    assert (document["schema"], len(document["games"])) == ("kinfolk.tournament", 6)
    assert files["leaderboard.csv"].startswith(b"rank,name,side,rating,rating_low,rating_high,")
    assert [name for name in files if name.startswith("replays/")] == [
        "replays/game-00000-0-still-vs-1-random.replay",
        "replays/game-00000-0-still-vs-2-miner.replay",
        "replays/game-00000-1-random-vs-2-miner.replay",
    ]


def test_any_number_of_teams_can_meet():
    three = {**TEAMS, "world_settings": {"max_steps": 10, "teams": 3}, "games": 1, "replays": 0}
    last = run(**three)[-1]
    assert (last.pairings, last.episodes) == ([["still", "random", "miner"]], [3, 3, 3])


def test_a_policy_that_fails_is_named_without_a_folder_of_this_machine(tmp_path):
    (tmp_path / "bad.py").write_text(FAILING)
    policies = {"bad": f"file:{tmp_path / 'bad.py'}", "still": "kin://noop"}
    items = run(**{**TEAMS, "policies": policies, "games": 1, "replays": 1})
    last = items[-1]
    assert last.failures == [2, 0]
    assert last.failed_slots[0]["policy"]["never_acted"] == 2
    first = last.failed_slots[0]["policy"]["first"]
    assert (first["policy"], first["opponent"], first["location"]) == (
        "bad", "still", "bad.py:7 in act_async",
    )  # fmt: skip
    lines = event_lines(items)
    assert not any(str(tmp_path) in line for line in lines)
    replays = [i.data for i in items if isinstance(i, FileChunk) and i.path.startswith("replays")]
    assert not any(str(tmp_path).encode() in data for data in replays)


@pytest.mark.more
@pytest.mark.parametrize("engine", ["processes", "ray"])
def test_every_engine_gives_the_same_bytes(engine):
    if engine == "ray":
        pytest.importorskip("ray")
    everything = {}
    for name in ("local", engine):
        workers = make_engine(name, 2)
        try:
            items = run(workers, **PROBE)
        finally:
            workers.close()
        files = [(item.path, item.data) for item in items if isinstance(item, FileChunk)]
        everything[name] = (event_lines(items), files)
    assert everything["local"] == everything[engine]


def test_a_policy_that_has_changed_is_not_resumed(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(FAILING)
    policies = {"mine": f"file:{file}", "still": "kin://noop"}
    settings = validate_settings(Tournament, {**TEAMS, "policies": policies})
    stream = tournament(settings, LocalEngine())
    snapshot = next(item for item in stream if isinstance(item, Snapshot))
    stream.close()
    file.write_text(FAILING.replace("boom", "bang"))
    with pytest.raises(UsageError) as refused:
        list(tournament(settings, LocalEngine(), snapshot))
    assert str(refused.value) == (
        "Policy 'mine' has changed since the tournament began. Restore it to resume, or start a new "
        "tournament."
    )


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"policies": {"a": "kin://noop"}}, "A game of cogsguard has 2 policies; there is 1."),
        (
            {"policies": {"a": "kin://noop", "wolf": "kin://hunter"}},
            "Policy 'wolf' cannot play cogsguard: ",
        ),
        (
            {"rounds": 2},
            "A round robin has no rounds to choose: leave out --rounds, or set --format swiss.",
        ),
        (
            {"sandbox": True},
            "The sandbox restricts worker processes, and with isolate = 'none' there are none. Leave out "
            "--isolate none, or add --no-sandbox if you trust every policy.",
        ),
        (
            {"world": "savanna", "preset": None, "world_settings": {}, "format": "swiss"},
            "A Swiss tournament pairs policies that can play every side; in savanna they are for "
            "type_1_predator or type_1_prey. Set --format round-robin.",
        ),
    ],
)
def test_what_cannot_be_played_is_refused_before_a_game(changed, sentence):
    policies = {"policies": {"a": "kin://noop", "b": "kin://random"}}
    with pytest.raises(SettingsError) as refused:
        check_tournament(validate_settings(Tournament, {**TEAMS, **policies, **changed}))
    assert str(refused.value).startswith(sentence)


def test_the_number_of_pairings_is_known_before_the_first():
    swiss = {**TEAMS, "policies": {f"p{i}": "kin://noop" for i in range(7)}, "format": "swiss"}
    assert count_pairings(validate_settings(Tournament, swiss)) == 3 * 4
    assert count_pairings(validate_settings(Tournament, PROBE)) == 4
