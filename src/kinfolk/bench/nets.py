"""Benchmarks of populations of nets, beside a loop of modules and a plain torch form."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

from kinfolk.bench.net_oracles import strategy_fitness, time_oracles
from kinfolk.core.imports import optional_import
from kinfolk.core.random import seed_key
from kinfolk.core.settings import validate_settings
from kinfolk.engines.base import LocalEngine
from kinfolk.evolution.strategies import make_strategy
from kinfolk.jobs.evolve_nets.job import NetsEvolved, evolve_nets
from kinfolk.jobs.evolve_nets.settings import EvolveNets
from kinfolk.nets.dynamic.nets import DynamicNets
from kinfolk.nets.registry import make_nets

with optional_import("The benchmark of nets"):
    import torch
    from torch import nn

POPULATIONS, BATCHES = (64, 256, 1024), (1, 16)
KINDS = ("feedforward", "recurrent", "dynamic")
INPUTS, HIDDEN, OUTPUTS = 32, 32, 8
MUTATION_POPULATION = 256
STRATEGY_PARAMETERS = 2000
_GROWTH_MUTATIONS = 60  # mutations before dynamic nets are measured
_CARTPOLE = {
    "algorithm": "ga",
    "population": 256,
    "chunk_size": 256,
    "generations": 12,
    "held_out_episodes": 0,
}


def bench_nets() -> dict[str, Any]:
    """Measure forward passes, mutation and evolution of populations of nets.

    Returns:
        `forward`, a dict of `_time_forward` for each kind and size; `mutation` of `_time_mutation`;
        `strategies` of `_time_strategies`; `cartpole` of `_time_cartpole`; and `oracles` of
        `time_oracles`.
    """
    torch.set_num_threads(1)
    forward = [_time_forward(kind, p, b) for kind in KINDS for p in POPULATIONS for b in BATCHES]
    return {
        "forward": forward,
        "mutation": _time_mutation(),
        "strategies": _time_strategies(),
        "cartpole": _time_cartpole(),
        "oracles": time_oracles(_median_us, MUTATION_POPULATION, STRATEGY_PARAMETERS),
    }


def _median_us(call: Callable[[], Any], seconds: float = 0.4) -> float:
    """Return the median duration of a call in microseconds.

    Args:
        call: Function to time; the first call is not counted.
        seconds: How long to repeat it, at least five times.
    """
    call()
    taken: list[float] = []
    until = time.perf_counter() + seconds
    while len(taken) < 5 or time.perf_counter() < until:
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return 1e6 * statistics.median(taken)


def _time_forward(kind: str, population: int, batch: int) -> dict[str, Any]:
    """Measure a forward pass of a population, and of its reference implementation.

    Args:
        kind: Kind of nets: feedforward, recurrent or dynamic.
        population: Number of nets.
        batch: Inputs per net.

    Returns:
        The arguments, microseconds per pass (`us`), name and microseconds of the reference
        (`reference`, `reference_us`), their `ratio`, and for dynamic nets the mean number of
        `nodes`.
    """
    nets = grow_nets(population) if kind == "dynamic" else _make_static(kind, population)
    x = torch.randn(population, batch, INPUTS, generator=torch.Generator().manual_seed(0))
    _, memory = nets(x)
    ours = _median_us(lambda: nets(x, memory))
    figures: dict[str, Any] = {"kind": kind, "population": population, "batch": batch, "us": ours}
    if kind == "dynamic":
        figures["nodes"] = float(nets.node_counts.mean())
        name, reference = "torch gather", TorchGather(nets, batch).make_step(x)
    else:
        name, reference = "loop of modules", _make_module_loop(kind, x)
    theirs = _median_us(reference)
    return {**figures, "reference": name, "reference_us": theirs, "ratio": theirs / ours}


def _make_static(kind: str, population: int) -> Any:
    """Return a population of nets of fixed shape, with one hidden layer."""
    return make_nets(kind, population, INPUTS, OUTPUTS, (HIDDEN,), key=seed_key(1))


def grow_nets(population: int) -> DynamicNets:
    """Return dynamic nets that were mutated `_GROWTH_MUTATIONS` times."""
    nets = DynamicNets(population, INPUTS, OUTPUTS, key=seed_key(0))
    for step in range(_GROWTH_MUTATIONS):
        nets.mutate(seed_key(step + 1))
    return nets


def _make_module_loop(kind: str, x: Any) -> Callable[[], Any]:
    """Return a function that runs one torch module per member, one after another.

    Args:
        kind: feedforward or recurrent.
        x: `[members, batch, inputs]`, inputs of each member.
    """

    class Elman(nn.Module):
        """Recurrent net with one hidden layer, which starts from zeros."""

        def __init__(self) -> None:
            super().__init__()
            self.cell, self.out = nn.RNNCell(INPUTS, HIDDEN), nn.Linear(HIDDEN, OUTPUTS)

        def forward(self, inputs: Any) -> Any:
            """Return the outputs of one step."""
            return self.out(self.cell(inputs, state))

    def feedforward() -> nn.Module:
        """Return a feedforward net with one hidden layer."""
        return nn.Sequential(nn.Linear(INPUTS, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, OUTPUTS))

    state = torch.zeros(x.shape[1], HIDDEN)
    members = [Elman() if kind == "recurrent" else feedforward() for _ in range(len(x))]

    @torch.no_grad()
    def call() -> Any:
        """Return the outputs of all members, `[members, batch, outputs]`."""
        return torch.stack([m(inputs) for m, inputs in zip(members, x, strict=True)])

    return call


class TorchGather:
    """Dynamic nets in plain torch: gather inputs of nodes, weigh, sum and standardise them.

    Without a kernel, all nets run as many passes as the net that needs the most.

    Args:
        nets: Nets whose graph and weights are copied.
        batch: Inputs per net.
    """

    def __init__(self, nets: DynamicNets, batch: int) -> None:
        g = nets.graph
        self._source = torch.from_numpy(np.maximum(g.source, 0))[:, None].expand(-1, batch, -1, -1)
        self._weight = torch.from_numpy(np.where(g.source >= 0, g.weight, 0.0))[:, None].float()
        self._passes, self._inputs, self._outputs = int(g.passes.max()), nets.inputs, nets.outputs
        self._active = torch.from_numpy(np.arange(nets.capacity) >= nets.inputs)
        self.state = [torch.zeros(nets.num_nets, batch, nets.capacity) for _ in range(5)]

    def _standardise(self, value: Any, active: Any) -> None:
        """Update running statistics with node values, and write standardised outputs to `state`."""
        x, z, n, mean, m2 = self.state
        new = active & (value != 0) & (value != x)
        count = torch.where(new, n + 1, n)
        away = value - mean
        middle = torch.where(new, mean + away / count.clamp(min=1), mean)
        squares = torch.where(new, m2 + away * (value - middle), m2)
        deviation = torch.sqrt(squares / (count - 1).clamp(min=1)).clamp(min=1e-8)
        output = torch.where(count >= 2, (value - middle) / deviation, torch.zeros(()))
        output = torch.where(value == 0, torch.zeros(()), output)
        x, z = torch.where(new, value, x), torch.where(active, output, z)
        self.state = [x, z, count, middle, squares]

    def make_step(self, x: Any) -> Callable[[], Any]:
        """Return a function that runs one step of all nets on inputs `x`."""

        @torch.no_grad()
        def call() -> Any:
            shown = torch.nn.functional.pad(x, (0, self.state[0].shape[2] - self._inputs))
            self._standardise(shown, ~self._active)
            for _ in range(self._passes):
                output = self.state[1][..., None].expand(-1, -1, -1, 3)
                sources = torch.gather(output, 2, self._source)
                self._standardise((sources * self._weight).sum(dim=3), self._active)
            return self.state[1][..., self._inputs : self._inputs + self._outputs]

        return call


def _time_mutation() -> dict[str, Any]:
    """Measure how long it takes to copy and mutate a population.

    Returns:
        `population`; milliseconds for dynamic and feedforward nets (`dynamic_ms`, `static_ms`);
        mean number of `nodes` of the dynamic nets, and `parameters` of a feedforward net;
        `mutate_ms` of the mutation alone, and `normals_ms` of drawing its normals.
    """
    nets = grow_nets(MUTATION_POPULATION)
    order = np.arange(MUTATION_POPULATION) // 2
    static = _make_static("feedforward", MUTATION_POPULATION)
    steps = count(1)

    def breed(population: Any, key: int) -> None:
        """Replace the population by copies of its first half, two of each, and mutate them."""
        population.apply_selection(order)
        population.mutate(key)

    dynamic_us = _median_us(lambda: breed(nets, seed_key(next(steps))), 0.3)
    return {
        "population": MUTATION_POPULATION,
        "dynamic_ms": dynamic_us / 1000,
        "nodes": float(nets.node_counts.mean()),
        "static_ms": _median_us(lambda: breed(static, seed_key(1)), 0.3) / 1000,
        "mutate_ms": _median_us(lambda: static.mutate(seed_key(1)), 0.3) / 1000,
        "normals_ms": _median_us(lambda: static.draw_normal(seed_key(1)), 0.3) / 1000,
        "parameters": int(static.flat.shape[1]),
    }


def _time_strategies() -> dict[str, float]:
    """Return milliseconds of a generation of each strategy, and of drawing its normals in numpy."""
    generator, shape = np.random.default_rng(0), (MUTATION_POPULATION, STRATEGY_PARAMETERS)
    figures = {"normals": _median_us(lambda: generator.standard_normal(shape, np.float32)) / 1000}
    for name in ("openai-es", "sep-cma", "snes", "pgpe"):
        start = np.zeros(STRATEGY_PARAMETERS)
        strategy = make_strategy(name, start, MUTATION_POPULATION, 0.5, 1)

        def generation(strategy: Any = strategy) -> None:
            """Run one generation of the strategy."""
            strategy.tell(strategy_fitness(strategy.ask()))

        figures[name] = _median_us(generation) / 1000
    return figures


def _time_cartpole() -> dict[str, Any]:
    """Measure an evolution on CartPole: selection, mutation and episodes together.

    Returns:
        `population`, `generations_per_second`, `ticks_per_second` and `ticks_per_member` of a
        generation; `overhead`, the share of time outside of the kernels that play.
    """
    settings = validate_settings(EvolveNets, {**_CARTPOLE, "hidden": (16,)})
    list(evolve_nets(settings.model_copy(update={"generations": 1}), LocalEngine()))
    start = time.perf_counter()
    items = list(evolve_nets(settings, LocalEngine()))
    seconds = time.perf_counter() - start
    steps = next(item.steps for item in items if isinstance(item, NetsEvolved))
    return {
        "population": settings.population,
        "generations_per_second": settings.generations / seconds,
        "ticks_per_second": steps / seconds,
        "ticks_per_member": steps / settings.generations / settings.population,
        "overhead": 1.0 - _time_kernels(settings) / seconds,
    }


def _time_kernels(settings: EvolveNets) -> float:
    """Return the seconds that an evolution spends in the tasks that it gives to its engine."""
    spent = 0.0

    class TimedEngine(LocalEngine):
        """A local engine that measures its tasks."""

        def map(self, task: Any, items: Any) -> Any:
            """Run every task and add up the time."""
            nonlocal spent
            for item in items:
                start = time.perf_counter()
                result = task(item)
                spent += time.perf_counter() - start
                yield result

    list(evolve_nets(settings, TimedEngine()))
    return spent
