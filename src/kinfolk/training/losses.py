"""The losses: each a pure function of rows and of what the net says of them now.

Each gets the rows that its own mask picks from the whole batch. Masks never chain: what one loss
leaves out, another may use. Means, normalisations and entropies are over the picked rows only.
`register_loss` is all that makes a function a loss: names, masks, settings and weights follow.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

from kinfolk.core.errors import ContractError, require
from kinfolk.core.optional_dependencies import optional_import
from kinfolk.core.settings import Settings
from kinfolk.core.tracebacks import summarize_error
from kinfolk.training.settings import BehaviorCloning, Kickstart, LossSettings, PPOSettings

with optional_import("Training"):
    import torch
    from torch.nn import functional

Tensor: TypeAlias = torch.Tensor


class Minibatch(NamedTuple):
    """Rows, as tensors. What a slot has no use for is None."""

    action: Tensor  # [n, heads]
    log_prob: Tensor  # [n] when it was chosen
    value: Tensor  # [n] when it was seen
    advantage: Tensor  # [n]
    teacher_action: Tensor | None = None  # [n, heads]
    teacher_logits: Tensor | None = None  # [n, outputs]
    teacher_value: Tensor | None = None  # [n] NaN where there is none

    def select(self, rows: Tensor) -> Minibatch:
        """Some of the rows."""
        found = [None if column is None else column[rows] for column in self]
        return Minibatch(*found)  # type: ignore[arg-type]  # what was there stays there


class ActorCriticOutput(NamedTuple):
    """What the net says now."""

    log_probs: tuple[Tensor, ...]  # per head, [n, choices]
    value: Tensor  # [n]

    def select(self, rows: Tensor) -> ActorCriticOutput:
        """Some of the rows."""
        return ActorCriticOutput(tuple(head[rows] for head in self.log_probs), self.value[rows])

    def log_prob(self, action: Tensor) -> Tensor:
        """`[n]`: of whole actions."""
        parts = [
            head.gather(1, action[:, i : i + 1]).squeeze(1) for i, head in enumerate(self.log_probs)
        ]
        return parts[0] if len(parts) == 1 else torch.stack(parts).sum(dim=0)

    def entropy(self) -> Tensor:
        """`[n]`: summed over the heads."""
        parts = [-(head.exp() * head).sum(dim=1) for head in self.log_probs]
        return parts[0] if len(parts) == 1 else torch.stack(parts).sum(dim=0)


LossStats: TypeAlias = dict[str, Tensor]
LossResult: TypeAlias = tuple[Tensor, LossStats]


LossFunction: TypeAlias = Callable[[Minibatch, ActorCriticOutput, Any], LossResult]
F = TypeVar("F", bound=Callable[..., LossResult])


@dataclass(frozen=True)
class Loss:
    """A registered loss; `register_loss` says what its parts mean."""

    name: str
    function: LossFunction
    rows: Literal["trainable", "teacher_labeled"]
    settings_type: type[Settings]
    weight: Callable[[Any, int], float]
    by_default: bool


LOSSES: dict[str, Loss] = {}  # in the order in which they are summed


def _scheduled_weight(settings: Settings, steps: int) -> float:
    if not isinstance(settings, LossSettings):
        return 1.0
    if settings.decay_steps is None:
        return settings.weight
    return settings.weight * max(0.0, 1.0 - steps / settings.decay_steps)


def register_loss(
    name: str,
    *,
    rows: Literal["trainable", "teacher_labeled"] = "trainable",
    settings: type[Settings] = LossSettings,
    weight: Callable[[Any, int], float] = _scheduled_weight,
    by_default: bool = False,
) -> Callable[[F], F]:
    """Make a function `(rows, new, settings) -> (loss, stats)` a loss that profiles can list.

    Args:
        name: What it is called in `loss_profiles`, and in `[losses.NAME]` of a training file.
        rows: Which rows it may use: of slots that are `trainable`, or those for which a teacher
            said what it would do (`teacher_labeled`).
        settings: What the function gets as its third argument. `Learning`, `Kickstart` and
            `Cloning` are the training's own tables; any other is read from `[losses.NAME]`.
        weight: From those settings and the steps done so far, how much the loss counts now. By
            default the `weight` and `until` of `LossSettings`; 1 for settings without these.
        by_default: Whether it is in the profile of a training that has none of its own.

    Raises:
        SettingsError: The name is no identifier, or another function's, or there are no such rows.
    """
    require(
        rows in ("trainable", "teacher_labeled"),
        f"The rows of the loss '{name}' are 'trainable' or 'teacher_labeled', not '{rows}'.",
    )
    require(
        name.isidentifier(),
        f"A loss is named by letters, digits and underscores, such as entropy_floor, not '{name}'.",
    )

    def register(function: F) -> F:
        origin = _origin(LOSSES[name].function) if name in LOSSES else _origin(function)
        require(
            origin == _origin(function),
            f"There is a loss '{name}' already, {origin}. Give {_origin(function)} another name.",
        )
        LOSSES[name] = Loss(name, function, rows, settings, weight, by_default)
        return function

    return register


def apply_loss(
    loss: Loss, batch: Minibatch, output: ActorCriticOutput, settings: Settings
) -> LossResult:
    """Return what a loss function gives for these rows, once it is known to be usable.

    Args:
        loss: The registered loss.
        batch: The rows that it may use.
        output: What the net says of them now.
        settings: Those of the loss.

    Raises:
        ContractError: The function raised, or did not return a finite number and finite stats.
    """
    name = f"The loss '{loss.name}'"
    try:
        found: Any = loss.function(batch, output, settings)
    except Exception as error:
        what, where, _ = summarize_error(error)
        raise ContractError(f"{name} failed: {what} ({where}).") from error
    if not (isinstance(found, tuple) and len(found) == 2 and isinstance(found[1], dict)):
        raise ContractError(f"{name} must return (loss, stats), not one {type(found).__name__}.")
    value, stats = found
    if isinstance(value, Tensor) and value.numel() != 1:
        raise ContractError(
            f"{name} must return one number as loss, not a tensor of shape {list(value.shape)}. "
            f"Take the mean over the rows."
        )
    number = _number(value)
    if number is None:
        raise ContractError(f"{name} must return one number as loss, not {value!r}.")
    if not math.isfinite(number):
        raise ContractError(
            f"{name} is {number}, which nothing can be learnt from. Look for a division by zero, a "
            f"logarithm of zero, or NaN in observations, rewards or the net."
        )
    for key, figure in stats.items():
        known = _number(figure)
        if known is None or not math.isfinite(known):
            shown = repr(figure) if known is None else str(known)
            raise ContractError(f"{name} must return finite numbers as stats, not {key}={shown}.")
    return value, stats


def _number(value: Any) -> float | None:
    """A number, or a tensor of one; None for anything else."""
    plain = value.detach() if isinstance(value, Tensor) else value
    try:
        return None if isinstance(plain, str) else float(plain)
    except (TypeError, ValueError, RuntimeError):
        return None


def _origin(function: Any) -> str:
    """Where a function was defined: the same may be registered again, as when it is reloaded."""
    return f"{function.__module__}.{function.__qualname__}"


def normalize_advantages(advantage: Tensor) -> Tensor:
    """Mean 0 and deviation 1, over the rows given; a single row is left as it is."""
    if len(advantage) < 2:
        return advantage
    return (advantage - advantage.mean()) / (advantage.std() + 1e-8)


def _delayed_weight(settings: PPOSettings, steps: int) -> float:
    return float(steps >= settings.actor_start_step)


@register_loss("ppo_actor", settings=PPOSettings, weight=_delayed_weight, by_default=True)
def ppo_actor(batch: Minibatch, output: ActorCriticOutput, settings: PPOSettings) -> LossResult:
    """The clipped surrogate of PPO (Schulman et al. 2017), less a bonus for entropy."""
    change = output.log_prob(batch.action) - batch.log_prob
    ratio, advantage = change.exp(), normalize_advantages(batch.advantage)
    clipped = ratio.clamp(1.0 - settings.clip_range, 1.0 + settings.clip_range)
    surrogate = torch.minimum(ratio * advantage, clipped * advantage).mean()
    entropy = output.entropy().mean()
    with torch.no_grad():
        stats = {
            "entropy": entropy.detach(),
            "approx_kl": (
                ratio - 1.0 - change
            ).mean(),  # Schulman's estimate that is never below zero
            "clip_fraction": ((ratio - 1.0).abs() > settings.clip_range).float().mean(),
        }
    return -surrogate - settings.ent_coef * entropy, stats


@register_loss("ppo_critic", settings=PPOSettings, by_default=True)
def ppo_critic(batch: Minibatch, output: ActorCriticOutput, settings: PPOSettings) -> LossResult:
    """Half the squared error of the value, clipped around the old one if asked for."""
    target = batch.advantage + batch.value
    error = (output.value - target).square()
    if settings.clip_range_vf is not None:
        near = batch.value + (output.value - batch.value).clamp(
            -settings.clip_range_vf, settings.clip_range_vf
        )
        error = torch.maximum(error, (near - target).square())
    loss = 0.5 * error.mean()
    return settings.vf_coef * loss, {"value_loss": loss.detach()}


@register_loss("kickstarter", rows="teacher_labeled", settings=Kickstart, by_default=True)
def kickstarter(batch: Minibatch, output: ActorCriticOutput, settings: Kickstart) -> LossResult:
    """The divergence from a teacher's choices to the net's, and the error to its values.

    A teacher without scores, a script, is sure of what it does: then the divergence is the
    cross-entropy to its action.
    """
    assert batch.teacher_action is not None  # the mask lets only such rows in
    if batch.teacher_logits is None:
        divergence = -output.log_prob(batch.teacher_action).mean()
    else:
        divergence = _kl_divergence(batch.teacher_logits, output, settings.temperature)
    loss = divergence
    known = None if batch.teacher_value is None else torch.isfinite(batch.teacher_value)
    if known is not None and bool(known.any()):
        assert batch.teacher_value is not None
        error = (output.value[known] - batch.teacher_value[known]).square().mean()
        loss = loss + settings.vf_coef * 0.5 * error
    return loss, {"kickstarter": divergence.detach()}


def _kl_divergence(teacher_logits: Tensor, output: ActorCriticOutput, temperature: float) -> Tensor:
    sizes = [head.shape[1] for head in output.log_probs]
    total = teacher_logits.new_zeros(())
    for part, own in zip(torch.split(teacher_logits, sizes, dim=1), output.log_probs, strict=True):
        teacher = functional.log_softmax(part / temperature, dim=1)
        student = own if temperature == 1.0 else functional.log_softmax(own / temperature, dim=1)
        total = total + (teacher.exp() * (teacher - student)).sum(dim=1).mean()
    return total


@register_loss("cloner", rows="teacher_labeled", settings=BehaviorCloning, by_default=True)
def cloner(batch: Minibatch, output: ActorCriticOutput, settings: BehaviorCloning) -> LossResult:
    """The cross-entropy to the teacher's actions."""
    del settings  # its weight is applied by the caller, as it falls with time
    assert batch.teacher_action is not None  # the mask lets only such rows in
    log_chance = output.log_prob(batch.teacher_action)
    with torch.no_grad():
        best = torch.stack([head.argmax(dim=1) for head in output.log_probs], dim=1)
        alike = (best == batch.teacher_action).all(dim=1).float().mean()
    return -log_chance.mean(), {"cloner": -log_chance.detach().mean(), "agreement": alike}
