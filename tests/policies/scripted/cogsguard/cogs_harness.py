"""Run single behaviors of agents on a hand-drawn map, and a small game for contract tests."""

import numpy as np
from cogs_scenes import scene

from kinfolk.core.jit import call_address
from kinfolk.core.random import fold_in, seed_key
from kinfolk.policies.base import AgentBatch, allocate_memory
from kinfolk.policies.scripted.cogsguard.behaviors.reasons import reason_text
from kinfolk.policies.scripted.cogsguard.memory import view_memory
from kinfolk.policies.scripted.cogsguard.perception import perceive
from kinfolk.policies.scripted.cogsguard.role_policy import RolePolicy
from kinfolk.roles.execution import ACT, CAN_START, HOLD, SHOULD_TERMINATE
from kinfolk.worlds.cogsguard.codes import MOVES

# Small, with everything to do nearby; clips seed at once.
MAP = """
J.....o.....
.A.R.M.T....
..@@@.....J.
c.@H@.C...g.
..@....#....
...s...#..J.
"""
SMALL_GAME = {
    "map_text": MAP,
    "agents": 6,
    "max_steps": 60,
    "window_radius": 3,
    "area_radius": 3,
    "clips_seed_at": 1,
    "clips_align_from": 5,
    "clips_align_every": 10,
}


class Cogs:
    """A drawn map and a policy that plays the agents on it; tests ask the first agent.

    Moves are free unless a test is about energy.
    """

    def __init__(self, text, program=("explore",), params=None, **settings):
        self.world = scene(text, **{"free_moves": True, "max_steps": 5000} | settings)
        self.policy = RolePolicy(self.world.spec, **(params or {}))
        n = self.world.spec.rows
        self.memory = allocate_memory(self.policy.memory_layout, n)
        rows, no_parents = np.arange(n), np.full((n, 2), -1, dtype=np.int64)
        group = self.world.columns.group.copy()
        self.batch = AgentBatch(rows, rows * 0, rows, rows, group, rows * 0, no_parents, no_parents)
        self.policy.reset_agents(self.batch, self.memory, rows)
        self.run_only(*program)
        self.observations = np.zeros((n, self.world.spec.row_bytes), dtype=np.uint8)
        self.tick = 0

    def run_only(self, *names):
        """Give every agent this program."""
        self.memory["program"][:] = -1
        self.memory["program"][:, : len(names)] = self.policy.catalog.behavior_ids(names)
        self.memory["active"][:] = 0
        return self

    @property
    def agent_memory(self):
        return view_memory(self.memory, self.policy._scratch, self.policy.rules)

    def state(self, column, row=0):
        return int(self.memory["state"][row, column])

    def _keys(self):
        self.tick += 1
        return fold_in(fold_in(seed_key(5), self.tick), self.batch.memory_index)

    def observe(self):
        """Perceive without acting."""
        self.world.observe(self.observations)
        words, floats = self.observations.view(np.uint16), self.observations.view(np.float32)
        perceive(self.agent_memory, words, floats, self.batch.memory_index, self._keys())
        return self

    def _call(self, name, hook, row):
        behavior = self.policy.catalog.behavior_id(name)
        address = int(self.policy._behavior_table.hooks[behavior, hook])
        return call_address(address, self.agent_memory, row)

    def start(self, name, row=0):
        """Return 'yes', or the reason why it cannot start."""
        code = self._call(name, CAN_START, row)
        return "yes" if code == 1 else reason_text(code)

    def move(self, name, row=0):
        """Return the name of the move, with a ! if it must not be interrupted; or the reason."""
        code = self._call(name, ACT, row)
        if code < 0:
            return reason_text(code)
        return MOVES[code % HOLD] + ("!" if code >= HOLD else "")

    def ended(self, name, row=0):
        return bool(self._call(name, SHOULD_TERMINATE, row))

    def play(self, ticks=1):
        """Let every agent run its program; return the moves of the first one."""
        moves = []
        for _ in range(ticks):
            self.world.observe(self.observations)
            self.policy.act_async(self.observations, self.batch, self.memory, self._keys())
            actions = self.policy.act_wait()
            moves.append(MOVES[int(actions[0, 0])])
            self.world.step(actions)
        return moves

    @property
    def active_behavior(self):
        """The name of the behavior that acted last, None if none did."""
        active = int(self.memory["active"][0])
        if active == 0:
            return None
        return self.policy.catalog.behaviors[int(self.memory["program"][0, active - 1])].name
