"""A critic that sees the whole team (MAPPO): its rows, its values, and what is learnt with it."""

import numpy as np
import pytest
import torch
from small_trainings import TINY, collected, same, settings_of
from torch import nn

import kinfolk as kf
from kinfolk.core.errors import ContractError, SettingsError
from kinfolk.core.events import Snapshot
from kinfolk.core.imports import RegistryEntry
from kinfolk.engines.base import LocalEngine
from kinfolk.engines.processes import ProcessEngine
from kinfolk.jobs.train.job import train
from kinfolk.jobs.train.trainer import update_learners
from kinfolk.policies.neural.modules import TeamLayer
from kinfolk.testing.contracts.job import event_lines
from kinfolk.testing.probe.world import ProbeWorld
from kinfolk.training.minibatches import iter_team_minibatches
from kinfolk.worlds import WORLDS

NET = "kin://mlp?hidden=[16]&critic=team"
TEAM = {**TINY, "slots": {"herd": NET, "pack": NET}, "steps": 400,
        "agent_slot_map": {"grazer": "herd", "hunter": "pack"}}  # fmt: skip


class Chorus(ProbeWorld):
    """Agents are born with a gain that only they see; all earn the mean gain of those who call."""

    def gains(self):
        state = self._state
        return ((state.uid * 7919 + state.key[:, None] % 1009 * 31) % 8 - 3.5) / 2.0

    def step(self, actions):
        state = self._state
        acting = state.alive.copy()
        calls = actions[:, 1].reshape(acting.shape) == 1
        total = (self.gains() * calls * acting).sum(axis=1, keepdims=True)
        super().step(actions)
        state.reward[...] = np.where(acting, total / np.maximum(acting.sum(1)[:, None], 1), 0.0)

    def observe(self, out, worlds=None):
        super().observe(out, worlds)
        rows = np.flatnonzero(self._state.uid >= 0)
        column = self._body_offset[self._state.group.ravel()[rows]] + 1
        out.view(np.float32)[rows, column] = self.gains().ravel()[rows]


@pytest.fixture
def chorus(monkeypatch):
    entry = RegistryEntry(f"{__name__}:Chorus", "a co-operative task")
    monkeypatch.setitem(WORLDS.entries, "chorus", entry)
    return "chorus"


def test_minibatches_hold_whole_teams_and_every_row_once():
    team = np.array([4, 0, 0, 4, 7, 2, 2, 2, 9, 4])
    parts = list(iter_team_minibatches(team, 4, 1, key=3, epoch=0))
    assert len(parts) == 2
    assert sorted(np.concatenate(parts).tolist()) == list(range(10))
    assert not set(team[parts[0]]) & set(team[parts[1]])
    again = [part.tolist() for part in iter_team_minibatches(team, 4, 1, key=3, epoch=0)]
    assert again == [part.tolist() for part in parts]
    orders = {np.concatenate(list(iter_team_minibatches(team, 4, 1, 3, e))).tobytes()
              for e in range(8)}  # fmt: skip
    assert len(orders) > 4
    assert len(list(iter_team_minibatches(team, 4, 99, 3, 0))) == 5, "at most one per team"


def test_the_layer_sees_the_mean_and_the_size_of_the_team_in_any_order():
    torch.manual_seed(0)
    layer = TeamLayer(6)
    nn.init.normal_(layer.size)
    x, team = torch.randn(5, 6), torch.tensor([8, 3, 8, 8, 3])
    out = layer(x, team)
    mean = x[team == 8].mean(0)
    expected = torch.tanh(layer.own(x[0]) + layer.mean(mean) + np.log(3.0) * layer.size)
    assert torch.allclose(out[0], expected, atol=1e-6)
    order = torch.tensor([4, 2, 0, 1, 3])
    assert torch.allclose(layer(x[order], team[order]), out[order], atol=1e-6)
    changed = x.clone()
    changed[1] += 1.0
    moved = layer(changed, team)
    assert torch.equal(moved[[0, 2, 3]], out[[0, 2, 3]]), "other teams do not matter"
    assert not torch.allclose(moved[4], out[4])
    assert torch.allclose(layer(x, torch.arange(5)), layer(x, None), atol=1e-6)


def test_actors_are_decentralised_and_the_value_is_not():
    policy = collected(settings_of(TEAM))[0].learners["herd"].policy
    x = torch.randn(4, policy.encoder.shape.inputs)
    together, apart = torch.zeros(4, dtype=torch.int64), torch.arange(4)
    with torch.no_grad():
        one, two = policy.module(x, together), policy.module(x, apart)
    assert torch.equal(one[0], two[0])
    assert not torch.allclose(one[1], two[1])


