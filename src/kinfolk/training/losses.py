"""Losses: pure functions of a minibatch of rows and of the net's current outputs for them.

Each loss gets the rows that its own mask selects from the minibatch; masks of different losses are
independent. Means and normalisations are over the selected rows only. `register_loss` makes a
function a loss that profiles can list.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar, overload

from kinfolk.core.errors import require
from kinfolk.core.imports import optional_import
from kinfolk.core.settings import Settings
from kinfolk.training.loss_calls import Loss, LossResult, LossRows, check_parameters
from kinfolk.training.outputs import ActorCriticOutput, Minibatch, split_gaussian
from kinfolk.training.settings import BehaviorCloning, Kickstart, LossSettings, PPOSettings

with optional_import("Training"):
    import torch
    from torch.nn import functional

Tensor: TypeAlias = torch.Tensor
F = TypeVar("F", bound=Callable[..., LossResult])

LOSSES: dict[str, Loss] = {}  # in the order in which they are summed


def _scheduled_weight(settings: Settings, steps: int) -> float:
    """Return a loss's coefficient after some steps, decayed linearly as its settings say."""
    if not isinstance(settings, LossSettings):
        return 1.0
    if settings.decay_steps is None:
        return settings.weight
    return settings.weight * max(0.0, 1.0 - steps / settings.decay_steps)


@overload
def register_loss(
    name: str,
    function: F,
    *,
    rows: LossRows = ...,
    settings: type[Settings] = ...,
    weight: Callable[[Any, int], float] = ...,
    by_default: bool = ...,
) -> F: ...
@overload
def register_loss(
    name: str,
    function: None = ...,
    *,
    rows: LossRows = ...,
    settings: type[Settings] = ...,
    weight: Callable[[Any, int], float] = ...,
    by_default: bool = ...,
) -> Callable[[F], F]: ...
def register_loss(
    name: str,
    function: Any = None,
    *,
    rows: LossRows = "trainable",
    settings: type[Settings] = LossSettings,
    weight: Callable[[Any, int], float] = _scheduled_weight,
    by_default: bool = False,
) -> Any:
    """Register a function `(batch, output, settings) -> (loss, stats)` as a loss for profiles.

    Args:
        name: Its name in `loss_profiles`, and in `[losses.NAME]` of a training file.
        function: The function; without it, a decorator for the function is returned.
        rows: Which rows it may use: those of slots that are `trainable`, or those that a teacher
            labelled with its action (`teacher_labeled`).
        settings: Type of the function's third argument. `PPOSettings`, `Kickstart` and
            `BehaviorCloning` are tables of the training file; any other is read from
            `[losses.NAME]`.
        weight: Coefficient of the loss, from its settings and the steps done so far. By default
            `weight` and `decay_steps` of `LossSettings`; 1 for settings without these.
        by_default: Whether the loss is in the default profile.

    Returns:
        The function unchanged, or a decorator that returns it unchanged.

    Raises:
        SettingsError: The name is not an identifier, or belongs to another function, the function
            cannot take three arguments, or `rows` is unknown.
    """
    require(
        rows in ("trainable", "teacher_labeled"),
        f"The rows of the loss '{name}' are 'trainable' or 'teacher_labeled', not '{rows}'.",
    )
    require(
        isinstance(name, str) and name.isidentifier(),
        f"The name of a loss must be an identifier such as entropy_floor, not {name!r}.",
    )

    def register(function: F) -> F:
        """Register the function under `name` and return it unchanged."""
        check_parameters(name, function)
        defined = _qualified_name(function)
        registered = _qualified_name(LOSSES[name].function) if name in LOSSES else defined
        require(
            registered == defined,
            f"The loss '{name}' is already registered by {registered}. Give {defined} another name.",
        )
        LOSSES[name] = Loss(name, function, rows, settings, weight, by_default)
        return function

    return register if function is None else register(function)


def _qualified_name(function: Any) -> str:
    """Return module and name of a function.

    A reloaded module may register a function of the same qualified name again.
    """
    return f"{function.__module__}.{function.__qualname__}"


def normalize_advantages(advantage: Tensor) -> Tensor:
    """Scale advantages to mean 0 and standard deviation 1; a single row is returned as it is."""
    if len(advantage) < 2:
        return advantage
    return (advantage - advantage.mean()) / (advantage.std() + 1e-8)


def _delayed_weight(settings: PPOSettings, steps: int) -> float:
    """Return 0 before the step `actor_start_step` and 1 from then on."""
    return float(steps >= settings.actor_start_step)


@register_loss("ppo_actor", settings=PPOSettings, weight=_delayed_weight, by_default=True)
def ppo_actor(batch: Minibatch, output: ActorCriticOutput, settings: PPOSettings) -> LossResult:
    """Return PPO's clipped surrogate loss minus the entropy bonus (Schulman et al. 2017).

    Args:
        batch: Rows of trainable slots.
        output: The net's current outputs for them.
        settings: `clip_range` and `ent_coef` are used.
    """
    log_ratio = output.log_prob(batch.action) - batch.log_prob
    ratio, advantage = log_ratio.exp(), normalize_advantages(batch.advantage)
    clipped = ratio.clamp(1.0 - settings.clip_range, 1.0 + settings.clip_range)
    surrogate = torch.minimum(ratio * advantage, clipped * advantage).mean()
    entropy = output.entropy().mean()
    with torch.no_grad():
        stats = {
            "entropy": entropy.detach(),
            # The low-variance estimator that is never negative (Schulman 2020).
            "approx_kl": (ratio - 1.0 - log_ratio).mean(),
            "clip_fraction": ((ratio - 1.0).abs() > settings.clip_range).float().mean(),
        }
    return -surrogate - settings.ent_coef * entropy, stats


