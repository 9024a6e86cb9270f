"""Runs of role evolution on the disk and on the command line, also killed ones."""

import json
import multiprocessing
import os
import random
import re
import signal
from pathlib import Path

import pytest

from kinfolk.cli.app import main
from kinfolk.core.settings import validate_settings
from kinfolk.engines.base import LocalEngine
from kinfolk.jobs.evolve_roles.job import evolve_roles
from kinfolk.jobs.evolve_roles.settings import EvolveRoles
from kinfolk.roles.history import parse_history
from kinfolk.store.run import create_run, open_run
from kinfolk.store.run_job import run_and_store

# The command's run is made by the first of these tests that use it, and read by the others.
pytestmark = pytest.mark.xdist_group("role runs")

SMALL = {
    "preset": "tutorial",
    "world_settings": {"max_steps": 30, "agents": 2},
    "generations": 6,
    "racing": (1, 2),
    "n_teams": 3,
    "survivors": 1,
    "population": 4,
    "finalists": 2,
    "finalist_games": 2,
    "eval_games": 2,
}


def go_on(folder):
    settings = validate_settings(EvolveRoles, open_run(folder).config["settings"])
    for _ in run_and_store(open_run(folder), lambda s: evolve_roles(settings, LocalEngine(), s)):
        pass


def kill_and_resume(folder, chance, kills):
    """Kill the run at random moments; after each, its history must be whole or not there yet."""
    context, done = multiprocessing.get_context("fork"), 0
    while open_run(folder).status != "done":
        child = context.Process(target=go_on, args=(folder,))
        child.start()
        child.join(chance.uniform(0.0, 0.6) if done < kills else None)
        if child.exitcode is None:
            os.kill(child.pid, signal.SIGKILL)
            done += 1
        child.join()
        assert child.exitcode in (0, -signal.SIGKILL)
        path = folder / "role_history.json"
        if path.exists():
            parse_history(path.read_text(), str(path))
    return done


def compare_killed_with_whole(tmp_path, seed, kills, **changes):
    settings = validate_settings(EvolveRoles, {**SMALL, "seed": seed, **changes})
    whole = create_run(tmp_path / "whole", "evolve_roles", settings.model_dump())
    go_on(whole.folder)
    killed = create_run(tmp_path / "killed", "evolve_roles", settings.model_dump())
    count = kill_and_resume(killed.folder, random.Random(seed), kills)
    files = {path.relative_to(whole.folder) for path in whole.folder.rglob("*") if path.is_file()}
    assert {Path("role_history.json"), Path("events.jsonl.gz")} <= files
    former = {path for path in files if re.search(r"\.[0-9]\.json$", path.name)}  # of the history
    for path in files - former - {Path("settings.json"), Path("lock")}:
        assert (whole.folder / path).read_bytes() == (killed.folder / path).read_bytes(), path
    return count


def test_a_run_killed_at_random_moments_comes_to_the_same_history(tmp_path):
    assert compare_killed_with_whole(tmp_path, seed=1, kills=3) >= 1


MODES = {
    "archive": {
        "archive": True,
        "quality_diversity": {"axes": "miner=0..1x4,moves=0..1x3", "new_teams": 5, "games": 1,
                              "confirmation_games": 2, "rechecked": 2, "final_games": 3}},
    "co-evolution": {
        "preset": "head_to_head", "coevolve": 2,
        "coevolution": {"hall_every": 2, "payoff_games": 4, "best_response_generations": 1}},
    "live": {"live": True, "games_per_generation": 3},
    "restarts": {"restarts": 1},
    "temple": {"trigger": "temple"},
    "varied": {"world_settings": {"max_steps": 30}, "vary": {"agents": "2,3"}},
}  # fmt: skip


@pytest.mark.more
@pytest.mark.parametrize("mode", MODES)
def test_every_mode_killed_at_random_moments_comes_to_the_same_files(tmp_path, mode):
    if mode == "archive":
        pytest.importorskip("ribs")
    # With this seed the first kill comes after 0.08 s, before any mode is done.
    assert compare_killed_with_whole(tmp_path, seed=1, kills=5, **MODES[mode]) >= 1


@pytest.mark.slow
def test_a_run_killed_thirty_times_comes_to_the_same_history(tmp_path):
    kills = 0
    for seed in range(100):
        kills += compare_killed_with_whole(tmp_path / str(seed), seed, kills=6)
        if kills >= 30:
            return
    raise AssertionError("the run was too short to be killed")