def test_recorded_values_are_those_of_living_teams_through_births_and_deaths():
    state, blocks = collected(settings_of(TEAM, rollout_length=60))
    for name, rows in blocks.items():
        n_worlds = len(np.unique(rows["memory_index"] // 16))
        sizes = np.bincount(rows["team"])
        assert len(np.unique(sizes)) > 2, "teams grow and shrink"
        assert len(sizes) <= 60 * n_worlds
        for team in (0, 5, len(sizes) - 1):
            members = rows["memory_index"][rows["team"] == team]
            assert len(np.unique(members // 16)) == 1, "one world"
        learner = state.learners[name]
        for indices, output in learner._forward_minibatches(rows, len(rows["team"]), 1, 0):
            assert np.allclose(output.value.detach().numpy(), rows["value"][indices], atol=1e-5)


def test_the_bootstrap_value_is_that_of_the_next_rollouts_team():
    settings = settings_of(TEAM, n_chunks=2, ppo={"learning_rate": 1e-30})
    compared = 0
    with kf.Trainer(**settings.model_dump(exclude_unset=True)) as trainer:
        for _ in range(3):
            rollout = trainer.collect()
            rows = {n: {c: a.copy() for c, a in r.items()} for n, r in rollout.slots.items()}
            trainer.learn(rollout)
            after = trainer.collect().slots
            for name, before in rows.items():
                following = after[name]
                first = np.unique(following["memory_index"], return_index=True)[1]
                value_of = {
                    (m, u): (v, t)
                    for m, u, v, t in zip(*(following[c][first].tolist() for c in
                                            ("memory_index", "uid", "value", "team")), strict=True)
                }  # fmt: skip
                team_sizes = np.bincount(following["team"])
                last = (before["bootstrap_index"] >= 0) & ~before["done"]
                sizes_before = np.bincount(before["memory_index"][last] // 16, minlength=4)
                for i in np.flatnonzero(last).tolist():
                    key = int(before["memory_index"][i]), int(before["uid"][i])
                    if key not in value_of:
                        continue
                    value, team = value_of[key]
                    if team_sizes[team] == sizes_before[key[0] // 16]:  # no newborn joined
                        bootstrap = before["bootstrap_value"][before["bootstrap_index"][i]]
                        assert bootstrap == pytest.approx(value, abs=1e-5)
                        compared += 1
    assert compared > 20


@pytest.mark.more
def test_engines_and_resumed_trainings_give_the_same_bits():
    settings = settings_of(TEAM, steps=1200, n_chunks=2, checkpoint_every=1)
    here = list(train(settings, LocalEngine()))
    engine = ProcessEngine(2)
    try:
        there = list(train(settings, engine))
    finally:
        engine.close()
    assert event_lines(here) == event_lines(there)
    snapshots = [item for item in here if isinstance(item, Snapshot)]
    rest = list(train(settings, LocalEngine(), snapshots[0]))
    assert rest[-1].weights == here[-1].weights
    last = [item for item in rest if isinstance(item, Snapshot)][-1]
    assert same(last.arrays, snapshots[-1].arrays)


def test_a_student_with_a_team_critic_learns_from_the_teams_that_its_teacher_plays():
    settings = settings_of(
        TEAM, slots={"pack": {"policy_uri": "kin://probe-python", "trainable": False}},
        teachers={"herd": {"teacher": "pack"}},
    )  # fmt: skip
    state, blocks = collected(settings)
    assert {"team", "teacher_action"} <= set(blocks["pack"]) & set(blocks["herd"])
    stats = update_learners(state, list(blocks.values()))
    assert stats["herd"]["value_loss"] > 0.0


@pytest.mark.more
def test_a_trained_team_is_evaluated_as_single_agents(tmp_path):
    kf.train(**{**TEAM, "out": tmp_path / "run"})
    table = {"slots": {n: f"run:{tmp_path / 'run'}/{n}" for n in TEAM["slots"]},
             "agent_slot_map": TEAM["agent_slot_map"], "episodes": 2}  # fmt: skip
    together = kf.evaluate("probe", **table)
    assert kf.evaluate("probe", **table, isolate="agent").returns == together.returns


class Both(nn.Module):
    memory_size, uses_team = 4, True

    def __init__(self, shape):
        super().__init__()


class OwnTeamNet(nn.Module):
    uses_team = True

    def __init__(self, shape):
        super().__init__()
        self.actor, self.value = nn.Linear(shape.inputs, shape.outputs), nn.Linear(shape.inputs, 16)
        self.team = TeamLayer(16)

    def forward(self, x, team=None):
        return self.actor(x), self.team(self.value(x), team).sum(dim=1)


def test_a_module_of_your_own_may_use_the_team():
    with kf.Trainer("probe", slots={"main": OwnTeamNet}, worlds=2, rollout_length=8) as trainer:
        rollout = trainer.collect()
        stats = trainer.learn(rollout)
    assert "team" in rollout.slots["main"]
    assert stats["main"]["value_loss"] > 0.0
    with pytest.raises(ContractError, match=r"cannot have both memory_size and uses_team \(test_t"):
        kf.Trainer("probe", slots={"main": Both})
    with pytest.raises(SettingsError) as caught:
        kf.Trainer("probe", slots={"main": "kin://gru?critic=team"})
    assert str(caught.value) == "A recurrent net has no team critic: use kin://mlp or kin://conv."


def learn_chorus(critic, seed):
    """Return the explained variance late in a training, and the scores early and late."""
    trainer = kf.Trainer(
        "chorus", slots={"main": f"kin://mlp?hidden=[32]&normalize=true&critic={critic}"},
        steps=40_000, worlds=8, rollout_length=32, seed=seed,
        ppo={"gamma": 0.9, "n_epochs": 5, "minibatch_size": 256, "learning_rate": 1e-3},
    )  # fmt: skip
    updates = [event for event in trainer if event.kind == "update_done"]
    explained = [update.slots["main"]["explained_variance"] for update in updates]
    scores = [update.score for update in updates if update.score is not None]
    return np.mean(explained[len(explained) // 2 :]), scores[0], scores[-1]


@pytest.mark.more
@pytest.mark.timeout(600)
def test_a_team_with_a_shared_reward_learns_and_its_critic_explains_more(chorus):
    for seed in (0, 1):
        alone, _, _ = learn_chorus("separate", seed)
        team, early, late = learn_chorus("team", seed)
        assert team > alone + 0.1
        assert late > early + 4.0
