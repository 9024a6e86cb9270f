"""Damaged files of runs: every command says so in a sentence, and changes nothing on disk."""

import contextlib
import gzip
import http.client
import io
import json
import random
import resource
import shutil
import threading
from importlib import import_module

import pytest
from tests.store import damage

from kinfolk.cli.app import main
from kinfolk.core.settings import validate_settings
from kinfolk.engines.base import LocalEngine
from kinfolk.store.run import create_run
from kinfolk.store.run_job import run_and_store

pytestmark = pytest.mark.xdist_group("damaged files")

MOST_MEGABYTES = 200  # more than a sound run takes
HEADER_BYTES = 600  # of most files: a flip there does more than one in the data
RUNS = {
    "eval": ("evaluate", "evaluate", "Evaluate", {"episodes": 2, "replays": 1}),
    "nets": ("evolve_nets", "evolve_nets.settings", "EvolveNets", {
        "task": "probe", "population": 4, "generations": 2, "hidden": (4,), "held_out_episodes": 2,
        "steps": 20}),
    "train": ("train", "train.settings", "Train", {
        "world": "probe", "worlds": 4, "rollout_length": 16, "steps": 1000,
        "ppo": {"minibatch_size": 64, "n_epochs": 1}}),
    "roles": ("evolve_roles", "evolve_roles.settings", "EvolveRoles", {
        "preset": "tutorial", "world_settings": {"max_steps": 30, "agents": 2}, "generations": 2,
        "racing": (2,), "n_teams": 3, "survivors": 1, "population": 4, "finalists": 2,
        "finalist_games": 2, "eval_games": 2, "replay_every": 1}),
}  # fmt: skip
LIST = ["runs", "--root", "runs"]
# Of each case: the run, whether it is stopped, its files, and what is done with it.
CASES = {
    "done": ("eval", False, ["settings.json", "events.jsonl.gz", "timings.jsonl", "replays/*"],
             [LIST, ["eval", "--resume", "runs/eval"], ["export", "metrics", "runs/eval"],
              ["view", "runs/eval", "--export", "page.html"]]),
    "stopped": ("eval", True, ["settings.json", "events.jsonl", "checkpoints/*"],
                [LIST, ["eval", "--resume", "runs/eval"]]),
    "net": ("nets", False, ["policies/*/best.safetensors"],
            [["eval", "--world", "probe", "--slot", "a=run:runs/nets/grazer", "--slot", "b=kin://noop",
              "--map", "grazer=a", "--map", "hunter=b", "--episodes", "1", "--out", "out"]]),
    "stopped nets": ("nets", True, ["checkpoints/*"], [["evolve", "nets", "--resume", "runs/nets"]]),
    "policy": ("train", False, ["policies/*/*.safetensors"],
               [["eval", "--world", "probe", "--slot", "a=run:runs/train", "--episodes", "1",
                 "--out", "out"]]),
    "stopped training": ("train", True, ["checkpoints/*"], [["train", "--resume", "runs/train"]]),
    "roles": ("roles", False, ["role_history.json", "replays/champion.replay"],
              [LIST, ["view", "runs/roles", "--export", "page.html"],
               ["export", "phylogeny", "runs/roles"]]),
    "stopped roles": ("roles", True, ["checkpoints/*", "role_history.json"],
                      [["evolve", "roles", "--engine", "local", "--resume", "runs/roles"]]),
}  # fmt: skip


