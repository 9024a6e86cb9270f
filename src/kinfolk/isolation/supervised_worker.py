"""The state of a worker that outlives its process: agents, restarts and what was used."""

from __future__ import annotations

from dataclasses import dataclass, field

from kinfolk.core.arrays import AnyArray
from kinfolk.isolation import shared_buffers as shared
from kinfolk.isolation.limits import Usage
from kinfolk.isolation.worker import Worker


@dataclass
class SupervisedWorker:
    """A worker that is restarted after failures, with the agents it plays."""

    worker: Worker | None = None  # None before its start and after a failure
    n_restarts: int = 0  # in this episode
    has_failed: bool = False  # for good: its agents act as noop until the episode or agent ends
    usage: Usage = field(default_factory=Usage)  # in this episode, also of processes that failed
    # Packed rows of its agents when they were new, by memory index; sent again after a restart.
    initial_rows: dict[int, AnyArray] = field(default_factory=dict)

    def clear_failures(self) -> None:
        """Forget failures and agents, because a new episode or a new agent begins."""
        self.n_restarts, self.has_failed, self.usage = 0, False, Usage()
        self.initial_rows.clear()

    @property
    def first_uid(self) -> int:
        """Uid of the first agent that it plays."""
        return int(next(iter(self.initial_rows.values()))[shared.UID_COLUMN])
