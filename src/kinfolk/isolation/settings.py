"""Settings of isolation: timeouts, limits, sandbox and what happens after a failure."""

from __future__ import annotations

from typing import Literal

from kinfolk.core.settings import Settings, setting


class IsolationSettings(Settings):
    """Limits of policies that may fail; none of them affects the results of those that do not."""

    step_timeout: float = setting(
        1.0, "Seconds that an isolated policy has for the actions of one step.", gt=0
    )
    start_timeout: float = setting(
        60.0, "Seconds that a worker process has to start; not charged to the policy.", gt=0
    )
    on_failure: Literal["noop", "restart", "abort"] = setting(
        "noop", "After a failure of a policy: act as noop, restart its process, or abort the job."
    )
    max_restarts: int = setting(3, "Restarts of a worker process per episode.", ge=0)
    max_processes: int = setting(64, "Worker processes of policies per job.", ge=1)
    memory_limit: int | None = setting(None, "Memory limit of a worker process in MB.", ge=1)
    cpu_limit: float | None = setting(None, "CPU time limit of a worker process in seconds.", gt=0)
    strict: bool = setting(
        False, "Refuse to run if a limit or sandbox cannot be enforced, instead of warning."
    )
    sandbox: bool = setting(False, "Give worker processes no network and no write access to files.")
