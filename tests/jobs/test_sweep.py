"""Sweeps: every setting with every seed, the same on every engine, resumed to the same bytes."""

import pytest

import kinfolk as kf
from kinfolk.core.errors import UsageError
from kinfolk.core.events import FileChunk
from kinfolk.core.settings import validate_settings
from kinfolk.engines import make_engine
from kinfolk.engines.base import LocalEngine
from kinfolk.jobs.sweeps.job import find_metric, sweep
from kinfolk.jobs.sweeps.points import build_points, list_combinations
from kinfolk.jobs.sweeps.settings import Sweep
from kinfolk.testing.contracts.job import JobContract

ASKED = {
    "job": "eval",
    "settings": {"slots": {"all": "kin://random"}, "episodes": 2},
    "vary": {"max_ticks": (4, 8), "meal": (5, 6)},
    "seeds": (3, 5, 8),
    "metric": "ticks",
}


def swept(engine=None, resume=None, **changed):
    settings = validate_settings(Sweep, {**ASKED, **changed})
    return list(sweep(settings, engine or LocalEngine(), resume))


class TestSweepContract(JobContract):
    @pytest.fixture
    def start(self):
        return lambda resume: iter(swept(resume=resume))


def test_every_combination_is_run_with_every_seed():
    asked = validate_settings(Sweep, ASKED)
    points = build_points(asked, list_combinations(asked))
    assert len(points) == 12
    assert [(p.values["max_ticks"], p.values["meal"], p.seed) for p in points[:4]] == [
        (4, 5, 3),
        (4, 5, 5),
        (4, 5, 8),
        (4, 6, 3),
    ]
    assert points[-1].settings == {
        "slots": {"all": "kin://random"},
        "episodes": 2,
        "world_settings": {"max_ticks": 8, "meal": 6},
        "seed": 8,
    }


def test_the_table_has_a_row_per_setting_seed_and_episode_that_equals_the_evaluation():
    last = swept()[-1]
    assert last.table["max_ticks"] == [4] * 12 + [8] * 12
    assert last.table["seed"][:6] == [3, 3, 5, 5, 8, 8]
    assert last.table["episode"][:4] == [0, 1, 0, 1]
    alone = kf.evaluate(
        slots={"all": "kin://random"},
        episodes=2,
        seed=5,
        world_settings={"max_ticks": 8, "meal": 6},
    )
    rows = [i for i in range(24) if (last.table["max_ticks"][i], last.table["meal"][i],
                                     last.table["seed"][i]) == (8, 6, 5)]  # fmt: skip
    returns = [last.table["return"][i] for i in rows]
    assert sum(returns) / 2 == pytest.approx(alone.returns["all"].mean)
    assert [last.table["return.all"][i] for i in rows] == returns


def test_intervals_are_over_the_means_of_seeds():
    last = swept(metric="return")[-1]
    assert (last.over, last.metric) == ("seeds", "return")
    first = [last.table["return"][2 * i : 2 * i + 2] for i in range(3)]
    assert last.estimates[0] == kf.stats.seed_interval(first)
    alone = swept(metric="return", seeds=(3,))[-1]
    assert alone.over == "episodes"
    assert alone.estimates[0].mean == pytest.approx(sum(first[0]) / 2)
    assert alone.estimates[0].n == 2


def test_a_metric_that_applies_to_no_episode_is_none_in_table_and_summary():
    settings = {"world": "savanna", "slots": {"all": "kin://noop"}, "episodes": 1}
    settings["world_settings"] = {"max_steps": 1, "n_initial_active_type_1_predator": 1}
    metric = "cooperative_meal_fraction_all_episodes"
    asked = {"settings": settings, "vary": {"team_capture_margin": (0,)}, "metric": metric}
    both = swept(**asked, seeds=(0, 1))[-1]
    values = both.table[metric]
    assert sorted(value is None for value in values) == [False, True], "else nothing is tested"
    assert both.estimates[0].n == 1, "the seed without a value is left out"
    items = swept(**asked, seeds=(values.index(None),))
    assert items[-1].estimates == [None]
    summary = next(i for i in items if isinstance(i, FileChunk) and i.path == "summary.csv")
    assert summary.data.decode().splitlines()[1] == f"0,{metric},,,,0,episodes"


