"""Compare the event logs and statistics of agents in a golden trace with those of its replay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kinfolk.worlds.savanna.agent_log import SavannaAgentLog
from kinfolk.worlds.savanna.agent_record import SavannaAgentRecord
from kinfolk.worlds.savanna.io.compare import Comparison, TraceDifference
from kinfolk.worlds.savanna.world import SavannaWorld


class AgentLogComparison:
    """The part of a replay that compares what was logged of every agent.

    Attributes:
        trace: The golden trace.
        rules: Name of the rule set with which it was recorded.
        world: The world of the replay.
        agent_log: Records of its agents.
        comparison: Compares values within the tolerances of traces.
    """

    trace: Mapping[str, Any]
    rules: str
    world: SavannaWorld
    agent_log: SavannaAgentLog
    comparison: Comparison
    _rows: dict[str, int]

    def _rename(self, agent: str) -> str:
        """Return the id of an agent as the trace writes it."""
        raise NotImplementedError

    def compare_agent_logs(self, t: int) -> Iterator[TraceDifference]:
        """Compare the event log and the statistics of every agent."""
        records = {self._rename(name): record for name, record in self.agent_log.by_id.items()}
        for name in ("event_log", "stats"):
            for agent in sorted(set(self.trace[name]) ^ set(records)):
                yield TraceDifference(t, agent, name, agent in self.trace[name], agent in records)
        for agent, log in self.trace["event_log"].items():
            yield from self._compare_log(t, records[agent], log)
            yield from self._compare_variant_log(t, records[agent], log)
        for agent, stats in self.trace["stats"].items():
            record = records[agent]
            row = self._rows.get(agent)
            # Published: the reward of the step of the time limit is counted twice.
            counted_twice = record.death_cause == "time_limit" and row is not None
            extra = float(self.world._arrays.reward[0, row]) if counted_twice else 0.0
            for field, got in (
                ("cumulative_reward", record.cumulative_reward + extra),
                ("offspring", len(record.offspring_ids)),
                ("energy_gained", record.energy_gained),
                ("times_ate", record.times_ate),
                ("dist", record.distance_traveled),
                ("lineage", record.lineage_reward_total),
                ("blocked", record.fertility_blocked_attempts),
                ("carc", record.carcass_only_blocks),
                ("kickbacks", record.kin_kickbacks),
                ("move_energy", record.move_energy),
            ):
                if stats.get(field) is not None:
                    yield from self.comparison.close(t, agent, f"stats.{field}", stats[field], got)

    def _compare_log(
        self, t: int, record: SavannaAgentRecord, log: Mapping[str, Any]
    ) -> Iterator[TraceDifference]:
        """Compare the event log of one agent in the trace with its record in the replay.

        Args:
            t: Step reported with a difference.
            record: Record of the agent in the replay.
            log: Event log of the agent in the trace.
        """
        agent = self._rename(record.agent_id)
        ended = record.death_cause is not None  # a carcass at the end has no cause yet
        for field, got in (
            ("birth", record.birth_step),
            ("death", record.death_step if ended else None),
            ("cause", record.death_cause),
            ("n_eat", len(record.eating_events)),
            # Logged since R2.
            ("n_fail", 0 if self.rules == "r1" else len(record.failed_eating_events)),
            ("kids", [self._rename(child) for child in record.offspring_ids]),
        ):
            if field in log:
                yield from self.comparison.equal(t, agent, f"event_log.{field}", log[field], got)
        has_lineage = self.rules == "lineage"  # shared_prey has no lineage term, not even one of 0
        own_events = [
            event for event in record.reward_events if has_lineage or "lineage_reward" not in event
        ]
        events = log.get("reward_events", [])
        yield from self.comparison.equal(
            t, agent, "event_log.reward_events", len(events), len(own_events)
        )
        for i, (theirs, ours) in enumerate(zip(events, own_events, strict=True)):
            for field, value in theirs.items():
                name = f"event_log.reward_events[{i}].{field}"
                yield from self.comparison.close(t, agent, name, value, ours.get(field, 0.0))

    def _compare_variant_log(
        self, t: int, record: SavannaAgentRecord, log: Mapping[str, Any]
    ) -> Iterator[TraceDifference]:
        """Compare what newer modules log: meals, failed captures, parents and genomes.

        Args:
            t: Step reported with a difference.
            record: Record of the agent in the replay.
            log: Event log of the agent in the trace.
        """
        agent, records = self._rename(record.agent_id), self.agent_log.by_uid
        if "meals" in log:
            ours = [self._describe_meal(meal) for meal in record.eating_events]
            yield from self.comparison.nested(t, agent, "event_log.meals", log["meals"], ours)
        if "fails" in log:
            ours = [
                [
                    *(fail["t"], records[fail["other"]].agent_id, fail["energy_before"]),
                    *(fail["energy_after"], len(fail["predators"])),
                ]
                for fail in record.failed_eating_events
            ]
            yield from self.comparison.nested(t, agent, "event_log.fails", log["fails"], ours)
        if "parent" in log:
            parent = None if record.parent is None else self._rename(record.parent)
            yield from self.comparison.equal(t, agent, "event_log.parent", log["parent"], parent)
        if "genome" in log:
            genome = record.traits or None
            yield from self.comparison.nested(t, agent, "event_log.genome", log["genome"], genome)

    def _describe_meal(self, meal: Mapping[str, Any]) -> list[Any]:
        """Return a predator's meal as the trace has it."""
        prey = self._rename(self.agent_log.by_uid[meal["other"]].agent_id)
        if self.rules == "metabolic_rate":
            return [meal["t"], prey, meal["energy_after"]]
        described = [meal["t"], prey, meal["bite_size"], len(meal["joiners"])]
        if self.rules == "stag_hunt_defection":
            described += [int(meal["kind"] != "scavenge"), len(meal["riders"])]
        return described
