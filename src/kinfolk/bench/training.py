"""How fast training is, end to end, beside the most that its matrix products allow.

The ceiling is the rate of the matrix products alone: one forward pass to act, and a forward and a
backward pass per epoch to learn. The plain loop is a textbook PPO for a single policy and a world
that does nothing.

All rates are per second of processor time, because every part runs in one thread, and wall-clock
time would include the load of other programs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np

from kinfolk.bench.worlds import savanna_settings
from kinfolk.core.imports import optional_import
from kinfolk.core.settings import validate_settings
from kinfolk.engines.base import LocalEngine
from kinfolk.jobs.train.job import train
from kinfolk.jobs.train.reports import UpdateDone
from kinfolk.jobs.train.settings import Train
from kinfolk.worlds.adapters import make_fixed_agents

with optional_import("The benchmark of training"):
    import torch
    from torch import nn

HIDDEN = (64, 64)
MINIBATCH_SIZE = 4096
_WORLDS, _TICKS = 64, 16
_ROUNDS = 4
_WARM_UP = 2  # updates
_NET = "kin://mlp?hidden=[64,64]"
_ACTIONS = 9
_SB3_ROLLOUT_LENGTH = 32  # of a rollout; two are learnt from, the first to warm up


def measure_sb3(hidden: tuple[int, ...], minibatch_size: int) -> float | None:
    """Return agent-steps per second of processor time of Stable-Baselines3, one epoch.

    Each fixed agent slot is an environment for it, also while no agent lives in the slot.

    Args:
        hidden: Sizes of hidden layers.
        minibatch_size: Rows per minibatch.

    Returns:
        Steps of living agents per second; None if Stable-Baselines3 is not installed.
    """
    if find_spec("stable_baselines3") is None:
        return None
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import VecEnv

    class Slots(VecEnv):  # type: ignore[misc]
        """Vectorised environment of all agent slots of one savanna."""

        def __init__(self) -> None:
            self.env = make_fixed_agents("savanna", observation="compact", **savanna_settings())
            names = self.env.possible_agents
            self.lived = 0
            spaces = self.env.observation_space(names[0]), self.env.action_space(names[0])
            super().__init__(len(names), *spaces)

        def reset(self) -> Any:
            seen, _ = self.env.reset()
            return self._stacked(seen)

        def step_async(self, actions: Any) -> None:
            self._actions = dict(zip(self.env.possible_agents, actions, strict=True))

        def step_wait(self) -> Any:
            self.lived += int(self.env.world.columns.alive.sum())
            seen, rewards, _, over, _ = self.env.step(self._actions)
            done = np.fromiter(over.values(), dtype=bool)
            infos: list[dict[str, Any]] = [{} for _ in over]
            if done.all():
                seen, _ = self.env.reset()
            earned = np.fromiter(rewards.values(), dtype=np.float32)
            return self._stacked(seen), earned, done, infos

        def _stacked(self, seen: Any) -> Any:
            return np.stack([seen[name] for name in self.env.possible_agents])

        def close(self) -> None:
            self.env.close()

        def get_attr(self, *_: Any, **__: Any) -> list[Any]:
            return [None] * self.num_envs

        def set_attr(self, *_: Any, **__: Any) -> None:
            raise NotImplementedError

        env_method = set_attr

        def env_is_wrapped(self, *_: Any, **__: Any) -> list[bool]:
            return [False] * self.num_envs

    slots = Slots()
    learner = PPO(
        "MlpPolicy", slots, n_steps=_SB3_ROLLOUT_LENGTH, batch_size=minibatch_size, n_epochs=1, device="cpu",
        policy_kwargs={"net_arch": list(hidden)},
    )  # fmt: skip
    learner.learn(_SB3_ROLLOUT_LENGTH * slots.num_envs)
    slots.lived, start = 0, time.process_time()
    learner.learn(_SB3_ROLLOUT_LENGTH * slots.num_envs)
    return slots.lived / (time.process_time() - start)


def bench_training(rounds: int = _ROUNDS) -> dict[str, Any]:
    """Measure training beside its ceiling, a plain PPO loop and Stable-Baselines3.

    All are measured in turn, and the best of `rounds` rounds counts.

    Args:
        rounds: How often each is measured.

    Returns:
        Sizes (`net`, `worlds`, `ticks`); `agent_steps_per_second` by name of the variant;
        `share_of_ceiling` and `share_of_plain_loop` by number of epochs; `two_slots_cost` and `frozen_gain`, ratios of rates
        of one slot, and of two slots with frozen prey, to two trained slots.
    """
    torch.set_num_threads(1)
    inputs = _count_inputs(_make_settings(1, 1))
    measures: dict[str, Callable[[], float]] = {
        "two slots, 1 epoch": _iter_rates(_make_settings(1, 2)).__next__,
        "two slots, 4 epochs": _iter_rates(_make_settings(4, 2)).__next__,
        "one slot, 1 epoch": _iter_rates(_make_settings(1, 1)).__next__,
        "two slots, prey frozen, 1 epoch": _iter_rates(_make_settings(1, 2, frozen=True)).__next__,
        "ceiling, 1 epoch": lambda: _measure_ceiling(inputs, 1),
        "ceiling, 4 epochs": lambda: _measure_ceiling(inputs, 4),
        "plain loop, 1 epoch": lambda: _measure_plain_loop(inputs, 1),
        "plain loop, 4 epochs": lambda: _measure_plain_loop(inputs, 4),
    }
    best = dict.fromkeys(measures, 0.0)
    for _ in range(rounds):
        for name, measure in measures.items():
            best[name] = max(best[name], measure())
    theirs = measure_sb3(HIDDEN, MINIBATCH_SIZE)
    if theirs is not None:
        best["Stable-Baselines3 on the fixed slots, 1 epoch"] = theirs
    two = best["two slots, 1 epoch"]
    return {
        "net": {"inputs": inputs, "hidden": list(HIDDEN), "outputs": _ACTIONS},
        "worlds": _WORLDS,
        "ticks": _TICKS,
        "agent_steps_per_second": best,
        "share_of_ceiling": {
            n: best[f"two slots, {n}"] / best[f"ceiling, {n}"] for n in ("1 epoch", "4 epochs")
        },
        "share_of_plain_loop": {
            n: best[f"two slots, {n}"] / best[f"plain loop, {n}"] for n in ("1 epoch", "4 epochs")
        },
        "two_slots_cost": best["one slot, 1 epoch"] / two,
        "frozen_gain": best["two slots, prey frozen, 1 epoch"] / two,
    }


def _make_settings(epochs: int, slots: int, frozen: bool = False) -> Train:
    """Return settings of a training on a savanna whose population does not die out.

    Args:
        epochs: Epochs per update.
        slots: Number of slots: 1 for all agents, or 2 for predators and prey.
        frozen: Whether the slot of the prey is not trained.
    """
    settings: dict[str, Any] = {
        "world": "savanna",
        "world_settings": {**savanna_settings(), "observation": "compact"},
        "worlds": _WORLDS,
        "rollout_length": _TICKS,
        "steps": 10**12,
        "checkpoint_every": 10**6,
        "ppo": {"n_epochs": epochs, "minibatch_size": MINIBATCH_SIZE},
        "slots": {"main": _NET},
    }
    if slots == 2:
        prey = {"policy_uri": _NET, "trainable": not frozen}
        settings["slots"] = {"predators": _NET, "prey": prey}
        settings["agent_slot_map"] = {"type_1_predator": "predators", "type_1_prey": "prey"}
    return validate_settings(Train, settings)


def _iter_rates(settings: Train) -> Iterator[float]:
    """Yield the agent-steps per second of each update after the first `_WARM_UP`."""
    start = time.process_time()
    for item in train(settings, LocalEngine()):
        if not isinstance(item, UpdateDone):
            continue
        rows = sum(slot["rows"] for slot in item.slots.values())
        if item.update > _WARM_UP:
            yield rows / (time.process_time() - start)
        start = time.process_time()


def _count_inputs(settings: Train) -> int:
    """Return the number of encoded inputs of a net for these settings."""
    from kinfolk.policies.neural.encoding import FeatureEncoder
    from kinfolk.worlds import build_world

    return FeatureEncoder(build_world(settings.world, settings.world_settings, 1).spec).shape.inputs


def _measure_ceiling(inputs: int, epochs: int) -> float:
    """Return the rows per second that the matrix products alone allow.

    Args:
        inputs: Number of inputs of the net.
        epochs: Epochs per update.
    """
    sizes = [inputs, *HIDDEN, _ACTIONS + 2]
    x = [torch.randn(MINIBATCH_SIZE, size) for size in sizes]
    weights = [torch.randn(a, b) for a, b in pairwise(sizes)]

    def forward() -> None:
        """Compute the matrix products of a forward pass."""
        for value, weight in zip(x, weights, strict=False):
            torch.mm(value, weight)

    def backward() -> None:
        """Compute the matrix products of a backward pass."""
        for layer, weight in enumerate(weights):
            torch.mm(x[layer].t(), x[layer + 1])
            if layer:
                torch.mm(x[layer + 1], weight.t())

    repeats = 8
    start = time.process_time()
    for _ in range(repeats):
        forward()
        for _ in range(epochs):
            forward()
            backward()
    return repeats * MINIBATCH_SIZE / (time.process_time() - start)


def _measure_plain_loop(inputs: int, epochs: int) -> float:
    """Return the rows per second of a textbook PPO with one net and random observations.

    Args:
        inputs: Number of inputs of the net.
        epochs: Epochs per update.
    """
    agents, ticks = MINIBATCH_SIZE, 8
    net = nn.Sequential(
        nn.Linear(inputs, HIDDEN[0]), nn.ReLU(), nn.Linear(*HIDDEN), nn.ReLU(),
        nn.Linear(HIDDEN[1], _ACTIONS + 1),
    )  # fmt: skip
    optimiser = torch.optim.Adam(net.parameters(), lr=3e-4)
    noise = torch.from_numpy(np.random.default_rng(0).integers(0, 8, (agents, inputs), np.uint8))
    start = time.process_time()
    seen, actions, log_probs, values = [], [], [], []
    for _ in range(ticks):
        with torch.no_grad():
            x = noise.float()
            out = net(x)
            choice: Any = torch.distributions.Categorical(logits=out[:, :_ACTIONS])
            action = choice.sample()
        seen.append(noise)
        actions.append(action)
        log_probs.append(choice.log_prob(action))
        values.append(out[:, _ACTIONS])
    reward = torch.zeros(agents)
    advantages, later = [], torch.zeros(agents)
    for value, after in zip(values[::-1], [values[-1], *values[:0:-1]], strict=True):
        later = reward + 0.99 * after - value + 0.99 * 0.95 * later
        advantages.append(later)
    columns = [torch.cat(c) for c in (seen, actions, log_probs, values, advantages[::-1])]
    for _ in range(epochs):
        order = torch.randperm(agents * ticks)
        for rows in order.split(MINIBATCH_SIZE):  # type: ignore[no-untyped-call]
            _take_plain_step(net, optimiser, [column[rows] for column in columns])
    return agents * ticks / (time.process_time() - start)


def _take_plain_step(net: nn.Module, optimiser: Any, columns: list[torch.Tensor]) -> None:
    """Take one gradient step of the textbook PPO.

    Args:
        net: Net whose outputs are the logits and, last, the value.
        optimiser: Optimiser of the net's parameters.
        columns: Observations, actions, log-probabilities, values and advantages of a minibatch.
    """
    seen, action, log_prob, value, advantage = columns
    out = net(seen.float())
    choice: Any = torch.distributions.Categorical(logits=out[:, :_ACTIONS])
    ratio = (choice.log_prob(action) - log_prob).exp()
    unit = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    surrogate = torch.minimum(ratio * unit, ratio.clamp(0.8, 1.2) * unit).mean()
    error = (out[:, _ACTIONS] - advantage - value).square().mean()
    loss = -surrogate + 0.5 * error - 0.01 * choice.entropy().mean()
    optimiser.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 0.5)
    optimiser.step()
