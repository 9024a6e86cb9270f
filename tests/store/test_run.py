import errno
import gzip
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from kinfolk.core.errors import DamagedRunError, StoreError, UsageError
from kinfolk.core.events import Event, Snapshot
from kinfolk.store.checkpoints import load_snapshot, save_snapshot
from kinfolk.store.integrity import open_line, seal, seal_line
from kinfolk.store.run import create_run, new_run_folder, open_run
from kinfolk.store.run_job import run_and_store
from kinfolk.store.run_list import list_runs


@dataclass(frozen=True, kw_only=True)
class Counted(Event):
    kind: ClassVar[str] = "counted"
    value: int


def counting(stop, fail_at=None):
    """A job: counts, and snapshots every third number."""

    def job(resume):
        start = 0 if resume is None else int(resume.arrays["at"][0])
        for number in range(start, stop):
            if number == fail_at:
                raise RuntimeError("stopped on purpose")
            yield Counted(step=number, value=number * number)
            if number % 3 == 2:
                yield Snapshot(
                    step=number + 1, arrays={"at": np.array([number + 1])}, notes={"n": number}
                )

    return job


@pytest.fixture
def run(tmp_path):
    return create_run(tmp_path / "runs" / "one", "count", {"stop": 10})


def test_everything_a_job_yields_is_stored_in_its_run(run):
    passed_on = list(run_and_store(run, counting(10)))
    again = open_run(run.folder)
    assert (
        [e["value"] for e in again.events()]
        == [e.value for e in passed_on]
        == [n * n for n in range(10)]
    )
    assert again.status == "done"
    assert again.config["settings"] == {"stop": 10}
    assert sorted(p.name for p in run.folder.iterdir()) == [
        "checkpoints", "events.jsonl.gz", "lock", "settings.json",
    ]  # fmt: skip


def test_only_the_last_three_checkpoints_are_kept(run):
    list(run_and_store(run, counting(30)))
    assert [p.stem for p in run.checkpoints()] == ["00000024", "00000027", "00000030"]


@pytest.mark.parametrize("fail_at", [0, 1, 3, 5, 8, 9])
def test_a_resumed_run_gives_the_same_bytes_as_an_uninterrupted_one(tmp_path, run, fail_at):
    whole = create_run(tmp_path / "whole", "count", {})
    list(run_and_store(whole, counting(10)))
    with pytest.raises(RuntimeError):
        list(run_and_store(run, counting(10, fail_at)))
    assert run.status == "stopped"
    list(run_and_store(open_run(run.folder), counting(10)))
    assert (run.folder / "events.jsonl.gz").read_bytes() == (
        whole.folder / "events.jsonl.gz"
    ).read_bytes()


def test_a_line_that_is_being_written_is_not_read_yet(run):
    run.open_for_writing()
    run.append(Counted(step=0, value=1))
    with (run.folder / "events.jsonl").open("ab") as file:
        file.write(b'{"kind": "coun')
    assert [event["value"] for event in run.events()] == [1]
    run.close()


def test_a_run_has_only_one_writer(run):
    run.open_for_writing()
    other = open_run(run.folder)
    assert other.status == "running"
    with pytest.raises(StoreError) as refused:
        other.open_for_writing()
    assert str(refused.value) == f"The run {run.folder} is being written by another process."
    run.close()
    assert other.status == "stopped"


