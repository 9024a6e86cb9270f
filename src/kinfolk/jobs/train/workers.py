"""Where chunks of worlds are collected: anywhere or, if they cannot be copied, always in one worker."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from kinfolk.core.errors import SettingsError
from kinfolk.core.trust import carry_trust
from kinfolk.engines.base import Engine, Item, LocalEngine, ObjectRef, Result, Value
from kinfolk.engines.processes import ProcessEngine
from kinfolk.play.task import WorldRef


class ChunkWorkers:
    """Runs the collection task of each chunk.

    Worlds that cannot be copied live in the process that collects them. With the engine `processes`
    every chunk then has a worker of its own choice for the whole training: chunk `i` is collected by
    worker `i` modulo the number of jobs.

    Args:
        engine: Engine of the training.
        world: World to collect in.
        n_chunks: Number of chunks.

    Attributes:
        copy_problem: Why the worlds cannot be copied; empty if they can.

    Raises:
        SettingsError: The worlds cannot be copied, and the engine has no fixed workers.
    """

    def __init__(self, engine: Engine, world: WorldRef, n_chunks: int) -> None:
        self._engine = engine
        self.copy_problem = find_copy_problem(world)
        self._pinned: list[ProcessEngine] = []
        if not self.copy_problem or isinstance(engine, LocalEngine):
            return
        if not isinstance(engine, ProcessEngine):
            raise SettingsError(
                f"{self.copy_problem} Train it with --engine local or processes, whose workers can "
                f"keep it alive."
            )
        self._pinned = [ProcessEngine(1) for _ in range(min(engine.jobs, n_chunks))]

    def share(self, value: Value) -> ObjectRef[Value]:
        """Make a value available to all workers."""
        return self._engine.share(value)

    def map(self, task: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Run the task of every chunk; yield the results in the order of the chunks."""
        if not self._pinned:
            yield from self._engine.map(task, items)
            return
        n_workers, chunks = len(self._pinned), list(items)
        trusted_task = carry_trust(task)  # threads do not know whose words are followed

        def run(worker: int) -> Sequence[Any]:
            """Run the tasks of one worker, in order."""
            return list(self._pinned[worker].map(trusted_task, chunks[worker::n_workers]))

        with ThreadPoolExecutor(n_workers) as threads:
            results = list(threads.map(run, range(n_workers)))
        yield from (results[i % n_workers][i // n_workers] for i in range(len(chunks)))

    def close(self) -> None:
        """Stop the workers that were started here."""
        for engine in self._pinned:
            engine.close()


def find_copy_problem(world: WorldRef) -> str:
    """Return why a world cannot be copied in the middle of an episode; empty if it can."""
    batch: Any = world.build()
    if not hasattr(batch, "find_copy_problem"):
        return ""
    return str(batch.find_copy_problem())
