"""The page of tables names every column that commands write, and no other."""

import csv
import re
from pathlib import Path

import pytest

import kinfolk as kf
from kinfolk.cli.commands.export import phylogeny
from kinfolk.evaluation.statistics import Estimate
from kinfolk.jobs.scenarios.job import ScenarioScore, tabulate_scores
from kinfolk.play.results import Failure

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "tables.md"
SECTIONS = re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.M | re.S)
DOCUMENTED = {name: re.findall(r"^\| `([^`]+)` \|", text, re.M) for name, text in SECTIONS}
# Documented columns that are in runs of one kind only; each kind is looked at below.
OF_SOME_RUNS = {"agent_id", "operator", "fitness", "inherited", "inherited_fitness"}


def check(name, columns):
    """Compare the columns of a table with its section of the page."""
    patterns = {c: re.sub(r"[A-Z]+", "[^.]+", re.escape(c)) for c in DOCUMENTED[name]}
    used = set()
    for column in columns:
        fitting = {c for c, pattern in patterns.items() if re.fullmatch(pattern, column)}
        assert fitting, f"{name} has a column {column}, which the page does not have"
        used |= {column} if column in fitting else fitting
    assert set(patterns) - used <= OF_SOME_RUNS, "columns that only the page has"


def header(path):
    with path.open() as file:
        return next(csv.reader(file))


def test_columns_of_an_evaluation_and_of_its_family(tmp_path):
    kf.evaluate("probe", slots={"all": "kin://noop"}, episodes=1, out=tmp_path / "run")
    run = kf.load_run(tmp_path / "run")
    check("episodes", run.table("episodes"))
    check("agents", run.table("agents"))
    phylogeny(tmp_path / "run", out=tmp_path / "family.csv", form="csv", episode=0)
    check("phylogeny", header(tmp_path / "family.csv"))


def test_columns_of_failures():
    check("failures", ["episode", *Failure.__dataclass_fields__, "uri"])


def test_columns_of_scenarios():
    score = ScenarioScore(
        "a", "b", "resident", False, Estimate(1.0, 0.0, 2.0, 3), None, None, None, 0
    )
    check("scenarios.csv", tabulate_scores([score]))


@pytest.mark.more
def test_columns_of_meetings_sweeps_and_nets(tmp_path):
    players = ["kin://noop", "kin://random"]
    kf.tournament(*players, world="probe", games=1, out=tmp_path / "tournament")
    kf.crossplay(*players, world="probe", games=1, out=tmp_path / "crossplay")
    for run in ("tournament", "crossplay"):
        for path in (tmp_path / run).glob("*.csv"):
            check(path.name, header(path))
    kf.sweep("eval", world="probe", vary={"cells": [8, 12]}, seeds=1, out=tmp_path / "sweep")
    nets = {"task": "probe", "population": 4, "generations": 1}
    kf.sweep("evolve-nets", **nets, vary={"cells": [8]}, seeds=1, out=tmp_path / "nets")
    for name in ("sweep/table.csv", "sweep/summary.csv", "nets/curves.csv"):
        check(Path(name).name, header(tmp_path / name))
    kf.evolve_nets(**nets, out=tmp_path / "run")
    phylogeny(tmp_path / "run", out=tmp_path / "family.csv", form="csv", episode=0)
    columns = header(tmp_path / "family.csv")
    check("phylogeny", columns)
    assert columns[-3:] == ["fitness", "inherited", "inherited_fitness"]
