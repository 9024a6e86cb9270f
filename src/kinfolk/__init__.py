"""A laboratory for populations of agents that live together.

>>> import kinfolk as kf
>>> world = kf.make("probe", worlds=2, seed=0)
>>> world.spec.groups[0].name, world.n_worlds
('grazer', 2)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kinfolk.worlds.base import World

# Names that users know, each with the module behind it, which is imported when asked for.
_NAMES = {
    "AgentPolicy": "kinfolk.policies.multi_agent",
    "MultiAgentPolicy": "kinfolk.policies.multi_agent",
    "PolicyEnvInterface": "kinfolk.policies.multi_agent",
    "PolicySpec": "kinfolk.policies.multi_agent",
    "PolicySlot": "kinfolk.play.slots",
    "make_engine": "kinfolk.engines",
    "SlotRegistry": "kinfolk.play.slots",
    "BehaviorDef": "kinfolk.roles.model",
    "BehaviorSource": "kinfolk.roles.model",
    "RoleDef": "kinfolk.roles.model",
    "RoleTier": "kinfolk.roles.model",
    "TierSelection": "kinfolk.roles.model",
    "RoleCatalog": "kinfolk.roles.catalog",
    "EvolutionConfig": "kinfolk.roles.config",
    "EvolutionaryRoleCoordinator": "kinfolk.roles.coordinator",
    "inject_behavior": "kinfolk.roles.operators",
    "mutate_role": "kinfolk.roles.operators",
    "recombine_roles": "kinfolk.roles.operators",
    "sample_role": "kinfolk.roles.operators",
    "materialize_role_behaviors": "kinfolk.roles.program",
    "resolve_tier_order": "kinfolk.roles.program",
    "lock_role_name_if_fit": "kinfolk.roles.fitness",
    "pick_role_id_weighted": "kinfolk.roles.fitness",
    "record_role_score": "kinfolk.roles.fitness",
    "map_role_to_vibe": "kinfolk.roles.catalog",
    "PerAgentSubprocessPolicy": "kinfolk.isolation.subprocess_policy",
    "wrap_agent_policy_in_subprocess": "kinfolk.isolation.subprocess_policy",
}

__all__ = ["compare", "evaluate", "jobs", "make", "pettingzoo", *_NAMES]


def make(
    name: str, *, worlds: int = 1, preset: str | None = None, seed: int = 0, **settings: Any
) -> World:
    """A batch of worlds, reset: world `i` plays episode `i` of `seed`.

    Args:
        name: One of `kinfolk worlds`.
        worlds: How many run side by side.
        preset: One of `kinfolk presets`, if the world has any.
        seed: Where their chance comes from.
        settings: Rules to change, by name.
    """
    import numpy as np

    from kinfolk.core.random import WORLD_STREAM, episode_key, fold_in
    from kinfolk.worlds import build_world

    batch: World = build_world(name, settings, worlds, preset)
    keys = [fold_in(episode_key(seed, episode), WORLD_STREAM) for episode in range(worlds)]
    batch.reset(np.array(keys, dtype=np.int64))
    return batch


def pettingzoo(name: str, *, preset: str | None = None, seed: int = 0, **settings: Any) -> Any:
    """One world as a PettingZoo parallel environment, with true births and deaths.

    For libraries that need a fixed set of agents there is
    `kinfolk.worlds.adapters.make_fixed_agents`.
    """
    from kinfolk.worlds.adapters import make_parallel

    return make_parallel(name, preset=preset, seed=seed, **settings)


def evaluate(engine: str = "local", jobs: int = 1, **settings: Any) -> dict[str, Any]:
    """Play episodes of a line-up and return the summary; see `kinfolk.jobs.evaluate.Evaluate`.

    >>> evaluate(slots={"all": "kin://noop"}, episodes=4)["episodes"]
    4
    """
    from kinfolk.jobs.evaluate import Evaluate
    from kinfolk.jobs.evaluate import evaluate as job

    return _last(job, Evaluate, engine, jobs, settings)


def compare(
    *policies: str, engine: str = "local", jobs: int = 1, **settings: Any
) -> dict[str, Any]:
    """Say whether one policy is better than another; see `kinfolk.jobs.compare.Compare`.

    >>> everybody = {"grazer": "candidate", "hunter": "candidate"}
    >>> found = compare("kin://noop", "kin://noop", agent_slot_map=everybody, episodes=4)
    >>> found["pairs"]["0 1"].better
    'neither'
    """
    from kinfolk.jobs.compare import Compare, compare_policies

    return _last(compare_policies, Compare, engine, jobs, {"policies": policies, **settings})


def _last(job: Any, kind: Any, engine: str, jobs: int, settings: dict[str, Any]) -> dict[str, Any]:
    """Run a job here; what its last event says is its summary."""
    from kinfolk.core.events import Event
    from kinfolk.core.settings import validate_settings
    from kinfolk.engines import make_engine

    asked = validate_settings(kind, settings)
    workers = make_engine(engine, jobs)
    try:
        last = None
        for item in job(asked, workers):
            last = item if isinstance(item, Event) else last
    finally:
        workers.close()
    assert last is not None  # every job ends with an event
    return last.to_dict()


def __getattr__(name: str) -> Any:
    import importlib

    if name == "jobs":
        return importlib.import_module("kinfolk.jobs")
    if name in _NAMES:
        return getattr(importlib.import_module(_NAMES[name]), name)
    raise AttributeError(f"module 'kinfolk' has no attribute '{name}'")
