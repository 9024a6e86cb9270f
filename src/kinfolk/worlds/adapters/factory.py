"""Make adapters by the name of a world, and register them with PettingZoo and Gymnasium."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from kinfolk.core.errors import UsageError
from kinfolk.worlds import WORLDS, build_world

if TYPE_CHECKING:
    from kinfolk.worlds.adapters.fixed_agents import FixedAgentsEnv
    from kinfolk.worlds.adapters.gymnasium import GymEnvAdapter
    from kinfolk.worlds.adapters.pettingzoo import ParallelEnvAdapter
    from kinfolk.worlds.adapters.rllib import RLlibEnvAdapter

RLLIB_PACKAGES = "'kinfolk[ray]' 'ray[rllib]'"  # what pip has to install for it


def make_parallel(
    name: str,
    *,
    preset: str | None = None,
    seed: int = 0,
    render_mode: str | None = None,
    **settings: Any,
) -> ParallelEnvAdapter:
    """A world as a PettingZoo `ParallelEnv`: agents come at their birth and go after their death.

    Args:
        name: One of `kinfolk worlds`.
        preset: One of `kinfolk presets` of that world.
        seed: Whose episode 0 the first `reset()` begins.
        render_mode: None or "ansi".
        settings: Rules to change, by name; they go before the preset's.
    """
    _require_module("pettingzoo", "pettingzoo gymnasium")
    from kinfolk.worlds.adapters.pettingzoo import ParallelEnvAdapter

    return ParallelEnvAdapter(build_world(name, settings, 1, preset), seed, render_mode)


def make_fixed_agents(
    name: str,
    *,
    preset: str | None = None,
    seed: int = 0,
    render_mode: str | None = None,
    **settings: Any,
) -> FixedAgentsEnv:
    """A world as a PettingZoo `ParallelEnv` with a fixed list of agents: one per group and row.

    Takes what `make_parallel` takes.
    """
    _require_module("pettingzoo", "pettingzoo gymnasium")
    from kinfolk.worlds.adapters.fixed_agents import FixedAgentsEnv

    return FixedAgentsEnv(build_world(name, settings, 1, preset), seed, render_mode)


def make_gymnasium(
    name: str,
    *,
    preset: str | None = None,
    seed: int = 0,
    render_mode: str | None = None,
    **settings: Any,
) -> GymEnvAdapter:
    """A world as a Gymnasium `Env`: one controller acts for all that live in it.

    Takes what `make_parallel` takes.
    """
    _require_module("gymnasium", "gymnasium")
    from kinfolk.worlds.adapters.gymnasium import GymEnvAdapter

    return GymEnvAdapter(build_world(name, settings, 1, preset), seed, render_mode)


def make_rllib(
    name: str, *, preset: str | None = None, seed: int = 0, **settings: Any
) -> RLlibEnvAdapter:
    """A world as an RLlib `MultiAgentEnv`; RLlib itself makes them from `RLlibWorld` and a config.

    Takes what `make_parallel` takes.
    """
    _require_module("ray.rllib", RLLIB_PACKAGES)
    from kinfolk.worlds.adapters.rllib import RLlibEnvAdapter

    return RLlibEnvAdapter({"world": name, "preset": preset, "seed": seed, **settings})


def _require_module(module: str, install: str) -> None:
    """Say how to install what is missing."""
    try:
        importlib.import_module(module)
    except ImportError as error:
        raise UsageError(
            f"This adapter needs {module}, which cannot be imported ({error}). "
            f"Install it: pip install {install}."
        ) from error


_HERE = "kinfolk.worlds.adapters.factory"

# What is appended to a world's name, and the function that makes it.
_PETTINGZOO_FACTORIES = {"": f"{_HERE}:make_parallel", "-fixed": f"{_HERE}:make_fixed_agents"}


def register() -> tuple[str, ...]:
    """Enter all worlds into the tables of PettingZoo and Gymnasium; returns the ids.

    Afterwards these work, with settings, `preset` and `seed` as keywords:

        pettingzoo.make("parallel", "kinfolk/savanna-v0")        true births and deaths
        pettingzoo.make("parallel", "kinfolk/savanna-fixed-v0")  a fixed list of agents
        gymnasium.make("kinfolk/savanna-v0")                     one controller for all

    PettingZoo has a table since 1.27; with an older one only Gymnasium's is filled. Gymnasium
    takes nothing but environments of one agent. Twice is once.
    """
    import gymnasium
    import pettingzoo

    ids = []
    table = getattr(pettingzoo, "parallel_registry", None)
    for name in WORLDS:
        for suffix, entry_point in _PETTINGZOO_FACTORIES.items():
            id = f"kinfolk/{name}{suffix}-v0"
            if table is not None and id not in table:
                pettingzoo.register("parallel", id, entry_point=entry_point, kwargs={"name": name})
            if table is not None:
                ids.append(id)
        id = f"kinfolk/{name}-v0"
        if id not in gymnasium.registry:
            gymnasium.register(id, f"{_HERE}:make_gymnasium", kwargs={"name": name})
        ids.append(id)
    return tuple(dict.fromkeys(ids))
