"""Checks of settings that must fit together."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kinfolk.worlds.savanna.settings import Savanna


def check_fit(settings: Savanna) -> None:
    """Raise ValueError unless founders and grass fit on the grid and all ranges are valid."""
    founders = sum(settings.founder_counts)
    free = settings.grid_size**2 - len(settings.wall_cells)
    needed = founders + settings.initial_num_grass
    if needed > free:
        raise ValueError(
            f"Savanna.grid_size {settings.grid_size} leaves {free} free cells, and {founders} founders "
            f"and {settings.initial_num_grass} grass patches need {needed}."
        )
    if founders > settings.rows:
        raise ValueError(
            f"Savanna.max_rows must hold all {founders} founders, not {settings.rows}."
        )
    for name in ("predator_obs_range", "prey_obs_range", "type_1_action_range"):
        if getattr(settings, name) % 2 == 0:
            raise ValueError(f"Savanna.{name} must be odd, not {getattr(settings, name)}.")
    second = settings.type_2_action_range
    if second and second % 2 == 0:
        raise ValueError(f"Savanna.type_2_action_range must be 0 or odd, not {second}.")
    mutates = settings.mutation_rate_predator > 0 or settings.mutation_rate_prey > 0
    if second == 0 and (mutates or settings.founder_counts[1] or settings.founder_counts[3]):
        raise ValueError(
            "Savanna.type_2_action_range is 0, so there can be no founders of type 2 and no mutation."
        )


def check_variants(settings: Savanna) -> None:
    """Raise ValueError unless traits and options of the view are valid."""
    for name, trait in settings.traits.items():
        if trait.low is None or trait.high is None:
            raise ValueError(
                f"Savanna.traits.{name} needs bounds: give it low and high, such as 0.5 and 2.0."
            )
        if not trait.low <= trait.high:
            raise ValueError(
                f"Savanna.traits.{name} must have low <= high, not {trait.low:g} and {trait.high:g}."
            )
    if settings.separate_prey_channels and settings.observation == "compact":
        raise ValueError(
            "Savanna.separate_prey_channels needs observation float32: compact words have one field "
            "for prey."
        )
    shows_visibility = (
        settings.mask_observation_with_visibility or settings.include_visibility_channel
    )
    if settings.forward_view and shows_visibility:
        raise ValueError(
            "Savanna.forward_view needs mask_observation_with_visibility and "
            "include_visibility_channel false: lines of sight are computed for centred windows."
        )
