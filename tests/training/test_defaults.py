"""What a stranger gets who sets nothing: the schedule of minibatches, and CartPole."""

import pytest
from training_scenes import TINY, settings_of

from kinfolk.core.settings import read
from kinfolk.engines.local import Local
from kinfolk.evaluation.match import Match, play_match
from kinfolk.jobs.train import train
from kinfolk.jobs.train_settings import Train
from kinfolk.policies.resolve import resolve
from kinfolk.store.keep import keep
from kinfolk.store.run import create
from kinfolk.training.sequences import minibatch_schedule, minibatches
from kinfolk.training.settings import Learning
from kinfolk.training.update import Learner


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
    chosen = minibatch_schedule(rows, Learning())
    assert chosen == (minibatch, epochs)
    parts = list(minibatches(rows, chosen.minibatch, 1, 7, 0))
    assert len(parts) * chosen.epochs == gradient_steps


def test_what_is_set_is_kept():
    assert minibatch_schedule(1024, Learning(minibatch=4096, epochs=2)) == (4096, 2)
    assert minibatch_schedule(1024, Learning(minibatch=256)) == (256, 10)
    assert minibatch_schedule(1024, Learning(epochs=3)) == (64, 3)


def test_a_training_takes_the_steps_of_its_schedule(monkeypatch):
    counts = []
    step = Learner._step

    def counted(self, rows, at, *others):
        counts.append(len(at))
        return step(self, rows, at, *others)

    monkeypatch.setattr(Learner, "_step", counted)
    settings = settings_of({**TINY, "learning": {}}, steps=1)
    told = next(e for e in train(settings, Local()) if getattr(e, "kind", "") == "updated")
    rows = told.step
    assert len(counts) == 10 * round(rows / 64)
    assert sum(counts) == 10 * rows


CARTPOLE = {"world": "gym:CartPole-v1", "steps": 100_000}
GOOD = 450.0


def scores_of(seed, folder):
    """The score that the command prints at its end, and that of the kept policy in 100 episodes."""
    settings = read(Train, {**CARTPOLE, "seed": seed})
    run = create(folder / str(seed), "train", settings.model_dump())
    trained = list(keep(run, lambda snapshot: train(settings, Local(), snapshot)))[-1]
    match = Match(CARTPOLE["world"], {}, {"all": resolve(f"run:{run.folder}")}, 0, 0, 100)
    episodes = play_match(match)
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
