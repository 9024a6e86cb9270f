"""`import kinfolk as kf`: what users reach, how fast, and how well it is typed."""

import inspect
import json
import subprocess
import sys

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.core.errors import SettingsError, UsageError
from kinfolk.testing.probe.world import ProbeWorld

CORRECT = """
import kinfolk as kf

world = kf.make("savanna", worlds=2, preset="shared_prey_r2", grid_size=25)
number: int = world.n_worlds
other = kf.make("gym:CartPole-v1", settings={"bins": 3})
result = kf.evaluate("savanna", slots={"all": "kin://random"}, episodes=3, isolate="slot")
mean: float = result.returns["all"].mean
text: str = kf.compare("kin://noop", "kin://random", metric="ticks").pairs["0 1"].better
settings = kf.jobs.EvolveRoles(generations=3, trigger="temple")
champion = kf.evolve_roles(generations=3, evolution={"mutation_rate": 0.1})
trained = kf.train("savanna", steps=1000, slots=[kf.PolicySlot(id="a", policy_uri="kin://mlp")])
evolved = kf.evolve_nets("gym:CartPole-v1", algorithm="cma", archive="ticks=0..9")
names: list[str] = [run.name for run in kf.runs()]
status: str = kf.load_run("runs/mine").status
plain: dict[str, object] = result.to_dict()
"""
MISTAKES = """
import kinfolk as kf

kf.evaluate("savanna", episods=3)
kf.make("savanna", grid_sise=25)
kf.evolute_roles(generations=3)
kf.jobs.EvolveRoles(generatons=3)
kf.evaluate("savanna").retruns
kf.evaluate("savanna", isolate="everybody")
kf.train(steps="many")
kf.compare("kin://noop", "kin://random").pairs["0 1"].p
kf.jobs.EvolveNets().populaton
kf.load_run("runs/mine").statuss
"""


