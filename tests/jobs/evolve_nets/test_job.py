import gzip
import json

import numpy as np
import pytest

from kinfolk.core.errors import ContractError, DamagedRunError, SettingsError, UsageError
from kinfolk.core.events import Event, Snapshot
from kinfolk.core.settings import validate_settings
from kinfolk.engines.base import LocalEngine
from kinfolk.engines.processes import ProcessEngine
from kinfolk.fitness.world import evaluate_held_out
from kinfolk.jobs.evaluate import Evaluate, evaluate
from kinfolk.jobs.evolve_nets.job import evolve_nets
from kinfolk.jobs.evolve_nets.settings import EvolveNets
from kinfolk.jobs.evolve_nets.state import initial_state
from kinfolk.lineage.family import to_csv, to_newick
from kinfolk.lineage.net_family import family_from_events, inheritance_columns
from kinfolk.nets import load_nets
from kinfolk.policies.resolve import resolve
from kinfolk.store.run import create_run
from kinfolk.store.run_job import run_and_store
from kinfolk.testing.contracts.job import JobContract, event_lines
from kinfolk.testing.inspection import episode_digests

SMALL = {
    "algorithm": "ga", "population": 6, "generations": 4, "held_out_episodes": 3, "held_out_every": 2,
    "checkpoint_every": 1, "chunk_size": 4,
}  # fmt: skip
CASES = {
    "recurrent nets that inherit all": {
        "net": "recurrent", "inherit": ("env", "mem", "fit"), "steps": 6, "self_adaptive": True,
    },
    "dynamic nets that inherit all": {
        "net": "dynamic", "inherit": ("env", "mem", "fit"), "steps": 6, "elites": 1, "matches": 2,
    },
    "a tournament in a world of two populations": {
        "task": "probe", "selection": "tournament", "steps": 20, "fitness": {"hunter": "life"},
    },
    "a hall of fame in a world of two populations": {
        "task": "probe", "steps": 20, "matches": 2, "hall_every": 1,
    },
    "crossover and species of dynamic nets": {
        "net": "dynamic", "crossover": 0.7, "species_distance": 0.5, "elites": 1, "generations": 5,
    },
    "novelty": {"novelty": ("mean:0", "ticks"), "crossover": 0.3},
    "an archive of dynamic nets": {
        "net": "dynamic", "archive": [{"name": "ticks", "low": 0, "high": 60, "cells": 5}],
    },
    "snes with normalised inputs": {"algorithm": "snes", "normalize": True, "net": "recurrent"},
    "pgpe": {"algorithm": "pgpe"},
    "normalised inputs that inherit all": {
        "net": "recurrent", "normalize": True, "inherit": ("env", "mem", "fit"), "steps": 6,
    },
    "cma": {"algorithm": "cma"},
    "openai-es": {"algorithm": "openai-es", "population": 5},
    "a map of behaviours": {"archive": [{"name": "mean:0", "low": -1, "high": 1, "cells": 6},
                                        {"name": "ticks", "low": 0, "high": 60, "cells": 5}]},
    "emitters": {"emitter": "improvement", "n_emitters": 2, "population": 8, "generations": 4,
                 "archive": [{"name": "ticks", "low": 0, "high": 60, "cells": 5}]},
    "imitation": {"imitate": "kin://cartpole", "target_episodes": 2, "world_settings": {"max_steps": 20}},
    "adversarial imitation by dynamic nets": {
        "adversarial": "kin://cartpole", "matches": 2, "target_episodes": 3, "net": "dynamic",
        "world_settings": {"max_steps": 20},
    },
}  # fmt: skip


def job(case, engine=None, resume=None, **changed):
    settings = validate_settings(EvolveNets, SMALL | CASES.get(case, {}) | changed)
    return evolve_nets(settings, engine or LocalEngine(), resume)


def events(items, kind):
    return [item for item in items if isinstance(item, Event) and item.kind == kind]


# pyribs compiles the kernels of its emitters anew in every process.
PARAMS = [pytest.param(c, marks=[pytest.mark.more] if c == "emitters" else []) for c in CASES]


