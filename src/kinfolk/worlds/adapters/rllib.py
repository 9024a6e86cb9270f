"""A world as an RLlib `MultiAgentEnv`, with true births and deaths.

Register the class, and name world, preset and settings in the environment's config:

    register_env("savanna", RLlibWorld)
    config.environment("savanna", env_config={"world": "savanna", "preset": "shared_prey_r2"})

An agent's id without its number is its group: map `type_1_prey_12` to the policy `type_1_prey`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kinfolk.core.errors import UsageError
from kinfolk.worlds.adapters.factory import RLLIB_PACKAGES, make_parallel
from kinfolk.worlds.adapters.pettingzoo import ParallelStep
from kinfolk.worlds.adapters.single_world import Observation
from kinfolk.worlds.base import World

try:
    from ray.rllib.env.multi_agent_env import MultiAgentEnv
except ImportError:  # said when somebody makes one: this module can be read without Ray
    MultiAgentEnv = None

# Apart by more than any number of environments that one worker runs side by side.
_ENVS_PER_WORKER = 1 << 20
# As many as the published settings name of their largest group.
_IDS_PER_GROUP = 1200


def _env_index(context: Any) -> int:
    """A number of its own for every environment that RLlib makes; 0 without RLlib.

    All environments of a worker get one and the same context, so they are counted on it. Without
    this they would all play the same episodes.
    """
    if not hasattr(context, "worker_index"):
        return 0
    made: int = getattr(context, "kinfolk_made", 0)
    context.kinfolk_made = made + 1
    return int(context.worker_index or 0) * _ENVS_PER_WORKER + made


class RLlibEnvAdapter(MultiAgentEnv or object):  # type: ignore[misc]
    """One world for RLlib's samplers.

    The dead are terminated, each with its last observation and reward. When the episode ends
    with somebody alive, `truncateds["__all__"]` is True and says all there is to say: RLlib takes
    an episode whose agents all carry flags of their own for terminated, and would give survivors
    no value beyond the cut. When nobody is left, `terminateds["__all__"]` is True.

    RLlib wants to know all ids before the first birth. So `possible_agents` lists the first `ids`
    of each group, and an episode in which more are born is cut there: it has no place for them.

    Args:
        config: `world` (its name), `preset`, `seed`, `ids` (1200), and settings of the world.
            All environments of an algorithm get different chance from the same seed.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        if MultiAgentEnv is None:
            raise UsageError(
                f"RLlibEnvAdapter needs Ray's RLlib. Install it: pip install {RLLIB_PACKAGES}."
            )
        given = dict(config)
        if "world" not in given:
            raise UsageError("RLlibEnvAdapter needs the name of a world: {'world': 'savanna'}.")
        self._env_index = _env_index(config)
        seed = int(given.pop("seed", 0)) + self._env_index
        ids = int(given.pop("ids", _IDS_PER_GROUP))
        self._env = make_parallel(given.pop("world"), seed=seed, **given)
        self.render_mode = None
        name, groups = self._env.info_provider.make_name, enumerate(self._env.world.spec.groups)
        group_of = {name(group.name, i, i): at for at, group in groups for i in range(ids)}
        self.possible_agents: list[str] = list(group_of)
        self.agents: list[str] = list(group_of)  # until a reset says who is there
        self.observation_spaces = {
            agent: self._env.group_observation_spaces[at] for agent, at in group_of.items()
        }
        self.action_spaces = {
            agent: self._env.group_action_spaces[at] for agent, at in group_of.items()
        }
        super().__init__()

    @property
    def world(self) -> World:
        """The world behind this face. Step it only through the face."""
        return self._env.world

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
        """Begin episode 0 of `seed`, or the next one without; there are no infos yet.

        RLlib's check seeds every environment with 42, so here too each adds its own number.
        """
        seen, _ = self._env.reset(None if seed is None else seed + self._env_index, options)
        unlisted = [agent for agent in seen if agent not in self.action_spaces]
        if unlisted:
            raise UsageError(f"'ids' is too small: the founder {unlisted[0]} is not listed.")
        self.agents = list(seen)
        return seen, {}

    def step(self, action_dict: Mapping[str, Any]) -> ParallelStep:
        """Let all agents act at once. `agents` are then all that were told something."""
        seen, rewards, terminateds, truncateds, infos = self._env.step(action_dict)
        self.agents = list(seen)
        unlisted = not all(agent in self.action_spaces for agent in seen)
        over = bool(self.world.done[0]) or unlisted
        survived = unlisted or any(truncateds.values())
        terminateds["__all__"] = over and not survived
        truncateds = dict.fromkeys(truncateds, False) | {"__all__": over and survived}
        return seen, rewards, terminateds, truncateds, infos