def test_importing_kinfolk_imports_nothing_heavy():
    script = (
        "import sys, kinfolk as kf\ndir(kf), kf.jobs\n"
        "print(sorted({'torch', 'numba', 'numpy', 'pydantic', 'ray', 'typer'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


def test_only_public_names_are_listed():
    names = [name for name in dir(kf) if not name.startswith("__")]
    assert names == sorted(kf.__all__)
    names = [name for name in dir(kf.jobs) if not name.startswith("__")]
    assert set(names) | {"JOB_SETTINGS"} == set(kf.jobs.__all__)


def test_a_job_is_the_function_even_after_its_file_was_imported():

    assert inspect.isfunction(kf.jobs.evaluate)


def test_a_name_that_is_not_there_is_refused():
    with pytest.raises(AttributeError, match="module 'kinfolk' has no attribute 'evalute'"):
        kf.evalute  # noqa: B018, it is looked up


@pytest.fixture(scope="module")
def result():
    return kf.evaluate("probe", slots={"all": "kin://noop"}, episodes=2)


def test_a_result_has_typed_attributes_and_plain_values(result):
    assert type(result).__name__ == "EvaluationResult"
    assert (result.episodes, result.run) == (2, None)
    assert result.returns["all"].n == 2
    assert result.to_dict()["episodes"] == 2
    assert result.to_dict()["kind"] == "evaluated"


def test_a_result_can_be_read(result):
    lines = repr(result).splitlines()
    assert lines[:2] == ["EvaluationResult", "  episodes: 2"]
    assert any(line.startswith("  ticks: ") and line.endswith("(n = 2)") for line in lines)
    assert lines[lines.index("  returns") + 1].startswith("    all: ")
    assert max(map(len, lines)) <= 100


def test_the_class_of_a_world_stands_for_its_name():
    by_class = kf.evaluate(ProbeWorld, episodes=2)
    assert by_class == kf.evaluate("probe", episodes=2)
    assert np.array_equal(
        kf.make(ProbeWorld, seed=3).columns.uid, kf.make("probe", seed=3).columns.uid
    )


def test_the_class_of_a_world_in_a_notebook_cell_plays_in_this_process():
    class Local(ProbeWorld):
        pass

    cell = type("Cell", (ProbeWorld,), {"__module__": "__main__"})
    for world in (Local, cell):
        assert kf.evaluate(world, episodes=2) == kf.evaluate("probe", episodes=2)
        assert type(kf.make(world)) is world
        assert kf.metrics(world) == kf.metrics("probe")
        with pytest.raises(SettingsError) as caught:
            kf.evaluate(world, episodes=2, engine="processes", jobs=2)
        assert str(caught.value).startswith(f"The world class:local/{world.__name__}-")
        assert "put its class into a file and import it." in str(caught.value)


def test_an_instance_of_a_world_is_refused_with_what_to_pass():
    message = r"^A world is given by its name or its class, ProbeWorld, not as an instance\.$"
    for function in (kf.evaluate, kf.make, kf.metrics):
        with pytest.raises(SettingsError, match=message):
            function(kf.make("probe"))


def test_a_printed_comparison_says_who_is_better_in_the_sentence_of_the_command_line():
    both = {"grazer": "candidate", "hunter": "candidate"}
    compared = kf.compare("kin://random", "kin://noop", agent_slot_map=both, episodes=8)
    assert repr(compared).splitlines() == [
        "ComparisonResult: mean of return with its 95 % interval",
        "  kin://random: 438 (376 to 499), n = 8",
        "  kin://noop: 196 (175 to 218), n = 8",
        "  kin://random is better than kin://noop: by 241 (163 to 320), p = 0.0078, 8 common episodes.",
    ]
    assert repr(compared).splitlines()[3].strip() == compared.verdicts()[0]


TEAM = {"slots": {"g": "kin://probe-python", "h": "kin://random"}, "episodes": 3,
        "agent_slot_map": {"grazer": "g", "hunter": "h"}}  # fmt: skip


def test_equal_results_are_equal_wherever_they_are_stored(tmp_path):
    plain = kf.evaluate("probe", **TEAM)
    stored = kf.evaluate("probe", **TEAM, out=tmp_path / "mine")
    assert stored == plain
    assert stored.run is not None
    assert kf.evaluate("probe", **TEAM, isolate="slot") == plain
    assert kf.evaluate("probe", **TEAM, seed=1) != plain
    assert kf.evaluate("probe", **{**TEAM, "episodes": 2}) != plain
    assert plain != plain.to_dict()


def test_a_result_survives_json():
    plain = kf.evaluate("probe", **TEAM)
    facts = json.loads(json.dumps(plain.to_dict()))
    assert kf.EvaluationResult.from_dict(facts) == plain
    assert kf.EvaluationResult.from_dict(facts).returns["g"].mean == plain.returns["g"].mean
    facts["returns"]["g"][0] += 1e-9
    assert kf.EvaluationResult.from_dict(facts) != plain
    both = {"grazer": "candidate", "hunter": "candidate"}
    compared = kf.compare("kin://noop", "kin://random", agent_slot_map=both, episodes=3)
    restored = kf.ComparisonResult.from_dict(json.loads(json.dumps(compared.to_dict())))
    assert restored == compared


def test_wrong_facts_of_a_result_are_refused(result):
    facts = result.to_dict()
    with pytest.raises(SettingsError) as refused:
        kf.EvaluationResult.from_dict({**facts, "ticks": ["many", None, None, 2]})
    assert str(refused.value).startswith("EvaluationResult.ticks.0: Input should be a valid number")
    del facts["returns"]
    with pytest.raises(SettingsError) as refused:
        kf.EvaluationResult.from_dict(facts)
    assert str(refused.value) == "The facts of EvaluationResult have no 'returns'."


def test_parallel_policy_is_short_for_isolate_agent(result):
    short = kf.evaluate("probe", slots={"all": "kin://noop"}, episodes=2, parallel_policy=True)
    assert short == result
    with pytest.raises(UsageError) as refused:
        kf.evaluate("probe", parallel_policy=True, isolate="slot")
    assert str(refused.value) == (
        "parallel_policy is short for isolate='agent'; it does not go with isolate='slot'."
    )


def test_the_first_argument_is_the_world():
    with pytest.raises(UsageError, match=r"^No world is named 'savana'\. Did you mean 'savanna'\?"):
        kf.evaluate("savana")


def test_policies_are_compared_one_by_one():
    with pytest.raises(UsageError) as refused:
        kf.compare(["kin://noop", "kin://random"])
    assert str(refused.value) == (
        "compare takes policies one by one, as in compare('kin://noop', 'kin://random'); "
        "this one is no URI: ['kin://noop', 'kin://random']."
    )


def test_a_misspelt_setting_is_refused_at_run_time_too():
    with pytest.raises(SettingsError, match=r"^Evaluate has no setting 'episods'\. Did you mean"):
        kf.evaluate(episods=3)
    with pytest.raises(SettingsError, match=r"^Probe has no setting 'cels'\. Did you mean 'cells'"):
        kf.make("probe", cels=3)


def test_rules_come_by_name_or_as_a_table():
    assert kf.make("probe", cells=9).settings == kf.make("probe", settings={"cells": 9}).settings


@pytest.mark.parametrize(
    ("function", "model"),
    [
        ("evaluate", "Evaluate"),
        ("compare", "Compare"),
        ("train", "Train"),
        ("evolve_roles", "EvolveRoles"),
        ("evolve_nets", "EvolveNets"),
    ],
)
def test_signatures_name_every_setting_with_its_default(function, model):
    parameters = inspect.signature(getattr(kf, function)).parameters
    fields = getattr(kf.jobs, model).model_fields
    own = {"engine", "jobs", "out"} | ({"parallel_policy"} if function == "evaluate" else set())
    own |= {"env_kwargs"} if function == "train" else set()
    assert {*fields, *own} == set(parameters)
    for name, field in fields.items():
        if not field.is_required():
            assert parameters[name].default == field.default, name


def test_a_stored_run_is_listed_and_loaded(tmp_path):
    stored = kf.evaluate(slots={"all": "kin://noop"}, episodes=1, out=tmp_path / "mine")
    [run] = kf.runs(tmp_path)
    assert (run.name, run.job, run.status) == ("mine", "evaluate", "done")
    assert repr(run) == f"StoredRun('{tmp_path / 'mine'}': evaluate, done)"
    assert run.settings["slots"] == {"all": "kin://noop"}
    assert run.to_dict()["folder"] == str(tmp_path / "mine")
    assert stored.to_dict()["run"] == str(kf.load_run(tmp_path / "mine").folder)


def test_damaged_runs_are_warned_of(tmp_path):
    (tmp_path / "broken" / "checkpoints").mkdir(parents=True)
    (tmp_path / "broken" / "settings.json").write_text("{")
    with pytest.warns(UserWarning, match="^broken is damaged. "):
        assert kf.runs(tmp_path) == []


@pytest.mark.more
def test_a_type_checker_finds_every_mistake_and_no_other(tmp_path):
    (tmp_path / "correct.py").write_text(CORRECT)
    (tmp_path / "mistakes.py").write_text(MISTAKES)
    words = ["-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "--config-file="]
    done = subprocess.run(
        [sys.executable, *words, "correct.py", "mistakes.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    errors = [line.split(":")[:2] for line in done.stdout.splitlines() if ": error:" in line]
    lines = [(name, int(number)) for name, number in errors]
    # An overloaded function, such as `make`, has two errors for one mistake.
    assert list(dict.fromkeys(lines)) == [("mistakes.py", n) for n in range(4, 14)], done.stdout