@pytest.mark.more
def test_processes_find_what_one_process_finds():
    engine = make_engine("processes", 2)
    try:
        assert swept(engine) == swept()
    finally:
        engine.close()


@pytest.mark.more
def test_a_ray_cluster_finds_what_one_process_finds():
    engine = make_engine("ray", 2)
    try:
        assert swept(engine) == swept()
    finally:
        engine.close()


def test_evolution_of_nets_is_swept_with_one_row_per_run():
    settings = {"task": "probe", "population": 4, "generations": 1, "held_out_episodes": 2}
    asked = {"settings": settings, "vary": {"algorithm": ("ga",)}, "seeds": (0, 1), "metric": None}
    last = swept(job="evolve-nets", **asked)[-1]
    assert last.metric.startswith("held_out/")
    assert last.table["episode"] == [None, None]
    assert last.estimates[0].n == 2


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"vary": {"max_tick": (1,)}},
            "Neither eval nor world probe has a setting 'max_tick'. Did you mean 'max_ticks'? Known: ",
        ),
        (
            {"seeds": (1, 2, 1)},
            "Seed 1 is given twice, and would count one run as two. Give it once.",
        ),
        ({"seeds": (-1,)}, "A seed is a whole number of at least 0, not -1."),
        ({"vary": {"seed": (1, 2)}}, "Seeds are varied by seeds, not by vary."),
        ({"vary": {"max_ticks": (4, 4)}}, "max_ticks is given the value 4 twice."),
        ({"vary": {"max_ticks": ()}}, "The varied setting max_ticks has no values."),
        ({"vary": {"max_ticks": (0,)}}, "Probe.max_ticks must be at least 1, not 0."),
        ({"settings": {"seed": 1}}, "A sweep has seeds; leave out the seed of its job."),
        ({"metric": "tick"}, "There is no metric 'tick'. Did you mean 'ticks'? Known: "),
        (
            {"metric": "ticks,return"},
            "A sweep has one metric, not 'ticks,return'. Its table has all of them, and `kinfolk plot` "
            "draws any: --metric NAME.",
        ),
        (
            {"settings": {"replays": 1}},
            "A sweep records no replays. `kinfolk eval` with the same settings and --seed plays the "
            "same episodes: record them there.",
        ),
        ({"job": "evl"}, "No job that can be swept is named 'evl'. Did you mean 'eval'? Known: "),
        (
            {"job": "evolve-nets", "settings": {}, "vary": {}, "metric": "fitness"},
            "evolve-nets has no metric 'fitness'.",
        ),
    ],
)
def test_wrong_settings_seeds_and_metrics_are_refused_before_anything_is_run(changed, message):
    with pytest.raises(UsageError) as refused:
        next(iter(swept(**changed)))
    assert str(refused.value).startswith(message)


def test_a_proportion_of_episodes_of_one_seed_has_wilsons_interval():
    settings = {"world": "savanna", "slots": {"all": "kin://noop"}, "episodes": 6}
    vary = {"max_steps": (2,)}
    last = swept(settings=settings, vary=vary, seeds=(0,), metric="full_length_episodes")[-1]
    with pytest.warns(kf.stats.IntervalWarning):
        assert last.estimates == [kf.stats.proportion_interval([1] * 6)]
    assert last.notes == [
        "Few values, or all but one alike: the interval of the proportion max_steps = 2 may cover the "
        "true one in less than 90 % of cases."
    ]


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        (["score", "return_per_life/main"], "return_per_life/main"),
        (
            ["return_per_life/prey", "return_per_life/predators"],
            "Say whose return_per_life it is: return_per_life/prey or return_per_life/predators.",
        ),
    ],
)
def test_the_metric_of_the_only_slot_needs_no_slot(columns, found):
    asked = validate_settings(Sweep, {**ASKED, "job": "train", "metric": "return_per_life"})
    try:
        answer = find_metric(asked, dict.fromkeys(columns))
    except UsageError as error:
        answer = str(error)
    assert answer == found
