"""A laboratory for populations of agents that live together.

>>> import kinfolk as kf
>>> world = kf.make("probe", worlds=2, seed=0)
>>> world.spec.groups[0].name, world.n_worlds
('grazer', 2)

Every name is imported when it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinfolk.core.lazy import export_lazily

if TYPE_CHECKING:
    from kinfolk import jobs
    from kinfolk.api.evaluation import ComparisonResult, EvaluationResult, compare, evaluate
    from kinfolk.api.evolution import (
        NetEvolutionResult,
        RoleEvolutionResult,
        evolve_nets,
        evolve_roles,
    )
    from kinfolk.api.runs import StoredRun, load_run, runs
    from kinfolk.api.training import TrainingResult, train
    from kinfolk.api.worlds import make, pettingzoo
    from kinfolk.engines import make_engine
    from kinfolk.evolution.populations import (
        BasePop,
        GAConfig,
        GeneratorDiscriminatorPop,
        GeneratorPop,
    )
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
    from kinfolk.roles.catalog import RoleCatalog, map_role_to_vibe
    from kinfolk.roles.config import EvolutionConfig
    from kinfolk.roles.coordinator import EvolutionaryRoleCoordinator
    from kinfolk.roles.fitness import (
        lock_role_name_if_fit,
        pick_role_id_weighted,
        record_role_score,
    )
    from kinfolk.roles.model import BehaviorDef, BehaviorSource, RoleDef, RoleTier, TierSelection
    from kinfolk.roles.operators import inject_behavior, mutate_role, recombine_roles, sample_role
    from kinfolk.roles.program import materialize_role_behaviors, resolve_tier_order

__all__ = [
    "AgentPolicy",
    "BasePop",
    "BehaviorDef",
    "BehaviorSource",
    "ComparisonResult",
    "DynamicNets",
    "EvaluationResult",
    "EvolutionConfig",
    "EvolutionaryRoleCoordinator",
    "FeedforwardStaticNets",
    "GAConfig",
    "GeneratorDiscriminatorPop",
    "GeneratorPop",
    "MultiAgentPolicy",
    "NetEvolutionResult",
    "PerAgentSubprocessPolicy",
    "PolicyEnvInterface",
    "PolicySlot",
    "PolicySpec",
    "RecurrentStaticNets",
    "RoleCatalog",
    "RoleDef",
    "RoleEvolutionResult",
    "RoleTier",
    "SlotRegistry",
    "StoredRun",
    "TierSelection",
    "TrainingResult",
    "compare",
    "evaluate",
    "evolve_nets",
    "evolve_roles",
    "inject_behavior",
    "jobs",
    "load_run",
    "lock_role_name_if_fit",
    "make",
    "make_engine",
    "map_role_to_vibe",
    "materialize_role_behaviors",
    "mutate_role",
    "pettingzoo",
    "pick_role_id_weighted",
    "recombine_roles",
    "record_role_score",
    "resolve_tier_order",
    "runs",
    "sample_role",
    "train",
    "wrap_agent_policy_in_subprocess",
]

export_lazily(__name__)