def damages(data, seed, cuts, flips):
    """Yield `(what was done, bytes)`; None stands for a folder in the file's place.

    Args:
        data: The sound file.
        seed: Of the places that are damaged.
        cuts: In how many places it is cut short.
        flips: In how many places a bit or a byte is another, and a bit of the header.
    """
    chance = random.Random(seed)
    yield "sound", data
    yield "empty", b""
    yield "a folder", None
    yield "random bytes", chance.randbytes(max(16, min(len(data), 4096)))
    for _ in range(cuts):
        at = chance.randrange(len(data))
        yield f"cut at {at}", data[:at]
    for _ in range(flips):
        at, byte = chance.randrange(len(data)), chance.randrange(256)
        yield f"byte {at} is {byte}", data[:at] + bytes([byte]) + data[at + 1 :]
        for size in (len(data), min(len(data), HEADER_BYTES)):
            at, bit = chance.randrange(size), 1 << chance.randrange(8)
            yield f"bit {bit} of {at}", data[:at] + bytes([data[at] ^ bit]) + data[at + 1 :]


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """How to get a sound run; each is made once."""
    root, made = tmp_path_factory.mktemp("sound"), {}

    def get(name, stopped):
        if name not in made:
            job, form, kind, settings = RUNS[name]
            asked = validate_settings(
                getattr(import_module(f"kinfolk.jobs.{form}"), kind), settings
            )
            run = create_run(root / name, job, asked.model_dump())
            call = getattr(import_module("kinfolk.jobs"), job)
            for _ in run_and_store(run, lambda snapshot: call(asked, LocalEngine(), snapshot)):
                pass
            made[name] = run.folder
        if not stopped:
            return made[name]
        folder = root / f"{name} stopped"
        if not folder.exists():
            shutil.copytree(made[name], folder)
            packed = folder / "events.jsonl.gz"
            (folder / "events.jsonl").write_bytes(gzip.decompress(packed.read_bytes()))
            packed.unlink()
        return folder

    return get


@pytest.fixture
def server(tmp_path):
    import uvicorn

    from kinfolk.viewer.run_index import RunIndex
    from kinfolk.viewer.server import make_app, make_uvicorn_config, open_socket

    waiting = open_socket("127.0.0.1", 0)
    server = uvicorn.Server(make_uvicorn_config(make_app(RunIndex(tmp_path / "runs"))))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [waiting]}, daemon=True)
    thread.start()
    yield waiting.getsockname()[1]
    server.should_exit = True
    thread.join(10)


def call(words):
    """Run a command in this process: its exit code and what it said."""
    out, said = io.TextIOWrapper(io.BytesIO()), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
        try:
            main(list(words))
        except SystemExit as left:
            return left.code, said.getvalue()


