"""Neuroevolution beside JAX, evosax and EvoTorch, in the same run, where they are installed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np

_ORACLE_POPULATION = 256  # size at which we are compared
Timer = Callable[[Callable[[], Any]], float]  # microseconds of a call


def time_oracles(median_us: Timer, members: int, parameters: int) -> dict[str, float]:
    """Measure what is installed of JAX, evosax and EvoTorch.

    Args:
        median_us: Measures a call.
        members: Size of populations.
        parameters: Parameters of a member of a strategy.

    Returns:
        By name: `forward_1_us` and `forward_16_us` of a vmapped 32-32-8 net in JAX; `cartpole_ms` of
        a vmapped CartPole (500 steps of a 4-16-2 net); `openai-es_ms`, `sep-cma_ms`, `snes_ms` and
        `pgpe_ms` per generation of evosax, and with `_evotorch` of EvoTorch. Names of what is not
        installed are missing.
    """
    figures: dict[str, float] = {}
    if find_spec("jax") is not None:
        figures |= _time_jax(median_us, members)
    if find_spec("evosax") is not None:
        figures |= _time_evosax(median_us, members, parameters)
    if find_spec("evotorch") is not None:
        figures |= _time_evotorch(median_us, members, parameters)
    return figures


def _time_jax(median_us: Timer, members: int) -> dict[str, float]:
    """Measure forward passes, and CartPole as gymnax writes it, with one scan of 500 steps."""
    import importlib

    jax: Any = importlib.import_module("jax")
    jnp: Any = importlib.import_module("jax.numpy")

    def net(p: Any, x: Any, ins: int, hidden: int, outs: int) -> Any:
        """Return the outputs of a net with one hidden layer and parameters in one vector."""
        a, b = ins * hidden, ins * hidden + hidden
        c = b + hidden * outs
        return (
            jnp.tanh(x @ p[:a].reshape(ins, hidden) + p[a:b]) @ p[b:c].reshape(hidden, outs) + p[c:]
        )

    figures: dict[str, float] = {}
    forward = jax.jit(jax.vmap(lambda p, x: net(p, x, 32, 32, 8)))
    weights = jax.random.normal(jax.random.key(0), (members, 32 * 33 + 33 * 8))
    for batch in (1, 16):
        x = jax.random.normal(jax.random.key(1), (members, batch, 32))
        call = _blocking(forward, weights, x)
        figures[f"forward_{batch}_us"] = median_us(call)

    def step(carry: Any, _: Any) -> Any:
        """Advance a cart pole by one step of its net."""
        p, state, total, alive = carry
        x, v, theta, w = state
        force = jnp.where(jnp.argmax(net(p, state, 4, 16, 2)) == 1, 10.0, -10.0)
        cos, sin = jnp.cos(theta), jnp.sin(theta)
        temp = (force + 0.05 * w * w * sin) / 1.1
        turn = (9.8 * sin - cos * temp) / (0.5 * (4.0 / 3.0 - 0.1 * cos * cos / 1.1))
        state = jnp.array([x + 0.02 * v, v + 0.02 * (temp - 0.05 * turn * cos / 1.1),
                           theta + 0.02 * w, w + 0.02 * turn])  # fmt: skip
        total = total + alive
        alive = alive * (jnp.abs(state[0]) <= 2.4) * (jnp.abs(state[2]) <= 0.20943951)
        return (p, state, total, alive), None

    def rollout(p: Any, key: Any) -> Any:
        """Return the length of an episode."""
        start = jax.random.uniform(key, (4,), minval=-0.05, maxval=0.05)
        return jax.lax.scan(step, (p, start, 0.0, 1.0), None, length=500)[0][2]

    play = jax.jit(jax.vmap(rollout, in_axes=(0, None)))
    weights = jax.random.normal(jax.random.key(0), (members, 4 * 17 + 17 * 2 + 12))
    figures["cartpole_ms"] = median_us(_blocking(play, weights, jax.random.key(1))) / 1000
    return figures


def _blocking(function: Any, *arguments: Any) -> Callable[[], Any]:
    """Return a call that waits for JAX to finish."""
    return lambda: function(*arguments).block_until_ready()


def _time_evosax(median_us: Timer, members: int, parameters: int) -> dict[str, float]:
    """Measure a generation of each strategy: ask, a cheap fitness, tell."""
    import importlib

    jax: Any = importlib.import_module("jax")
    algorithms: Any = importlib.import_module("evosax.algorithms")
    names = {"openai-es": "Open_ES", "sep-cma": "Sep_CMA_ES", "snes": "SNES", "pgpe": "PGPE"}
    figures = {}
    for name, class_name in names.items():
        start = jax.numpy.zeros(parameters)
        strategy = getattr(algorithms, class_name)(population_size=members, solution=start)
        options = strategy.default_params
        state = strategy.init(jax.random.key(0), start, options)
        ask, tell = jax.jit(strategy.ask), jax.jit(strategy.tell)

        def generation(
            ask: Any = ask, tell: Any = tell, state: Any = state, options: Any = options
        ) -> None:
            """Run one generation from the first state."""
            drawn, asked_state = ask(jax.random.key(1), state, options)
            fitness = (drawn * drawn).sum(axis=1)
            jax.block_until_ready(tell(jax.random.key(2), drawn, fitness, asked_state, options))

        figures[f"{name}_ms"] = median_us(generation) / 1000
    return figures


def _time_evotorch(median_us: Timer, members: int, parameters: int) -> dict[str, float]:
    """Measure a generation of SNES and PGPE of EvoTorch."""
    import importlib

    evotorch: Any = importlib.import_module("evotorch")
    algorithms: Any = importlib.import_module("evotorch.algorithms")
    problem = evotorch.Problem(
        "min", lambda x: (x * x).sum(dim=-1), solution_length=parameters,
        initial_bounds=(-1, 1), vectorized=True,
    )  # fmt: skip
    snes = algorithms.SNES(problem, popsize=members, stdev_init=0.5)
    pgpe = algorithms.PGPE(
        problem, popsize=members, center_learning_rate=0.1, stdev_learning_rate=0.1, stdev_init=0.5
    )
    return {
        "snes_evotorch_ms": median_us(snes.step) / 1000,
        "pgpe_evotorch_ms": median_us(pgpe.step) / 1000,
    }


def strategy_fitness(population: Any) -> Any:
    """Return a cheap fitness of drawn parameters, as the oracles' generations have."""
    return -np.einsum("ij,ij->i", population, population)


