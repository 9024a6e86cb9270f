"""No damaged copy of a file is loaded in silence, and none takes memory that it does not need.

Copies are damaged by a seed; then files are changed and get their right checksums again, as a file
of another program might have them. Each is loaded by the function that kinfolk loads it with.
"""

import gzip
import tracemalloc
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from tests.store import damage

from kinfolk.core.errors import KinfolkError
from kinfolk.core.events import Event, Snapshot, TimingEvent
from kinfolk.evaluation.rollout import evaluation_task
from kinfolk.nets.registry import load_nets, make_nets, save_nets
from kinfolk.play.task import WorldRef
from kinfolk.policies.resolve import resolve
from kinfolk.policies.scripted.cogsguard.catalog import cogs_catalog
from kinfolk.replay.codec import FRAMES, MAX_PAYLOAD_BYTES
from kinfolk.replay.reader import Replay
from kinfolk.replay.record import record_replay
from kinfolk.roles.history import HistoryWriter
from kinfolk.roles.history_file import read_history
from kinfolk.store.arrays import PolicyFile, read_arrays, read_policy, write_policy
from kinfolk.store.checkpoints import load_snapshot
from kinfolk.store.run import create_run, open_run

TASK = evaluation_task(WorldRef("probe"), {"all": resolve("kin://probe-explaining")}, 3, range(1))
SPARE_BYTES = 6 * 2**20  # beyond a multiple of the file: objects of JSON, messages, caches


@dataclass(frozen=True, kw_only=True)
class Scored(Event):
    kind: ClassVar[str] = "scored"
    value: float


@dataclass(frozen=True, kw_only=True)
class Timed(TimingEvent):
    seconds: float


def plain(value: Any) -> Any:
    """Return a value in a form that can be compared, with arrays as lists of bytes."""
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape, value.tobytes())
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def load_checkpoint(path):
    snapshot, position = load_snapshot(path)
    return [snapshot.step, dict(snapshot.arrays), snapshot.notes, list(position)]


def load_all_records(path):
    replay = Replay(path)
    replay.require_complete()
    parts = [replay.head(), replay.result(), replay.ticks]
    for index in range(len(replay.records[FRAMES])):
        parts += [replay.columns(index), replay.events(index), replay.series(index)]
    return parts


def resume(path):
    run = open_run(path.parent)
    try:
        snapshot = run.open_for_writing()
    finally:
        run.close_after_error()
    return [snapshot.step, list(run.events())]


def load_timings(path):
    log = open_run(path.parent).timings()
    return log.lines


# By kind: the file in the run, what loads it, what gives a changed one its checksums again.
KINDS = {
    "settings": ("settings.json", lambda p: open_run(p.parent).config, damage.reseal_document),
    "events": ("events.jsonl", resume, damage.reseal_log),
    "packed events": ("done/events.jsonl.gz", lambda p: list(open_run(p.parent).events()), None),
    "timings": ("timings.jsonl", load_timings, damage.reseal_timings),
    "checkpoint": ("checkpoints/00000040.safetensors", load_checkpoint, damage.reseal_document),
    "policy": ("policies/main/best.safetensors", read_policy, damage.reseal_document),
    "weights": ("policies/main/best.safetensors", read_arrays, damage.reseal_document),
    "nets": ("nets.safetensors", lambda p: load_nets(p).to_arrays(), damage.reseal_document),
    "history": ("role_history.json", lambda p: read_history(p).model_dump(), damage.reseal_document),
    "replay": ("replays/game-00000.replay", load_all_records, damage.reseal_replay),
}  # fmt: skip


