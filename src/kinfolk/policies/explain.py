"""Why agents act as they do, told by policies that can: plain numbers and what they stand for.

A policy that can tell has `reasons`, which names what it tells of, and `why()`, which gives it for
the rows of the last question, in their order. Whoever does not ask pays nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from kinfolk.core.arrays import AnyArray


@dataclass(frozen=True)
class ExplanationSchema:
    """What the numbers of `why()` stand for.

    `behaviours` and `verdicts` name what was considered and what came of it; `ACTED` is the
    verdict of the one that acts. `facts` are further columns by name, each with its own names
    (such as the role an agent plays), or with none if its numbers are plain.
    """

    behaviors: tuple[str, ...]
    outcomes: tuple[str, ...]
    facts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    depth: int = 8  # at most so many behaviours are told of


@dataclass(frozen=True)
class ExplanationBatch:
    """For each row: what was considered, in order, and what came of each. -1: nothing further."""

    considered: AnyArray  # [n, depth] indices into Reasons.behaviours
    outcome: AnyArray  # [n, depth] indices into Reasons.verdicts
    facts: Mapping[str, AnyArray] = field(default_factory=dict)  # [n]


ACTED = "acts"  # the verdict of the behaviour that acts


@runtime_checkable
class Explainable(Protocol):
    """A policy that can tell why."""

    @property
    def explanation_schema(self) -> ExplanationSchema:
        """What it tells of."""
        ...

    def enable_explanations(self, enabled: bool) -> None:
        """Keep what `why` tells from now on, or stop."""
        ...

    def last_explanation(self) -> ExplanationBatch:
        """Why the rows of the last question act as they do."""
        ...


def find_explainable(policy: object) -> Explainable | None:
    """Whoever can tell why a policy acts as it does: the policy, or the one it keeps inside.

    A policy that is judged lies behind a face that catches what it does wrong; the face has it as
    `inner`, which may change when it is begun anew.
    """
    inner = getattr(policy, "unwrapped", policy)
    return inner if isinstance(inner, Explainable) else None