def compare_figures(report: Mapping[str, Any]) -> list[tuple[str, str, str, str, str]]:
    """Return our figures beside those of other libraries, from what `bench_nets` returned.

    Returns:
        What was measured, our figure, the other library, its figure and the ratio, as texts.
    """
    oracles, mutation = report["oracles"], report["mutation"]
    generation_ms = 1000 / report["cartpole"]["generations_per_second"]
    pairs = [
        (
            "mutation of static nets, ms",
            mutation["mutate_ms"],
            "its normals",
            mutation["normals_ms"],
        ),
        ("a CartPole generation, ms", generation_ms, "jax", oracles.get("cartpole_ms")),
    ]
    for figures in report["forward"]:
        if figures["kind"] == "feedforward" and figures["population"] == _ORACLE_POPULATION:
            batch = figures["batch"]
            jax_us = oracles.get(f"forward_{batch}_us")
            pairs.append((f"forward pass of batch {batch}, us", figures["us"], "jax", jax_us))
    for name, ms in report["strategies"].items():
        if name != "normals":
            label = f"{name} of 2,000 parameters, ms"
            pairs.append((label, ms, "evosax", oracles.get(f"{name}_ms")))
    rows = []
    for what, ours, other, figure in pairs:
        theirs = (
            ("not installed", "") if figure is None else (f"{figure:.2f}", f"{ours / figure:.2f}")
        )
        rows.append((what, f"{ours:.2f}", other, *theirs))
    return rows
