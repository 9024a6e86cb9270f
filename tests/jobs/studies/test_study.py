"""A study from its plan to its report: the same on every engine, resumed to the same bytes."""

import os
import signal
import subprocess
import sys
import time

import pytest

import kinfolk as kf
from kinfolk.core.errors import UsageError
from kinfolk.core.events import Event, FileChunk, Snapshot, TimingEvent
from kinfolk.engines import make_engine
from kinfolk.engines.base import LocalEngine
from kinfolk.evaluation.run_summary import summarize_run
from kinfolk.jobs.studies.checks import check_plan
from kinfolk.jobs.studies.job import study
from kinfolk.jobs.studies.plan import StudyMetric
from kinfolk.jobs.studies.points import compute_metric
from kinfolk.jobs.studies.settings import Study
from kinfolk.store.run import open_run
from kinfolk.testing.contracts.job import JobContract
from kinfolk.viewer.reports.report import build_report

# A tiny training whose nets then meet in a table: two stages, policies handed from one to the other.
STAGES = """
title = "Two stages"
question = "Do nets that learnt for longer earn more?"
known = "Nothing."
method = "Nets are trained, and their versions meet."
stopping_rule = "All runs are done."
seeds = 6
limits = ["It is tiny."]
[stages.train]
job = "train"
about = "nets are trained"
seconds = 1.0
[stages.train.settings]
world = "probe"
steps = 400
worlds = 2
rollout_length = 8
checkpoint_every = 1
slots = { grazers = "kin://mlp", hunters = "kin://mlp" }
agent_slot_map = { grazer = "grazers", hunter = "hunters" }
[stages.train.factors.gamma]
low = { ppo = { gamma = 0.5 } }
high = { ppo = { gamma = 0.99 } }
[stages.meet]
job = "eval"
about = "versions meet"
seconds = 1.0
seed_offset = 1000
conditions_of = "train"
[stages.meet.settings]
world = "probe"
episodes = 2
agent_slot_map = { grazer = "grazers", hunter = "hunters" }
slots = { hunters = "stage:train[low]/hunters@first" }
[stages.meet.factors.grazers]
first = { slots = { grazers = "stage:train/grazers@first" } }
last = { slots = { grazers = "stage:train/grazers@latest" } }
[metrics.earned]
stage = "meet"
column = "return.grazers"
about = "return of grazers"
[[hypotheses]]
name = "learning"
claim = "Later nets earn more."
metric = "earned"
factor = "grazers"
levels = ["last", "first"]
predict = "higher"
refuted_by = "less"
[quick]
seeds = 2
seconds = { train = 1.0, meet = 1.0 }
"""


def items_of(text, quick=True, engine=None, resume=None):
    return list(study(Study(name="mine", text=text, quick=quick), engine or LocalEngine(), resume))


def files_of(items):
    return {item.path: item.data for item in items if isinstance(item, FileChunk)}


class TestStudyContract(JobContract):
    @pytest.fixture
    def start(self, tiny):
        return lambda resume: iter(items_of(tiny, resume=resume))


def test_a_full_study_decides_by_the_numbers_of_its_runs(tiny):
    items = items_of(tiny, quick=False)
    runs = [item for item in items if isinstance(item, Event) and item.kind == "study_point_done"]
    assert [(run.condition, run.seed) for run in runs[7:9]] == [("0.1", 7), ("0.2", 0)]
    alone = kf.evaluate(
        "probe", slots={"all": "kin://random"}, episodes=20, seed=0, world_settings={"growth": 0.2}
    )
    assert runs[8].values == {"earned": pytest.approx(alone.returns["all"].mean)}
    done = items[-1]
    assert [row.condition for row in done.estimates] == ["0.1", "0.2", "0.4"]
    assert done.estimates[1].values == [run.values["earned"] for run in runs[8:16]]
    assert done.verdicts[0].verdict == "supported"


def test_the_report_tells_all_of_it(tiny):
    files = files_of(items_of(tiny, quick=False))
    assert sorted(files) == ["figure-earned.svg", "report.html", "report.md", "table.csv"]
    text = files["report.md"].decode()
    for heading in ("In short", "Question", "Hypotheses", "Method", "Verdicts", "Results", "Limits",
                    "How to repeat it", "Settings of the levels", "The plan as registered"):  # fmt: skip
        assert f"\n## {heading}\n" in text
    assert (
        "**Supported.** Claim: The faster food grows, the more the agents earn. Measured (earned: slope of "
        in text
    )
    assert tiny.strip() in text
    page = files["report.html"].decode()
    assert page.count("data:image/svg+xml;base64,") == 1
    assert "http" not in page.replace("http://www.w3.org", "")


@pytest.mark.train
@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            "stage:train/grazers@first",
            "stage:train/grazer@first",
            "mine.toml, stages.meet, condition 'low / first': 'stage:train/grazer@first': stage train makes no "
            "policy 'grazer'. Did you mean 'grazers'? Known: grazers, hunters.",
        ),
        (
            "stage:train[low]/hunters",
            "stage:train[medium]/hunters",
            "mine.toml, stages.meet, condition 'low / first': 'stage:train[medium]/hunters@first': stage train "
            "has no condition 'medium'. Known: low, high.",
        ),
        (
            'conditions_of = "train"\n',
            "",
            "mine.toml, stages.meet, condition 'first': 'stage:train/grazers' leaves open of which gamma the "
            "policy is. Write stage:train[CONDITION]/grazers, or conditions_of = 'train'.",
        ),
        (
            '[stages.meet.settings]\nworld = "probe"\n',
            "[stages.meet.settings]\n",
            "mine.toml, stages.meet.settings has no world. conditions_of = 'train' takes over the factors of train "
            "with their preset and world_settings, not its settings: write world = 'probe'.",
        ),
    ],
)
def test_a_policy_that_no_stage_makes_is_refused_before_anything_is_run(before, after, message):
    with pytest.raises(UsageError) as caught:
        check_plan("mine", STAGES.replace(before, after))
    assert str(caught.value) == message


