"""Policies that fail by a plan, and ones that act as noop wherever those had no process."""

from bad_policies import Counting, Exits, Hangs, Raises, Segfaults

from kinfolk.policies.base import NoopPolicy

KINDS = {"raise": Raises, "hang": Hangs, "exit": Exits, "segfault": Segfaults}
IN_RESET = -1


class FailsByPlan(Counting):
    """Fails in its constructor, or for an agent of the plan, by uid, at its step `[step, how]`.

    Policies with different numbers `run` share no processes.
    """

    def __init__(self, spec, plan, at_start="", run=0):
        super().__init__(spec)
        self.plan = plan
        if at_start:
            KINDS[at_start].misbehave(self)

    def reset_agents(self, batch, memory, keys):
        self.after_step(batch, [IN_RESET] * len(batch.uid))

    def after_step(self, batch, n_steps):
        for uid, n in zip(batch.uid.tolist(), list(n_steps), strict=True):
            step, how = self.plan.get(str(uid), (None, ""))
            if n == step:
                KINDS[how].misbehave(self)


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
