"""Replay golden traces, which are step-by-step recordings of the PredPreyGrass code.

A trace fixes the seed, the actions in the order of moves, and everything that followed. Replaying
one on the rules of kinfolk compares all of it and stops at the first difference.

`n_pred` and `n_prey` are running counters of PredPreyGrass, not head counts: a prey that dies of
age or hunger and is bitten in the same step is subtracted twice. With the quirk
`dead_prey_bitten` the counters of kinfolk do the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Bytes, Ints
from kinfolk.worlds.savanna.agent_log import SavannaAgentLog
from kinfolk.worlds.savanna.codes import FAILURES, SUCCESSES
from kinfolk.worlds.savanna.io.compare import Comparison, TraceDifference
from kinfolk.worlds.savanna.io.published_draws import PublishedDraws, draw_founder_count
from kinfolk.worlds.savanna.io.published_log import LogReplay, add_log
from kinfolk.worlds.savanna.io.trace_agent_logs import AgentLogComparison
from kinfolk.worlds.savanna.io.trace_format import TraceError, check_trace, parse_trace
from kinfolk.worlds.savanna.io.upstream_config import convert_config, find_rule_set
from kinfolk.worlds.savanna.world import SavannaWorld

__all__ = [
    "TraceDifference",
    "TraceError",
    "TraceReplay",
    "add_log",
    "parse_trace",
    "replay_golden_trace",
]

ALL_AGENTS = "__all__"
# Rule sets in which births draw from the generator that placed the founders.
_DRAWS_NEWBORNS = ("stag_hunt", "stag_hunt_defection", "metabolic_rate")
# Rule sets whose statistics add all rewards, also those that are overwritten or not returned.
_SUMS_EVENTS = ("stag_hunt", "stag_hunt_defection", "kick_back")


@dataclass(frozen=True)
class TraceReplay:
    """The result of a replay.

    Attributes:
        steps: Steps that were equal.
        n_values: Values compared.
        n_random_placements: Newborns without a free neighbour cell. PredPreyGrass places those
            in CPython's set order, so their cells are taken from the trace.
        difference: The first difference, None if there is none.
    """

    steps: int
    n_values: int
    n_random_placements: int
    difference: TraceDifference | None

    @property
    def matches(self) -> bool:
        """Whether the replay was equal to the trace."""
        return self.difference is None


def replay_golden_trace(trace: Mapping[str, Any]) -> TraceReplay:
    """Replay a trace in kinfolk and compare everything it recorded.

    If the trace has a `log`, see `add_log`, that is compared too.

    Raises:
        TraceError: The trace was recorded with rules that kinfolk does not have.
    """
    check_trace(trace)
    replayer = _TraceReplayer(trace)
    steps = 0
    difference = next(replayer.compare_reset(), None)
    for t, step in enumerate(trace["steps"]):
        if difference is None:
            replayer.advance(step)
            difference = next(replayer.compare_step(t, step), None)
            if difference is None and replayer.log is not None:
                difference = next(replayer.log.compare_step(t), None)
            steps += difference is None
    if difference is None:
        difference = next(replayer.compare_agent_logs(len(trace["steps"]) - 1), None)
    if difference is None and replayer.log is not None:
        difference = next(replayer.log.compare_end(len(trace["steps"]) - 1), None)
    n_random_placements = int(replayer.world.counters()["newborns_placed_at_random"][0])
    return TraceReplay(steps, replayer.comparison.n_values, n_random_placements, difference)


class _TraceReplayer(AgentLogComparison):
    """A single world that is stepped with the actions of a trace."""

    def __init__(self, trace: Mapping[str, Any]) -> None:
        self.trace = trace
        self.rules = find_rule_set(str(trace["upstream"]["module"]), str(trace["upstream"]["rev"]))
        rows = len(trace["initial"]["pos"])
        for step in trace["steps"]:  # the dead keep their rows for one more step
            rows = max(rows, len(step["state"]["pos"]) + len(step["terminated"]))
        generator, config = np.random.default_rng(trace["seed"]), dict(trace["config"])
        if self.rules == "metabolic_rate":
            for species in ("predators", "prey"):
                least = config.get(f"n_initial_active_{species}_min")
                key = f"n_initial_active_{species}"
                config[key] = draw_founder_count(generator, config[key], least)
        self.world = SavannaWorld(convert_config(config, self.rules, rows), 1)
        self.draws = PublishedDraws(
            self.world,
            generator,
            config if self.world.settings.traits else None,
            self.rules in ("stag_hunt", "stag_hunt_defection"),
        )
        self.draws.reset(trace["seed"])
        self.agent_log = SavannaAgentLog(self.world, counts_overwritten=self.rules in _SUMS_EVENTS)
        self.agent_log.start()
        self.comparison = Comparison()
        self.log: LogReplay | None = None
        if trace.get("log") is not None:
            self.log = LogReplay(trace["log"], self.world, self.agent_log, self.comparison)
        shape = (self.world.spec.rows, self.world.spec.row_bytes)
        self._observations: Bytes = np.zeros(shape, dtype=np.uint8)
        self._known_agents = set(trace["initial"]["pos"])
        self._rows = self._map_ids_to_rows()

    def _map_ids_to_rows(self) -> dict[str, int]:
        """Return the rows of the living and of those that just died, by agent id, in uid order."""
        s = self.world._arrays
        rows = np.flatnonzero(s.uid[0] >= 0)
        ordered = [int(row) for row in rows[np.argsort(s.uid[0, rows])]]
        records = self.agent_log.by_uid
        return {self._rename(records[int(s.uid[0, row])].agent_id): row for row in ordered}

    def _rename(self, agent: str) -> str:
        """Return the id that an agent has in the trace; modules with one type leave the type out."""
        return agent.removeprefix("type_1_") if self.rules == "metabolic_rate" else agent

    def advance(self, step: Mapping[str, Any]) -> None:
        """Step the world with the actions of one step of the trace, in their order."""
        s = self.world._arrays
        rows = self.world.spec.rows
        actions = np.zeros((rows, self.world.spec.n_heads), dtype=np.int64)
        actions[:, 1:] = (s.group[0] < self.world._rules.n_types)[:, None]  # who did not act joins
        acting = np.zeros((1, 2, rows), dtype=np.uint32)
        count = np.zeros((1, 2), dtype=np.int64)
        for agent, action in step["actions"]:
            row = self._rows.get(agent)
            if row is None or not s.alive[0, row]:
                continue  # PredPreyGrass lists agents for one more step after their death
            k = 0 if "predator" in agent else 1
            actions[row, 0] = action
            if agent in step.get("join", ()):
                actions[row, 1] = step["join"][agent]
            acting[0, k, count[0, k]] = row
            count[0, k] += 1
        self.draws.newborn_cells = self._find_newborn_cells(step)
        if self.rules in _DRAWS_NEWBORNS:
            self.world._step(actions, acting, count, self.draws.draw_newborns)
        else:
            newborns = self.world._drawn_newborns._replace(cells=self.draws.newborn_cells)
            self.world._step(actions, acting, count, newborns)
        self.agent_log.update()
        self._rows = self._map_ids_to_rows()

    def _find_newborn_cells(self, step: Mapping[str, Any]) -> Ints:
        """Return the cells of the agents that are new in this step of the trace, `[1, births]`."""
        size = self.world.settings.grid_size
        positions = step["state"]["pos"]
        new_positions = [positions[agent] for agent in positions if agent not in self._known_agents]
        self._known_agents |= set(positions)
        return np.array([[x * size + y for x, y in new_positions]], dtype=np.int64).reshape(1, -1)

    def compare_reset(self) -> Iterator[TraceDifference]:
        """Compare the seeded placement, the walls and the first observations."""
        s, size = self.world._arrays, self.world.settings.grid_size
        walls = [list(divmod(cell, size)) for cell in self.world.settings.wall_cells]
        yield from self.comparison.equal(
            -1, "walls", "positions", sorted(self.trace["walls"]), walls
        )
        for patch, position in self.trace["grass_pos"].items():
            cell = self._find_patch(patch, s.patch_cell[0])
            got = None if cell is None else list(divmod(int(cell), size))
            yield from self.comparison.equal(-1, patch, "position", list(position), got)
        yield from self._compare_state(-1, self.trace["initial"])
        yield from self._compare_observations(-1, self.trace.get("initial_obs_sha1", {}))

    @staticmethod
    def _find_patch(name: str, values: Any) -> Any:
        """Return the value of the patch `grass_i`, None if there is no such patch."""
        number = name.rpartition("_")[2]
        return values[int(number)] if number.isdigit() and int(number) < len(values) else None

    def compare_step(self, t: int, step: Mapping[str, Any]) -> Iterator[TraceDifference]:
        """Compare everything that was recorded after a step."""
        s = self.world._arrays
        yield from self._compare_state(t, step["state"])
        for agent, reward in step["rewards"].items():
            if agent == ALL_AGENTS:  # a stray key of eco_evolutionary_metabolic_rate
                continue
            row = self._rows.get(agent)
            got = None if row is None else float(s.reward[0, row])
            yield from self.comparison.close(t, agent, "reward", reward, got)
        timed_out = bool(s.tick[0] >= self.world.settings.max_steps)
        extinct = bool(s.done[0]) and not timed_out
        for name, flags, all_agents in (
            ("terminated", s.terminated[0], extinct),
            ("truncated", s.truncated[0], timed_out),
        ):
            ours = {agent for agent, row in self._rows.items() if flags[row]}
            ours |= {ALL_AGENTS} if all_agents else set()
            for agent in sorted(ours ^ set(step[name])):
                yield TraceDifference(t, agent, name, agent in step[name], agent in ours)
        n_predators, n_prey = s.active[0].tolist()
        yield from self.comparison.equal(t, "predators", "n_pred", step["n_pred"], n_predators)
        yield from self.comparison.equal(t, "prey", "n_prey", step["n_prey"], n_prey)
        counters = (("successes", SUCCESSES), ("failures", FAILURES))
        for (name, index), expected in zip(counters, step.get("captures", ()), strict=False):
            if expected is not None:
                got = int(s.counters[0, index])
                yield from self.comparison.equal(t, "captures", name, expected, got)
        yield from self._compare_observations(t, step["obs_sha1"])
        yield from self._compare_observations(t, step.get("final_obs_sha1", {}))
        ours_by_name = self.world.counters()
        for name, expected in step.get("counters", {}).items():
            got = int(ours_by_name[name][0]) if name in ours_by_name else None
            yield from self.comparison.equal(t, "counters", name, expected, got)

    def _compare_state(self, t: int, state: Mapping[str, Any]) -> Iterator[TraceDifference]:
        """Compare positions, energies and ages of agents, and the energy of grass."""
        s = self.world._arrays
        ours = [agent for agent, row in self._rows.items() if s.alive[0, row]]
        theirs = list(state["pos"])
        for agent in sorted(set(ours) ^ set(theirs)):
            yield TraceDifference(t, agent, "alive", agent in theirs, agent in ours)
        yield from self.comparison.equal(t, ALL_AGENTS, "order of the living", theirs, ours)
        for agent in theirs:
            row, expected = self._rows[agent], list(state["pos"][agent])
            position, energy = [int(s.x[0, row]), int(s.y[0, row])], float(s.energy[0, row])
            yield from self.comparison.equal(t, agent, "position", expected, position)
            yield from self.comparison.close(t, agent, "energy", state["energy"].get(agent), energy)
            age = int(s.age[0, row])
            yield from self.comparison.equal(t, agent, "age", state["age"].get(agent), age)
        for agent, until in state.get("satiated_until", {}).items():
            got_until = int(s.satiated_until[0, self._rows[agent]])
            yield from self.comparison.equal(t, agent, "satiated_until", until, got_until)
        for patch, expected_energy in state["grass"].items():
            got = self._find_patch(patch, s.grass_energy[0].tolist())
            yield from self.comparison.close(t, patch, "energy", expected_energy, got)

    def _compare_observations(self, t: int, hashes: Mapping[str, str]) -> Iterator[TraceDifference]:
        """Compare the SHA-1 digests of the agents' observations; a trace may have none."""
        if not hashes:
            return
        self.world.observe(self._observations)
        s, groups = self.world._arrays, self.world.spec.groups
        for agent, expected in hashes.items():
            row = self._rows.get(agent)
            got = None
            if row is not None:
                field = groups[int(s.group[0, row])].fields[0]
                planes = self._observations[row, : field.n_bytes].view(np.float32)
                arranged = self._arrange_planes(planes.reshape(field.shape))
                digest = hashlib.sha1(arranged.tobytes()).hexdigest()
                got = digest[: len(expected)]
            yield from self.comparison.equal(t, agent, "observation", expected, got)

    def _arrange_planes(self, planes: AnyArray) -> AnyArray:
        """Return the planes of an observation as the published code has them."""
        if self.rules == "metabolic_rate":
            return planes[1:]  # it has no walls
        n_more = int(self.trace["config"].get("num_obs_channels", 0)) - 5
        if self.rules.startswith("stag_hunt") and n_more > 0:
            empty = np.zeros((n_more, *planes.shape[1:]), dtype=np.float32)
            return np.concatenate([planes[:5], empty, planes[5:]])
        return planes
