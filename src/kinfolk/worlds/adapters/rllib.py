"""A world as an RLlib `MultiAgentEnv`, with true births and deaths.

Register the class, and name world, preset and settings in the environment's config:

    register_env("savanna", RLlibWorld)
    config.environment("savanna", env_config={"world": "savanna", "preset": "shared_prey_r2"})

An agent's id without its number is its group: map `type_1_prey_12` to the policy `type_1_prey`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gymnasium import spaces

from kinfolk.core.errors import UsageError
from kinfolk.worlds.adapters.making import RLLIB, make_parallel
from kinfolk.worlds.adapters.one_world import Observation
from kinfolk.worlds.adapters.pettingzoo import Step
from kinfolk.worlds.base import World

try:
    from ray.rllib.env.multi_agent_env import MultiAgentEnv
except ImportError:  # said when somebody makes one: this module can be read without Ray
    MultiAgentEnv = None

# Apart by more than any number of environments that one worker runs side by side.
_WORKERS_APART = 1 << 20


class RLlibWorld(MultiAgentEnv or object):  # type: ignore[misc]
    """One world for RLlib's samplers.

    The dead are terminated, each with its last observation and reward. When the episode ends
    with somebody alive, `truncateds["__all__"]` is True and says all there is to say: RLlib takes
    an episode whose agents all carry flags of their own for terminated, and would give survivors
    no value beyond the cut. When nobody is left, `terminateds["__all__"]` is True.

    `possible_agents` holds one id per group, which stands for all of them: RLlib reads the spaces
    of its modules from there, and nobody knows who will be born.

    Args:
        config: `world` (its name), `preset`, `seed`, and settings of the world. Workers of one
            algorithm get different chance from the same seed.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        if MultiAgentEnv is None:
            raise UsageError(f"RLlibWorld needs Ray's RLlib. Install it: pip install {RLLIB}.")
        given = dict(config)
        if "world" not in given:
            raise UsageError("RLlibWorld needs the name of a world: {'world': 'savanna'}.")
        seed = int(given.pop("seed", 0))
        seed += getattr(config, "worker_index", 0) * _WORKERS_APART
        seed += getattr(config, "vector_index", 0)
        self._face = make_parallel(given.pop("world"), seed=seed, **given)
        self.render_mode = None
        teller, groups = self._face.teller, self._face.world.spec.groups
        self._stand_ins = {teller.name(g.name, 0, 0): i for i, g in enumerate(groups)}
        self.possible_agents: list[str] = list(self._stand_ins)
        self.agents: list[str] = list(self._stand_ins)
        self.observation_spaces = {a: self.get_observation_space(a) for a in self._stand_ins}
        self.action_spaces = {a: self.get_action_space(a) for a in self._stand_ins}
        super().__init__()

    @property
    def world(self) -> World:
        """The world behind this face. Step it only through the face."""
        return self._face.world

    def get_observation_space(self, agent_id: str) -> spaces.Space[Any]:
        """The space of an agent that is or was there, or of one that stands for its group."""
        group = self._stand_ins.get(agent_id)
        return self._face.observation_space(agent_id) if group is None else self._face.sees[group]

    def get_action_space(self, agent_id: str) -> spaces.Space[Any]:
        """The space of an agent that is or was there, or of one that stands for its group."""
        group = self._stand_ins.get(agent_id)
        return self._face.action_space(agent_id) if group is None else self._face.does[group]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
        """Begin episode 0 of `seed`, or the next one without; there are no infos yet."""
        seen, _ = self._face.reset(seed, options)
        self.agents = list(seen)
        return seen, {}

    def step(self, action_dict: Mapping[str, Any]) -> Step:
        """Let all agents act at once. `agents` are then all that were told something."""
        seen, rewards, terminateds, truncateds, infos = self._face.step(action_dict)
        self.agents = list(seen)
        over = bool(self.world.done[0])
        survived = any(truncateds.values())
        terminateds["__all__"] = over and not survived
        truncateds = dict.fromkeys(truncateds, False) | {"__all__": over and survived}
        return seen, rewards, terminateds, truncateds, infos
