"""`kinfolk replay-trace` goes through all files, whatever is wrong with one of them."""

import gzip
import json

import pytest

from kinfolk.cli.app import main
from kinfolk.worlds.savanna.io import golden_trace as trace_module
from kinfolk.worlds.savanna.io.golden_trace import TraceDifference, TraceReplay

FOUND = {
    "good": TraceReplay(3, 1200, 0, None),
    "bad": TraceReplay(1, 400, 0, TraceDifference(1, "type_1_prey_0", "energy", 2.0, 3.0)),
}


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Five files, of which only the first and the last match; the rules are not played."""

    def replay(trace):
        return FOUND[trace["kind"]]

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(trace_module, "replay_golden_trace", replay)
    monkeypatch.setattr("kinfolk.cli.commands.replay_trace.compile_kernels", lambda *words: None)
    for name, kind in (("a", "good"), ("b", "bad"), ("e", "good")):
        data = gzip.compress(json.dumps({"kind": kind}).encode())
        (tmp_path / f"{name}.json.gz").write_bytes(data)
    (tmp_path / "c.json.gz").write_bytes(b"no gzip")
    (tmp_path / "d.json.gz").write_bytes(gzip.compress(b"{}"))
    return [f"{name}.json.gz" for name in "abcde"]


def test_all_files_are_compared_and_each_that_differs_is_named(files, capsys):
    with pytest.raises(SystemExit) as left:
        main(["replay-trace", *files])
    said = capsys.readouterr()
    assert left.value.code == 1
    assert said.err.splitlines() == [
        "b.json.gz: Step 1, type_1_prey_0: energy should be 2.0 and is 3.0.",
        "c.json.gz: is not a gzip file, or it is damaged.",
        "d.json.gz: cannot be replayed, with KeyError: 'kind'.",
    ]
    rows = [line.split() for line in said.out.splitlines() if ".json.gz" in line]
    assert [(row[0], row[-1]) for row in rows] == [
        ("a.json.gz", "matches"),
        ("b.json.gz", "differs"),
        ("c.json.gz", "error"),
        ("d.json.gz", "error"),
        ("e.json.gz", "matches"),
    ]


def test_the_document_has_an_entry_for_every_file(files, capsys):
    with pytest.raises(SystemExit) as left:
        main(["replay-trace", *files, "--json"])
    said = capsys.readouterr()
    assert (left.value.code, said.err) == (1, "")
    found = json.loads(said.out)
    assert [row["matches"] for row in found] == [True, False, False, False, True]
    assert found[1]["difference"]["field"] == "energy"
    assert [row["error"] for row in found] == [
        None,
        None,
        "is not a gzip file, or it is damaged.",
        "cannot be replayed, with KeyError: 'kind'.",
        None,
    ]


def test_files_that_match_leave_with_0_and_a_missing_one_is_said_first(files, capsys):
    with pytest.raises(SystemExit) as left:
        main(["replay-trace", files[0], files[4]])
    assert left.value.code == 0
    capsys.readouterr()
    with pytest.raises(SystemExit) as left:
        main(["replay-trace", files[0], "none.json.gz"])
    said = capsys.readouterr()
    assert (left.value.code, said.out, said.err) == (2, "", "There is no file none.json.gz.\n")


def test_scenes_of_cogsguard_are_told_apart_and_a_changed_number_is_named(golden, tmp_path, capsys):
    folder = golden.parent / "cogsguard"
    if not folder.is_dir():
        pytest.skip(f"There are no golden recordings in {folder}.")
    scene = json.loads(gzip.decompress((folder / "f_swap.json.gz").read_bytes()))
    scene["ticks"][1]["agents"][1][2] += 1
    changed = tmp_path / "changed.json.gz"
    changed.write_bytes(gzip.compress(json.dumps(scene).encode()))
    with pytest.raises(SystemExit) as left:
        main(["replay-trace", str(folder / "f_swap.json.gz"), str(changed)])
    said = capsys.readouterr()
    assert left.value.code == 1
    assert said.err.splitlines()[-1] == (
        f"{changed}: Scene f_swap, tick 2, agent 1: hp should be 49 and is 48."
    )
    rows = [line.split() for line in said.out.splitlines() if ".json.gz" in line]
    assert [(row[0], row[1], row[-1]) for row in rows] == [
        ("f_swap.json.gz", "6", "matches"),
        ("changed.json.gz", "1", "differs"),
    ]
