"""One or more cogs on a hand-drawn map, asked behaviour by behaviour."""

import numpy as np
from cogs_scenes import scene

from kinfolk.core.function_table import call_address
from kinfolk.core.random import fold_in, seed_key
from kinfolk.policies.base import AgentBatch, allocate_memory
from kinfolk.policies.scripted.cogsguard.behaviors.explanations import HOLD, reason_text
from kinfolk.policies.scripted.cogsguard.memory import view_memory
from kinfolk.policies.scripted.cogsguard.perception import perceive
from kinfolk.policies.scripted.cogsguard.role_policy import RolePolicy
from kinfolk.roles.execution import ACT, CAN_START, SHOULD_TERMINATE
from kinfolk.worlds.cogsguard.codes import MOVES, VIBES


class Cogs:
    """A drawn map and the minds of those on it; the first is the one that is asked.

    Moves are free unless a test is about energy.
    """

    def __init__(self, text, program=("explore",), tuning=None, **settings):
        self.world = scene(text, **{"free_moves": True, "max_steps": 5000} | settings)
        self.policy = RolePolicy(self.world.spec, **(tuning or {}))
        rows = self.world.spec.rows
        self.memory = allocate_memory(self.policy.memory_layout, rows)
        at, nobody = np.arange(rows), np.full((rows, 2), -1, dtype=np.int64)
        group = self.world.columns.group.copy()
        self.rows = AgentBatch(at, at * 0, at, at, group, at * 0, nobody, nobody)
        self.policy.reset_agents(self.rows, self.memory, at)
        self.run_only(*program)
        self.shown = np.zeros((rows, self.world.spec.row_bytes), dtype=np.uint8)
        self.tick = 0

    def run_only(self, *names):
        """Give everybody this program."""
        self.memory["program"][:] = -1
        self.memory["program"][:, : len(names)] = self.policy.catalog.behavior_ids(names)
        self.memory["active"][:] = 0
        return self

    @property
    def mind(self):
        return view_memory(self.memory, self.policy._scratch, self.policy.rules)

    def note(self, column, row=0):
        return int(self.memory["state"][row, column])

    def _keys(self):
        self.tick += 1
        return fold_in(fold_in(seed_key(5), self.tick), self.rows.memory_index)

    def look(self):
        """Perceive without acting."""
        self.world.observe(self.shown)
        words, floats = self.shown.view(np.uint16), self.shown.view(np.float32)
        perceive(self.mind, words, floats, self.rows.memory_index, self._keys())
        return self

    def _ask(self, name, hook, row):
        behavior = self.policy.catalog.behavior_id(name)
        return call_address(int(self.policy._behavior_table.hooks[behavior, hook]), self.mind, row)

    def start(self, name, row=0):
        """'yes', or why not."""
        answer = self._ask(name, CAN_START, row)
        return "yes" if answer == 1 else reason_text(answer)

    def move(self, name, row=0):
        """The move by name, with a ! if it holds; or why there is none."""
        answer = self._ask(name, ACT, row)
        if answer < 0:
            return reason_text(answer)
        return MOVES[answer % HOLD] + ("!" if answer >= HOLD else "")

    def ended(self, name, row=0):
        return bool(self._ask(name, SHOULD_TERMINATE, row))

    def play(self, ticks=1):
        """Let everybody run the program; returns the first one's moves."""
        moves = []
        for _ in range(ticks):
            self.world.observe(self.shown)
            self.policy.act_async(self.shown, self.rows, self.memory, self._keys())
            actions = self.policy.act_wait()
            moves.append(MOVES[int(actions[0, 0])])
            self.world.step(actions)
        return moves

    @property
    def vibe(self):
        return VIBES[int(self.memory["vibe"][0])]

    @property
    def doing(self):
        """The behaviour that acted last, None if none did."""
        active = int(self.memory["active"][0])
        if active == 0:
            return None
        return self.policy.catalog.behaviors[int(self.memory["program"][0, active - 1])].name
