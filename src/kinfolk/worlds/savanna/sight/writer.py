"""Write observations into the caller's buffer, on one or several threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.core.errors import ContractError
from kinfolk.core.jit import specialize
from kinfolk.worlds.savanna.rules import SavannaRules
from kinfolk.worlds.savanna.settings import Savanna
from kinfolk.worlds.savanna.sight import on_demand, planes, words
from kinfolk.worlds.savanna.spec import make_observation_tables
from kinfolk.worlds.savanna.state import Plane, SavannaState
from kinfolk.worlds.savanna.step.context import N_PARTS, StepPart, get_slice
from kinfolk.worlds.savanna.step.runner import is_large
from kinfolk.worlds.threads import ThreadTeam

_SLICES_PER_THREAD = 4  # of the rows asked for
_WHOLE = StepPart(planes.CLEAR | planes.WRITE, 0, 1)


class WindowWriter:
    """Write the windows of a batch of worlds; threads share worlds, or the agents of a large one.

    Args:
        settings: Settings of the worlds.
        rules: Rules made from them.
        state: State of the batch, whose arrays are read.
        team: Threads that share the work.
        row_bytes: Bytes of an observation.
    """

    def __init__(
        self,
        settings: Savanna,
        rules: SavannaRules,
        state: SavannaState,
        team: ThreadTeam,
        row_bytes: int,
    ) -> None:
        self._row_bytes = row_bytes
        self._is_float, self._team = settings.observation == "float32", team
        self._is_large = is_large(settings)
        self._tables = make_observation_tables(
            settings, rules, 1 if self._is_large else team.threads
        )
        fields = planes.VisibleArrays._fields
        self._visible = planes.VisibleArrays(*(getattr(state, name) for name in fields))
        n_worlds, n_rows = state.uid.shape
        # The buffer written last, held so that it stays alive, and views of it.
        self._buffer: Bytes | None = None
        self._words: planes.Words = np.zeros((0, 0), dtype=np.uint32)
        self._floats: Plane = np.zeros(0, dtype=np.float32)
        self._observe: Callable[..., None] | None = None  # the kernel, specialised
        self._has_grid = False  # whether the tables hold the words of the only world
        self._written = planes.WrittenRows(
            np.zeros(n_worlds, dtype=np.bool_),
            np.zeros((n_worlds, n_rows), dtype=np.uint32),
            np.zeros(n_worlds, dtype=np.int64),
        )

    @property
    def kernel(self) -> Callable[..., Any]:
        """Kernel that takes longest to compile."""
        return planes.observe_planes if self._is_float else words.observe_words

    def write(self, out: Bytes, worlds: Ints) -> None:
        """Write the observations of living agents and of those that died in this step.

        Args:
            out: `[W * N, row_bytes]`, uint8; empty rows are set to zero.
            worlds: Indices of the worlds to write.
        """
        if out is not self._buffer:
            self._hold_buffer(out)
        buffer, floats = self._words, self._floats
        if self._is_large:
            for i in range(len(worlds)):
                self._write_large(buffer, floats, worlds[i : i + 1])
            return
        arguments = self._visible, self._tables, self._written, worlds
        rest = (buffer, floats, _WHOLE) if self._is_float else (buffer, 0)
        observe = self._observe or self._specialize(*arguments, 0, 0, *rest)
        if self._team.threads == 1:
            observe(*arguments, 0, len(worlds), *rest)
            return

        def write_part(first: int, last: int, thread: int) -> None:
            if self._is_float:
                observe(*arguments, first, last, buffer, floats, _WHOLE)
            else:
                observe(*arguments, first, last, buffer, thread)

        self._team.run(len(worlds), write_part)

    def _specialize(self, *arguments: Any) -> Callable[..., None]:
        """Specialise the kernel for the types of its arguments, and return it."""
        self._observe = specialize(self.kernel, *arguments)
        return self._observe

    def _hold_buffer(self, out: Bytes) -> None:
        """Make views of the caller's buffer; unless it is the same memory, nothing in it is known."""
        _check_buffer(out, (self._visible.uid.size, self._row_bytes))
        last, self._buffer = self._buffer, out
        if last is None or last.ctypes.data != out.ctypes.data or last.shape != out.shape:
            self._written.is_known[:] = False
        self._words, self._floats = out.view(np.uint32), out.reshape(-1).view(np.float32)

    def _write_large(self, buffer: planes.Words, floats: Plane, world: Ints) -> None:
        """Write the windows of one large world, in parts that threads share.

        Args:
            buffer: `[W * N, row_words]`, written.
            floats: The same buffer, flat, as float32.
            world: Index of the world, `[1]`.
        """
        arguments, w = (self._visible, self._tables, self._written), int(world[0])

        if self._is_float:

            def observe(part: StepPart) -> None:
                planes.observe_planes(*arguments, world, 0, 1, buffer, floats, part)

            observe(StepPart(planes.CLEAR, 0, 1))
            self._run_parts(observe, planes.WRITE)
            return

        def prepare(part: StepPart) -> None:
            words.prepare_words_part(*arguments, w, buffer, part)

        def write(part: StepPart) -> None:
            words.observe_words_part(*arguments, w, buffer, part)

        self._run_parts(prepare, planes.CLEAR)
        self._run_parts(write, planes.WRITE)
        words.restore_words(self._visible, self._tables, w)

    def _run_parts(self, task: Callable[[StepPart], None], stages: int) -> None:
        """Run a task in parts that threads share if the world is large, or else as a whole."""
        if not self._is_large:
            task(StepPart(stages, 0, 1))
            return
        self._team.run_each(N_PARTS, lambda number, _: task(StepPart(stages, number, N_PARTS)))

    def forget_grid(self) -> None:
        """Forget the words of the cells, which a step or a reset has changed."""
        self._has_grid = False

    def write_rows(self, rows: Ints, out: Bytes) -> None:
        """Write the observations of some agents, one after the other.

        Args:
            rows: `[n]` batch rows.
            out: `[n, row_bytes]`, uint8; those of empty rows are set to zero.
        """
        _check_buffer(out, (len(rows), self._row_bytes))
        batch_rows = np.ascontiguousarray(rows, dtype=np.int64)
        n_batch_rows = self._visible.uid.size
        if len(rows) and not 0 <= batch_rows.min() <= batch_rows.max() < n_batch_rows:
            raise ContractError(f"Batch rows must be from 0 to {n_batch_rows - 1}.")
        buffer, floats = out.view(np.uint32), out.reshape(-1).view(np.float32)
        visible, tables = self._visible, self._tables
        uses_grid = tables.dense and len(visible.uid) == 1 and not self._is_float
        if uses_grid and not self._has_grid:
            tables.work_locations.fill(-1)
            self._run_parts(lambda part: on_demand.prepare_windows(visible, tables, 0, part), 0)
            self._has_grid = True

        n_slices = 1 if self._team.threads == 1 else _SLICES_PER_THREAD * self._team.threads

        def write_slice(number: int, thread: int) -> None:
            del thread
            first, last = get_slice(StepPart(0, number, n_slices), len(rows))
            if self._is_float:
                on_demand.observe_plane_rows(
                    visible, tables, batch_rows, buffer, floats, first, last
                )
            elif uses_grid:
                on_demand.observe_located_rows(tables, batch_rows, buffer, first, last)
            else:
                on_demand.observe_word_rows(visible, tables, batch_rows, buffer, first, last)

        self._team.run_each(n_slices, write_slice)


def _check_buffer(out: Bytes, shape: tuple[int, int]) -> None:
    """Raise ContractError unless observations of this shape can be written into `out`."""
    if out.shape != shape or out.dtype != np.uint8 or not out.flags.carray:
        raise ContractError(
            f"Observations need a contiguous, writable uint8 array of shape {shape}; "
            f"this one is {out.dtype} of shape {out.shape}."
        )
