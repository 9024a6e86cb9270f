"""Loss profiles: a loss uses a row only if the row's profile lists it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kinfolk.core.arrays import Bools
from kinfolk.core.errors import format_suggestion, require
from kinfolk.core.imports import import_object
from kinfolk.training.buffer import NO_LABEL, RolloutColumns
from kinfolk.training.loss_calls import Loss, LossProfilesLike
from kinfolk.training.losses import LOSSES, register_loss

# Names of earlier systems, whose slices are slots here: who teaches whom follows from the slot map and
# the profiles (`Train.teachers`).
LOSS_ALIASES = {"sliced_kickstarter": "kickstarter", "sliced_scripted_cloner": "cloner"}
DEFAULT_PROFILE = "all"


class LossProfiles:
    """Table of which losses each profile lists.

    Args:
        profiles: The losses of each profile: names of registered losses, or import paths such as
            `mylosses.entropy_floor`, whose module registers them. Empty: one profile, `all`, with
            the losses that are registered `by_default`.

    Attributes:
        names: Names of the profiles; a profile's id is its index here.
        losses: Names of all losses that some profile lists, in the order in which they are summed.

    Raises:
        UsageError: A profile lists an unknown loss, or one that cannot be imported.
    """

    def __init__(self, profiles: Mapping[str, Sequence[str]]) -> None:
        default = {DEFAULT_PROFILE: [loss.name for loss in LOSSES.values() if loss.by_default]}
        profiles = profiles or default
        self.names = list(profiles)
        listed = [{_find_loss(p, name).name for name in names} for p, names in profiles.items()]
        self.losses = [name for name in LOSSES if any(name in names for names in listed)]
        self._table = np.array([[n in names for n in self.losses] for names in listed], np.bool_)

    def profile_id(self, slot: str, profile: str | None) -> int:
        """Return the id of a slot's profile; the first profile if the slot names none.

        Raises:
            SettingsError: There is no such profile.
        """
        if profile is None:
            return 0
        hint = format_suggestion(profile, self.names)
        require(
            profile in self.names, f"Slot '{slot}' has the unknown loss profile '{profile}'.{hint}"
        )
        return self.names.index(profile)

    def includes(self, profile: int, loss: str) -> bool:
        """Return whether the profile with the id `profile` lists a loss."""
        return loss in self.losses and bool(self._table[profile, self.losses.index(loss)])

    def mask(self, loss: str, rows: RolloutColumns) -> Bools:
        """Return which rows a loss may use, `[n]`.

        Args:
            loss: One of `losses`.
            rows: Columns of the rollout.
        """
        listed = self._table[:, self.losses.index(loss)][rows["loss_profile_id"]]
        allowed: Bools = listed & rows["alive"]
        if LOSSES[loss].rows == "trainable":
            return allowed & rows["is_trainable_agent"]
        if "teacher_action" not in rows:
            return np.zeros_like(allowed)
        labeled: Bools = rows["teacher_action"][:, 0] != NO_LABEL
        return allowed & labeled


def name_losses(profiles: LossProfilesLike) -> dict[str, list[str]]:
    """Return profiles with functions replaced by the names of their losses.

    A function that is not a loss yet is registered under its own name.
    """
    return {profile: [_name_loss(loss) for loss in losses] for profile, losses in profiles.items()}


def _name_loss(loss: Any) -> Any:
    """Return the name of a loss that is given as a function; anything else as it is."""
    if not callable(loss):
        return loss
    names = [known.name for known in LOSSES.values() if known.function is loss]
    if not names:
        register_loss(loss.__name__, loss)
    return names[0] if names else loss.__name__


def _find_loss(profile: str, name: str) -> Loss:
    """Return the registered loss that a profile lists.

    Args:
        profile: Name of the profile that lists the loss, for error messages.
        name: Name or alias of the loss, or import path of its function.

    Raises:
        SettingsError: No such loss is registered.
        UsageError: The function cannot be imported.
    """
    name = LOSS_ALIASES.get(name, name)
    if name in LOSSES:
        return LOSSES[name]
    require(
        "." in name or ":" in name,
        f"The loss profile '{profile}' lists an unknown loss '{name}'."
        f"{format_suggestion(name, LOSSES)} A loss of your own is listed by its import path, such as "
        f"mylosses.entropy_floor.",
    )
    function = import_object(name)
    registered = [loss for loss in LOSSES.values() if loss.function is function]
    require(
        bool(registered),
        f"The loss profile '{profile}' lists '{name}', which is not registered as a loss. "
        f"Decorate it with kinfolk.training.losses.register_loss.",
    )
    return registered[0]