def contents(folder):
    """The bytes of every file below a folder."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def answers(port, run, replays):
    """The status of everything the page would ask for."""
    found = {}

    def get(path):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        found[path] = answer.status
        return body

    get("/api/runs")
    for name in ("metrics", "report", "roles"):
        get(f"/api/runs/{run}/{name}")
    for replay in replays:
        about = json.loads(get(f"/api/runs/{run}/replays/{replay}"))
        get(f"/api/runs/{run}/replays/{replay}/series")
        for i in range(len(about.get("chunks", ()))):
            get(f"/api/runs/{run}/replays/{replay}/frames/{i}")
    return found


def resealed(target, data, seed, count):
    """Yield changed copies of a file whose checksums are right, as another program may write them."""
    reseal = {".replay": damage.reseal_replay, ".jsonl": damage.reseal_log}
    if target.suffix != ".gz":
        for what, copy in damage.damaged_copies(data, count, seed):
            changed = reseal.get(target.suffix, damage.reseal_document)(copy)
            yield f"{what} with the right checksum", changed


def check(case, sound, port, tmp_path, monkeypatch, seed, cuts=0, flips=0, reseals=0, few=False):
    name, stopped, patterns, commands = CASES[case]
    source = sound(name, stopped)
    monkeypatch.chdir(tmp_path)
    targets = sorted({p.relative_to(source) for each in patterns for p in source.glob(each)})
    assert targets
    before = None
    for target in targets:
        whole = (source / target).read_bytes()
        ways = [*damages(whole, seed, cuts, flips), *resealed(target, whole, seed, reseals)]
        if few:
            ways = random.Random(f"{seed} {target}").sample(ways, 2)
        for what, data in ways:
            for folder in ("runs", "out"):
                shutil.rmtree(tmp_path / folder, ignore_errors=True)
            copy = shutil.copytree(source, tmp_path / "runs" / name) / target
            if data is None:
                copy.unlink()
                copy.mkdir()
            else:
                copy.write_bytes(data)
            where = f"{target}: {what}"
            replays = [p.stem for p in copy.parents[len(target.parts) - 1].glob("replays/*.replay")]
            assert set(answers(port, name, replays).values()) <= {200, 404, 422}, where
            for words in commands:
                files = contents(tmp_path)
                code, said = call(words)
                assert code in ((0,) if what == "sound" else (0, 1, 2)), f"{where}: {said}"
                assert "itself failed" not in said, f"{where}: {said}"
                assert "Traceback" not in said, where
                assert code == 0 or said.strip(), where
                if code and "right checksum" not in what:  # else the job may have begun to resume
                    assert contents(tmp_path) == files, f"{where}: {words} changed files"
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            before = before or peak
            assert peak - before < MOST_MEGABYTES, where


def flip(path):
    """Flip one bit in the middle of a file, which is in the data of all but tiny ones."""
    data = bytearray(path.read_bytes())
    data[len(data) * 3 // 4] ^= 4
    path.write_bytes(bytes(data))


def refuse(words, folder):
    """Run a command that must fail with one line and change nothing; return code and line."""
    files = contents(folder)
    code, said = call(words)
    assert said.count("\n") == 1, said
    assert contents(folder) == files
    return code, said.rstrip("\n")


RESUMING = {
    "eval": ["eval"],
    "nets": ["evolve", "nets"],
    "train": ["train"],
    "roles": ["evolve", "roles", "--engine", "local"],
}


@pytest.mark.parametrize("name", RESUMING)
def test_resuming_from_a_damaged_checkpoint_is_refused(name, sound, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = shutil.copytree(sound(name, True), tmp_path / "runs" / name)
    *older, newest = sorted((folder / "checkpoints").iterdir())
    flip(newest)
    damaged = f"runs/{name}/checkpoints/{newest.name}"
    advice = f"To resume from the intact {older[-1].name}, remove {damaged}." if older else (
        "The run has no older checkpoint that is intact: start it again without --resume."
    )  # fmt: skip
    assert refuse([*RESUMING[name], "--resume", f"runs/{name}"], tmp_path) == (
        1,
        f"The checkpoint {damaged} is damaged: its SHA-256 checksum is wrong. {advice}",
    )
    if older:
        newest.unlink()
        code, said = call([*RESUMING[name], "--resume", f"runs/{name}"])
        assert code == 0, said
        packed = "events.jsonl.gz"
        assert (folder / packed).read_bytes() == (sound(name, False) / packed).read_bytes()


def test_a_damaged_policy_names_intact_versions(sound, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    slot = shutil.copytree(sound("train", False), tmp_path / "runs" / "train") / "policies" / "main"
    *older, newest = sorted(slot.iterdir())
    flip(newest)
    relative = "runs/train/policies/main"
    versions = ", ".join(f"file:{relative}/{path.name}" for path in reversed(older))
    advice = f"Intact versions of this policy: {versions}." if older else (
        "No other version of this policy is intact."
    )  # fmt: skip
    for slot in (
        f"a=file:{relative}/{newest.name}",
        f"a=kin://mlp?weights={relative}/{newest.name}",
    ):
        words = ["eval", "--world", "probe", "--slot", slot, "--episodes", "1", "--out", "out"]
        assert refuse(words, tmp_path) == (
            1,
            f"{relative}/{newest.name} is damaged: its SHA-256 checksum is wrong. {advice}",
        )


def test_views_and_exports_of_a_damaged_run_are_refused(sound, server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = shutil.copytree(sound("eval", False), tmp_path / "runs" / "eval")
    shutil.copytree(sound("roles", False), tmp_path / "runs" / "roles")
    flip(folder / "replays" / "game-00000.replay")
    code, said = refuse(["view", "runs/eval", "--export", "page.html"], tmp_path)
    assert code == 1
    assert said.startswith("runs/eval/replays/game-00000.replay is damaged: the FRAM record of ")
    again = "To record it again, remove it and run: kinfolk view runs/eval --episode 0"
    assert said.endswith(f"is not what was written. {again}")
    assert 422 in answers(server, "eval", ["game-00000"]).values()
    history = tmp_path / "runs" / "roles" / "role_history.json"
    text = history.read_text()
    history.write_text(text.replace('"games": ', '"games": 1', 1))
    backup = "runs/roles/role_history.1.json"
    assert refuse(["export", "phylogeny", "runs/roles"], tmp_path) == (
        1,
        "runs/roles/role_history.json is damaged: its SHA-256 checksum is wrong. If you edited it, set "
        f'its "sha256" to null. The earlier version {backup} is intact.',
    )
    packed = folder / "events.jsonl.gz"
    lines = gzip.decompress(packed.read_bytes()).replace(b'"ticks": ', b'"ticks": 1', 1)
    packed.write_bytes(gzip.compress(lines))
    results = ["export", "metrics", "runs/eval"]
    for words in (results, ["eval", "--resume", "runs/eval"]):
        assert refuse(words, tmp_path) == (
            1,
            "runs/eval/events.jsonl.gz is damaged: line 1 is not what was written (its SHA-256 "
            "checksum is missing or wrong). The run's policies and replays can still be used; its "
            "results need a new run.",
        )
    flip(folder / "settings.json")
    for words in (results, ["eval", "--resume", "runs/eval"], ["view", "runs/eval"]):
        assert refuse(words, tmp_path) == (
            1,
            "runs/eval/settings.json is damaged: its SHA-256 checksum is wrong. A run cannot be used "
            "without its settings: start it again.",
        )


@pytest.mark.parametrize("case", ["stopped"])
def test_a_damaged_file_is_a_sentence(case, sound, server, tmp_path, monkeypatch):
    check(case, sound, server, tmp_path, monkeypatch, seed=7, cuts=2, flips=1, few=True)


@pytest.mark.more
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("case", list(CASES))
def test_files_damaged_in_many_places_are_sentences(case, sound, server, tmp_path, monkeypatch):
    check(case, sound, server, tmp_path, monkeypatch, seed=11, cuts=3, flips=4, reseals=12)


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("case", list(CASES))
def test_two_hundred_changed_files_with_right_checksums_are_sentences(
    case, sound, server, tmp_path, monkeypatch
):
    check(case, sound, server, tmp_path, monkeypatch, seed=13, reseals=200)


@pytest.mark.more
def test_damaged_traces_are_sentences(golden, tmp_path):
    path = tmp_path / "trace.json.gz"
    data = (golden / "shared_r2_s2.json.gz").read_bytes()
    unpacked = gzip.decompress(data)
    packed = [gzip.compress(bad, 1) for _, bad in damages(unpacked, 3, 3, 8) if bad is not None]
    for bad in [*(bad for _, bad in damages(data, 5, 6, 12)), *packed[1:]]:
        if bad is None:
            path = tmp_path / "folder.json.gz"
            path.mkdir()
        else:
            path = tmp_path / "trace.json.gz"
            path.write_bytes(bad)
        code, said = call(["replay-trace", str(path)])
        assert code in (0, 1, 2)
        assert "itself failed" not in said, said


def test_a_damaged_line_of_timings_is_said_once(sound, tmp_path, monkeypatch):
    shutil.copytree(sound("eval", False), tmp_path / "runs" / "eval")
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "runs" / "eval" / "timings.jsonl"
    whole = path.read_text()
    for extra, count in (("nonsense\n", "1 line"), ('{"slots": 3}\n[]\n', "2 lines")):
        path.write_text(extra + whole)
        for words in ([], ["--json"]):
            code, said = call(["eval", "--resume", "runs/eval", *words])
            assert (code, said) == (0, f"runs/eval/timings.jsonl is damaged: {count} left out.\n")
