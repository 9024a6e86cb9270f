"""Logs of the PredPreyGrass code beside a trace: events, statistics, lineages and infos."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kinfolk.store.files import read_bytes
from kinfolk.worlds.adapters.infos import AgentIndex
from kinfolk.worlds.savanna.agent_log import SavannaAgentLog
from kinfolk.worlds.savanna.io.compare import Comparison, TraceDifference
from kinfolk.worlds.savanna.io.event_log import (
    build_agent_stats,
    build_event_log,
    build_lineage_tracker,
)
from kinfolk.worlds.savanna.io.infos import SavannaInfoProvider, convert_lifetime
from kinfolk.worlds.savanna.io.trace_format import TraceError, parse_trace
from kinfolk.worlds.savanna.world import SavannaWorld

_TRACE_SUFFIX, _LOG_SUFFIX = ".json.gz", ".log.json.gz"
_LOG_KEYS = ("agent_event_log", "agent_stats", "infos")


def add_log(trace: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return a trace with the log that lies beside its file, as `log`, if there is one.

    `NAME.log.json.gz` is the log of `NAME.json.gz`.

    Args:
        trace: Content of the file: a trace, or a log, in which case its trace is read.
        path: The file.

    Raises:
        TraceError: The file is a log and its trace is missing, or the log is damaged.
    """
    if path.name.endswith(_LOG_SUFFIX):
        trace_path = path.with_name(path.name.removesuffix(_LOG_SUFFIX) + _TRACE_SUFFIX)
        if not trace_path.exists():
            raise TraceError(f"{path} is a log whose trace {trace_path.name} is not beside it.")
        log, trace = trace, parse_trace(read_bytes(trace_path), str(trace_path))
    else:
        log_path = path.with_name(path.name.removesuffix(_TRACE_SUFFIX) + _LOG_SUFFIX)
        if not log_path.exists() or log_path == path:
            return dict(trace)
        log = parse_trace(read_bytes(log_path), str(log_path))
    for key in _LOG_KEYS:
        if key not in log:
            raise TraceError(f"The log beside {path.name} has no '{key}'.")
    return {**trace, "log": log}


class LogReplay:
    """Compare a log with a world that is stepped with the actions of its trace.

    Args:
        log: The published log.
        world: Batch of one world.
        agent_log: Log of that world.
        comparison: Counts the values compared.
    """

    def __init__(
        self,
        log: Mapping[str, Any],
        world: SavannaWorld,
        agent_log: SavannaAgentLog,
        comparison: Comparison,
    ) -> None:
        self._log, self._world, self._agent_log = log, world, agent_log
        self._comparison = comparison
        self._provider = SavannaInfoProvider()
        groups = tuple(group.name for group in world.spec.groups)
        self._agents = AgentIndex(groups, self._provider.make_name)
        self._agents.start(world.columns)

    def compare_step(self, t: int) -> Iterator[TraceDifference]:
        """Compare the infos of a step: every published entry has to be among ours."""
        self._agents.update(self._world.columns, t + 1)
        if t >= len(self._log["infos"]):
            yield TraceDifference(t, "infos", "steps", len(self._log["infos"]), t + 1)
            return
        counters = self._provider.world_info(self._world)
        infos = self._provider.infos(self._world, self._agents.by_uid)
        agents = {agent.name: agent for agent in self._agents.by_uid.values()}
        ours = {self._agents.by_uid[uid].name: info for uid, info in infos.items()}
        step = self._log["infos"][t]
        for key, expected in step["all"].items():
            yield from self._comparison.equal(t, "__all__", f"infos.{key}", expected, counters[key])
        for agent, info in step["agents"].items():
            our_info = ours.get(agent, {})
            for key, expected in info.items():
                # PredPreyGrass copies the counters of the world into the infos of every agent.
                got = our_info[key] if key in our_info else counters.get(key)
                if key == "lifetime_steps" and got is not None:
                    got = convert_lifetime(got, self._world, agents[agent])
                if key == "parent_id" and self._world.settings.quirks.parents_not_logged:
                    got = None
                yield from self._comparison.nested(t, agent, f"infos.{key}", expected, got)

    def compare_end(self, t: int) -> Iterator[TraceDifference]:
        """Compare event log, statistics and lineage tracker after the last step `t`."""
        tables = [
            ("agent_event_log", build_event_log(self._agent_log, first_step=0)),
            ("agent_stats", self._count_last_rewards_twice(build_agent_stats(self._agent_log, 0))),
        ]
        if self._log.get("lineage_tracker"):
            tables.append(("lineage_tracker", build_lineage_tracker(self._agent_log, self._world)))
        for name, ours in tables:
            theirs = self._log[name]
            for agent in sorted({*theirs, *ours}):
                if agent not in theirs or agent not in ours:
                    yield TraceDifference(t, agent, name, agent in theirs, agent in ours)
            for agent, expected in theirs.items():
                # Our logs have every field in every mode; the published ones only those of the mode.
                got = {key: value for key, value in ours[agent].items() if key in expected}
                yield from self._comparison.nested(t, agent, name, expected, got)

    def _count_last_rewards_twice(self, stats: dict[str, dict[str, Any]]) -> dict[str, Any]:
        """Add the rewards of the step of the time limit a second time, as PredPreyGrass does."""
        rewards = self._world.columns.reward
        for agent in self._agents.by_uid.values():
            if stats[agent.name]["death_cause"] == "time_limit":
                stats[agent.name]["cumulative_reward"] += float(rewards[agent.row])
        return stats
