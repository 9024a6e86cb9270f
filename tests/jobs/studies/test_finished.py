"""The files of a finished study: what a report marks, what is checked when it is resumed, the page of the documents."""

import importlib.util
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.cli.app import main
from kinfolk.core.errors import DamagedRunError
from kinfolk.core.events import Snapshot
from kinfolk.evaluation.statistics import estimate_mean
from kinfolk.jobs.studies.packing import pack_study
from kinfolk.jobs.studies.report import tabulate_estimates
from kinfolk.jobs.studies.results import ConditionEstimate
from kinfolk.store.arrays import PolicyFile, make_policy_chunk
from kinfolk.store.checkpoints import LogPosition, save_snapshot
from kinfolk.store.run import open_run

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def quick_run(tmp_path_factory, tiny):
    """The folder of a quick study that has ended; do not change it."""
    folder = tmp_path_factory.mktemp("studies")
    (folder / "mine.toml").write_text(tiny)
    kf.study(folder / "mine.toml", quick=True, out=folder / "run")
    return folder / "run"


@pytest.fixture
def run(quick_run, tmp_path):
    """A copy of the finished study."""
    shutil.copytree(quick_run, tmp_path / "run")
    return open_run(tmp_path / "run")


def test_emphasis_is_rendered_and_marks_of_a_quick_report_are_explained(quick_run):
    text, page = ((quick_run / name).read_text() for name in ("report.md", "report.html"))
    assert "Student's t over seeds (95 %); <em>simultaneous</em> ones are wider" in page
    footnote = " An interval of skewed values, or of fewer than 6: it may cover the true mean in less than 90 % of cases."
    assert f"\n\n\\*{footnote}\n\n" in text
    assert f"<p>*{footnote}</p>" in page
    rows = [line for line in text.splitlines() if line.startswith("| 0.")][:3]
    assert all(row.endswith("\\* |") for row in rows), rows


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([113.0, 113.0], "113.0 (113.0 to 113.0)\\*"),
        ([113.0] * 6, "113.0 (113.0 to 113.0)"),
        ([113.0, None], "113.0 (no interval), n = 1"),
    ],
)
def test_the_interval_of_few_equal_values_is_marked(values, shown):
    numbers = np.array([value for value in values if value is not None])
    row = ConditionEstimate("m", "play", "a", {"f": "a"}, estimate_mean(numbers), values)
    assert tabulate_estimates([row], len(values)).rows == [["a", shown]]


def test_files_of_a_finished_study_that_were_edited_are_written_again(run, capsys):
    names = ("table.csv", "report.md", "report.html", "figure-earned.svg")
    before = {name: (run.folder / name).read_bytes() for name in names}
    for name in names:
        (run.folder / name).write_text("edited")
    with pytest.raises(SystemExit) as left:
        main(["study", "--resume", str(run.folder), "--engine", "local"])
    assert left.value.code == 0
    said = capsys.readouterr().err
    for name in names:
        assert (run.folder / name).read_bytes() == before[name]
        assert (
            f"{run.folder / name} was not what the study stored, and was written again.\n" in said
        )
    assert pack_study(run, was_done=True) == []


def test_a_report_that_was_edited_is_not_packed(run):
    before = (run.folder / "report.md").read_bytes()
    (run.folder / "report.md").write_text("edited")
    (run.folder / "capsule.zip").unlink()
    assert pack_study(run, was_done=True) == ["report.md"]
    with zipfile.ZipFile(run.folder / "capsule.zip") as capsule:
        assert capsule.read("report.md") == before


def test_a_damaged_capsule_is_refused_with_what_to_do(run):
    path = run.folder / "capsule.zip"
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(DamagedRunError) as caught:
        pack_study(run, was_done=True)
    assert str(caught.value).startswith(f"{path} is not a capsule, or it is damaged: ")
    assert str(caught.value).endswith(f" Remove {path} to have it written again.")


def put_damaged_policy(run):
    """Give a study a policy of which a byte was flipped; return its path and what was stored."""
    chunk = make_policy_chunk(
        "train-low-0-prey-latest", "best", PolicyFile("a.B", {}, {"x": np.ones(4)})
    )
    path = run.folder / chunk.path
    path.parent.mkdir(parents=True)
    path.write_bytes(chunk.data[:-1] + b"\x01")
    (run.folder / "capsule.zip").unlink()
    return path, chunk.data


def test_a_damaged_policy_is_written_again_from_the_last_checkpoint(run):
    path, data = put_damaged_policy(run)
    arrays = {"train\tlow\t0\tprey@latest": np.frombuffer(data, np.uint8)}
    last = run.checkpoints()[-1]
    save_snapshot(last, Snapshot(step=int(last.stem), arrays=arrays, notes={}), LogPosition())
    assert pack_study(run) == ["policies/train-low-0-prey-latest/best.safetensors"]
    assert path.read_bytes() == data
    with zipfile.ZipFile(run.folder / "capsule.zip") as capsule:
        assert capsule.read("policies/train-low-0-prey-latest/best.safetensors") == data


def test_a_damaged_policy_without_a_copy_is_not_packed(run):
    path, _ = put_damaged_policy(run)
    for checkpoint in run.checkpoints():
        checkpoint.unlink()
    with pytest.raises(DamagedRunError) as caught:
        pack_study(run)
    assert str(caught.value) == (
        f"{path} is damaged: its SHA-256 checksum is wrong. No checkpoint of the study holds a copy of it: run "
        "the study again."
    )
    assert not (run.folder / "capsule.zip").exists()


def test_the_page_of_a_study_in_the_documents_says_where_the_plan_is(run, tmp_path, monkeypatch):
    place = ROOT / "docs" / "results" / "studies" / "add.py"
    spec = importlib.util.spec_from_file_location("add", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "FOLDER", tmp_path)
    (tmp_path / "after.toml").write_text("")
    text = module.add_report(run.folder).read_text()
    assert "## The plan as registered" not in text
    assert "which the plan below has" not in text
    assert (
        "\n\nWhat each level adds to the settings of its stage, which the plan has: `kinfolk study mine --show` "
        "prints it.\n\n"
    ) in text