@register_loss("ppo_critic", settings=PPOSettings, by_default=True)
def ppo_critic(batch: Minibatch, output: ActorCriticOutput, settings: PPOSettings) -> LossResult:
    """Return half the squared error of the value, with value clipping if `clip_range_vf` is set.

    Args:
        batch: Rows of trainable slots.
        output: The net's current outputs for them.
        settings: `vf_coef` and `clip_range_vf` are used.
    """
    target = batch.advantage + batch.value
    error = (output.value - target).square()
    if settings.clip_range_vf is not None:
        limit = settings.clip_range_vf
        clipped = batch.value + (output.value - batch.value).clamp(-limit, limit)
        error = torch.maximum(error, (clipped - target).square())
    loss = 0.5 * error.mean()
    return settings.vf_coef * loss, {"value_loss": loss.detach()}


@register_loss("kickstarter", rows="teacher_labeled", settings=Kickstart, by_default=True)
def kickstarter(batch: Minibatch, output: ActorCriticOutput, settings: Kickstart) -> LossResult:
    """Return the KL divergence from a teacher's action distribution, plus the error to its values.

    After Schmitt et al. 2018, arXiv:1803.03835. A scripted teacher has no logits: its distribution
    is its action, and the divergence is the cross-entropy to it.

    Args:
        batch: Rows that a teacher labelled.
        output: The net's current outputs for them.
        settings: `temperature` and `vf_coef` are used.
    """
    assert batch.teacher_action is not None  # the mask selects labelled rows only
    if batch.teacher_logits is None:
        divergence = -output.log_prob(batch.teacher_action).mean()
    else:
        divergence = _kl_divergence(batch.teacher_logits, output, settings.temperature)
    loss = divergence
    if batch.teacher_value is not None and batch.teacher_value.isfinite().any():
        has_value = batch.teacher_value.isfinite()
        error = (output.value[has_value] - batch.teacher_value[has_value]).square().mean()
        loss = loss + settings.vf_coef * 0.5 * error
    return loss, {"kickstarter": divergence.detach()}


def _kl_divergence(teacher_logits: Tensor, output: ActorCriticOutput, temperature: float) -> Tensor:
    """Return the mean KL divergence from teacher to student, summed over the heads.

    Args:
        teacher_logits: `[n, logits]` of all heads.
        output: The student's outputs.
        temperature: Divides the logits of both.
    """
    sizes = [head.shape[1] for head in output.log_probs]
    total = teacher_logits.new_zeros(())
    teacher_heads = torch.split(teacher_logits, sizes, dim=1)
    ranges = output.ranges or [None] * len(sizes)
    for logits, log_probs, numbers in zip(teacher_heads, output.log_probs, ranges, strict=True):
        if numbers is not None:
            total = total + _gaussian_divergence(logits, log_probs, temperature).mean()
            continue
        teacher, student = functional.log_softmax(logits / temperature, dim=1), log_probs
        if temperature != 1.0:
            student = functional.log_softmax(log_probs / temperature, dim=1)
        total = total + (teacher.exp() * (teacher - student)).sum(dim=1).mean()
    return total


def _gaussian_divergence(teacher: Tensor, student: Tensor, temperature: float) -> Tensor:
    """Return the KL divergence from teacher to student of a continuous head, `[n]`.

    Args:
        teacher: `[n, 2]`, mean and log std.
        student: `[n, 2]`, likewise.
        temperature: Multiplies the variance of both.
    """
    (mean, log_std), (student_mean, student_log_std) = map(split_gaussian, (teacher, student))
    distance = (mean - student_mean).square() / temperature
    ratio = ((2.0 * log_std).exp() + distance) * (-2.0 * student_log_std).exp()
    return student_log_std - log_std + 0.5 * (ratio - 1.0)


@register_loss("cloner", rows="teacher_labeled", settings=BehaviorCloning, by_default=True)
def cloner(batch: Minibatch, output: ActorCriticOutput, settings: BehaviorCloning) -> LossResult:
    """Return the cross-entropy to the teacher's actions (behaviour cloning).

    Args:
        batch: Rows that a teacher labelled.
        output: The net's current outputs for them.
        settings: Not used here; the caller applies the coefficient.
    """
    del settings
    assert batch.teacher_action is not None  # the mask selects labelled rows only
    log_prob = output.log_prob(batch.teacher_action)
    if output.ranges:  # numbers hardly ever agree exactly
        return -log_prob.mean(), {"cloner": -log_prob.detach().mean()}
    with torch.no_grad():
        best = torch.stack([head.argmax(dim=1) for head in output.log_probs], dim=1)
        agreement = (best == batch.teacher_action).all(dim=1).float().mean()
    return -log_prob.mean(), {"cloner": -log_prob.detach().mean(), "agreement": agreement}
