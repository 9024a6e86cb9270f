"""The training job: its contract, defaults, engines, resuming and events."""

import json

import numpy as np
import pytest
from killed_runs import files_of, prove_resuming
from small_trainings import SCRIPTED, TINY, TWO, copied, same, settings_of

import kinfolk as kf
from kinfolk.core.errors import DamagedRunError, SettingsError
from kinfolk.core.events import FileChunk, Snapshot, TimingEvent
from kinfolk.core.settings import merge_settings, validate_settings
from kinfolk.engines import make_engine
from kinfolk.engines.base import LocalEngine
from kinfolk.evaluation.rollout import evaluation_task, run_evaluation
from kinfolk.jobs.train.job import train
from kinfolk.jobs.train.settings import DEFAULT_NET, Train
from kinfolk.jobs.train.trainer import is_update_due
from kinfolk.play.slots import parse_slot
from kinfolk.play.task import WorldRef
from kinfolk.policies.build import build_policy
from kinfolk.policies.resolve import resolve
from kinfolk.store.run import create_run, open_run
from kinfolk.store.run_job import run_and_store
from kinfolk.testing.contracts.job import JobContract, event_lines

SHORT = {"steps": 1500, "checkpoint_every": 1, "stats_window": 5}
EVERYTHING = merge_settings(TWO, {
    **SHORT,
    "n_chunks": 2,
    "slots": {
        "herd": {"policy_uri": "kin://gru?hidden=[16]&state_size=16", "train_every": 2},
        "pack": {"policy_uri": "kin://mlp?hidden=[16]", "train_every": 2},
        "rival": {"policy_uri": "kin://mlp?hidden=[16]", "trainable": False},
        "teacher": {"policy_uri": "kin://probe-python", "trainable": False},
    },
    "agent_slot_map": ["herd"] * 6 + ["pack"] * 4 + ["rival"] * 4 + ["teacher"] * 2,
    "teachers": {"herd": {"teacher": "teacher"}},
    "opponent_pool": {"slot": "rival", "source_slot": "pack", "add_every": 1, "max_size": 2,
                      "sampling": "win_rate"},
    "ppo": {"anneal_lr": True, "sequence_length": 4, "target_kl": 0.5, "vtrace": True},
    "evaluation": {"every": 2, "episodes": 2, "baselines": {"idle": {"herd": "kin://noop"}}},
})  # fmt: skip


class TestTheTrainingJob(JobContract):
    """All features at once: recurrence, a teacher, turns, a pool, chunks, evaluation."""

    @pytest.fixture
    def start(self):
        settings = validate_settings(Train, EVERYTHING)
        return lambda resume: train(settings, LocalEngine(), resume)


def last_of(settings, engine=None):
    return list(train(settings, engine or LocalEngine()))[-1]


def test_training_without_new_settings_is_unchanged():
    """No slots, no map, no profiles: bit by bit what one slot `main` with the losses of PPO does."""
    plain = settings_of(TINY, steps=1500)
    written = settings_of(
        TINY,
        steps=1500,
        slots=[{"id": "main", "policy_uri": DEFAULT_NET, "trainable": True, "loss_profile": "all"}],
        agent_slot_map={"grazer": "main", "hunter": 0},
        loss_profiles={"all": ["ppo_actor", "ppo_critic"]},  # the others need a teacher
    )
    one, other = last_of(plain), last_of(written)
    assert one.weights == other.weights
    assert one.to_dict() == other.to_dict()


def test_renaming_and_reordering_slots_changes_nothing_that_is_learnt():
    turned = settings_of(
        TINY,
        steps=1500,
        slots={"wolves": "kin://mlp?hidden=[16]", "sheep": "kin://mlp?hidden=[16]"},
        agent_slot_map={"grazer": "sheep", "hunter": "wolves"},
    )
    one, other = last_of(settings_of(TWO, steps=1500)), last_of(turned)
    assert one.weights == {"herd": other.weights["sheep"], "pack": other.weights["wolves"]}


@pytest.mark.more
def test_any_engine_and_any_number_of_workers_gives_the_same():
    settings = settings_of(TWO, steps=1500, n_chunks=2)
    one = event_lines(list(train(settings, LocalEngine())))
    workers = make_engine("processes", 2)
    try:
        assert event_lines(list(train(settings, workers))) == one
    finally:
        workers.close()


def test_chunks_play_episodes_of_their_own():
    settings = settings_of(TWO, **{**SHORT, "steps": 3000}, n_chunks=2, rollout_length=64)
    last = [item for item in train(settings, LocalEngine()) if isinstance(item, Snapshot)][-1]
    numbers = [last.arrays[f"chunk/{chunk}/episode"].tolist() for chunk in range(2)]
    assert not set(numbers[0]) & set(numbers[1])
    assert min(numbers[1]) - min(numbers[0]) == 1 << 40, "each counts on from its own start"
    assert max(numbers[0]) > 1


