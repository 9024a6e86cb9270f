"""The jobs of kinfolk: each takes settings and an engine, and yields a stream of events.

Jobs and their settings by name, imported when they are used:

>>> import kinfolk as kf
>>> slots = (kf.PolicySlot(id="all", policy_uri="kin://noop"),)
>>> settings = kf.jobs.Evaluate(slots=slots, episodes=4)
>>> stream = list(kf.jobs.evaluate(settings, kf.make_engine("local")))
>>> stream[-1].kind, stream[-1].episodes
('evaluated', 4)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinfolk.core.imports import Registry, RegistryEntry, export_lazily

if TYPE_CHECKING:
    from kinfolk.jobs.compare import Compare, compare_policies
    from kinfolk.jobs.crossplay import CrossPlay, crossplay
    from kinfolk.jobs.evaluate import Evaluate, evaluate
    from kinfolk.jobs.evolve_nets.job import evolve_nets
    from kinfolk.jobs.evolve_nets.settings import EvolveNets
    from kinfolk.jobs.evolve_roles.job import evolve_roles
    from kinfolk.jobs.evolve_roles.settings import EvolveRoles
    from kinfolk.jobs.exploit.job import exploit
    from kinfolk.jobs.exploit.settings import Exploit
    from kinfolk.jobs.round_robin import RoundRobin, round_robin
    from kinfolk.jobs.scenarios.job import evaluate_scenarios
    from kinfolk.jobs.scenarios.settings import EvaluateScenarios
    from kinfolk.jobs.studies.job import study
    from kinfolk.jobs.studies.settings import Study
    from kinfolk.jobs.sweeps.job import sweep
    from kinfolk.jobs.sweeps.settings import Sweep
    from kinfolk.jobs.tournament.job import tournament
    from kinfolk.jobs.tournament.settings import Tournament
    from kinfolk.jobs.train.job import train
    from kinfolk.jobs.train.settings import Train

__all__ = [
    "JOB_SETTINGS",
    "Compare",
    "CrossPlay",
    "Evaluate",
    "EvaluateScenarios",
    "EvolveNets",
    "EvolveRoles",
    "Exploit",
    "RoundRobin",
    "Study",
    "Sweep",
    "Tournament",
    "Train",
    "compare_policies",
    "crossplay",
    "evaluate",
    "evaluate_scenarios",
    "evolve_nets",
    "evolve_roles",
    "exploit",
    "round_robin",
    "study",
    "sweep",
    "tournament",
    "train",
]

_SETTINGS = {
    "play": ("kinfolk.play.settings:EpisodeSettings", "one game in the terminal"),
    "explain": ("kinfolk.evaluation.explain:Explain", "why agents acted so"),
    "eval": ("kinfolk.jobs.evaluate:Evaluate", "episodes of a team of policies"),
    "scenarios": (
        "kinfolk.jobs.scenarios.settings:EvaluateScenarios",
        "a policy among others, by eval --scenario",
    ),
    "compare": ("kinfolk.jobs.compare:Compare", "policies on the same episodes"),
    "tournament": (
        "kinfolk.jobs.tournament.settings:Tournament",
        "policies that meet and are rated",
    ),
    "crossplay": ("kinfolk.jobs.crossplay:CrossPlay", "every policy with every other"),
    "train": ("kinfolk.jobs.train.settings:Train", "training of nets by PPO"),
    "exploit": ("kinfolk.jobs.exploit.settings:Exploit", "best responses to fixed policies"),
    "evolve-roles": ("kinfolk.jobs.evolve_roles.settings:EvolveRoles", "evolution of roles"),
    "evolve-nets": ("kinfolk.jobs.evolve_nets.settings:EvolveNets", "neuroevolution"),
}
# The settings of each command that has some, by the command's name.
JOB_SETTINGS = Registry("job", "jobs", {n: RegistryEntry(*entry) for n, entry in _SETTINGS.items()})

export_lazily(__name__)