def run_command(capsys, *words):
    with pytest.raises(SystemExit) as left:
        main(list(words))
    out, err = capsys.readouterr()
    return left.value.code, out, err


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "one"
    (folder.parent / "small.json").write_text(json.dumps({**SMALL, "generations": 2}))
    with pytest.raises(SystemExit):
        main(
            ["evolve", "roles", "--config", str(folder.parent / "small.json"),
             "--engine", "local", "--out", str(folder)]
        )  # fmt: skip
    return folder


def test_the_command_evolves_and_tells(finished, capsys):
    finished = finished.with_name("two")
    words = ["evolve", "roles", "--config", str(finished.parent / "small.json")]
    code, out, _ = run_command(capsys, *words, "--engine", "local", "--out", str(finished))
    assert code == 0
    assert "2 held-out games (episodes of seed 1000000)" in out
    for words in ("seeded team", "smart baseline", "its vibes only", "evolved champion"):
        assert words in out
    assert "champion ahead by" in out
    assert f"The run lies in {finished}" in out
    assert f"kinfolk view {finished}" in out
    assert {p.name for p in finished.iterdir()} >= {"role_history.json", "replays", "checkpoints"}


def test_the_champion_can_be_played_taken_out_and_started_from(finished, capsys, tmp_path):
    code, out, err = run_command(
        capsys, "eval", "--world", "cogsguard", "--preset", "tutorial", "--set", "agents=2",
        "--set", "max_steps=30", "--slot", f"cogs=run:{finished}@best", "--episodes", "2",
        "--out", str(tmp_path / "eval"), "--json",
    )  # fmt: skip
    assert code == 0, err
    taken = tmp_path / "roles.json"
    code, _, err = run_command(capsys, "export", "role", str(finished), "--out", str(taken))
    assert code == 0
    assert f"roles are in {taken}." in err
    assert parse_history(taken.read_text(), "taken").roles
    code, out, _ = run_command(capsys, "export", "phylogeny", str(finished))
    assert code == 0
    assert out.splitlines()[0].endswith(",operator")
    assert "BaseMiner" in out.splitlines()[1]
    words = ["--config", str(finished.parent / "small.json"), "--history", str(taken)]
    code, out, err = run_command(
        capsys, "evolve", "roles", *words, "--engine", "local", "--generations", "1", "--json",
        "--out", str(tmp_path / "on"),
    )  # fmt: skip
    assert code == 0, err
    assert json.loads(out)["champion"]["kind"] == "champion_evaluated"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--population", "1"), "EvolveRoles.population must be at least 2, not 1."),
        (
            ("--racing", "0"),
            "EvolveRoles.racing must give at least 1 game per stage, not 0.",
        ),
        (("--seed", "lucky"), "EvolveRoles.seed must be a whole number, not 'lucky'."),
        (("--trigger", "moon"), "EvolveRoles.trigger must be 'cadence' or 'temple', not 'moon'."),
        (
            ("--control", "placebo"),
            "EvolveRoles.control must be 'none', 'shuffled' or 'uniform', not 'placebo'.",
        ),
        (
            ("--role-counts", "salad"),
            "EvolveRoles.role_counts must be 'fixed' or 'free', not 'salad'.",
        ),
        (("--world", "savanna"), "No world with roles is named 'savanna'. Known: cogsguard."),
    ],
)
def test_wrong_words_get_a_sentence_and_exit_code_2(words, sentence, capsys, tmp_path):
    out = tmp_path / "run"
    code, _, err = run_command(
        capsys, "evolve", "roles", "--engine", "local", "--out", str(out), *words
    )
    assert (code, err.strip()) == (2, sentence)
    assert not out.exists()


def test_a_damaged_history_is_refused_and_left_alone(finished, capsys, tmp_path):
    text = (finished / "role_history.json").read_text()
    for name, damaged, reason in (
        ("cut.json", text[: len(text) // 2], "is damaged at line"),
        ("hand.json", text.replace('"manual"', '"mine"', 1), "roles.0.origin must be"),
        ("changed.json", text.replace('"recharge"', '"dance"'), "its SHA-256 checksum is wrong."),
        (
            "strange.json",
            re.sub('"sha256": "[0-9a-f]+"', '"sha256": null', text).replace(
                '"recharge"', '"dance"'
            ),
            "not registered: 'dance'.",
        ),
    ):
        path = tmp_path / name
        path.write_text(damaged)
        words = ["--history", str(path), "--out", str(tmp_path / "run")]
        code, _, err = run_command(capsys, "evolve", "roles", "--engine", "local", *words)
        assert code != 0
        assert reason in err
        assert path.read_text() == damaged
        assert not (tmp_path / "run").exists()
