"""Let policies explain their last decision, as indices and a schema that names them.

An explainable policy has `explanation_schema`, which names behaviors and outcomes, and
`last_explanation()`, which gives them for the agents of the last `act_async`, in the same order.
Explanations cost nothing while they are disabled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from kinfolk.core.arrays import AnyArray


@dataclass(frozen=True)
class ExplanationSchema:
    """Names for the indices in an `ExplanationBatch`.

    Attributes:
        behaviors: Names of the behaviors that can be considered.
        outcomes: Names of what can come of one; the outcome of the behavior that acts is `ACTED`.
        facts: Further columns by name (such as the role an agent plays), each with the names of its
            values, or with none if its values are plain numbers.
        depth: The most behaviors that are listed per agent.
    """

    behaviors: tuple[str, ...]
    outcomes: tuple[str, ...]
    facts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    depth: int = 8


@dataclass(frozen=True)
class ExplanationBatch:
    """Which behaviors each agent considered, in order, and the outcome of each.

    Attributes:
        considered: `[n, depth]`, indices into `ExplanationSchema.behaviors`; -1 ends the list.
        outcome: `[n, depth]`, indices into `ExplanationSchema.outcomes`; -1 ends the list.
        facts: `[n]` each, by the names of `ExplanationSchema.facts`.
    """

    considered: AnyArray
    outcome: AnyArray
    facts: Mapping[str, AnyArray] = field(default_factory=dict)


ACTED = "acts"  # the outcome of the behavior that acts


@runtime_checkable
class Explainable(Protocol):
    """A policy that can explain its decisions."""

    @property
    def explanation_schema(self) -> ExplanationSchema:
        """Name the behaviors, outcomes and facts of its explanations."""
        ...

    def enable_explanations(self, enabled: bool) -> None:
        """Start or stop to record an explanation with every `act_async`."""
        ...

    def last_explanation(self) -> ExplanationBatch:
        """Return the explanation for the agents of the last `act_async`."""
        ...


def find_explainable(policy: object) -> Explainable | None:
    """Return the policy, or the policy inside its failure guard, if it can explain itself.

    In an evaluation a policy is wrapped by a guard that handles its failures; the guard has it as
    `unwrapped`, which changes when the policy is restarted.
    """
    unwrapped = getattr(policy, "unwrapped", policy)
    return unwrapped if isinstance(unwrapped, Explainable) else None
