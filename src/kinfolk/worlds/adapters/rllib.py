"""A world as an RLlib `MultiAgentEnv` whose agents are born and die.

Register the class, and name world, preset and settings in the environment's config:

    register_env("savanna", RLlibEnvAdapter)
    config.environment("savanna", env_config={"world": "savanna", "preset": "shared_prey_r2"})

An agent's id without its number is its group: map `type_1_prey_12` to the policy `type_1_prey`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kinfolk.core.errors import UsageError
from kinfolk.worlds.adapters import RLLIB_PACKAGES, make_parallel
from kinfolk.worlds.adapters.pettingzoo import ParallelStep
from kinfolk.worlds.adapters.single_world import Observation
from kinfolk.worlds.base import World

try:
    from ray.rllib.env.multi_agent_env import MultiAgentEnv
except ImportError:  # reported when an adapter is made: this module can be imported without Ray
    MultiAgentEnv = None

# More than any number of environments that one worker runs.
_ENVS_PER_WORKER = 1 << 20
# The settings of PredPreyGrass list as many ids of their largest group.
_IDS_PER_GROUP = 1200


def _take_env_index(context: Any) -> int:
    """Return the next distinct number for an environment that RLlib makes, or 0 without RLlib.

    All environments of a worker get the same context object, so they are counted on it. Without
    this number all environments would play the same episodes.
    """
    if not hasattr(context, "worker_index"):
        return 0
    n_made: int = getattr(context, "kinfolk_made", 0)
    context.kinfolk_made = n_made + 1
    return int(context.worker_index or 0) * _ENVS_PER_WORKER + n_made


class RLlibEnvAdapter(MultiAgentEnv or object):  # type: ignore[misc]
    """Present one world to RLlib's samplers.

    Agents that die are terminated, each with its last observation and reward. When the episode ends
    with survivors, only `truncateds["__all__"]` is True: RLlib treats an episode whose agents all
    carry flags of their own as terminated, and would not bootstrap the survivors' values. When no
    agent is left, `terminateds["__all__"]` is True. The counters of the world are in
    `infos["__all__"]`.

    RLlib needs all ids before the first birth. So `possible_agents` lists the first `ids` of each
    group, and an episode in which more agents are born is truncated at that step.

    Args:
        config: `world` (its name), `preset`, `seed`, `ids` (1200), `agent_infos`, `record_log` (see
            `ParallelEnvAdapter`), and settings of the world.
            All environments of an algorithm get different random keys from the same seed.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        if MultiAgentEnv is None:
            raise UsageError(
                f"RLlibEnvAdapter needs Ray's RLlib. Install it: pip install {RLLIB_PACKAGES}."
            )
        settings = dict(config)
        if "world" not in settings:
            raise UsageError("RLlibEnvAdapter needs the name of a world: {'world': 'savanna'}.")
        self._env_index = _take_env_index(config)
        seed = int(settings.pop("seed", 0)) + self._env_index
        ids = int(settings.pop("ids", _IDS_PER_GROUP))
        self._env = make_parallel(settings.pop("world"), seed=seed, **settings)
        self.render_mode = None
        make_name, groups = self._env.info_provider.make_name, self._env.world.spec.groups
        group_of = {
            make_name(group.name, number, number): index
            for index, group in enumerate(groups)
            for number in range(ids)
        }
        self.possible_agents: list[str] = list(group_of)
        self.agents: list[str] = list(group_of)  # until the first reset
        self.observation_spaces = {
            agent: self._env.group_observation_spaces[group] for agent, group in group_of.items()
        }
        self.action_spaces = {
            agent: self._env.group_action_spaces[group] for agent, group in group_of.items()
        }
        super().__init__()

    @property
    def counters(self) -> dict[str, Any]:
        """Counters of the world since the reset, by name; also in `infos["__all__"]`."""
        return self._env.counters

    def event_log(self) -> dict[str, dict[str, Any]]:
        """Return the events of all agents of this episode, by name."""
        return self._env.event_log()

    def agent_stats(self) -> dict[str, dict[str, Any]]:
        """Return statistics of all agents of this episode, by name."""
        return self._env.agent_stats()

    @property
    def agent_event_log(self) -> dict[str, dict[str, Any]]:
        """The events of all agents of this episode, by name: `event_log()` under its published name."""
        return self._env.event_log()

    @property
    def agent_stats_live(self) -> dict[str, dict[str, Any]]:
        """Statistics of all agents of this episode, the dead too, by name: `agent_stats()`."""
        return self._env.agent_stats()

    @property
    def lineage_tracker(self) -> dict[str, dict[str, Any]]:
        """Parents, children and live descendants of all agents of this episode, by name."""
        return self._env.lineage_tracker

    @property
    def world(self) -> World:
        """The wrapped world, which must only be stepped through this adapter."""
        return self._env.world

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
        """Start episode 0 of `seed`, or the next episode without one; infos are empty.

        RLlib's environment check seeds every environment with 42, so each adds its own index.
        """
        observations, _ = self._env.reset(None if seed is None else seed + self._env_index, options)
        unlisted = [agent for agent in observations if agent not in self.action_spaces]
        if unlisted:
            raise UsageError(f"'ids' is too small: the founder {unlisted[0]} is not listed.")
        self.agents = list(observations)
        return observations, {}

    def step(self, action_dict: Mapping[str, Any]) -> ParallelStep:
        """Step all agents at once; `agents` are then those that have an observation."""
        observations, rewards, terminateds, truncateds, infos = self._env.step(action_dict)
        self.agents = list(observations)
        infos["__all__"] = self._env.counters
        unlisted = not all(agent in self.action_spaces for agent in observations)
        over = bool(self.world.done[0]) or unlisted
        survived = unlisted or any(truncateds.values())
        terminateds["__all__"] = over and not survived
        truncateds = dict.fromkeys(truncateds, False) | {"__all__": over and survived}
        return observations, rewards, terminateds, truncateds, infos