def test_grazers_learn_and_statistics_show_it():
    """Grazers learn to eat: the probe's grazers earn more than they began with."""
    settings = settings_of(
        SCRIPTED, steps=60_000, worlds=16, rollout_length=60, stats_window=32,
        ppo={"learning_rate": 3e-3, "minibatch_size": 1024, "reward_scale": 0.1},
    )  # fmt: skip
    updates = [
        item
        for item in train(settings, LocalEngine())
        if getattr(item, "kind", "") == "update_done"
    ]
    first, last = updates[0].slots["herd"], updates[-1].slots["herd"]
    assert last["reward"] > first["reward"] * 1.15
    assert last["explained_variance"] > 0.01
    assert 0.0 < last["entropy"] < first["entropy"]
    for name in (
        "return",
        "return_per_life",
        "life_ticks",
        "wins",
        "approx_kl",
        "clip_fraction",
        "rows",
    ):
        assert name in last
    assert "entropy" not in updates[-1].slots["pack"], "scripts do not learn"
    assert set(updates[-1].alive) == {"grazer", "hunter"}


def test_end_to_end_with_evaluation_against_scripted():
    """Train beside scripts, store the policy, and evaluate it with other slots."""
    settings = settings_of(
        SCRIPTED, **SHORT, evaluation={"every": 1, "episodes": 3, "slots": {"pack": "kin://random"},
                                  "baselines": {"still": {"herd": "kin://noop"}}},
    )  # fmt: skip
    items = list(train(settings, LocalEngine()))
    evaluated = [item for item in items if getattr(item, "kind", "") == "evaluation_done"]
    assert evaluated[0].is_best
    assert set(evaluated[0].returns) == {"herd", "pack"}
    assert list(evaluated[0].baselines) == ["still"]
    assert evaluated[-1].baselines == evaluated[0].baselines
    kept = [item.path for item in items if isinstance(item, FileChunk)]
    assert any(name.startswith("policies/herd/") and name.endswith(".safetensors") for name in kept)
    assert "policies/herd/best.safetensors" in kept
    assert not any(name.startswith("policies/pack") for name in kept)


def test_evaluation_may_use_another_map():
    settings = settings_of(
        SCRIPTED, **SHORT, evaluation={"every": 1, "episodes": 2, "agent_slot_map": {"hunter": "herd"}},
    )  # fmt: skip
    evaluated = next(
        i for i in train(settings, LocalEngine()) if getattr(i, "kind", "") == "evaluation_done"
    )
    assert evaluated.returns["pack"][0] == 0.0, "it plays nobody"
    assert evaluated.return_per_life["pack"] is None
    assert evaluated.return_per_life["herd"].n == 2


def test_a_trained_policy_is_played_by_the_name_of_its_run(tmp_path):
    settings = settings_of(SCRIPTED, **SHORT)
    run = create_run(tmp_path / "one", "train", settings.model_dump())
    trained = list(run_and_store(run, lambda snapshot: train(settings, LocalEngine(), snapshot)))[
        -1
    ]
    latest = resolve(f"run:{run.folder}/herd@latest")
    assert latest.sha256 == trained.weights["herd"]
    best = resolve(f"run:{run.folder}@best")
    policies = {"herd": best, "pack": resolve("kin://probe-python")}
    mapping = {"grazer": "herd", "hunter": "pack"}
    task = evaluation_task(WorldRef("probe"), policies, 3, range(2), mapping)
    assert len(run_evaluation(task).episodes) == 2


def test_slots_take_turns():
    turn = {"policy_uri": "kin://mlp", "train_every": 4, "train_for": 2}
    slots = (parse_slot("a", turn), parse_slot("b", turn), parse_slot("c", "kin://mlp"))
    turns = {slot.id: [is_update_due(slots, slot, update) for update in range(8)] for slot in slots}
    assert turns["a"] == [True, True, False, False] * 2
    assert turns["b"] == [False, False, True, True] * 2
    assert all(turns["c"])


def test_loss_weights_and_learning_rates_decay():
    from kinfolk.jobs.train.trainer import _loss_weights

    settings = settings_of(
        TINY, steps=1000, ppo={"anneal_lr": True, "learning_rate": 0.5},
        cloner={"weight": 2.0, "decay_steps": 500},
    )  # fmt: skip
    slot = settings.slots[0]
    steady = {"ppo_actor": 1.0, "ppo_critic": 1.0, "kickstarter": 1.0}
    assert _loss_weights(settings, slot, 0) == (0.5, {**steady, "cloner": 2.0})
    assert _loss_weights(settings, slot, 250) == (0.375, {**steady, "cloner": 1.0})
    assert _loss_weights(settings, slot, 900).losses["cloner"] == 0.0
    quick = slot.model_copy(update={"learning_rate": 0.25})
    assert _loss_weights(settings, quick, 500).learning_rate == 0.125


def test_training_stops_at_its_target_or_without_improvement():
    reached = last_of(
        settings_of(TINY, steps=10**6, stats_window=4, rollout_length=60, target_score=-1.0)
    )
    assert reached.reason == "reached"
    assert reached.episodes >= 4
    patient = settings_of(
        TINY, steps=10**6, patience=1, evaluation={"every": 1, "episodes": 1},
        slots={"main": {"policy_uri": "kin://mlp?greedy=true", "learning_rate": 1e-12}},
    )  # fmt: skip
    assert last_of(patient).reason == "patience"


