"""Faces by the name of a world."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from kinfolk.core.errors import UsageError
from kinfolk.worlds import build

if TYPE_CHECKING:
    from kinfolk.worlds.adapters.fixed_slots import FixedSlots
    from kinfolk.worlds.adapters.gymnasium import CentralWorld
    from kinfolk.worlds.adapters.pettingzoo import ParallelWorld
    from kinfolk.worlds.adapters.rllib import RLlibWorld

RLLIB = "'kinfolk[ray]' 'ray[rllib]'"  # what pip has to install for it


def make_parallel(
    name: str,
    *,
    preset: str | None = None,
    seed: int = 0,
    render_mode: str | None = None,
    **settings: Any,
) -> ParallelWorld:
    """A world as a PettingZoo `ParallelEnv`: agents come at their birth and go after their death.

    Args:
        name: One of `kinfolk worlds`.
        preset: One of `kinfolk presets` of that world.
        seed: Whose episode 0 the first `reset()` begins.
        render_mode: None or "ansi".
        settings: Rules to change, by name; they go before the preset's.
    """
    _need("pettingzoo", "pettingzoo gymnasium")
    from kinfolk.worlds.adapters.pettingzoo import ParallelWorld

    return ParallelWorld(build(name, settings, 1, preset), seed, render_mode)


def make_fixed_slots(
    name: str,
    *,
    preset: str | None = None,
    seed: int = 0,
    render_mode: str | None = None,
    **settings: Any,
) -> FixedSlots:
    """A world as a PettingZoo `ParallelEnv` with a fixed list of agents: one per group and row.

    Takes what `make_parallel` takes.
    """
    _need("pettingzoo", "pettingzoo gymnasium")
    from kinfolk.worlds.adapters.fixed_slots import FixedSlots

    return FixedSlots(build(name, settings, 1, preset), seed, render_mode)


def make_central(
    name: str,
    *,
    preset: str | None = None,
    seed: int = 0,
    render_mode: str | None = None,
    **settings: Any,
) -> CentralWorld:
    """A world as a Gymnasium `Env`: one controller acts for all that live in it.

    Takes what `make_parallel` takes.
    """
    _need("gymnasium", "gymnasium")
    from kinfolk.worlds.adapters.gymnasium import CentralWorld

    return CentralWorld(build(name, settings, 1, preset), seed, render_mode)


def make_rllib(
    name: str, *, preset: str | None = None, seed: int = 0, **settings: Any
) -> RLlibWorld:
    """A world as an RLlib `MultiAgentEnv`; RLlib itself makes them from `RLlibWorld` and a config.

    Takes what `make_parallel` takes.
    """
    _need("ray.rllib", RLLIB)
    from kinfolk.worlds.adapters.rllib import RLlibWorld

    return RLlibWorld({"world": name, "preset": preset, "seed": seed, **settings})


def _need(module: str, install: str) -> None:
    """Say how to install what is missing."""
    try:
        importlib.import_module(module)
    except ImportError as error:
        raise UsageError(
            f"This face needs {module}, which cannot be imported ({error}). "
            f"Install it: pip install {install}."
        ) from error
