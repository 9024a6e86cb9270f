"""How fast training is, end to end, beside the most that its matrix products allow.

The ceiling is the time of nothing but the products: one forward to act, and a forward and a
backward per epoch to learn. The plain loop is what one would write for a single policy and a
world that does nothing.

All rates are per second of processor time: each is one thread's work, and on a machine that others
use too the clock on the wall would measure them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import nn

from kinfolk.core.settings import read
from kinfolk.engines.local import Local
from kinfolk.jobs.bench_sb3 import sb3_rate
from kinfolk.jobs.bench_worlds import scene
from kinfolk.jobs.train import train
from kinfolk.jobs.train_events import Updated
from kinfolk.jobs.train_settings import Train

HIDDEN = (64, 64)
MINIBATCH = 4096
_WORLDS, _TICKS = 64, 16
_ROUNDS = 4
_WARM_UP = 2  # updates
_NET = "kin://mlp?hidden=[64,64]"
_ACTIONS = 9


def bench_train(rounds: int = _ROUNDS) -> dict[str, Any]:
    """Rates in agent-steps/s, the best of some rounds in which all take turns."""
    torch.set_num_threads(1)
    asked = {
        "two slots, 1 epoch": _settings(1, 2),
        "two slots, 4 epochs": _settings(4, 2),
        "one slot, 1 epoch": _settings(1, 1),
        "two slots, prey frozen, 1 epoch": _settings(1, 2, frozen=True),
    }
    runs = {name: _rates(settings) for name, settings in asked.items()}
    inputs = _inputs(asked["one slot, 1 epoch"])
    others: dict[str, Callable[[], float]] = {
        "ceiling, 1 epoch": lambda: _ceiling(inputs, 1),
        "ceiling, 4 epochs": lambda: _ceiling(inputs, 4),
        "plain loop, 1 epoch": lambda: _plain_loop(inputs, 1),
        "plain loop, 4 epochs": lambda: _plain_loop(inputs, 4),
    }
    best = dict.fromkeys([*runs, *others], 0.0)
    for _ in range(rounds):
        for name, rates in runs.items():
            best[name] = max(best[name], next(rates))
        for name, measure in others.items():
            best[name] = max(best[name], measure())
    theirs = sb3_rate(HIDDEN, MINIBATCH)
    if theirs is not None:
        best["Stable-Baselines3 on the fixed slots, 1 epoch"] = theirs
    two = best["two slots, 1 epoch"]
    return {
        "net": {"inputs": inputs, "hidden": list(HIDDEN), "outputs": _ACTIONS},
        "worlds": _WORLDS,
        "ticks": _TICKS,
        "agent_steps_per_second": best,
        "share_of_ceiling": {
            "1 epoch": two / best["ceiling, 1 epoch"],
            "4 epochs": best["two slots, 4 epochs"] / best["ceiling, 4 epochs"],
        },
        "two_slots_cost": best["one slot, 1 epoch"] / two,
        "frozen_gain": best["two slots, prey frozen, 1 epoch"] / two,
    }


def _settings(epochs: int, slots: int, frozen: bool = False) -> Train:
    """A savanna on which a population lives on, seen in compact windows of 9 x 9."""
    prey: dict[str, Any] = {"policy_uri": _NET, "trainable": not frozen}
    two = {
        "slots": {"predators": _NET, "prey": prey},
        "agent_slot_map": {"type_1_predator": "predators", "type_1_prey": "prey"},
    }
    return read(
        Train,
        {
            "world": "savanna",
            "world_settings": {**scene(), "observation": "compact"},
            "worlds": _WORLDS,
            "ticks": _TICKS,
            "steps": 10**12,
            "checkpoint_every": 10**6,
            "learning": {"epochs": epochs, "minibatch": MINIBATCH},
            **(two if slots == 2 else {"slots": {"main": _NET}}),
        },
    )


def _rates(settings: Train) -> Iterator[float]:
    """The rate of one update after another; the first few warm up."""
    start = time.process_time()
    for item in train(settings, Local()):
        if not isinstance(item, Updated):
            continue
        rows = sum(slot["rows"] for slot in item.slots.values())
        if item.update > _WARM_UP:
            yield rows / (time.process_time() - start)
        start = time.process_time()


def _inputs(settings: Train) -> int:
    from kinfolk.policies.neural.reader import Reader
    from kinfolk.worlds import build

    return Reader(build(settings.world, settings.world_settings, 1).spec).shape.inputs


def _ceiling(inputs: int, epochs: int) -> float:
    """Rows per second if there were nothing but products of matrices."""
    sizes = [inputs, *HIDDEN, _ACTIONS + 2]
    x = [torch.randn(MINIBATCH, size) for size in sizes]
    weights = [torch.randn(a, b) for a, b in pairwise(sizes)]

    def forward() -> None:
        for value, weight in zip(x, weights, strict=False):
            torch.mm(value, weight)

    def backward() -> None:
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
    return repeats * MINIBATCH / (time.process_time() - start)


def _plain_loop(inputs: int, epochs: int) -> float:
    """PPO as in a textbook: one net, a world of noise, no slots, no lives."""
    agents, ticks = MINIBATCH, 8
    net = nn.Sequential(
        nn.Linear(inputs, HIDDEN[0]), nn.ReLU(), nn.Linear(*HIDDEN), nn.ReLU(),
        nn.Linear(HIDDEN[1], _ACTIONS + 1),
    )  # fmt: skip
    optimiser = torch.optim.Adam(net.parameters(), lr=3e-4)
    noise = torch.from_numpy(np.random.default_rng(0).integers(0, 8, (agents, inputs), np.uint8))
    start = time.process_time()
    seen, actions, chances, values = [], [], [], []
    for _ in range(ticks):
        with torch.no_grad():
            x = noise.float()
            out = net(x)
            choice: Any = torch.distributions.Categorical(logits=out[:, :_ACTIONS])
            action = choice.sample()
        seen.append(noise)
        actions.append(action)
        chances.append(choice.log_prob(action))
        values.append(out[:, _ACTIONS])
    reward = torch.zeros(agents)
    advantages, later = [], torch.zeros(agents)
    for value, after in zip(values[::-1], [values[-1], *values[:0:-1]], strict=True):
        later = reward + 0.99 * after - value + 0.99 * 0.95 * later
        advantages.append(later)
    columns = [torch.cat(c) for c in (seen, actions, chances, values, advantages[::-1])]
    for _ in range(epochs):
        order = torch.randperm(agents * ticks)
        for at in order.split(MINIBATCH):  # type: ignore[no-untyped-call]
            _plain_step(net, optimiser, [column[at] for column in columns])
    return agents * ticks / (time.process_time() - start)


def _plain_step(net: nn.Module, optimiser: Any, columns: list[torch.Tensor]) -> None:
    seen, action, chance, value, advantage = columns
    out = net(seen.float())
    choice: Any = torch.distributions.Categorical(logits=out[:, :_ACTIONS])
    ratio = (choice.log_prob(action) - chance).exp()
    unit = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    surrogate = torch.minimum(ratio * unit, ratio.clamp(0.8, 1.2) * unit).mean()
    error = (out[:, _ACTIONS] - advantage - value).square().mean()
    loss = -surrogate + 0.5 * error - 0.01 * choice.entropy().mean()
    optimiser.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 0.5)
    optimiser.step()