def test_a_full_disk_stops_the_run_and_leaves_it_resumable(run, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("kinfolk.store.files.os.fsync", full)
        with pytest.raises(StoreError) as failed:
            list(run_and_store(run, counting(10)))
    assert str(failed.value) == (
        f"{run.folder / 'events.jsonl'} could not be written: the disk is full. The run can be resumed."
    )
    assert run.checkpoints() == []
    list(run_and_store(open_run(run.folder), counting(10)))
    assert [event["value"] for event in run.events()] == [n * n for n in range(10)]


def damage(run, name, data):
    (run.folder / name).write_bytes(data)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("settings.json", b"{", "{folder}/settings.json is damaged: Expecting property name enclosed in "
         "double quotes: line 1 column 2 (char 1)."),
        ("settings.json", b'{"format": 1}', "{folder}/settings.json has format 1; this kinfolk reads 4."
         " Earlier formats hold games by former rules of their worlds; CHANGELOG.md says what changed."),
        ("settings.json", b"[]", "{folder}/settings.json has format None; this kinfolk reads 4."),
        ("settings.json", b'{"format": 4, "job": "count", "settings": {}}', "{folder}/settings.json has "
         "no SHA-256 checksum: it is damaged, or of an earlier version of kinfolk, whose files are no "
         "longer read."),
        ("settings.json", seal(b'{"format": 4, "sha256": "%s"}' % (b"0" * 64)),
         "{folder}/settings.json is damaged: it names no job with its settings."),
        ("settings.json", seal(b'{"format": 4, "sha256": "%s"}' % (b"0" * 64)) + b" ",
         "{folder}/settings.json is damaged: its SHA-256 checksum is wrong."),
    ],
)  # fmt: skip
def test_damaged_settings_of_a_run_raise_an_error(run, name, data, message):
    damage(run, name, data)
    with pytest.raises(DamagedRunError) as refused:
        open_run(run.folder)
    advice = "A run cannot be used without its settings: start it again."
    assert str(refused.value) == f"{message.format(folder=run.folder)} {advice}"


def sealed_log(*texts):
    """Return a log of lines with the right checksums."""
    data, checksum = b"", ""
    for text in texts:
        line, checksum = seal_line(text, checksum)
        data += line
    return data


def log_damage(path, line):
    """Return the start of the error message for a line of a log that is damaged."""
    return (
        f"{path} is damaged: line {line} is not what was written (its SHA-256 checksum is missing or "
        "wrong)."
    )


def advise_restart(path):
    """Return what to do about the damaged log of a run without checkpoints."""
    return (
        "The run has no checkpoint; to resume it from its beginning, first remove the damage: "
        f"truncate --size=0 {path}"
    )


@pytest.mark.parametrize("second", [b"nonsense", b'{"kind": "a", "step": 2}', b""])
def test_a_damaged_event_is_named_by_its_line(run, second):
    first = sealed_log('{"kind": "a", "step": 1}')
    damage(run, "events.jsonl", first + second + b"\n")
    with pytest.raises(DamagedRunError) as refused:
        list(run.events())
    path = run.folder / "events.jsonl"
    assert str(refused.value) == f"{log_damage(path, 2)} {advise_restart(path)}"


@pytest.mark.parametrize("order", [(1, 2), (0, 2), (0, 2, 1), (0, 1, 1, 2), (1, 0, 2)])
def test_removed_moved_and_repeated_events_are_found(run, order):
    lines = sealed_log(*(f'{{"kind": "a", "step": {n}}}' for n in range(3))).splitlines(True)
    damage(run, "events.jsonl", b"".join(lines[n] for n in order))
    with pytest.raises(DamagedRunError) as refused:
        list(run.events())
    intact = next(i for i, number in enumerate(order) if i != number)
    path = run.folder / "events.jsonl"
    assert str(refused.value) == f"{log_damage(path, intact + 1)} {advise_restart(path)}"


def damage_line(run, number):
    """Stop a run of ten events at the eighth, flip a byte of a line of its log, and return the log."""
    with pytest.raises(RuntimeError):
        list(run_and_store(run, counting(10, fail_at=8)))
    path = run.folder / "events.jsonl"
    lines = path.read_bytes().splitlines(True)
    lines[number - 1] = lines[number - 1].replace(b"step", b"stop")
    path.write_bytes(b"".join(lines))
    return path


def test_a_run_that_is_damaged_before_its_checkpoints_is_said_to_be_lost_at_once(run):
    path = damage_line(run, 1)
    for read in (lambda: list(run.events()), open_run(run.folder).open_for_writing):
        with pytest.raises(DamagedRunError) as refused:
            read()
        assert str(refused.value) == (
            f"{log_damage(path, 1)} The run has no older checkpoint that is intact: start it again without "
            "--resume."
        )