def repack(data):
    """Change the events within a compressed log, and give their lines the right checksums."""
    return gzip.compress(damage.reseal_log(data), mtime=0)


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """Make one sound file of each kind; return the folder of the run."""
    rng = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("sound") / "run"
    run = create_run(
        folder, "count", {"rate": 0.5, "slots": {"a": "kin://random"}, "seeds": [1, 2]}
    )
    done = create_run(folder / "done", "count", {})
    for each in (run, done):
        each.open_for_writing()
        for number in range(40):
            each.append(Scored(step=number, value=number / 7))
            each.append_timing(Timed(step=number, seconds=number / 3))
    arrays = {"w": rng.random((40, 30), np.float32), "n": np.arange(9), "b": rng.random(7) < 0.5}
    for step in (20, 40):
        run.checkpoint(
            Snapshot(step=step, arrays=arrays, notes={"best": 0.25, "names": ["a", "b"]})
        )
    run.close()
    done.finish()
    policy = PolicyFile("kinfolk.nothing:Policy", {"hidden": [30], "seed": 4}, arrays)
    for version in ("best", "00000020"):
        write_policy(folder / "policies" / "main" / f"{version}.safetensors", policy)
    save_nets(folder / "nets.safetensors", make_nets("feedforward", 6, 4, 2, key=3))
    text = HistoryWriter().format(cogs_catalog(), generation=3, seed=0, games=12)
    (folder / "role_history.json").write_text(text)
    (folder / "replays").mkdir()
    (folder / "replays" / "game-00000.replay").write_bytes(b"".join(record_replay(TASK, 0)))
    return folder


def load_copy(path, data, load, limit):
    """Write and load a copy; return its content or the error message, and check its memory.

    Any error but those of kinfolk fails the test: a user would see a traceback.
    """
    path.write_bytes(data)
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    try:
        return plain(load(path)), None
    except KinfolkError as error:
        return None, str(error)
    finally:
        peak = tracemalloc.get_traced_memory()[1] - before
        assert peak < limit, f"{peak:,} bytes for a file of {len(data):,}"


def check_copies(kind, sound, count, resealed_count, seed):
    """Load damaged and resealed copies of one kind; return how many of each were refused."""
    name, load, reseal = KINDS[kind]
    path = sound / name
    data = path.read_bytes()
    expected = plain(load(path))
    # A resealed replay may unpack to as much as a record may hold, and expand that once.
    limits = (4 * len(data) + SPARE_BYTES, 8 * len(data) + SPARE_BYTES + 3 * MAX_PAYLOAD_BYTES)
    refused = [0, 0]
    tracemalloc.start()
    try:
        for what, copy in damage.damaged_copies(data, count, seed):
            content, message = load_copy(path, copy, load, limits[0])
            if message is None:
                check_harmless(kind, content, expected, what)
            else:
                refused[0] += 1
                assert str(path) in message or str(sound) in message, message
        source = gzip.decompress(data) if reseal is None else data
        limit = limits[1] if kind == "replay" else limits[0]
        for _, copy in damage.damaged_copies(source, resealed_count, seed + 1):
            copy = repack(copy) if reseal is None else reseal(copy)
            refused[1] += load_copy(path, copy, load, limit)[1] is not None
    finally:
        tracemalloc.stop()
        path.write_bytes(data)
    return refused


def check_harmless(kind, content, expected, what):
    """Check that a damaged copy that was loaded has nothing in it that was not written."""
    if kind == "timings":  # damaged lines are left out and counted; no result depends on them
        assert all(line in expected for line in content), what
    elif kind == "packed events":  # bits of gzip that hold no data
        assert content == expected, what
    else:
        pytest.fail(f"a {kind} file was loaded after a {what}")


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_copies_are_refused(kind, sound):
    refused, _ = check_copies(kind, sound, count=40, resealed_count=10, seed=7)
    assert refused == 40 or kind in ("timings", "packed events")


@pytest.mark.more
@pytest.mark.parametrize("kind", KINDS)
def test_a_thousand_damaged_copies_are_refused(kind, sound):
    refused, _ = check_copies(kind, sound, count=1000, resealed_count=200, seed=11)
    assert refused == 1000 or kind in ("timings", "packed events")


def test_the_same_files_load_when_they_are_sound(sound):
    for name, load, _ in KINDS.values():
        assert load(sound / name) is not None
    assert load_checkpoint(sound / KINDS["checkpoint"][0])[0] == 40
    assert len(load_timings(sound / "timings.jsonl")) == 40
