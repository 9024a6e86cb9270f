"""Calls of loss functions: what they take, and checks of what they return."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from kinfolk.core.errors import ContractError, SettingsError, require, summarize_error
from kinfolk.core.imports import optional_import
from kinfolk.core.settings import Settings
from kinfolk.policies.neural.own_modules import locate_source
from kinfolk.training.outputs import ActorCriticOutput, Minibatch

with optional_import("Training"):
    import torch

Tensor: TypeAlias = torch.Tensor
LossStats: TypeAlias = dict[str, Tensor]
LossResult: TypeAlias = tuple[Tensor, LossStats]
LossFunction: TypeAlias = Callable[[Minibatch, ActorCriticOutput, Any], LossResult]
LossProfilesLike: TypeAlias = Mapping[str, Sequence[str | LossFunction]]
LossRows: TypeAlias = Literal["trainable", "teacher_labeled"]


@dataclass(frozen=True)
class Loss:
    """A registered loss; see the arguments of `register_loss`."""

    name: str
    function: LossFunction
    rows: LossRows
    settings_type: type[Settings]
    weight: Callable[[Any, int], float]
    by_default: bool


def check_parameters(name: str, function: Any) -> None:
    """Check that a loss can be called as `function(batch, output, settings)`.

    Raises:
        SettingsError: It cannot.
    """
    require(callable(function), f"The loss '{name}' must be a function, not {function!r}.")
    try:
        inspect.signature(function).bind(None, None, None)
    except TypeError as error:
        raise SettingsError(
            f"The loss '{name}' must take three arguments, (batch, output, settings): {error} "
            f"({locate_source(function)})."
        ) from None


def apply_loss(
    loss: Loss, batch: Minibatch, output: ActorCriticOutput, settings: Settings
) -> LossResult:
    """Call a loss function and check what it returns.

    Args:
        loss: The registered loss.
        batch: The rows that it may use.
        output: The net's outputs for them.
        settings: Settings of the loss.

    Returns:
        The loss, a scalar tensor, and its statistics by name.

    Raises:
        ContractError: The function raised, or did not return a finite scalar and finite stats.
    """
    name = f"The loss '{loss.name}'"

    def make_error(problem: str) -> ContractError:
        """Return an error that names the loss and where it is defined."""
        return ContractError(f"{name} {problem} ({locate_source(loss.function)}).")

    try:
        result: Any = loss.function(batch, output, settings)
    except Exception as error:
        summary, location, _ = summarize_error(error)
        raise ContractError(f"{name} failed: {summary} ({location}).") from error
    if not (isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], dict)):
        raise make_error(f"must return (loss, stats), not one {type(result).__name__}")
    value, stats = result
    if isinstance(value, Tensor) and value.numel() != 1:
        raise make_error(
            f"must return a scalar as loss, not a tensor of shape {list(value.shape)}. "
            f"Take the mean over the rows"
        )
    number = _to_float(value)
    if number is None:
        raise make_error(f"must return a scalar as loss, not {value!r}")
    if not math.isfinite(number):
        for kind, values in (("logits", torch.cat(output.log_probs, 1)), ("values", output.value)):
            if values.isnan().any():
                raise ContractError(
                    f"The net returned NaN as {kind}, so that {name[0].lower()}{name[1:]} is {number}. "
                    f"Look for a division by zero or a logarithm of zero in its forward, or for a "
                    f"learning rate that is too large."
                )
        raise make_error(
            f"is {number}, which has no usable gradient. Look for a division by zero, a "
            f"logarithm of zero, or NaN in observations, rewards or the net"
        )
    for key, entry in stats.items():
        scalar = _to_float(entry)
        if scalar is None or not math.isfinite(scalar):
            shown = repr(entry) if scalar is None else str(scalar)
            raise make_error(f"must return finite numbers as stats, not {key}={shown}")
    return value, stats


def _to_float(value: Any) -> float | None:
    """Return a number or a tensor of one number as a float; None for anything else."""
    plain = value.detach() if isinstance(value, Tensor) else value
    try:
        return None if isinstance(plain, str) else float(plain)
    except (TypeError, ValueError, RuntimeError):
        return None