def test_the_advice_for_a_damaged_log_makes_it_resume(run):
    path = damage_line(run, 6)
    *_, older, newest = run.checkpoints()
    size = len(b"".join(path.read_bytes().splitlines(True)[:5]))
    with pytest.raises(DamagedRunError) as refused:
        list(run.events())
    advice, _, remedy = str(refused.value).rpartition(": ")
    assert advice == (
        f"{log_damage(path, 6)} To resume the run from its checkpoint {older.name}, first remove the damage"
    )
    assert remedy == f"truncate --size={size} {path} && rm {newest}"
    subprocess.run(remedy, shell=True, check=True)
    assert [event.step for event in run_and_store(open_run(run.folder), counting(10))][-1] == 9


def test_truncated_compressed_events_raise_an_error(run):
    damage(run, "events.jsonl.gz", gzip.compress(b'{"kind": "a"}\n' * 50)[:-20])
    with pytest.raises(DamagedRunError, match=r"events\.jsonl\.gz is cut short or damaged"):
        list(run.events())


def test_a_truncated_checkpoint_raises_an_error_and_changes_nothing(run):
    with pytest.raises(RuntimeError):
        list(run_and_store(run, counting(10, fail_at=8)))
    newest = run.checkpoints()[-1]
    newest.write_bytes(newest.read_bytes()[:-3])
    (run.folder / ".unfinished-x").write_bytes(b"left by a killed writer")
    before = contents(run.folder)
    with pytest.raises(DamagedRunError) as refused:
        open_run(run.folder).open_for_writing()
    older = run.checkpoints()[-2]
    assert str(refused.value) == (
        f"The checkpoint {newest} is damaged: its SHA-256 checksum is wrong. "
        f"To resume from the intact {older.name}, remove {newest}."
    )
    assert contents(run.folder) == before