class TestEvolveNets(JobContract):
    @pytest.fixture(params=PARAMS)
    def start(self, request):
        return lambda resume: job(request.param, resume=resume)


@pytest.fixture(scope="module")
def two():
    engine = ProcessEngine(2)
    yield engine
    engine.close()


@pytest.mark.more
@pytest.mark.parametrize("case", PARAMS)
def test_the_engine_and_the_chunk_have_no_effect(case, two):
    assert event_lines(list(job(case, two, chunk_size=2))) == event_lines(list(job(case)))


def test_fitness_that_is_inherited_adds_up():
    items = list(job("", inherit=("env", "fit"), steps=3, generations=3, zero_init=True))
    totals = [event.best_total for event in events(items, "generation_scored")]
    assert totals == [3.0, 6.0, 9.0]


def test_elites_live_on_and_everybody_else_is_new():
    first, second = events(job("", elites=2, generations=2), "generation_scored")
    assert first.elite_uid in second.uid[:2]
    assert set(second.uid[2:]).isdisjoint(first.uid)
    assert set(second.parents[2:]) <= set(first.uid)


def test_a_goal_stops_the_run_and_says_so():
    reached = list(job("", goal=1.0, goal_of="mean", generations=50))
    assert events(reached, "nets_evolved")[0].goal_reached is True
    assert len(events(reached, "generation_scored")) == 1
    missed = events(job("", goal=1e9, goal_of="mean", generations=2), "nets_evolved")[0]
    assert (missed.goal_reached, missed.generations) == (False, 2)


def test_it_stops_after_so_many_evaluations():
    ended = events(job("", max_evaluations=13, generations=50), "nets_evolved")[0]
    assert (ended.generations, ended.evaluations) == (3, 18)


def test_dropped_calibration_is_gone_at_every_selection():
    kept, dropped = (
        [i for i in job("", net="dynamic", keep_running_stats=keep) if isinstance(i, Snapshot)]
        for keep in (True, False)
    )
    assert kept[-1].arrays["pops/agent/nets/n"].any()
    assert not dropped[-1].arrays["pops/agent/nets/n"].any()


def test_a_fitness_of_nan_names_the_member(monkeypatch):
    from kinfolk.fitness import world

    finite = world.match_fitness
    monkeypatch.setattr(world, "match_fitness", lambda *arguments: finite(*arguments) * np.nan)
    with pytest.raises(ContractError) as caught:
        list(job("", head="softmax_sample"))
    assert str(caught.value) == (
        "Member 0 (uid 0) of population 'agent' has the fitness nan. "
        "A fitness must be a finite number."
    )


@pytest.mark.parametrize("case", ["cma", "a tournament in a world of two populations",
                                  "a map of behaviours"])  # fmt: skip
def test_the_family_tells_whose_child_everybody_was(case):
    told = [event.to_dict() for event in job(case) if isinstance(event, Event)]
    family = family_from_events(told)
    scored = [event for event in told if event["kind"] == "generation_scored"]
    lives = {uid for event in scored for uid in event["uid"]}
    centres = {event["center_uid"] for event in scored} - {None}
    assert set(family.members) == lives | centres
    assert len(family.founders()) == (
        1 if case == "cma" else 6 * len({e["population"] for e in scored})
    )
    assert to_csv(family).count("\n") == len(family) + 1
    assert to_newick(family, 4).count(";\n") == len(family.founders())


def test_the_family_tells_of_two_parents_and_of_what_was_inherited():
    settings = {"inherit": ("env", "fit"), "steps": 3, "crossover": 0.9, "zero_init": True}
    recorded = [event.to_dict() for event in job("", **settings) if isinstance(event, Event)]
    family = family_from_events(recorded)
    assert {len(member.parents) for member in family} == {0, 1, 2}
    columns = inheritance_columns(recorded, ("env", "fit"))
    text = to_csv(family, columns).splitlines()
    assert text[0] == (
        "id,ancestor_list,origin_time,destruction_time,taxon_label,cause,"
        "fitness,inherited,inherited_fitness"
    )
    assert text[1] == "0,[NONE],0,1,agent,,3,,0"
    assert text[-1].endswith(",3,inf,agent,,3,net env fit,9")


