"""Run the kernels of a step on one or several threads.

Threads share the worlds of a batch. A large world is split itself: see `phases` for its stages. The
number of parts depends on the settings and not on the number of threads, so sums of energies are
added in the same order, and every number is the same, on any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kinfolk.core.jit import specialize
from kinfolk.worlds.savanna.rules import SavannaRules
from kinfolk.worlds.savanna.settings import Savanna
from kinfolk.worlds.savanna.state import EventBuffer, SavannaState
from kinfolk.worlds.savanna.step import phases
from kinfolk.worlds.savanna.step.births import NewbornValues
from kinfolk.worlds.savanna.step.context import StepActions, StepPart, StepScratch
from kinfolk.worlds.savanna.step.free_cells import allocate_free_cells
from kinfolk.worlds.threads import ThreadTeam

# Below, handing out the parts would cost more than the threads gain.
_LARGE_WORLD_ROWS = 16_384
N_PARTS = 16  # of a large world

NewbornSource = NewbornValues | Callable[[], NewbornValues]


def is_large(settings: Savanna) -> bool:
    """Return whether a world is stepped in parts.

    Two quirks let agents of a species share cells, so that they depend on each other in all stages.
    """
    quirks = settings.quirks
    shares_cells = quirks.dead_prey_bitten or quirks.cell_erasure
    return settings.rows >= _LARGE_WORLD_ROWS and not shares_cells


class StepRunner:
    """Run steps of a batch of worlds.

    Args:
        settings: Settings of the worlds.
        rules: Rules made from them.
        n_worlds: Number of worlds.
        team: Threads that share the work.
    """

    def __init__(
        self, settings: Savanna, rules: SavannaRules, n_worlds: int, team: ThreadTeam
    ) -> None:
        self._rules, self._team, self._n_worlds = rules, team, n_worlds
        self._is_large = is_large(settings)
        self.kernel: Callable[..., None] = phases.step_with_solo_predation
        if settings.team_capture_enabled:
            self.kernel = phases.step_with_team_capture
        # The kernels of the two halves of a step, specialised at the first one.
        self._act: Callable[..., None] | None = None
        self._end: Callable[..., int] = phases.step_births_and_end
        n_cells, n_stamps = settings.grid_size**2, (settings.grid_size + 2) ** 2 + 1
        n_scratch = 1 if self._is_large else team.threads
        n_parts, n_listed = (N_PARTS, settings.rows) if self._is_large else (0, 0)
        self._scratch = [
            StepScratch(
                np.zeros(settings.rows, np.uint32),
                np.zeros(n_stamps, np.uint8),
                np.zeros(n_listed, np.uint32),
                np.zeros(n_parts, np.int64),
                np.zeros(n_parts, np.int64),
                np.zeros(n_parts or phases.WORLDS_PER_BLOCK, np.bool_),
            )
            for _ in range(n_scratch)
        ]
        self._free_cells = [allocate_free_cells(n_cells) for _ in range(n_scratch)]
        self._state: SavannaState | None = None
        self._part_states: list[SavannaState] = []

    def run(
        self, state: SavannaState, events: EventBuffer, moves: StepActions, newborns: NewbornSource
    ) -> int:
        """Advance all worlds that are not done by one step.

        Args:
            state: State of the batch, written.
            events: Buffer, emptied and written.
            moves: Actions, and the order of moves.
            newborns: Values that newborns get instead of random ones, or a function that returns
                them when all but births is done.

        Returns:
            The highest number of uids that a world has used.
        """
        if self._is_large:
            runs = [
                self._run_large(state, events, moves, newborns, w) for w in range(self._n_worlds)
            ]
            return max(runs)

        act = self._act or self._specialize(state, events, moves)

        def run_part(first: int, last: int, thread: int) -> int:
            act(state, self._rules, events, moves, self._scratch[thread], first, last, _WHOLE)
            values = self._get_newborns(newborns, thread)
            return self._end(state, self._rules, events, values, first, last, _WHOLE)

        if self._team.threads == 1:
            return run_part(0, self._n_worlds, 0)
        return int(max(self._team.run(self._n_worlds, run_part)))

    def _specialize(
        self, state: SavannaState, events: EventBuffer, moves: StepActions
    ) -> Callable[..., None]:
        """Specialise both kernels for the types of their arguments, and return the first."""
        arguments = state, self._rules, events
        self._act = specialize(self.kernel, *arguments, moves, self._scratch[0], 0, 0, _WHOLE)
        self._end = specialize(
            phases.step_births_and_end, *arguments, self.draw_newborns(), 0, 0, _WHOLE
        )
        return self._act

    def _get_newborns(self, newborns: NewbornSource, thread: int) -> NewbornValues:
        """Return the values of newborns with the scratch of a thread."""
        values = newborns() if callable(newborns) else newborns
        if values.free_cells is self._free_cells[thread]:
            return values
        return values._replace(free_cells=self._free_cells[thread])

    def _run_large(
        self,
        state: SavannaState,
        events: EventBuffer,
        moves: StepActions,
        newborns: NewbornSource,
        w: int,
    ) -> int:
        """Advance one large world by a step, in stages.

        Args:
            state: State of the batch, written.
            events: Buffer, emptied and written.
            moves: Actions, and the order of moves.
            newborns: Values of newborns, or a function that returns them.
            w: World.

        Returns:
            How many uids it has used.
        """
        rules, scratch, worlds = self._rules, self._scratch[0], (w, w + 1)
        act = self._act or self._specialize(state, events, moves)

        def step(part_state: SavannaState, part: StepPart) -> None:
            act(part_state, rules, events, moves, scratch, *worlds, part)

        def pay(part_state: SavannaState, part: StepPart) -> None:
            self._end(part_state, rules, events, values, *worlds, part)

        self._run_parts(step, state, events, phases.GROW)
        step(state, StepPart(phases.MOVE, 0, 1))
        self._run_parts(step, state, events, phases.GRAZE)
        step(state, StepPart(phases.HUNT, 0, 1))
        values = self._get_newborns(newborns, 0)
        pay(state, StepPart(phases.BIRTHS, 0, 1))
        self._run_parts(pay, state, events, phases.PAY)
        for part_state in self._part_states:
            state.counters[w] += part_state.counters[w]
            state.energy_accounts[w] += part_state.energy_accounts[w]
            part_state.counters[w] = 0
            part_state.energy_accounts[w] = 0.0
        return self._end(state, rules, events, values, *worlds, StepPart(phases.END, 0, 1))

    def _run_parts(
        self,
        task: Callable[[SavannaState, StepPart], Any],
        state: SavannaState,
        events: EventBuffer,
        stages: int,
    ) -> None:
        """Run a stage in parts; each part counts for itself.

        Events are appended to one buffer, so while they are recorded the parts run in turn.

        Args:
            task: Called with the state and the part.
            state: State of the batch.
            events: Buffer of events.
            stages: Stages to run.
        """
        if self._state is not state:  # its arrays of uids have grown
            self._state = state
            self._part_states = [
                state._replace(
                    counters=np.zeros_like(state.counters),
                    energy_accounts=np.zeros_like(state.energy_accounts),
                )
                for _ in range(N_PARTS)
            ]

        def run_range(first: int, last: int, thread: int) -> None:
            del thread
            for index in range(first, last):
                task(self._part_states[index], StepPart(stages, index, N_PARTS))

        if events.entries.shape[1] > 0:
            run_range(0, N_PARTS, 0)
        else:
            self._team.run(N_PARTS, run_range)

    def compile(self, state: SavannaState, events: EventBuffer, part: int, n_heads: int) -> None:
        """Compile the kernels of one half of a step by calling them on zero worlds.

        Args:
            state: State of the batch.
            events: Buffer of events.
            part: 0 for the first half, 1 for the second.
            n_heads: Number of action heads.
        """
        if part == 0:
            actions = np.zeros((state.uid.size, n_heads), dtype=np.int64)
            moves = StepActions(actions, state.alive_rows, state.n_alive, True)
            self.kernel(state, self._rules, events, moves, self._scratch[0], 0, 0, _WHOLE)
        else:
            values = self.draw_newborns()
            phases.step_births_and_end(state, self._rules, events, values, 0, 0, _WHOLE)

    def draw_newborns(self) -> NewbornValues:
        """Return values of newborns that leave everything to chance."""
        n_traits = self._rules.trait_bounds.shape[0]
        return NewbornValues(
            np.zeros((self._n_worlds, 0), dtype=np.int64),
            np.zeros((self._n_worlds, 0, n_traits)),
            self._free_cells[0],
        )


_WHOLE = phases.WHOLE_STEP
