"""Train predators and prey of the savanna with TorchRL's PPO loss, while agents are born and die.

    pip install 'kinfolk[train]' pettingzoo torchrl
    python examples/torchrl_savanna.py

TorchRL needs a fixed number of agents, so every row of the world is one. A row is empty, then holds an
agent from its birth to its death, then perhaps another: `alive` says when there is somebody to learn from,
and `ended` where a life ends, behind which no value is bootstrapped.
"""

import torch
from tensordict import TensorDict
from tensordict.nn import TensorDictModule, TensorDictSequential
from torch import Tensor, nn
from torch.distributions import Categorical
from torchrl.envs import PettingZooWrapper
from torchrl.modules import ProbabilisticActor
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value.functional import generalized_advantage_estimate

from kinfolk.worlds.adapters import make_fixed_agents

SPECIES = ("type_1_predator", "type_1_prey")
# Prey start with nearly the energy that a birth takes, so that short games have births.
RULES = {"max_steps": 40, "max_rows": 40, "initial_energy_prey": 7.0}
GAMMA, GAE_LAMBDA = 0.99, 0.95


class Learner:
    """Net, critic, loss and optimiser of one species.

    Args:
        env: The environment, whose agents of this species share the net.
        species: Name of the group.
    """

    def __init__(self, env: PettingZooWrapper, species: str) -> None:
        self.species = species
        shape = env.observation_spec[species, "observation"].shape[1:]
        n_moves = env.full_action_spec[species, "action"].space.n
        self.net = nn.Sequential(nn.Flatten(-len(shape)), nn.Linear(shape.numel(), 64), nn.Tanh())
        self.net.append(nn.Linear(64, n_moves))
        self.critic = nn.Sequential(nn.Flatten(-len(shape)), nn.Linear(shape.numel(), 64))
        self.critic.extend([nn.Tanh(), nn.Linear(64, 1)])
        self.actor = self._make_actor(species)  # plays all rows of the environment
        value = TensorDictModule(self.critic, ["observation"], ["state_value"])
        self.loss = ClipPPOLoss(self._make_actor(None), value, entropy_coeff=0.01)
        self.optimizer = torch.optim.Adam(self.loss.parameters(), lr=5e-4)

    def _make_actor(self, species: str | None) -> ProbabilisticActor:
        """Return the net as an actor, of a species in the environment or of single rows."""

        def key(name: str) -> str | tuple[str, str]:
            return name if species is None else (species, name)

        return ProbabilisticActor(
            TensorDictModule(self.net, [key("observation")], [key("logits")]),
            in_keys={"logits": key("logits")},
            out_keys=[key("action")],
            distribution_class=Categorical,
            return_log_prob=True,
            log_prob_key=key("action_log_prob"),
        )

    def make_rows(self, data: TensorDict) -> TensorDict:
        """Return a row for every tick of every life, with advantages that end with the life.

        Args:
            data: `[ticks]`, a rollout of the environment.
        """
        now, later = data[self.species], data["next", self.species]
        ended = later["info", "ended"].bool().reshape(*now.batch_size, 1)
        over = data["next", "done"].reshape(-1, 1, 1).expand_as(ended)
        with torch.no_grad():
            value, next_value = self.critic(now["observation"]), self.critic(later["observation"])
        arguments = (value, next_value, later["reward"], ended | over, ended)
        advantage, target = generalized_advantage_estimate(
            GAMMA, GAE_LAMBDA, *(tensor.transpose(0, 1) for tensor in arguments)
        )
        rows = now.select("observation", "action", "action_log_prob")
        rows["advantage"], rows["value_target"] = advantage.transpose(0, 1), target.transpose(0, 1)
        return rows[now["info", "alive"].bool().reshape(now.batch_size)]

    def update(self, rows: TensorDict, n_epochs: int = 2, minibatch_size: int = 256) -> float:
        """Update the net by PPO and return the last loss.

        Args:
            rows: Rows of `make_rows`.
            n_epochs: Passes over them.
            minibatch_size: Rows of a step of the optimiser.
        """
        total: Tensor = torch.zeros(())
        for _ in range(n_epochs):
            for part in torch.randperm(len(rows)).split(minibatch_size):
                losses = self.loss(rows[part])
                total = sum(loss for name, loss in losses.items() if name.startswith("loss_"))
                self.optimizer.zero_grad()
                total.backward()
                self.optimizer.step()
        return float(total.detach())


def train(iterations: int = 3, seed: int = 0) -> list[dict[str, float]]:
    """Train on one game per iteration; return births, deaths and losses of each.

    Args:
        iterations: Games, and updates of both nets.
        seed: Of the games and of the nets.
    """
    torch.manual_seed(seed)
    env = PettingZooWrapper(make_fixed_agents("savanna", **RULES), use_mask=False, seed=seed)
    learners = [Learner(env, species) for species in SPECIES]
    actors = TensorDictSequential(*(learner.actor for learner in learners))
    rows = []
    for _ in range(iterations):
        with torch.no_grad():
            data = env.rollout(RULES["max_steps"], actors)
        infos = [data["next", species, "info"] for species in SPECIES]
        row = {"born": sum(float(info["born"].sum()) for info in infos)}
        row["died"] = sum(float(info["ended"].sum()) for info in infos)
        row |= {each.species: each.update(each.make_rows(data)) for each in learners}
        rows.append(row)
    return rows


if __name__ == "__main__":
    for number, seen in enumerate(train()):
        print(number, {name: round(value, 3) for name, value in seen.items()})
