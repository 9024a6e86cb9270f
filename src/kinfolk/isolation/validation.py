"""Checks of what a policy returns and raises, the same in worker processes and in the host."""

from __future__ import annotations

import numpy as np

from kinfolk.core.arrays import AnyArray
from kinfolk.core.errors import ErrorSummary, PolicyFailedError, summarize_error

UNKNOWN_REASON = "unknown"  # the worker reported an invalid action without a known reason
INVALID_ACTION_REASONS = ("not a number", "not whole numbers", "not numbers", "wrong shape")
_ISOLATION_PACKAGE = "kinfolk.isolation"


def summarize_policy_error(error: BaseException) -> ErrorSummary:
    """Summarize an error that a policy raised, without the stack frames of this package."""
    if isinstance(error, PolicyFailedError) and error.__cause__ is not None:
        error = error.__cause__  # raised by `build_policy`, which adds the policy's name
    return summarize_error(error, skip_modules=_ISOLATION_PACKAGE)


def find_invalid_action_reason(actions: AnyArray, shape: tuple[int, ...]) -> str:
    """Return why actions are invalid, one of `INVALID_ACTION_REASONS`; "" if type and shape fit."""
    kind = actions.dtype.kind
    if kind == "f" and np.isnan(actions).any():
        return "not a number"
    if kind == "f" and (not np.isfinite(actions).all() or (actions != np.floor(actions)).any()):
        return "not whole numbers"
    if kind not in "iuf":
        return "not numbers"
    return "" if actions.shape == shape else "wrong shape"
