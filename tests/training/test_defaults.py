"""Default settings: the schedule of minibatches, and CartPole is learnt."""

import pytest
from small_trainings import TINY, settings_of

from kinfolk.core.settings import validate_settings
from kinfolk.engines.base import LocalEngine
from kinfolk.evaluation.rollout import evaluation_task, run_evaluation
from kinfolk.jobs.train.job import train
from kinfolk.jobs.train.settings import Train
from kinfolk.play.task import WorldRef
from kinfolk.policies.resolve import resolve
from kinfolk.store.run import create_run
from kinfolk.store.run_job import run_and_store
from kinfolk.training.learner import Learner
from kinfolk.training.minibatches import iter_minibatches, minibatch_schedule
from kinfolk.training.settings import PPOSettings


@pytest.mark.parametrize(
    ("rows", "minibatch", "epochs", "gradient_steps"),
    [
        (10, 64, 10, 10),
        (512, 64, 10, 80),
        (1_024, 64, 10, 160),  # 16 worlds of one agent, 64 ticks
        (2_048, 64, 10, 320),  # the default of Stable-Baselines3
        (4_096, 128, 10, 320),
        (16_384, 512, 5, 160),
        (30_000, 937, 4, 128),
        (65_536, 2_048, 2, 64),  # 2.5 is rounded to the even number
        (131_072, 4_096, 2, 64),
        (262_144, 4_096, 2, 128),
        (1_048_576, 4_096, 2, 512),
    ],
)
def test_the_schedule_follows_from_the_rows(rows, minibatch, epochs, gradient_steps):
    chosen = minibatch_schedule(rows, PPOSettings())
    assert chosen == (minibatch, epochs)
    parts = list(iter_minibatches(rows, chosen.minibatch_size, 1, 7, 0))
    assert len(parts) * chosen.n_epochs == gradient_steps


def test_minibatch_size_and_epochs_are_kept_where_they_are_set():
    assert minibatch_schedule(1024, PPOSettings(minibatch_size=4096, n_epochs=2)) == (4096, 2)
    assert minibatch_schedule(1024, PPOSettings(minibatch_size=256)) == (256, 10)
    assert minibatch_schedule(1024, PPOSettings(n_epochs=3)) == (64, 3)


def test_a_training_takes_the_steps_of_its_schedule(monkeypatch):
    counts = []
    step = Learner._step

    def counted(self, rows, at, *others):
        counts.append(len(at))
        return step(self, rows, at, *others)

    monkeypatch.setattr(Learner, "_step", counted)
    settings = settings_of({**TINY, "ppo": {}}, steps=1)
    update = next(
        e for e in train(settings, LocalEngine()) if getattr(e, "kind", "") == "update_done"
    )
    rows = update.step
    assert len(counts) == 10 * round(rows / 64)
    assert sum(counts) == 10 * rows


CARTPOLE = {"world": "gym:CartPole-v1", "steps": 100_000}
GOOD = 450.0


def scores_of(seed, folder):
    """Return the final score of a training, and that of its stored policy in 100 episodes."""
    settings = validate_settings(Train, {**CARTPOLE, "seed": seed})
    run = create_run(folder / str(seed), "train", settings.model_dump())
    trained = list(run_and_store(run, lambda snapshot: train(settings, LocalEngine(), snapshot)))[
        -1
    ]
    policies = {"all": resolve(f"run:{run.folder}")}
    task = evaluation_task(WorldRef(CARTPOLE["world"]), policies, 0, range(100))
    episodes = run_evaluation(task).episodes
    return trained.score, sum(report.ticks for report in episodes) / len(episodes)


@pytest.mark.more
@pytest.mark.timeout(900)
def test_cartpole_is_learnt_by_default(tmp_path):
    assert min(scores_of(0, tmp_path)) >= GOOD


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_cartpole_is_learnt_by_default_on_four_of_five_seeds(tmp_path):
    scores = {seed: scores_of(seed, tmp_path) for seed in range(5)}
    assert sum(min(pair) >= GOOD for pair in scores.values()) >= 4, scores


# Steps, what the last 100 episodes reach by default, and on how many of five seeds at least.
TEXTBOOK_TASKS = {
    "Acrobot-v1": (100_000, -100.0, 4),
    "Pendulum-v1": (100_000, -300.0, 4),
    "MountainCarContinuous-v0": (60_000, 90.0, 5),
}


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("task", TEXTBOOK_TASKS)
def test_textbook_tasks_are_learnt_by_default_on_most_seeds(task):
    steps, good, n_seeds = TEXTBOOK_TASKS[task]
    scores = {}
    for seed in range(5):
        settings = validate_settings(Train, {"world": f"gym:{task}", "steps": steps, "seed": seed})
        scores[seed] = list(train(settings, LocalEngine()))[-1].score
    assert sum(score >= good for score in scores.values()) >= n_seeds, scores
