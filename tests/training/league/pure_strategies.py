"""Policies that always make the same choice, for mixtures whose exploitability is known."""

import kinfolk as kf


class Rock(kf.DictPolicy):
    def step(self, observation, info):
        return "rock"


class Paper(kf.DictPolicy):
    def step(self, observation, info):
        return "paper"


class Scissors(kf.DictPolicy):
    def step(self, observation, info):
        return "scissors"
