"""Metrics by name: each has a unit and a definition, and may be named wherever one is asked for."""

import json

import pytest

import kinfolk as kf
from kinfolk.cli.app import main
from kinfolk.core.errors import UsageError
from kinfolk.evaluation.metrics import describe_metrics
from kinfolk.play.task import WorldRef
from kinfolk.worlds import get_presets


@pytest.mark.parametrize("world", ["probe", "savanna", "cogsguard", "gym:CartPole-v1"])
def test_every_metric_of_every_world_has_a_unit_and_a_definition(world):
    for preset in (None, *get_presets(world)):
        for metric in describe_metrics(WorldRef(world, preset, {})):
            assert metric.unit, metric
            assert metric.definition, metric
            assert "{" not in metric.definition, metric


def test_metrics_of_variants_are_defined_too():
    from kinfolk.worlds.savanna.metric_definitions import METRIC_DEFINITIONS

    assert {"hunt_join_fraction", "free_ride_fraction"} <= set(METRIC_DEFINITIONS)


def test_a_definition_names_the_episodes_and_the_species_that_it_is_about():
    described = {metric.name: metric for metric in kf.metrics("savanna")}
    fraction = described["cooperative_meal_fraction_all_episodes"]
    assert fraction.unit == "fraction"
    assert fraction.definition == (
        "share of predators' meals at kills with two predators or more: a kill of three is three meals; "
        "over all episodes (full length: those that reached the time limit)"
    )
    assert described["mean_prey_alive"].definition == (
        "living agents of the species prey, mean over max_steps ticks; an extinct species counts as 0 to "
        "the end. Left out are episodes that the extinction of the other species ended, unless "
        "on_extinction is continue"
    )
    assert "<td" in kf.metrics("probe")._repr_html_()


def test_the_command_lists_them(capsys):
    with pytest.raises(SystemExit) as left:
        main(["metrics", "probe", "--json"])
    assert left.value.code == 0
    entries = json.loads(capsys.readouterr().out)
    assert entries[3] == {"name": "ticks", "unit": "ticks", "definition": "length of an episode"}


@pytest.mark.more
@pytest.mark.train
def test_a_training_may_choose_its_best_checkpoint_by_any_metric(tmp_path):
    pytest.importorskip("torch")
    evaluation = {"every": 1, "episodes": 3, "metric": "births"}
    result = kf.train(steps=400, worlds=2, evaluation=evaluation, out=tmp_path / "run")
    events = [e for e in result.run.events() if e["kind"] == "evaluation_done"]
    played = kf.evaluate(
        slots={"main": "run:" + str(tmp_path / "run" / "main") + f"@{events[-1]['step']}"},
        episodes=3, seed=1_000_003, out=tmp_path / "again",
    )  # fmt: skip
    births = played.run.table("episodes")["counters.births"]
    assert events[-1]["score"] == pytest.approx(sum(births) / 3)
    assert result.best == max(event["score"] for event in events)


@pytest.mark.train
@pytest.mark.parametrize(
    ("evaluation", "message"),
    [
        ({"every": 1, "metric": "birth"}, "There is no metric 'birth'. Did you mean 'births'?"),
        (
            {"metric": "births"},
            "evaluation.metric chooses the best checkpoint at evaluations; set evaluation.every to have "
            "some.",
        ),
    ],
)
def test_a_wrong_metric_of_a_training_is_refused_before_it_starts(evaluation, message, tmp_path):
    pytest.importorskip("torch")
    with pytest.raises(UsageError) as refused:
        kf.train(steps=400, evaluation=evaluation, out=tmp_path / "run")
    assert str(refused.value).startswith(message)
    assert not (tmp_path / "run").exists()