def contents(folder):
    """Return the bytes of all files of a run."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_without_an_intact_checkpoint_the_run_has_to_start_again(run):
    with pytest.raises(RuntimeError):
        list(run_and_store(run, counting(10, fail_at=8)))
    newest = run.checkpoints()[-1]
    for path in run.checkpoints():
        path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(DamagedRunError) as refused:
        open_run(run.folder).open_for_writing()
    assert str(refused.value) == (
        f"The checkpoint {newest} is damaged: its SHA-256 checksum is wrong. The run has no older "
        "checkpoint that is intact: start it again without --resume."
    )


def test_a_checkpoint_of_another_log_is_refused(run, tmp_path):
    with pytest.raises(RuntimeError):
        list(run_and_store(run, counting(10, fail_at=8)))
    log = run.folder / "events.jsonl"
    lines = log.read_bytes().splitlines(True)
    texts = [
        open_line(lines[0])[0].decode().replace('"value": 0', f'"value": {n}') for n in range(6)
    ]
    log.write_bytes(sealed_log(*texts))
    assert len(list(run.events())) == 6, "its own checksums are right"
    shorter = log.read_bytes()
    for path in run.checkpoints():
        snapshot, position = load_snapshot(path)
        save_snapshot(path, snapshot, position._replace(n_bytes=len(shorter)))
    with pytest.raises(DamagedRunError) as refused:
        open_run(run.folder).open_for_writing()
    assert str(refused.value) == (
        f"{log} is damaged: its lines are not those of its checkpoint. The run has no older "
        "checkpoint that is intact: start it again without --resume."
    )
    assert log.read_bytes() == shorter


def test_events_shorter_than_at_the_checkpoint_raise_an_error(run):
    with pytest.raises(RuntimeError):
        list(run_and_store(run, counting(10, fail_at=8)))
    damage(run, "events.jsonl", b"")
    with pytest.raises(DamagedRunError) as refused:
        open_run(run.folder).open_for_writing()
    path = run.folder / "events.jsonl"
    n_bytes = sum(len(Counted(step=n, value=n * n).to_json_line()) + 1 + 78 for n in range(6))
    assert str(refused.value) == (
        f"{path} is cut short: it has 0 bytes, and its checkpoint was written after {n_bytes}. The run "
        "has no older checkpoint that is intact: start it again without --resume."
    )
    assert path.read_bytes() == b""


@pytest.mark.parametrize(
    "line",
    ['{"kind": "a"}', '{"kind": [], "step": 1}', '{"step": 1}', '{"a": ' + "[" * 99_999 + "}"],
)
def test_a_line_without_kind_or_step_raises_an_error(run, line):
    damage(run, "events.jsonl", sealed_log(line))
    with pytest.raises(DamagedRunError) as refused:
        list(run.events())
    assert str(refused.value) == f"{run.folder}/events.jsonl is damaged: line 1 is not an event."


def test_runs_are_listed_newest_first_and_other_folders_are_skipped(tmp_path):
    for number, name in enumerate(("old", "new")):
        made = create_run(tmp_path / name, "count", {})
        os.utime(made.folder / "settings.json", (number, number))
    (tmp_path / "other").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "settings.json").write_text("{")
    runs = list(list_runs(tmp_path))
    assert [run.name for run in runs] == ["broken", "new", "old"]
    assert runs[0].problem.startswith(f"{tmp_path}/broken/settings.json is damaged: Expecting ")


def test_a_missing_run_suggests_the_most_similar_name(run):
    with pytest.raises(UsageError) as refused:
        open_run(run.folder.parent / "onne")
    assert (
        str(refused.value)
        == f"There is no run {run.folder.parent}/onne. Did you mean 'one'? Known: one."
    )
    with pytest.raises(DamagedRunError) as refused:
        open_run(run.folder.parent)
    assert str(refused.value) == (
        f"{run.folder.parent} is not a run: it has no settings.json. Runs in it: one."
    )


def test_a_folder_that_cannot_be_accessed_raises_an_error(tmp_path):
    folder = tmp_path / ("a" * 300)
    with pytest.raises(StoreError) as refused:
        create_run(folder, "count", {})
    assert str(refused.value) == f"{folder} could not be made: file name too long."


def test_creating_an_existing_run_raises_an_error(run):
    with pytest.raises(UsageError) as refused:
        create_run(run.folder, "count", {})
    assert str(refused.value) == (
        f"{run.folder} exists already. Choose another --out, or continue it with --resume."
    )


def test_jobs_that_start_at_the_same_moment_get_folders_of_their_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = new_run_folder("evolve_nets")
    with ThreadPoolExecutor(16) as pool:
        made = list(
            pool.map(lambda n: create_run(folder, "count", {"n": n}, may_rename=True), range(16))
        )
    names = {f"{folder.name}{ending}" for ending in ("", *(f"-{n}" for n in range(2, 17)))}
    assert {run.name for run in made} == names == {path.name for path in folder.parent.iterdir()}
    assert [open_run(run.folder).config["settings"]["n"] for run in made] == list(range(16))


def test_a_run_counts_as_running_until_it_is_finished(tmp_path, monkeypatch):
    from kinfolk.store import run as store_run

    run = create_run(tmp_path / "one", "probe", {})
    run.open_for_writing()
    run.append(Event(step=0))
    seen = []

    def look(path, data):
        seen.append(open_run(tmp_path / "one").status)
        write_atomic(path, data)

    write_atomic = store_run.write_atomic
    monkeypatch.setattr(store_run, "write_atomic", look)
    run.finish()
    assert seen == ["running"]
    assert open_run(tmp_path / "one").status == "done"


@pytest.mark.parametrize("name", ["events.jsonl", "timings.jsonl", "lock"])
def test_a_run_with_a_link_is_refused_and_the_file_behind_it_unchanged(tmp_path, name):
    create_run(tmp_path / "run", "count", {})
    precious = tmp_path / "precious.txt"
    precious.write_text("precious")
    link = tmp_path / "run" / name
    link.unlink(missing_ok=True)
    link.symlink_to(precious)
    with pytest.raises(DamagedRunError, match=f"'{name}' in it is a link, a pipe or a device"):
        list(run_and_store(open_run(tmp_path / "run"), counting(5)))
    assert precious.read_text() == "precious"


def test_a_run_whose_folder_of_checkpoints_is_a_link_is_refused(tmp_path):
    create_run(tmp_path / "run", "count", {})
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "run" / "checkpoints").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DamagedRunError, match="'checkpoints' in it is a link"):
        list(run_and_store(open_run(tmp_path / "run"), counting(5)))
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.timeout(10)
def test_a_pipe_in_a_run_does_not_stop_the_list_of_runs(tmp_path):
    create_run(tmp_path / "run", "count", {})
    os.mkfifo(tmp_path / "run" / "events.jsonl.gz")
    [found] = list_runs(tmp_path)
    assert "is a link, a pipe or a device" in found.problem
