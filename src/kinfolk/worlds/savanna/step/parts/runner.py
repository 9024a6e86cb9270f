"""Run the steps of one large world on the threads that share it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kinfolk.core.arrays import Bytes
from kinfolk.core.jit import specialize
from kinfolk.worlds.savanna import codes
from kinfolk.worlds.savanna.rules import SavannaRules
from kinfolk.worlds.savanna.settings import Savanna
from kinfolk.worlds.savanna.state import EventBuffer, SavannaState
from kinfolk.worlds.savanna.step import phases
from kinfolk.worlds.savanna.step.births import NewbornValues
from kinfolk.worlds.savanna.step.context import (
    N_PARTS,
    SavannaAgents,
    StepActions,
    StepPart,
    StepScratch,
    get_agent_arrays,
)
from kinfolk.worlds.savanna.step.parts import generations, hunts, moves
from kinfolk.worlds.savanna.step.parts.bands import N_BANDS, StampCounter, allocate_bands
from kinfolk.worlds.threads import ThreadTeam

_NO_STAMPS: Bytes = np.zeros(0, np.uint8)
_MANY_ROWS, _FEW_PARTS = 65_536, 4


class LargeStep:
    """Advance large worlds by a step, in stages that threads share.

    Args:
        settings: Settings of the worlds.
        rules: Rules made from them.
        n_worlds: Number of worlds.
        team: Threads that share the work.
        scratch: Working memory of the kernels of `phases`.
    """

    def __init__(
        self,
        settings: Savanna,
        rules: SavannaRules,
        n_worlds: int,
        team: ThreadTeam,
        scratch: StepScratch,
    ) -> None:
        self._rules, self._team, self._scratch = rules, team, scratch
        self._hunts_in_teams = settings.team_capture_enabled
        # Fewer parts where calls of kernels would take a noticeable part of the time.
        self._n_parts = N_PARTS if settings.rows >= _MANY_ROWS else _FEW_PARTS
        # Lists hold no sums of energies, so their parts may depend on the number of threads.
        self._n_lists = 1 if team.threads == 1 else min(4 * team.threads, self._n_parts)
        self._bands = allocate_bands(rules, settings.rows, self._n_parts, self._n_lists)
        has_cost = settings.move_energy_cost_factor > 0 or bool(rules.flat_move_cost.any())
        # With costs, the sum of costs depends on the number of bands; without, only the speed does.
        self._n_bands = N_BANDS if has_cost else team.threads
        self._chunks = [np.zeros(moves.CHUNK, np.uint32) for _ in range(team.threads)]
        self._stamps = StampCounter()
        self._reach_stamps = scratch.reach_stamps if self._hunts_in_teams else _NO_STAMPS
        self._helpers = [scratch.helpers]
        self._helpers += [np.zeros_like(scratch.helpers) for _ in range(1, team.threads)]
        # Parts and bands count for themselves; their sums are added in order.
        n = max(self._n_parts, self._n_bands, N_BANDS)
        self._counters = np.zeros((n, n_worlds, len(codes.COUNTERS)), np.int64)
        self._accounts = np.zeros((n, n_worlds, len(codes.ENERGY_ACCOUNTS)))
        self._active = np.zeros((n, n_worlds, 2), np.int64)
        self._lineage_rewards = np.zeros((n, n_worlds, 2))
        self._state: SavannaState | None = None
        self._states: list[SavannaState] = []
        self._agents: list[SavannaAgents] = []
        self._kernels: dict[Callable[..., Any], Callable[..., Any]] = {}

    def run(
        self,
        act: Callable[..., None],
        end: Callable[..., int],
        state: SavannaState,
        events: EventBuffer,
        actions: StepActions,
        newborns: NewbornValues,
        w: int,
    ) -> int:
        """Advance one world by a step in which all agents act.

        Args:
            act: Kernel of the first half of a step.
            end: Kernel of the second half.
            state: State of the batch, written.
            events: Buffer, emptied and written.
            actions: Actions, and the order of moves.
            newborns: Values of newborns.
            w: World.

        Returns:
            How many uids it has used.
        """
        if self._state is not state:  # its arrays of uids have grown
            self._hold(state)
        rules, scratch, worlds = self._rules, self._scratch, (w, w + 1)
        if state.done[w]:
            events.n_events[w] = 0
            return int(state.next_uid[w])

        def grow(number: int) -> None:
            part = StepPart(phases.GROW, number, self._n_parts)
            act(self._states[number], rules, events, actions, scratch, *worlds, part)

        def pay(number: int) -> None:
            part = StepPart(phases.PAY, number, self._n_parts)
            end(self._states[number], rules, events, newborns, *worlds, part)

        agents = get_agent_arrays(state, rules)
        self._share(self._n_parts, events, grow)
        any_overaged = bool(scratch.any_overaged.any())
        self._call(moves.begin_moves, agents, rules, w, any_overaged, self._reach_stamps)
        self._move(agents, events, actions, w)
        self._hunt(agents, events, actions, w)
        state.active[w] += self._active[:, w].sum(axis=0)  # births depend on it
        self._active[:, w] = 0
        self._run_generations(state, events, newborns, w)
        self._share(self._n_parts, events, pay)
        self._add_up(state, w)
        return end(state, rules, events, newborns, *worlds, StepPart(phases.END, 0, 1))

    def _move(
        self, agents: SavannaAgents, events: EventBuffer, actions: StepActions, w: int
    ) -> None:
        """Make the planned moves, let agents starve, and let them give.

        Args:
            agents: Arrays of agents, written.
            events: Buffer, appended to.
            actions: Actions, and the order of moves.
            w: World.
        """
        rules, bands, reach_stamps = self._rules, self._bands, self._reach_stamps
        self._stamp = self._stamps.advance(bands.claimed)
        stamp = self._stamp

        def move(band: int, thread: int) -> None:
            part = StepPart(0, band, self._n_bands)
            arguments = self._agents[band], rules, events, actions, bands, self._chunks[thread]
            self._call(moves.move_band, *arguments, w, part, stamp, reach_stamps)

        self._share_by_thread(self._n_bands, events, move)
        self._call(moves.finish_moves, agents, rules, events, actions, bands, w, reach_stamps)

    def _hunt(
        self, agents: SavannaAgents, events: EventBuffer, actions: StepActions, w: int
    ) -> None:
        """Let prey graze and predators hunt.

        Args:
            agents: Arrays of agents, written.
            events: Buffer, appended to.
            actions: Actions.
            w: World.
        """
        rules, bands, stamp = self._rules, self._bands, self._stamp + 2
        if not self._hunts_in_teams:

            def graze(number: int) -> None:
                part = StepPart(0, number, self._n_parts)
                self._call(hunts.graze_all, self._agents[number], rules, events, w, part)

            self._share(self._n_parts, events, graze)
            self._call(hunts.hunt_alone, agents, rules, events, w)
            return

        def graze_safe(number: int) -> None:
            part = StepPart(0, number, self._n_parts)
            arguments = self._agents[number], rules, events, self._reach_stamps, bands, w, part
            self._call(hunts.graze_safe_prey, *arguments)

        def hunt(band: int, thread: int) -> None:
            arguments = self._agents[band], rules, events, actions.actions, self._helpers[thread]
            self._call(hunts.hunt_band, *arguments, bands, w, band, stamp)

        self._share(self._n_parts, events, graze_safe)
        self._share_by_thread(N_BANDS, events, hunt)
        arguments = agents, rules, events, actions.actions, self._helpers[0], bands, w
        last_capture = self._call(hunts.finish_hunts, *arguments)
        band = int(bands.last_captures.argmax())
        if bands.last_captures[band] > last_capture:
            agents.counters[w, codes.LAST_HELPERS] = self._counters[band, w, codes.LAST_HELPERS]
        self._counters[:, w, codes.LAST_HELPERS] = 0

    def _run_generations(
        self, state: SavannaState, events: EventBuffer, newborns: NewbornValues, w: int
    ) -> None:
        """Remove the dead, and let agents reproduce.

        Args:
            state: State of the batch, written.
            events: Buffer, appended to.
            newborns: Values of newborns.
            w: World.
        """
        rules, bands = self._rules, self._bands

        def list_part(number: int) -> None:
            part = StepPart(0, number, self._n_lists)
            self._call(generations.list_generations, self._agents[number], rules, bands, w, part)

        first_uid, (n_predators, n_prey) = int(state.next_uid[w]), state.n_alive[w].tolist()

        def change(number: int) -> None:
            if number == 0:
                dead = self._states[0], rules, events, bands, w, n_predators, n_prey
                self._call(generations.remove_leavers, *dead)
            else:
                parents = state, rules, events, newborns, bands, w, n_predators, n_prey
                self._call(generations.reproduce, *parents)

        self._share(self._n_lists, events, list_part)
        self._share(2, events, change)
        uids = first_uid, int(state.next_uid[w])
        self._call(generations.count_births, state.parent, state.live_descendants, w, *uids)

    @property
    def kernels(self) -> tuple[Callable[..., Any], ...]:
        """Kernels that take longest to compile: of moves, of hunts, and of births."""
        hunting = (hunts.hunt_band, hunts.finish_hunts) if self._hunts_in_teams else ()
        return moves.move_band, moves.finish_moves, *hunting, generations.reproduce

    def compile(
        self, state: SavannaState, events: EventBuffer, actions: StepActions, values: NewbornValues
    ) -> None:
        """Compile the kernels that take longest, without calling them.

        Args:
            state: State of the batch.
            events: Buffer of events.
            actions: Actions of the right shape.
            values: Values of newborns.
        """
        self._hold(state)
        rules, bands, stamps = self._rules, self._bands, self._reach_stamps
        first, part = (self._agents[0], rules, events), StepPart(0, 0, 1)
        self._get(moves.move_band, *first, actions, bands, self._chunks[0], 0, part, 1, stamps)
        self._get(moves.finish_moves, *first, actions, bands, 0, stamps)
        if self._hunts_in_teams:
            hunting = *first, actions.actions, self._helpers[0], bands
            self._get(hunts.hunt_band, *hunting, 0, 0, 1)
            self._get(hunts.finish_hunts, *hunting, 0)
        self._get(generations.reproduce, state, rules, events, values, bands, 0, 0, 0)

    def _hold(self, state: SavannaState) -> None:
        """Make views of the state whose counters are those of the parts."""
        self._state = state
        self._states = [
            state._replace(
                counters=self._counters[part],
                energy_accounts=self._accounts[part],
                active=self._active[part],
                lineage_rewards=self._lineage_rewards[part],
            )
            for part in range(len(self._counters))
        ]
        self._agents = [get_agent_arrays(part, self._rules) for part in self._states]

    def _add_up(self, state: SavannaState, w: int) -> None:
        """Add what the parts have counted to the state."""
        for total, parts in (
            (state.counters, self._counters),
            (state.energy_accounts, self._accounts),
            (state.lineage_rewards, self._lineage_rewards),
        ):
            total[w] += parts[:, w].sum(axis=0)
            parts[:, w] = 0

    def _get(self, kernel: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
        """Return a kernel specialised for the types of some arguments."""
        if kernel not in self._kernels:
            self._kernels[kernel] = specialize(kernel, *arguments)
        return self._kernels[kernel]

    def _call(self, kernel: Callable[..., Any], *arguments: Any) -> Any:
        """Call a kernel, specialised at its first call."""
        specialized = self._kernels.get(kernel) or self._get(kernel, *arguments)
        return specialized(*arguments)

    def _share(self, n: int, events: EventBuffer, task: Callable[[int], None]) -> None:
        """Run a task for all numbers below `n`, which threads share.

        Args:
            n: How many.
            events: Buffer of events.
            task: Called with a number.
        """
        self._share_by_thread(n, events, lambda number, _: task(number))

    def _share_by_thread(
        self, n: int, events: EventBuffer, task: Callable[[int, int], None]
    ) -> None:
        """Run a task for all numbers below `n`, which threads share.

        Events are appended to one buffer, so while they are recorded one thread does all.

        Args:
            n: How many.
            events: Buffer of events.
            task: Called with a number and the index of a thread.
        """
        if events.entries.shape[1] == 0:
            self._team.run_each(n, task)
            return
        for number in range(n):
            task(number, 0)
