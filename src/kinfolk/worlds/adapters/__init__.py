"""Adapters of worlds to other libraries: PettingZoo, Gymnasium and RLlib.

>>> from kinfolk.worlds.adapters import make_parallel
>>> env = make_parallel("probe", seed=3)
>>> observations, infos = env.reset()
>>> env.agents[:2], sorted(observations["grazer_0"])
(['grazer_0', 'grazer_1'], ['body', 'window'])

None of those libraries is imported before an adapter is made.
"""

from __future__ import annotations

from kinfolk.worlds.adapters.factory import (
    make_fixed_agents,
    make_gymnasium,
    make_parallel,
    make_rllib,
    register,
)

__all__ = ["make_fixed_agents", "make_gymnasium", "make_parallel", "make_rllib", "register"]
