"""`kf.make`, `kf.pettingzoo` and `kf.metrics`: worlds by name, with the rules as typed arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, overload

import numpy as np

from kinfolk.api.own_objects import name_world
from kinfolk.core.html_table import html_table
from kinfolk.core.random import WORLD_STREAM, episode_key, fold_in
from kinfolk.evaluation.metrics import MetricInfo, describe_metrics
from kinfolk.play.task import WorldRef
from kinfolk.worlds import build_world
from kinfolk.worlds.adapters import make_parallel

if TYPE_CHECKING:
    from kinfolk.api.world_arguments import CogsguardArguments, ProbeArguments, SavannaArguments
    from kinfolk.worlds.adapters.pettingzoo import ParallelEnvAdapter
    from kinfolk.worlds.base import World
    from kinfolk.worlds.gymnasium_task.own_tasks import EnvSource

    class _Options(TypedDict, total=False):
        """Arguments of `make` and `pettingzoo` that are not rules of a world."""

        preset: str | None
        seed: int

    class _MakeOptions(_Options, total=False):
        worlds: int

    class _EnvOptions(_Options, total=False):
        render_mode: str | None

    class _Table(TypedDict, total=False):
        """Rules of a world whose name is not known beforehand."""

        settings: Mapping[str, Any] | None

    class _MakeSavanna(_MakeOptions, SavannaArguments): ...

    class _MakeCogsguard(_MakeOptions, CogsguardArguments): ...

    class _MakeProbe(_MakeOptions, ProbeArguments): ...

    class _MakeAny(_MakeOptions, _Table): ...

    class _SavannaEnv(_EnvOptions, SavannaArguments): ...

    class _CogsguardEnv(_EnvOptions, CogsguardArguments): ...

    class _ProbeEnv(_EnvOptions, ProbeArguments): ...

    class _AnyEnv(_EnvOptions, _Table): ...


@overload
def make(name: Literal["savanna"], **options: Unpack[_MakeSavanna]) -> World: ...
@overload
def make(name: Literal["cogsguard"], **options: Unpack[_MakeCogsguard]) -> World: ...
@overload
def make(name: Literal["probe"], **options: Unpack[_MakeProbe]) -> World: ...
@overload
def make(name: str | type[World] | EnvSource, **options: Unpack[_MakeAny]) -> World: ...
def make(
    name: Any,
    *,
    worlds: int = 1,
    preset: str | None = None,
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
    **rules: Any,
) -> World:
    """Make a batch of worlds and reset it: world `i` plays episode `i` of `seed`.

    Args:
        name: One of `kinfolk worlds`, the class of a world, or a Gymnasium environment.
        worlds: Worlds that run side by side.
        preset: One of `kinfolk presets`, if the world has any.
        seed: Random seed.
        settings: Rules to change, as a table; for worlds whose name is not known beforehand.
        rules: Rules to change, by name; see `kinfolk settings WORLD`.

    Returns:
        The batch, ready for its first step.
    """
    batch: World = build_world(name_world(name), {**(settings or {}), **rules}, worlds, preset)
    keys = [fold_in(episode_key(seed, episode), WORLD_STREAM) for episode in range(worlds)]
    batch.reset(np.array(keys, dtype=np.int64))
    return batch


@overload
def pettingzoo(name: Literal["savanna"], **options: Unpack[_SavannaEnv]) -> ParallelEnvAdapter: ...
@overload
def pettingzoo(
    name: Literal["cogsguard"], **options: Unpack[_CogsguardEnv]
) -> ParallelEnvAdapter: ...
@overload
def pettingzoo(name: Literal["probe"], **options: Unpack[_ProbeEnv]) -> ParallelEnvAdapter: ...
@overload
def pettingzoo(name: str, **options: Unpack[_AnyEnv]) -> ParallelEnvAdapter: ...
def pettingzoo(
    name: str,
    *,
    preset: str | None = None,
    seed: int = 0,
    render_mode: str | None = None,
    settings: Mapping[str, Any] | None = None,
    **rules: Any,
) -> ParallelEnvAdapter:
    """Make one world as a PettingZoo parallel environment, with true births and deaths.

    For libraries that need a fixed set of agents there is
    `kinfolk.worlds.adapters.make_fixed_agents`.

    Args:
        name: One of `kinfolk worlds`.
        preset: One of `kinfolk presets`, if the world has any.
        seed: Random seed.
        render_mode: None or "ansi".
        settings: Rules to change, as a table; for worlds whose name is not known beforehand.
        rules: Rules to change, by name; see `kinfolk settings WORLD`.
    """
    changed = {**(settings or {}), **rules}
    return make_parallel(
        name_world(name), preset=preset, seed=seed, render_mode=render_mode, **changed
    )


class MetricTable(list[MetricInfo]):
    """The metrics of a world, which a notebook shows as a table."""

    def _repr_html_(self) -> str:
        return html_table(MetricInfo._fields, self)

    def __repr__(self) -> str:
        return "\n".join(f"{m.name} [{m.unit}]: {m.definition}" for m in self)


def metrics(
    name: str | type[World] | EnvSource,
    *,
    preset: str | None = None,
    settings: Mapping[str, Any] | None = None,
) -> MetricTable:
    """List the metrics of a world: name, unit and definition of each, one value per episode.

    >>> [metric.name for metric in metrics("probe")][:4]
    ['return', 'return_per_life', 'reward_per_tick', 'ticks']

    Args:
        name: One of `kinfolk worlds`, the class of a world, or a Gymnasium environment.
        preset: One of `kinfolk presets`, if the world has any.
        settings: Rules to change, as a table.
    """
    world = WorldRef(name_world(name), preset, dict(settings or {}))
    return MetricTable(describe_metrics(world))
