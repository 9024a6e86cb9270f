"""Run the kernels of a step on one or several threads.

Threads share the worlds of a batch. A large world is split itself: see `parts`. The number of parts
depends on the settings and not on the number of threads, so sums of energies are added in the same
order, and every number is the same, on any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kinfolk.core.arrays import Ints
from kinfolk.core.jit import specialize
from kinfolk.worlds.savanna.rules import SavannaRules
from kinfolk.worlds.savanna.settings import Savanna
from kinfolk.worlds.savanna.state import EventBuffer, SavannaState
from kinfolk.worlds.savanna.step import phases
from kinfolk.worlds.savanna.step.births import NewbornValues
from kinfolk.worlds.savanna.step.context import N_PARTS, StepActions, StepScratch
from kinfolk.worlds.savanna.step.free_cells import allocate_free_cells
from kinfolk.worlds.savanna.step.parts.runner import LargeStep
from kinfolk.worlds.threads import ThreadTeam

# Below, handing out the parts would cost more than the threads gain.
_LARGE_WORLD_ROWS = 16_384

NewbornSource = NewbornValues | Callable[[], NewbornValues]


def is_large(settings: Savanna) -> bool:
    """Return whether a world is stepped in parts.

    Two quirks let agents of a species share cells, and one shows the dying the cells around them, so
    that agents depend on each other in all stages.
    """
    quirks = settings.quirks
    is_entangled = quirks.dead_prey_bitten or quirks.cell_erasure or quirks.view_at_death
    return settings.rows >= _LARGE_WORLD_ROWS and not is_entangled


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
        large = is_large(settings)
        self.kernel: Callable[..., None] = phases.step_with_solo_predation
        if settings.team_capture_enabled:
            self.kernel = phases.step_with_team_capture
        # The kernels of the two halves of a step, specialised at the first one.
        self._act: Callable[..., None] | None = None
        self._end: Callable[..., int] = phases.step_births_and_end
        n_cells, n_stamps = settings.grid_size**2, (settings.grid_size + 2) ** 2 + 1
        n_scratch = 1 if large else team.threads
        self._scratch = [
            StepScratch(
                np.zeros(settings.rows, np.uint32),
                np.zeros(n_stamps, np.uint8),
                np.zeros(N_PARTS if large else phases.WORLDS_PER_BLOCK, np.bool_),
            )
            for _ in range(n_scratch)
        ]
        self._free_cells = [allocate_free_cells(n_cells) for _ in range(n_scratch)]
        self._large: LargeStep | None = None
        if large:
            self._large = LargeStep(settings, rules, n_worlds, team, self._scratch[0])

    def has_invalid_action(self, state: SavannaState, choices: Ints, actions: Ints) -> bool:
        """Return whether the action of a living agent is out of range.

        Args:
            state: State of the batch.
            choices: `[groups, heads]`, number of actions.
            actions: `[W * N, heads]`.
        """
        if self._large is not None:

            def check_part(first: int, last: int, thread: int) -> bool:
                del thread
                return phases.are_all_valid(choices, actions[first:last])

            if all(self._team.run(len(actions), check_part)):
                return False
        living = state.done, state.n_alive, state.alive_rows, state.group
        return phases.find_invalid_action(*living, choices, actions) >= 0

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
        act = self._act or self._specialize(state, events, moves)
        if self._large is not None and moves.all_act and not callable(newborns):
            arguments = act, self._end, state, events, moves, self._get_newborns(newborns, 0)
            return max(self._large.run(*arguments, w) for w in range(self._n_worlds))

        def run_part(first: int, last: int, thread: int) -> int:
            act(state, self._rules, events, moves, self._scratch[thread], first, last, _WHOLE)
            values = self._get_newborns(newborns, thread)
            return self._end(state, self._rules, events, values, first, last, _WHOLE)

        if self._team.threads == 1 or self._large is not None:
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

    @property
    def kernels(self) -> tuple[Callable[..., Any], ...]:
        """Kernels of a step that are compiled ahead."""
        large = () if self._large is None else self._large.kernels
        return self.kernel, phases.step_births_and_end, *large

    def compile(self, state: SavannaState, events: EventBuffer, part: int, n_heads: int) -> None:
        """Compile the kernels of one half of a step by calling them on zero worlds.

        Args:
            state: State of the batch.
            events: Buffer of events.
            part: 0 for the first half, 1 for the second.
            n_heads: Number of action heads.
        """
        actions = np.zeros((state.uid.size, n_heads), dtype=np.int64)
        moves = StepActions(actions, state.alive_rows, state.n_alive, True)
        if part == 0:
            self.kernel(state, self._rules, events, moves, self._scratch[0], 0, 0, _WHOLE)
        else:
            values = self.draw_newborns()
            phases.step_births_and_end(state, self._rules, events, values, 0, 0, _WHOLE)
            if self._large is not None:
                self._large.compile(state, events, moves, values)

    def draw_newborns(self) -> NewbornValues:
        """Return values of newborns that leave everything to chance."""
        n_traits = self._rules.trait_bounds.shape[0]
        return NewbornValues(
            np.zeros((self._n_worlds, 0), dtype=np.int64),
            np.zeros((self._n_worlds, 0, n_traits)),
            self._free_cells[0],
        )


_WHOLE = phases.WHOLE_STEP