@pytest.mark.train
@pytest.mark.more
def test_a_stage_plays_the_policies_that_another_one_made():
    items = items_of(STAGES)
    files = files_of(items)
    assert "policies/train-low-0-grazers-first/best.safetensors" in files
    assert "policies/train-high-1-grazers-latest/best.safetensors" in files
    first = files["policies/train-low-0-grazers-first/best.safetensors"]
    assert first != files["policies/train-low-0-grazers-latest/best.safetensors"]
    assert "policies/train-high-0-hunters-first/best.safetensors" not in files  # nobody plays it
    snapshots = [item for item in items if isinstance(item, Snapshot)]
    middle = items.index(snapshots[3])  # the second stage needs policies of the first
    again = items_of(STAGES, resume=snapshots[3])
    events = [i for i in items[middle + 1 :] if isinstance(i, Event)]
    assert [e for e in again if isinstance(e, Event) and not isinstance(e, TimingEvent)] == [
        e for e in events if not isinstance(e, TimingEvent)
    ]
    assert files_of(again)["report.html"] == files["report.html"]


@pytest.mark.more
def test_every_engine_writes_the_same_files(tiny):
    expected = files_of(items_of(tiny))
    engine = make_engine("processes", 2)
    try:
        assert files_of(items_of(tiny, engine=engine)) == expected
    finally:
        engine.close()


@pytest.mark.more
def test_a_killed_study_resumes_to_the_same_report(tiny, tmp_path):
    (tmp_path / "mine.toml").write_text(tiny)
    words = [sys.executable, "-m", "kinfolk", "study"]
    options = {"cwd": tmp_path, "capture_output": True, "text": True, "timeout": 280}
    whole = subprocess.run([*words, "mine.toml", "--engine", "local", "--out", "whole"], **options)
    assert whole.returncode == 0, whole.stderr
    killed = subprocess.Popen(
        [*words, "mine.toml", "--engine", "local", "--out", "killed"], cwd=tmp_path,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    checkpoints = tmp_path / "killed" / "checkpoints"
    deadline = time.monotonic() + 250
    while not list(checkpoints.glob("*.safetensors")) and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    assert open_run(tmp_path / "killed").status == "stopped"
    (tmp_path / "mine.toml").write_text(tiny + "# changed")
    other = subprocess.run([*words, "mine.toml", "--resume", "killed"], **options)
    assert other.returncode == 2
    assert "mine.toml is now another one" in other.stderr
    resumed = subprocess.run([*words, "--resume", "killed", "--engine", "local"], **options)
    assert resumed.returncode == 0, resumed.stderr
    assert "has changed or is gone; the study goes on with its registered plan." in resumed.stderr
    for name in ("report.md", "report.html", "table.csv", "events.jsonl.gz"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    verified = subprocess.run(
        [sys.executable, "-m", "kinfolk", "verify", "whole/capsule.zip"], **options
    )
    assert verified.returncode == 0, verified.stdout + verified.stderr


def test_a_study_in_python_has_verdicts_a_report_and_a_page(tiny, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(tiny)
    result = kf.study(path, quick=True, out=tmp_path / "run")
    assert repr(result).splitlines()[0] == (
        "StudyResult: Does food grow a population? (tiny) (2 seeds, a quick run that decides nothing)"
    )
    assert result.report.read_text().startswith("<!DOCTYPE html>")
    assert (tmp_path / "run" / "capsule.zip").exists()
    assert list(result.columns()) == ["stage", "condition", "metric", "seed", "value"]
    assert kf.StudyResult.from_dict(result.to_dict()).verdicts == result.verdicts
    page = build_report(open_run(tmp_path / "run"))
    assert page["pages"] == ["report.html"]
    verdicts = next(block for block in page["blocks"] if block["title"] == "Verdicts")
    assert verdicts["lines"][0] == (
        "Not decided. Claim: The faster food grows, the more the agents earn. A quick run decides nothing."
    )
    assert [row["name"] for row in page["blocks"][3]["rows"]] == [
        "growth = 0.1", "growth = 0.2", "growth = 0.4",
    ]  # fmt: skip
    assert result.plot().axes[0].get_xlabel() == "growth"
    with pytest.raises(UsageError, match="The study has no metric 'lost'"):
        result.plot(metric="lost")
    assert summarize_run(open_run(tmp_path / "run")).headline == "mine: 2 not decided, a quick run"


def test_metrics_are_means_of_columns_their_differences_and_ratios():
    table = {"a": [4.0, None, 2.0], "b": [1.0, 1.0, 1.0], "zero": [0.0], "empty": [None]}

    def value(**fields):
        return compute_metric(StudyMetric(stage="s", about="x", **fields), table)

    assert value(column="a") == 3.0
    assert value(column="a", minus="b") == 2.0
    assert value(column="a", minus="b", divided_by="a") == pytest.approx(2 / 3)
    assert value(column="a", divided_by="zero") is None
    assert value(column="empty") is None
    assert value(column="nowhere", missing=0.0) == 0.0