def keep_run(folder, case, **changed):
    settings = validate_settings(EvolveNets, SMALL | CASES.get(case, {}) | changed)
    run = create_run(folder, "evolve_nets", settings.model_dump())
    for _ in run_and_store(run, lambda snapshot: evolve_nets(settings, LocalEngine(), snapshot)):
        pass
    return run


def test_evolved_nets_play_everywhere_by_the_name_of_their_run(tmp_path):
    run = keep_run(tmp_path / "pair", "a tournament in a world of two populations")
    slots = {"g": f"run:{run.folder}/grazer", "h": f"run:{run.folder}/hunter@latest"}
    asked = validate_settings(
        Evaluate, {"slots": slots, "agent_slot_map": {"grazer": "g", "hunter": "h"}, "episodes": 4}
    )
    summary = list(evaluate(asked, LocalEngine()))[-1]
    assert set(summary.returns) == {"g", "h"}
    with pytest.raises(UsageError) as caught:
        resolve(f"run:{run.folder}")
    assert str(caught.value) == (
        f"The run {run.folder} has several policies: grazer, hunter. Write run:{run.folder}/NAME."
    )
    with pytest.raises(UsageError) as caught:
        resolve(f"run:{run.folder}/grazr")
    assert str(caught.value) == (
        f"The run {run.folder} has no policy 'grazr'. Did you mean 'grazer'? Known: grazer, hunter."
    )
    with pytest.raises(UsageError) as caught:
        resolve(f"run:{run.folder}/grazer@9")
    assert str(caught.value) == (
        f"Policy 'grazer' of {run.folder} has no version '@9'. "
        "It has: @best, @latest, @1, @2, @3, @4."
    )
    assert (
        resolve(f"run:{run.folder}/grazer@3").class_path
        == "kinfolk.policies.neural.evolved:EvolvedPolicy"
    )
    with pytest.raises(SettingsError) as caught:
        episode_digests("probe", {"all": slots["g"]})
    assert str(caught.value) == (
        "These nets play grazer, not hunter. Map that group to another slot."
    )


def test_the_held_out_score_is_that_of_the_policy_played_alone(tmp_path):
    run = keep_run(tmp_path / "one", "dynamic nets that inherit all", held_out_episodes=5)
    elites = [event for event in run.events() if event.get("individual") == "elite"]
    held = elites[-1]
    from kinfolk.fitness.world import HELD_OUT_START

    settings = validate_settings(Evaluate, {"world": "gym:CartPole-v1", "slots": {"all": f"run:{run.folder}@latest"},
                               "episodes": HELD_OUT_START + 5})  # fmt: skip
    from kinfolk.evaluation.rollout import run_evaluation
    from kinfolk.jobs.evaluate import evaluation_tasks

    task = next(evaluation_tasks(settings.model_copy(update={"chunk_size": 5}), HELD_OUT_START))
    returns = [result.returns["all"] for result in run_evaluation(task).episodes]
    assert np.mean(returns) == held["score"][0]


def test_best_is_the_best_by_held_out_episodes_of_the_whole_run(tmp_path):
    """With a large sigma a good net is lost again: the last elite is not the best."""
    case = {
        "sigma": 2.0,
        "seed": 3,
        "generations": 12,
        "held_out_episodes": 20,
        "held_out_every": None,
    }
    run = keep_run(tmp_path / "lost", "", **case)
    scored = [event for event in run.events() if event["kind"] == "held_out"]
    chosen_from = [event for event in scored if event["individual"] != "best"]
    winner = max(chosen_from, key=lambda event: event["score"][0])
    assert winner["score"][0] > 1.5 * chosen_from[-1]["score"][0], "the case shows something"
    assert {event["step"] for event in chosen_from} == {1, 3, 5, 7, 9, 11}
    final = scored[-1]
    assert (final["individual"], final["uid"]) == ("best", winner["uid"])
    assert list(run.events())[-1]["best"] == {"agent": final["score"]}
    setup = initial_state(validate_settings(EvolveNets, SMALL | case)).setup
    nets = load_nets(run.folder / "policies" / "agent" / "best.safetensors")
    for start, event in ((0, winner), (20, final)):
        episodes = range(start, start + 20)
        values = evaluate_held_out(setup, "agent", nets, {}, episodes, LocalEngine())
        assert values.mean() == event["score"][0]


