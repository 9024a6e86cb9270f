"""Adapters of worlds to other libraries: PettingZoo, Gymnasium and RLlib.

>>> from kinfolk.worlds.adapters import make_parallel
>>> env = make_parallel("probe", seed=3)
>>> observations, infos = env.reset()
>>> env.agents[:2], sorted(observations["grazer_0"])
(['grazer_0', 'grazer_1'], ['body', 'window'])

None of those libraries is imported before an adapter is made.
"""

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
    from kinfolk.worlds.adapters.vector import VectorEnv

RLLIB_PACKAGES = "'kinfolk[ray]' 'ray[rllib]'"  # arguments of pip install


def make_parallel(
    name: str,
    *,
    preset: str | None = None,
    seed: int = 0,
    render_mode: str | None = None,
    agent_infos: bool = True,
    record_log: bool = True,
    **settings: Any,
) -> ParallelEnvAdapter:
    """Return a world as a PettingZoo `ParallelEnv` whose agents appear at birth and leave at death.

    Args:
        name: Name of the world, as `kinfolk worlds` lists them.
        preset: Name of one of the world's presets; None for its defaults.
        seed: Seed whose episode 0 the first `reset()` starts.
        render_mode: None, or "ansi" for text.
        agent_infos: False leaves the infos of agents empty, which saves time.
        record_log: False keeps no event log, which saves time and memory.
        settings: Settings of the world by name; they override those of the preset.

    Raises:
        UsageError: PettingZoo is not installed.
        UnknownNameError: There is no such world or preset.
        SettingsError: A setting is wrong.
    """
    _require_module("pettingzoo", "pettingzoo gymnasium")
    from kinfolk.worlds.adapters.pettingzoo import ParallelEnvAdapter

    world = build_world(name, settings, 1, preset)
    return ParallelEnvAdapter(world, seed, render_mode, agent_infos, record_log)


def make_fixed_agents(
    name: str,
    *,
    preset: str | None = None,
    seed: int = 0,
    render_mode: str | None = None,
    record_log: bool = True,
    **settings: Any,
) -> FixedAgentsEnv:
    """Return a world as a PettingZoo `ParallelEnv` with a fixed list of agents: one per group and row.

    Args:
        name: Name of the world, as `kinfolk worlds` lists them.
        preset: Name of one of the world's presets; None for its defaults.
        seed: Seed whose episode 0 the first `reset()` starts.
        render_mode: None, or "ansi" for text.
        record_log: False keeps no event log, which saves time and memory.
        settings: Settings of the world by name; they override those of the preset.

    Raises:
        UsageError: PettingZoo is not installed.
    """
    _require_module("pettingzoo", "pettingzoo gymnasium")
    from kinfolk.worlds.adapters.fixed_agents import FixedAgentsEnv

    return FixedAgentsEnv(build_world(name, settings, 1, preset), seed, render_mode, record_log)


def make_gymnasium(
    name: str,
    *,
    preset: str | None = None,
    seed: int = 0,
    render_mode: str | None = None,
    record_log: bool = True,
    **settings: Any,
) -> GymEnvAdapter:
    """Return a world as a Gymnasium `Env` in which one controller acts for all agents.

    Args:
        name: Name of the world, as `kinfolk worlds` lists them.
        preset: Name of one of the world's presets; None for its defaults.
        seed: Seed whose episode 0 the first `reset()` starts.
        render_mode: None, or "ansi" for text.
        record_log: False keeps no event log, which saves time and memory.
        settings: Settings of the world by name; they override those of the preset.

    Raises:
        UsageError: Gymnasium is not installed.
    """
    _require_module("gymnasium", "gymnasium")
    from kinfolk.worlds.adapters.gymnasium import GymEnvAdapter

    return GymEnvAdapter(build_world(name, settings, 1, preset), seed, render_mode, record_log)


def make_rllib(
    name: str, *, preset: str | None = None, seed: int = 0, **settings: Any
) -> RLlibEnvAdapter:
    """Return a world as an RLlib `MultiAgentEnv`.

    RLlib itself makes environments from the class `RLlibEnvAdapter` and a config.

    Args:
        name: Name of the world, as `kinfolk worlds` lists them.
        preset: Name of one of the world's presets; None for its defaults.
        seed: Seed whose episode 0 the first `reset()` starts.
        settings: Settings of the world by name; they override those of the preset.

    Raises:
        UsageError: RLlib is not installed.
    """
    _require_module("ray.rllib", RLLIB_PACKAGES)
    from kinfolk.worlds.adapters.rllib import RLlibEnvAdapter

    return RLlibEnvAdapter({"world": name, "preset": preset, "seed": seed, **settings})


def make_vec(
    name: str,
    num_envs: int,
    *,
    preset: str | None = None,
    seed: int = 0,
    threads: int = 1,
    **settings: Any,
) -> VectorEnv:
    """Return a batch of worlds with arrays for all agents, in the style of `gymnasium.make_vec`.

    Args:
        name: Name of the world, as `kinfolk worlds` lists them.
        num_envs: Number of worlds.
        preset: Name of one of the world's presets; None for its defaults.
        seed: Seed of the episodes.
        threads: Threads that share the worlds, if the world supports them.
        settings: Settings of the world by name; they override those of the preset.
    """
    from kinfolk.worlds.adapters.vector import VectorEnv

    return VectorEnv(build_world(name, settings, num_envs, preset, threads), seed)


def _require_module(module: str, install: str) -> None:
    """Raise UsageError with the command to install `module` if it cannot be imported."""
    try:
        importlib.import_module(module)
    except ImportError as error:
        raise UsageError(
            f"This adapter needs {module}, which cannot be imported ({error}). "
            f"Install it: pip install {install}."
        ) from error


_MODULE = "kinfolk.worlds.adapters"

# Suffix of a world's id -> entry point.
_PETTINGZOO_FACTORIES = {"": f"{_MODULE}:make_parallel", "-fixed": f"{_MODULE}:make_fixed_agents"}


def register() -> tuple[str, ...]:
    """Register all worlds with PettingZoo and Gymnasium, and return their ids.

    Afterwards these work, with settings, `preset` and `seed` as keywords:

        pettingzoo.make("parallel", "kinfolk/savanna-v0")        agents are born and die
        pettingzoo.make("parallel", "kinfolk/savanna-fixed-v0")  a fixed list of agents
        gymnasium.make("kinfolk/savanna-v0")                     one controller for all agents

    PettingZoo has a registry since 1.27; with an older version only Gymnasium's is filled.
    Gymnasium registers single-agent environments only. Calling this twice is harmless.
    """
    import gymnasium
    import pettingzoo

    ids = []
    registry = getattr(pettingzoo, "parallel_registry", None)
    for name in WORLDS:
        for suffix, entry_point in _PETTINGZOO_FACTORIES.items():
            env_id = f"kinfolk/{name}{suffix}-v0"
            if registry is not None and env_id not in registry:
                pettingzoo.register(
                    "parallel", env_id, entry_point=entry_point, kwargs={"name": name}
                )
            if registry is not None:
                ids.append(env_id)
        env_id = f"kinfolk/{name}-v0"
        if env_id not in gymnasium.registry:
            gymnasium.register(env_id, f"{_MODULE}:make_gymnasium", kwargs={"name": name})
        ids.append(env_id)
    return tuple(dict.fromkeys(ids))


__all__ = [
    "make_fixed_agents",
    "make_gymnasium",
    "make_parallel",
    "make_rllib",
    "make_vec",
    "register",
]
