"""A laboratory for populations of agents that live together.

>>> import kinfolk as kf
>>> world = kf.make("probe", worlds=2, seed=0)
>>> world.spec.groups[0].name, world.n_worlds
('grazer', 2)

Every name is imported when it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinfolk.core.imports import export_lazily

if TYPE_CHECKING:
    from kinfolk import jobs
    from kinfolk.api import stats
    from kinfolk.api.exploit import ExploitResult, exploit
    from kinfolk.api.jobs import (
        ComparisonResult,
        EvaluationResult,
        NetEvolutionResult,
        RoleEvolutionResult,
        RoundRobinResult,
        compare,
        evaluate,
        evolve_nets,
        evolve_roles,
        round_robin,
    )
    from kinfolk.api.scenarios import ScenarioResult, evaluate_scenarios, scenarios
    from kinfolk.api.stored_runs import StoredRun, load_run, runs
    from kinfolk.api.studies import StudyResult, study
    from kinfolk.api.sweeps import SweepResult, sweep
    from kinfolk.api.tournaments import (
        CrossPlayResult,
        TournamentResult,
        crossplay,
        tournament,
    )
    from kinfolk.api.training import Trainer, TrainingResult, train
    from kinfolk.api.worlds import make, metrics, pettingzoo
    from kinfolk.core.errors import PolicyFailedError
    from kinfolk.core.trust import trust_files
    from kinfolk.engines import make_engine
    from kinfolk.evolution.base import BasePop, GAConfig
    from kinfolk.evolution.populations import GeneratorDiscriminatorPop, GeneratorPop
    from kinfolk.isolation.failures import IsolationSettings, IsolationWarning
    from kinfolk.isolation.subprocess_policy import (
        PerAgentSubprocessPolicy,
        wrap_agent_policy_in_subprocess,
    )
    from kinfolk.jobs.train.export import export_policy
    from kinfolk.nets.base import BaseNets
    from kinfolk.nets.dynamic.nets import DynamicNets
    from kinfolk.nets.own_nets import FunctionNets, ModuleNets
    from kinfolk.nets.static import FeedforwardStaticNets, RecurrentStaticNets
    from kinfolk.play.slots import PolicySlot, SlotRegistry
    from kinfolk.policies.dict_policy import AgentInfo, BatchDictPolicy, DictPolicy
    from kinfolk.policies.multi_agent import (
        Action,
        AgentObservation,
        AgentPolicy,
        MultiAgentPolicy,
        PolicyEnvInterface,
        PolicySpec,
    )
    from kinfolk.policies.own_policies import register_policy
    from kinfolk.policies.scripted.cogsguard.behaviors.python_behaviors import AgentView
    from kinfolk.policies.scripted.cogsguard.catalog import build_cogsguard_behavior_hooks
    from kinfolk.policies.scripted.cogsguard.evolved_roles import CogsguardPolicy
    from kinfolk.policies.single_agent import initialize_or_load_policy, load_policy
    from kinfolk.roles.catalog import RoleCatalog, map_role_to_vibe
    from kinfolk.roles.coordinator import EvolutionaryRoleCoordinator
    from kinfolk.roles.fitness import (
        lock_role_name_if_fit,
        pick_role_id_weighted,
        record_behavior_score,
        record_role_score,
    )
    from kinfolk.roles.model import (
        BehaviorDef,
        BehaviorParameter,
        BehaviorSource,
        EvolutionConfig,
        RoleDef,
        RoleTier,
        TierGuard,
        TierSelection,
    )
    from kinfolk.roles.operators import inject_behavior, mutate_role, recombine_roles, sample_role
    from kinfolk.roles.program import materialize_role_behaviors, resolve_tier_order
    from kinfolk.roles.smart_coordinator import SmartRoleCoordinator
    from kinfolk.training.losses import register_loss
    from kinfolk.worlds.gymnasium_task.own_tasks import register_env

__all__ = ["compare", "evaluate", "evolve_nets", "evolve_roles", "jobs", "make_engine", "train"]
__all__ += ["Trainer", "crossplay", "export_policy", "register_env", "register_loss", "tournament"]
__all__ += ["CrossPlayResult", "ExploitResult", "TournamentResult", "exploit", "register_policy"]
__all__ += ["ScenarioResult", "StudyResult", "evaluate_scenarios", "scenarios", "study"]
__all__ += ["load_run", "make", "metrics", "pettingzoo", "round_robin", "runs", "stats", "sweep"]
__all__ += ["ComparisonResult", "EvaluationResult", "NetEvolutionResult"]
__all__ += ["RoleEvolutionResult", "RoundRobinResult", "StoredRun", "SweepResult", "TrainingResult"]
__all__ += ["AgentPolicy", "MultiAgentPolicy", "PolicyEnvInterface", "PolicySpec"]
__all__ += ["Action", "AgentObservation", "load_policy"]
__all__ += ["AgentInfo", "BatchDictPolicy", "DictPolicy", "PolicySlot", "SlotRegistry"]
__all__ += ["IsolationSettings", "PerAgentSubprocessPolicy", "initialize_or_load_policy"]
__all__ += ["IsolationWarning", "PolicyFailedError", "wrap_agent_policy_in_subprocess"]
__all__ += ["BehaviorDef", "BehaviorSource", "RoleCatalog", "RoleDef", "RoleTier", "TierSelection"]
__all__ += ["BehaviorParameter", "SmartRoleCoordinator", "TierGuard"]
__all__ += ["EvolutionConfig", "EvolutionaryRoleCoordinator", "map_role_to_vibe"]
__all__ += ["inject_behavior", "mutate_role", "recombine_roles", "sample_role"]
__all__ += ["materialize_role_behaviors", "resolve_tier_order"]
__all__ += ["lock_role_name_if_fit", "pick_role_id_weighted", "record_role_score"]
__all__ += ["AgentView", "CogsguardPolicy", "build_cogsguard_behavior_hooks"]
__all__ += ["record_behavior_score"]
__all__ += ["BasePop", "GAConfig", "GeneratorDiscriminatorPop", "GeneratorPop"]
__all__ += ["BaseNets", "DynamicNets", "FeedforwardStaticNets", "RecurrentStaticNets"]
__all__ += ["FunctionNets", "ModuleNets", "trust_files"]

export_lazily(__name__)
