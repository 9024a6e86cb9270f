"""Time and resources of an evaluation, separate from its results, which are reproducible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from kinfolk.isolation.inprocess import GuardedPolicy
from kinfolk.isolation.proxy import IsolatedPolicy


@dataclass(frozen=True)
class SlotTiming:
    """Time and resources of one slot's policy; all but the first two are of worker processes."""

    agent_steps: int  # number of actions
    us_per_agent_step: float  # microseconds in the policy per action
    latency_us_mean: float = 0.0  # microseconds from request to reply
    latency_us_p99: float = 0.0
    processes: int = 0  # most at a time
    restarts: int = 0
    stale_replies: int = 0  # replies to requests that were no longer current
    printed_chars: int = 0  # characters that the policy printed, which are discarded
    peak_megabytes: float = 0.0  # largest of a process

    @staticmethod
    def from_slot(policy: GuardedPolicy | IsolatedPolicy) -> SlotTiming:
        """Return the timing of a slot's policy so far."""
        steps = max(1, policy.agent_steps)
        if isinstance(policy, GuardedPolicy):
            return SlotTiming(policy.agent_steps, 1e6 * policy.policy_seconds / steps)
        latencies = policy.latencies * 1e6 if len(policy.latencies) else np.zeros(1)
        return SlotTiming(
            policy.agent_steps,
            1e6 * policy.policy_seconds / steps,
            float(latencies.mean()),
            float(np.percentile(latencies, 99)),
            policy.peak_processes,
            policy.n_restarts,
            *policy.stats,
        )


@dataclass(frozen=True, kw_only=True)
class RolloutTiming:
    """Time and resources of a rollout task."""

    episodes: int  # number of episodes
    ticks: int  # of all episodes
    seconds: float  # of wall-clock time
    slots: dict[str, SlotTiming] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()  # about weaker isolation


def filter_valid_timings(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the lines of a run's timings that are a `RolloutTiming`; others are damaged."""
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
    """Aggregate the timings of tasks: sums, means, and maxima of p99, memory and processes."""
    slots: dict[str, dict[str, float]] = {}
    for timing in lines:
        for name, slot in timing["slots"].items():
            total = slots.setdefault(name, dict.fromkeys(slot, 0))
            before, now = total["agent_steps"], slot["agent_steps"]
            for key, value in slot.items():
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
