"""Train predators and prey of the savanna with RLlib's PPO, while agents are born and die.

    pip install 'kinfolk[ray,train]' 'ray[rllib]'
    python examples/rllib_savanna.py

Each species has a net. Every agent is an agent of RLlib from its birth to its death: its episode ends with
its life, and RLlib bootstraps the values of those that survive the game.
"""

from collections.abc import Iterator
from typing import Any

import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig

from kinfolk.worlds.adapters.rllib import RLlibEnvAdapter

SPECIES = ("type_1_predator", "type_1_prey")
# Prey start with nearly the energy that a birth takes, so that short games have births.
RULES = {"max_steps": 40, "max_rows": 40, "initial_energy_prey": 7.0}

IDS = 300  # of each species: RLlib looks at all of them in every step


def find_species(agent: str, *_: Any, **__: Any) -> str:
    """Return the net of an agent: `type_1_prey_12` is played by `type_1_prey`."""
    return agent.rpartition("_")[0]


def count_lives(*, episode: Any, metrics_logger: Any, **_: Any) -> None:
    """Log how many agents of a game were born in it, and how many died."""
    lives = episode.agent_episodes
    first = {agent for agent, life in lives.items() if episode.env_t_to_agent_t[agent][0] == 0}
    metrics_logger.log_value("born", len(lives) - len(first), reduce="sum")
    died = sum(life.is_terminated for life in lives.values())
    metrics_logger.log_value("died", died, reduce="sum")


def make_config(ticks: int = 40) -> PPOConfig:
    """Return the configuration of the training, which runs in this process.

    Args:
        ticks: Ticks of the world from which an iteration learns, at least; games are played to their end.
    """
    return (
        PPOConfig()
        .environment(RLlibEnvAdapter, env_config={"world": "savanna", "ids": IDS, **RULES})
        .env_runners(num_env_runners=0, batch_mode="complete_episodes")
        .multi_agent(policies=set(SPECIES), policy_mapping_fn=find_species)
        .rl_module(
            model_config=DefaultModelConfig(conv_filters=[[8, 3, 2]], head_fcnet_hiddens=[64])
        )
        .training(train_batch_size_per_learner=ticks, minibatch_size=40, num_epochs=2, lr=5e-4)
        .callbacks(on_episode_end=count_lives)
    )


def train(iterations: int = 3, ticks: int = 40) -> Iterator[dict[str, float]]:
    """Train, and yield what each iteration saw: births, deaths, and losses of both nets.

    Args:
        iterations: Updates of the nets.
        ticks: Ticks of the world for each, at least.
    """
    torch.set_num_threads(1)  # the nets are small: threads would wait for each other
    algorithm = make_config(ticks).build_algo()
    try:
        for _ in range(iterations):
            result = algorithm.train()
            row = {name: float(result["env_runners"][name]) for name in ("born", "died")}
            row |= {name: float(result["learners"][name]["total_loss"]) for name in SPECIES}
            yield row
    finally:
        algorithm.stop()


if __name__ == "__main__":
    for number, seen in enumerate(train()):
        print(number, {name: round(value, 3) for name, value in seen.items()})