# --- resuming runs that were killed ---------------------------------------------------------


def prove(tmp_path, steps, most):
    settings = validate_settings(Train, merge_settings(EVERYTHING, {"steps": steps}))
    return prove_resuming(tmp_path, "train", train, settings, most)


@pytest.mark.more
def test_killed_and_resumed_the_weights_are_those_of_a_run_never_stopped(tmp_path):
    assert prove(tmp_path, 4000, 3) >= 2


@pytest.mark.slow
def test_killed_ten_times(tmp_path):
    assert prove(tmp_path, 30_000, 10) == 10


def test_a_damaged_checkpoint_is_refused_and_the_previous_one_can_be_used(tmp_path):
    settings = settings_of(TINY, **{**SHORT, "steps": 1500})
    whole = create_run(tmp_path / "whole", "train", settings.model_dump())
    list(run_and_store(whole, lambda snapshot: train(settings, LocalEngine(), snapshot)))
    run = create_run(tmp_path / "cut", "train", settings.model_dump())
    stream = run_and_store(run, lambda snapshot: train(settings, LocalEngine(), snapshot))
    while len(run.checkpoints()) < 3:
        next(stream)
    stream.close()
    last = run.checkpoints()[-1]
    last.write_bytes(last.read_bytes()[:1000])
    again = open_run(run.folder)
    with pytest.raises(DamagedRunError, match=f"^The checkpoint {last} is damaged: its SHA-256"):
        list(run_and_store(again, lambda snapshot: train(settings, LocalEngine(), snapshot)))
    assert again.drop_damaged_checkpoints() == [last.name]
    list(
        run_and_store(
            open_run(run.folder), lambda snapshot: train(settings, LocalEngine(), snapshot)
        )
    )
    assert files_of(open_run(run.folder)) == files_of(whole)


def test_a_checkpoint_of_other_shapes_is_refused():
    small = settings_of(TINY, **SHORT)
    snapshot = next(item for item in train(small, LocalEngine()) if isinstance(item, Snapshot))
    wide = settings_of(TINY, **SHORT, slots={"main": "kin://mlp?hidden=[32,64]"})
    with pytest.raises(SettingsError) as error:
        next(train(wide, LocalEngine(), snapshot))
    assert str(error.value) == (
        "The weights 'body.0.weight' have shape (64, 24); MlpPolicy in world probe needs (32, 24)."
    )


def test_timings_are_separate_events():
    items = list(train(settings_of(TINY, **SHORT), LocalEngine()))
    timed = [item for item in items if isinstance(item, TimingEvent)]
    assert timed
    assert all("seconds" not in line for line in event_lines(items))
    assert json.loads(timed[0].to_json_line())["rows"] > 0


def test_imitation_comes_first_if_actor_start_step_is_set():
    settings = settings_of(
        TINY,
        steps=1200,
        slots={
            "teacher": {"policy_uri": "kin://probe-python", "trainable": False},
            "student": "kin://mlp?hidden=[16]",
        },
        agent_slot_map={"grazer": "teacher", "hunter": "student"},
        teachers={"student": {"teacher": "teacher"}},
        ppo={"actor_start_step": 400, "n_epochs": 1},
    )
    updates = [e for e in train(settings, LocalEngine()) if getattr(e, "kind", "") == "update_done"]
    assert len(updates) > 3
    before = 0
    for event in updates:
        learnt = event.slots["student"]
        assert ("entropy" in learnt) == (before >= 400), f"after {before} steps"
        assert {"cloner", "kickstarter", "value_loss"} <= set(learnt)
        before = event.step


def test_a_rollout_keeps_its_rows_when_the_next_one_is_collected():
    settings = {**TINY, "rollout_length": 40, "slots": {"main": "kin://mlp?hidden=[16]"}}
    with kf.Trainer(**settings) as once:
        once.learn(once.collect())
    with kf.Trainer(**settings) as twice:
        first = twice.collect()
        rows = copied(first.slots["main"])
        second = twice.collect()
        assert same(first.slots["main"], rows)
        assert not same(second.slots["main"], rows)
        twice.learn(first)
        assert same(twice.state.weights()["main"], once.state.weights()["main"])
        assert twice.state.recent_episodes == once.state.recent_episodes
        assert twice.state.episodes == len(first.episodes) < len(first.episodes + second.episodes)


def test_two_new_nets_start_with_different_weights_and_one_net_as_ever():
    with kf.Trainer(**{**TWO, "seed": 7}) as trainer:
        both = trainer.state.weights()
        assert both["herd"].keys() == both["pack"].keys()
        assert not np.array_equal(both["herd"]["body.0.weight"], both["pack"]["body.0.weight"])
    alone = settings_of(TINY, slots={"main": "kin://mlp?hidden=[16]"}, seed=7)
    first = build_policy(resolve("kin://mlp?hidden=[16]&seed=7"), alone.world_ref.spec).arrays()
    with kf.Trainer(**alone.model_dump(exclude_unset=True)) as trainer:
        assert same(trainer.state.weights()["main"], first)
    assert same(both["herd"], first), "the slot that plays the first agent"
