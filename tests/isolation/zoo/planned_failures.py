"""Policies that fail by a plan, and ones that act as noop wherever those had no process.

They need no other file of this folder, because in a sandbox a policy sees only its own.
"""

import ctypes
import os
import time

from kinfolk.policies.base import MemoryField, NoopPolicy

IN_RESET = -1


def misbehave(how):
    if how == "raise":
        raise ZeroDivisionError("boom")
    {"hang": lambda: time.sleep(60), "exit": lambda: os._exit(3), "segfault": crash}[how]()


def crash():
    ctypes.string_at(0)


class Counting(NoopPolicy):
    """Acts at random, by keys and without a kernel, and counts the steps of each agent."""

    def __init__(self, spec):
        super().__init__(spec)
        self.choices = spec.n_choices

    @property
    def memory_layout(self):
        return {"n_steps": MemoryField((), "int64")}

    def act_async(self, observations, batch, memory, keys):
        self._actions = (keys[:, None] >> 20) % self.choices[batch.group]
        n_steps = memory["n_steps"][batch.memory_index].copy()
        memory["n_steps"][batch.memory_index] += 1
        self.after_step(batch, n_steps)


class FailsByPlan(Counting):
    """Fails in its constructor, or for an agent of the plan, by uid, at its step `[step, how]`.

    Policies with different numbers `run` share no processes.
    """

    def __init__(self, spec, plan, at_start="", run=0):
        super().__init__(spec)
        self.plan = plan
        if at_start:
            misbehave(at_start)

    def reset_agents(self, batch, memory, keys):
        self.after_step(batch, [IN_RESET] * len(batch.uid))

    def after_step(self, batch, n_steps):
        for uid, n in zip(batch.uid.tolist(), list(n_steps), strict=True):
            step, how = self.plan.get(str(uid), (None, ""))
            if n == step:
                misbehave(how)


class NoopByPlan(Counting):
    """Acts as noop for each agent, by uid, at the ticks of the plan."""

    def __init__(self, spec, plan):
        super().__init__(spec)
        self.plan, self.still = plan, NoopPolicy(spec)

    def after_step(self, batch, n_steps):
        noop = self.still.noop_actions(batch.group)
        for i, (uid, n) in enumerate(zip(batch.uid.tolist(), n_steps.tolist(), strict=True)):
            if n in self.plan.get(str(uid), ()):
                self._actions[i] = noop[i]
