"""What an evaluation took. It stands apart from the results, which hold no clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from kinfolk.isolation.inprocess import GuardedPolicy
from kinfolk.isolation.proxy import IsolatedPolicy


@dataclass(frozen=True)
class SlotTiming:
    """What one slot's policy took: times in microseconds."""

    agent_steps: int
    us_per_agent_step: float
    latency_us_mean: float = 0.0  # from question to answer, of a process
    latency_us_p99: float = 0.0
    processes: int = 0
    restarts: int = 0
    stale_replies: int = 0
    printed_chars: int = 0  # characters, which nobody has seen
    peak_megabytes: float = 0.0

    @staticmethod
    def from_slot(policy: GuardedPolicy | IsolatedPolicy) -> SlotTiming:
        """What a slot has taken so far."""
        steps = max(1, policy.agent_steps)
        if isinstance(policy, GuardedPolicy):
            return SlotTiming(policy.agent_steps, 1e6 * policy.policy_seconds / steps)
        waited = policy.latencies * 1e6 if len(policy.latencies) else np.zeros(1)
        return SlotTiming(
            policy.agent_steps,
            1e6 * policy.policy_seconds / steps,
            float(waited.mean()),
            float(np.percentile(waited, 99)),
            policy.peak_processes,
            policy.n_restarts,
            *policy.stats,
        )


@dataclass(frozen=True, kw_only=True)
class RolloutTiming:
    """What a task of some episodes took."""

    episodes: int
    ticks: int
    seconds: float
    slots: dict[str, SlotTiming] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def filter_valid(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those lines of a run's timings that have the form of a `Timing`; others are damaged."""
    numbers, slot_fields = ("episodes", "ticks", "seconds"), [f.name for f in fields(SlotTiming)]

    def fits(line: dict[str, Any]) -> bool:
        slots, warnings = line.get("slots"), line.get("warnings")
        return (
            isinstance(slots, dict)
            and isinstance(warnings, list)
            and all(isinstance(warning, str) for warning in warnings)
            and _are_numbers(line, numbers)
            and all(
                isinstance(slot, dict) and _are_numbers(slot, slot_fields)
                for slot in slots.values()
            )
        )

    return [line for line in lines if fits(line)]


def _are_numbers(table: dict[str, Any], names: Sequence[str]) -> bool:
    return all(isinstance(table.get(name), int | float) for name in names)


def aggregate_timings(lines: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The timings of many matches as one: sums, and the worst of latencies and memory."""
    slots: dict[str, dict[str, float]] = {}
    for timing in lines:
        for name, one in timing["slots"].items():
            total = slots.setdefault(name, dict.fromkeys(one, 0))
            before, now = total["agent_steps"], one["agent_steps"]
            for key, value in one.items():
                if key in ("us_per_agent_step", "latency_us_mean"):
                    total[key] = (total[key] * before + value * now) / max(1, before + now)
                elif key in ("latency_us_p99", "peak_megabytes", "processes"):
                    total[key] = max(total[key], value)
                else:
                    total[key] += value
    return {
        "episodes": sum(t["episodes"] for t in lines),
        "ticks": sum(t["ticks"] for t in lines),
        "seconds": sum(t["seconds"] for t in lines),
        "slots": slots,
        "warnings": sorted({warning for t in lines for warning in t["warnings"]}),
    }
