"""Fuzz: files of runs are damaged by a seed, and every command says so or works."""

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
        "games_per_generation": 8, "n_teams": 3, "survivors": 1, "population": 4, "finalists": 2,
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
    for name in ("metrics", "results", "roles"):
        get(f"/api/runs/{run}/{name}")
    for replay in replays:
        about = json.loads(get(f"/api/runs/{run}/replays/{replay}"))
        get(f"/api/runs/{run}/replays/{replay}/series")
        for i in range(len(about.get("chunks", ()))):
            get(f"/api/runs/{run}/replays/{replay}/frames/{i}")
    return found


def check(case, sound, port, tmp_path, monkeypatch, seed, cuts, flips, few=False):
    name, stopped, patterns, commands = CASES[case]
    source = sound(name, stopped)
    monkeypatch.chdir(tmp_path)
    targets = sorted({p.relative_to(source) for each in patterns for p in source.glob(each)})
    assert targets
    before = None
    for target in targets:
        ways = list(damages((source / target).read_bytes(), seed, cuts, flips))
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
                code, said = call(words)
                assert code in ((0,) if what == "sound" else (0, 1, 2)), f"{where}: {said}"
                assert "itself failed" not in said, f"{where}: {said}"
                assert "Traceback" not in said, where
                assert code == 0 or said.strip(), where
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            before = before or peak
            assert peak - before < MOST_MEGABYTES, where


@pytest.mark.parametrize("case", ["stopped"])
def test_a_damaged_file_is_a_sentence(case, sound, server, tmp_path, monkeypatch):
    check(case, sound, server, tmp_path, monkeypatch, seed=7, cuts=2, flips=1, few=True)


@pytest.mark.more
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("case", list(CASES))
def test_files_damaged_in_many_places_are_sentences(case, sound, server, tmp_path, monkeypatch):
    check(case, sound, server, tmp_path, monkeypatch, seed=11, cuts=6, flips=8)


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
