"""Policies written per agent, as a user of mettagrid would write them."""

import os
import random
import time
from pathlib import Path

import kinfolk as kf

# What agents of one process share: in a process of its own an agent sees nothing of the others.
SHARED = []


class Stateful:
    """Acts by its number, its seed, all that it has seen, and nothing else."""

    def __init__(self, env_info, agent_id, stride):
        self.choices, self.agent_id, self.stride = env_info.n_choices[0], agent_id, stride

    def reset(self, seed=17, episode=0, uid=0):
        self.state = [self.agent_id, seed, episode, uid]

    def step(self, observation):
        self.state.append(int(observation.astype("int64").sum()))
        draw = random.Random(str(self.state))
        return [draw.randrange(0, int(n) * self.stride, self.stride) // self.stride
                for n in self.choices]  # fmt: skip


class Team(kf.MultiAgentPolicy):
    def __init__(self, policy_env_info, stride=1, note=""):
        super().__init__(policy_env_info)
        self.stride, self.note = stride, note

    def agent_policy(self, agent_id):
        return Stateful(self.policy_env_info, agent_id, self.stride)

    def shutdown(self):
        if self.note:
            Path(self.note).write_text("shut down")


class Bare:
    """Has neither arguments of `reset` nor a base class, as in the design note."""

    def reset(self):
        self.n_steps = 0

    def step(self, observation):
        self.n_steps += 1
        return [self.n_steps % 3, 0]


class BareTeam(kf.MultiAgentPolicy):
    def agent_policy(self, agent_id):
        return Bare()


class Sharing(Bare):
    def step(self, observation):
        SHARED.append(1)
        return [min(2, len(SHARED) - 1), 0]


class SharingTeam(kf.MultiAgentPolicy):
    def agent_policy(self, agent_id):
        return Sharing()


class Slow(Bare):
    def step(self, observation):
        time.sleep(0.2)
        return [1, 0]


class SlowTeam(kf.MultiAgentPolicy):
    def agent_policy(self, agent_id):
        return Slow()


class Failing(Bare):
    """Fails at its third step in the way that its team names."""

    def __init__(self, how):
        self.how = how

    def step(self, observation):
        self.n_steps += 1
        if self.n_steps == 3:
            {"raise": self.stumble, "hang": lambda: time.sleep(60), "exit": lambda: os._exit(3)}[
                self.how
            ]()
        return [2, 0]

    def stumble(self):
        raise LookupError("no path")


class FailingTeam(kf.MultiAgentPolicy):
    def __init__(self, policy_env_info, how):
        super().__init__(policy_env_info)
        self.how = how

    def agent_policy(self, agent_id):
        return Failing(self.how)


class Answering(Bare):
    def __init__(self, answer):
        self.answer = answer

    def step(self, observation):
        return self.answer


class AnsweringTeam(kf.MultiAgentPolicy):
    """Answers what it is told to."""

    def __init__(self, policy_env_info, answer):
        super().__init__(policy_env_info)
        self.answer = answer

    def agent_policy(self, agent_id):
        return Answering(self.answer)


class EmptyTeam(kf.MultiAgentPolicy):
    def agent_policy(self, agent_id):
        return None


class Simulated(Bare):
    def reset(self, simulation):
        pass


class SimulatedTeam(kf.MultiAgentPolicy):
    def agent_policy(self, agent_id):
        return Simulated()


class Blind(Bare):
    def step(self):
        return [1, 0]


class BlindTeam(kf.MultiAgentPolicy):
    def agent_policy(self, agent_id):
        return Blind()


class LoadedTeam(BareTeam):
    def load(self, arrays):
        self.arrays = arrays


class Registering(Stateful):
    """Writes a line for each call, with the number of its process."""

    def __init__(self, env_info, agent_id, log, delay):
        super().__init__(env_info, agent_id, 1)
        self.log, self.delay = log, delay
        self.note("agent_policy")

    def note(self, call):
        with Path(self.log).open("a") as file:
            file.write(f"{os.getpid()} {call} {self.agent_id}\n")

    def reset(self, seed=17, episode=0, uid=0):
        super().reset(seed, episode, uid)
        self.note("reset")
        time.sleep(self.delay)

    def step(self, observation):
        self.note("step")
        return super().step(observation)


class RegisteringTeam(kf.MultiAgentPolicy):
    def __init__(self, policy_env_info, log, delay=0.0):
        super().__init__(policy_env_info)
        self.log, self.delay = log, delay

    def agent_policy(self, agent_id):
        return Registering(self.policy_env_info, agent_id, self.log, self.delay)


class Typed(Bare):
    """Answers with an `Action` by name, and checks what it sees."""

    def step(self, observation):
        assert isinstance(observation, kf.AgentObservation)
        assert observation.fields["body"].shape == (4,)
        return kf.Action(
            {"move": "right" if observation.agent_id % 2 else "left"}, observation.group
        )


class TypedTeam(kf.MultiAgentPolicy):
    def agent_policy(self, agent_id):
        return Typed()


class StubbornTeam(BareTeam):
    def shutdown(self):
        time.sleep(60)