def test_the_fittest_between_two_held_out_evaluations_is_evaluated_too():
    items = list(job("", sigma=2.0, generations=10, held_out_every=5))
    scored = {event.step: event for event in events(items, "generation_scored")}
    fittest = [event for event in events(items, "held_out") if event.individual == "fittest"]
    assert fittest, "the case shows something"
    for event in fittest:
        before = [scored[step] for step in range(event.step - 4, event.step + 1)]
        assert event.uid == max(before, key=lambda generation: generation.best).elite_uid


def test_without_held_out_episodes_no_net_is_called_the_best(tmp_path):
    run = keep_run(tmp_path / "run", "", held_out_episodes=0, held_out_every=None)
    names = sorted(path.stem for path in (run.folder / "policies" / "agent").iterdir())
    assert names == [f"{step:08d}" for step in (1, 2, 3, 4)]
    assert list(run.events())[-1]["best"] == {}


def test_a_checkpoint_of_an_earlier_version_is_refused():
    snapshot = next(item for item in job("") if isinstance(item, Snapshot))
    notes = {name: value for name, value in snapshot.notes.items() if name != "champions"}
    former = Snapshot(step=snapshot.step, arrays=snapshot.arrays, notes=notes)
    with pytest.raises(DamagedRunError, match=r"^The checkpoint is of an earlier kinfolk"):
        next(job("", resume=former))


def test_a_map_is_plotted(tmp_path):
    run = keep_run(tmp_path / "map", "a map of behaviours")
    text = (run.folder / "map.svg").read_text()
    filled = [event["num_elites"] for event in run.events() if event["kind"] == "archive_updated"]
    assert filled == sorted(filled)
    assert text.count("<rect") == 1 + 6 * 5 + 5
    assert text.count('fill="#eeeeee"') == 30 - filled[-1]
    assert gzip.decompress((run.folder / "events.jsonl.gz").read_bytes()).count(b"\n") > 8
    assert json.loads((run.folder / "settings.json").read_text())["job"] == "evolve_nets"


# --- the hall of fame -----------------------------------------------------------------------


def test_half_of_a_fitness_is_against_past_champions():
    """Nothing is drawn differently in the first generation, whose elites join after it."""
    case = "a hall of fame in a world of two populations"
    with_hall = events(job(case), "generation_scored")
    without = events(job(case, hall_every=None), "generation_scored")
    assert [e.fitness for e in with_hall[:2]] == [e.fitness for e in without[:2]]
    assert with_hall[0].steps == without[0].steps
    assert with_hall[2].fitness != without[2].fitness
    assert with_hall[2].steps > without[2].steps, "matches against champions are played too"


def test_champions_of_the_hall_play_as_policies(tmp_path):
    case = "a hall of fame in a world of two populations"
    settings = validate_settings(EvolveNets, SMALL | CASES[case])
    run = create_run(tmp_path / "run", "evolve_nets", settings.model_dump())
    list(run_and_store(run, lambda snapshot: evolve_nets(settings, LocalEngine(), snapshot)))
    assert resolve(f"run:{run.folder}@hall/hunter-2").arrays
    names = sorted(path.stem for path in (run.folder / "hall").iterdir())
    assert names == [f"{group}-{i}" for group in ("grazer", "hunter") for i in (1, 2, 3, 4)]


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"hall_every": 1}, "A hall of fame is for populations that meet each other; gym:CartPole-v1 has one."),
        ({"hall_every": 1, "task": "probe", "inherit": ("fit",)},
         "A hall of fame cannot be combined with imitation or inherit: leave one out."),
    ],
)  # fmt: skip
def test_a_hall_of_fame_that_nobody_could_meet_is_refused(changed, sentence):
    with pytest.raises(SettingsError) as error:
        list(job("", **changed))
    assert str(error.value) == sentence
