"""Role types without evolution: the fallback of the design note, where evolution is switched off."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from kinfolk.core.errors import require

# Of eight agents, as in the seeded team of CogsGuard.
DEFAULT_SHARES = {"miner": 3, "aligner": 2, "scrambler": 2, "scout": 1}


class SmartRoleCoordinator:
    """Gives every agent the role type that its team lacks most, and keeps it.

    `kin://roles?miner=4` asks it for the agents beyond the counts. `kin://smart` goes further: its
    agents change their type as the game requires.

    Args:
        num_agents: Agents of the team.
        shares: Agents of each role type in a balanced team; only their proportions count.

    >>> smart = SmartRoleCoordinator(4)
    >>> [smart.choose_role(agent) for agent in range(4)]
    ['miner', 'aligner', 'scrambler', 'miner']
    """

    def __init__(self, num_agents: int, shares: Mapping[str, int] | None = None) -> None:
        count = f"must be at least 1, not {num_agents}"
        require(num_agents >= 1, f"SmartRoleCoordinator.num_agents {count}.")
        self.num_agents = num_agents
        self.shares = dict(DEFAULT_SHARES if shares is None else shares)
        self.roles: dict[int, str] = {}

    def choose_role(self, agent_id: int, step: int = 0) -> str:
        """Return the role type of an agent; `step` is ignored: an agent keeps its type."""
        del step
        if agent_id not in self.roles:
            taken, total = Counter(self.roles.values()), sum(self.shares.values())
            wanted = {
                role: share * self.num_agents / total - taken[role]
                for role, share in self.shares.items()
            }
            self.roles[agent_id] = max(wanted, key=lambda role: wanted[role])
        return self.roles[agent_id]
