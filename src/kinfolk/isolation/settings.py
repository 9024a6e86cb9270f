"""How policies are kept while they play: apart or together, for how long, and what if they fail."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from kinfolk.core.settings import Settings


class IsolationSettings(Settings):
    """Limits and rules for policies that may misbehave. None of them changes a sound result."""

    step_timeout: float = Field(default=1.0, gt=0)  # seconds per answer
    start_timeout: float = Field(default=60.0, gt=0)  # starting is our cost, not the policy's
    on_failure: Literal["noop", "restart", "abort"] = "noop"
    max_restarts: int = Field(default=3, ge=0)  # per process and episode
    max_processes: int = Field(default=64, ge=1)  # of policies, for each job
    memory_limit: int | None = Field(default=None, ge=1)  # MB per process
    cpu_limit: float | None = Field(default=None, gt=0)  # seconds per process
    strict: bool = False  # refuse where less than asked can be had, instead of warning
    sandbox: bool = False
