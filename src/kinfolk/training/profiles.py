"""Which losses may use which rows: closed unless a row's profile lists the loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kinfolk.core.arrays import Bools
from kinfolk.core.errors import SettingsError, suggestion
from kinfolk.training.experience import Rows

LOSS_NAMES = ("ppo_actor", "ppo_critic", "kickstarter", "cloner")
# Names under which users of earlier systems know them: slices are made by the map of agents.
ALIASES = {"sliced_kickstarter": "kickstarter", "sliced_scripted_cloner": "cloner"}
TRAINABLE_ONLY = ("ppo_actor", "ppo_critic")
DEFAULT_PROFILE = "all"


class LossProfiles:
    """A table of profiles by number and losses by name.

    Raises:
        SettingsError: A profile lists a loss that there is not.
    """

    def __init__(self, given: Mapping[str, Sequence[str]]) -> None:
        named = given or {DEFAULT_PROFILE: LOSS_NAMES}
        self.names = list(named)
        known = [*LOSS_NAMES, *ALIASES]
        self._table = np.zeros((len(named), len(LOSS_NAMES)), dtype=np.bool_)
        for number, (profile, losses) in enumerate(named.items()):
            for loss in losses:
                if loss not in known:
                    raise SettingsError(
                        f"The loss profile '{profile}' lists an unknown loss '{loss}'."
                        f"{suggestion(loss, LOSS_NAMES)}"
                    )
                self._table[number, LOSS_NAMES.index(ALIASES.get(loss, loss))] = True

    def number(self, slot: str, profile: str | None) -> int:
        """The number of a slot's profile; without one, the first."""
        if profile is None:
            return 0
        if profile not in self.names:
            raise SettingsError(
                f"Slot '{slot}' has the unknown loss profile '{profile}'."
                f"{suggestion(profile, self.names)}"
            )
        return self.names.index(profile)

    def lists(self, profile: int, loss: str) -> bool:
        """Whether rows of a profile take part in a loss."""
        return bool(self._table[profile, LOSS_NAMES.index(loss)])

    def mask(self, loss: str, rows: Rows) -> Bools:
        """`[n]`: which of all rows a loss may use."""
        allowed: Bools = self._table[:, LOSS_NAMES.index(loss)][rows["loss_profile_id"]]
        allowed = allowed & rows["alive"]
        if loss in TRAINABLE_ONLY:
            return allowed & rows["is_trainable_agent"]
        if "teacher_action" not in rows:
            return np.zeros_like(allowed)
        taught: Bools = rows["teacher_action"][:, 0] >= 0
        return allowed & taught
