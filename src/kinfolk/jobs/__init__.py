"""What kinfolk does, one job a file: settings in, a stream of events out. Start reading here.

By name it is the job itself that is found here, and its settings:

>>> import kinfolk as kf
>>> settings = kf.jobs.Evaluate(slots={"all": "kin://noop"}, episodes=4)
>>> stream = list(kf.jobs.evaluate(settings, kf.make_engine("local")))
>>> stream[-1].kind, stream[-1].episodes
('evaluated', 4)
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

# A job or the settings of one, and the file that it is in. Nothing is imported before it is used.
_JOBS = {
    "evaluate": "evaluate",
    "Evaluate": "evaluate",
    "compare_policies": "compare",
    "Compare": "compare",
    "round_robin": "round_robin",
    "RoundRobin": "round_robin",
    "evolve_roles": "evolve_roles.job",
    "EvolveRoles": "evolve_roles.settings",
    "evolve_nets": "evolve_nets.job",
    "EvolveNets": "evolve_nets.settings",
    "train": "train.job",
    "Train": "train.settings",
}


class _Jobs(ModuleType):
    """A package in which `evolve_roles` is the job, not the file of the same name.

    The import system puts a file into its package under its own name, so a plain `__getattr__`
    would be asked only as long as nobody has imported the file.
    """

    def __getattribute__(self, name: str) -> Any:
        if name in _JOBS:
            return getattr(import_module(f"{__name__}.{_JOBS[name]}"), name)
        return super().__getattribute__(name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *_JOBS})


sys.modules[__name__].__class__ = _Jobs
