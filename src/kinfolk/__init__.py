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
    from kinfolk.api.results import StoredRun, load_run, runs
    from kinfolk.api.sweeps import SweepResult, sweep
    from kinfolk.api.training import Trainer, TrainingResult, train
    from kinfolk.api.worlds import make, pettingzoo
    from kinfolk.core.errors import PolicyFailedError
    from kinfolk.engines import make_engine
    from kinfolk.evolution.populations import (
        BasePop,
        GAConfig,
        GeneratorDiscriminatorPop,
        GeneratorPop,
    )
    from kinfolk.isolation.failures import IsolationSettings
    from kinfolk.isolation.subprocess_policy import (
        PerAgentSubprocessPolicy,
        wrap_agent_policy_in_subprocess,
    )
    from kinfolk.nets.dynamic.nets import DynamicNets
    from kinfolk.nets.static import FeedforwardStaticNets, RecurrentStaticNets
    from kinfolk.play.slots import PolicySlot, SlotRegistry
    from kinfolk.policies.multi_agent import (
        AgentPolicy,
        MultiAgentPolicy,
        PolicyEnvInterface,
        PolicySpec,
    )
    from kinfolk.policies.single_agent import initialize_or_load_policy
    from kinfolk.roles.catalog import RoleCatalog, map_role_to_vibe
    from kinfolk.roles.coordinator import EvolutionaryRoleCoordinator
    from kinfolk.roles.fitness import (
        lock_role_name_if_fit,
        pick_role_id_weighted,
        record_role_score,
    )
    from kinfolk.roles.model import (
        BehaviorDef,
        BehaviorSource,
        EvolutionConfig,
        RoleDef,
        RoleTier,
        TierSelection,
    )
    from kinfolk.roles.operators import inject_behavior, mutate_role, recombine_roles, sample_role
    from kinfolk.roles.program import materialize_role_behaviors, resolve_tier_order
    from kinfolk.training.losses import register_loss
    from kinfolk.worlds.gymnasium_task.own_tasks import register_env

__all__ = ["compare", "evaluate", "evolve_nets", "evolve_roles", "jobs", "make_engine", "train"]
__all__ += ["load_run", "make", "pettingzoo", "round_robin", "runs", "stats", "sweep"]
__all__ += ["Trainer", "register_env", "register_loss"]
__all__ += ["ComparisonResult", "EvaluationResult", "NetEvolutionResult"]
__all__ += ["RoleEvolutionResult", "RoundRobinResult", "StoredRun", "SweepResult", "TrainingResult"]
__all__ += ["AgentPolicy", "MultiAgentPolicy", "PolicyEnvInterface", "PolicySpec"]
__all__ += ["PolicySlot", "SlotRegistry"]
__all__ += ["IsolationSettings", "PerAgentSubprocessPolicy", "initialize_or_load_policy"]
__all__ += ["PolicyFailedError", "wrap_agent_policy_in_subprocess"]
__all__ += ["BehaviorDef", "BehaviorSource", "RoleCatalog", "RoleDef", "RoleTier", "TierSelection"]
__all__ += ["EvolutionConfig", "EvolutionaryRoleCoordinator", "map_role_to_vibe"]
__all__ += ["inject_behavior", "mutate_role", "recombine_roles", "sample_role"]
__all__ += ["materialize_role_behaviors", "resolve_tier_order"]
__all__ += ["lock_role_name_if_fit", "pick_role_id_weighted", "record_role_score"]
__all__ += ["BasePop", "GAConfig", "GeneratorDiscriminatorPop", "GeneratorPop"]
__all__ += ["DynamicNets", "FeedforwardStaticNets", "RecurrentStaticNets"]

export_lazily(__name__)
