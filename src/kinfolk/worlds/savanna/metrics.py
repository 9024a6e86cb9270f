"""Metrics of savanna episodes, under the names of PredPreyGrass."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kinfolk.core.arrays import AnyArray, Floats, Ints
from kinfolk.worlds.savanna.codes import SPAWNED
from kinfolk.worlds.savanna.state import SavannaState

ALL_EPISODES, FULL_LENGTH_EPISODES = "all_episodes", "full_length_episodes"


def compute_metrics(full_length: AnyArray, values: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
    """Compute metrics of captures and populations, NaN where a metric does not apply.

    Captures are counted per kill and, as in PredPreyGrass, per event of a predator.
    Fractions and total populations are given twice: for the episodes that reached the time limit
    only, as in PredPreyGrass, and for all episodes, so that there is a value if none reaches it.

    Args:
        full_length: `[episodes]`, True where the time limit was reached.
        values: `[episodes]` each: counters, `ticks`, `max_ticks`, and `group_lives/GROUP` and
            `mean_alive/GROUP`.

    Returns:
        `[episodes]` for each metric; the mean of a boolean one is a fraction of episodes.
    """
    successes, failures = values["team_capture_successes"], values["team_capture_failures"]
    coop_successes = values["team_capture_coop_successes"]
    meals = values["team_capture_helper_total"]
    coop_meals = values["team_capture_coop_helper_total"]
    unknown = np.full(len(full_length), np.nan)  # runs stored before this was counted
    failed_attacks = values.get("team_capture_failed_helper_total", unknown)
    split_metrics = {
        "capture_success_rate": _divide(successes, successes + failures),
        "cooperative_kill_fraction": _divide(coop_successes, successes),
        # By the definitions of the authors' comparison of PPO and APPO: an attempt is an eating or
        # failed eating event of a predator, and a co-operative event an eating event of a predator
        # with `team_capture` true. A kill of three predators is three events.
        "predator_event_success_rate": _divide(meals, meals + failed_attacks),
        "cooperative_meal_fraction": _divide(coop_meals, meals),
    }
    for species in ("predator", "prey"):
        split_metrics[f"total_{species}"] = _sum_over_types(values, "group_lives/", species)
    metrics: dict[str, AnyArray] = {FULL_LENGTH_EPISODES: full_length.astype(np.bool_)}
    for name, value in split_metrics.items():
        metrics[f"{name}_{FULL_LENGTH_EPISODES}"] = np.where(full_length, value, np.nan)
        metrics[f"{name}_{ALL_EPISODES}"] = value
    metrics |= _compute_variant_metrics(values)
    for species, left in (("predator", "active_num_predators"), ("prey", "active_num_prey")):
        ticks_lived = _sum_over_types(values, "mean_alive/", species) * values["ticks"]
        lives = split_metrics[f"total_{species}"]
        metrics[f"mean_lifetime_{species}"] = _divide(ticks_lived, lives)
        # Nobody knows how many of a species would have lived after an extinction ended the episode,
        # unless it is this species that died out.
        is_known = full_length | (values[left] <= 0)
        mean_alive = _divide(ticks_lived, values["max_ticks"])
        metrics[f"mean_{species}_alive"] = np.where(is_known, mean_alive, np.nan)
    return metrics | _select_kin_metrics(values)


def _select_kin_metrics(values: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
    """Return the metrics of lineage rewards and fertility caps, where the world has them."""
    metrics = {}
    for species in ("predator", "prey"):
        if f"lineage_reward_total_{species}" in values:
            metrics[f"lineage_reward_total_{species}"] = values[f"lineage_reward_total_{species}"]
    for species in ("predator", "prey"):
        if f"fertility_expired_{species}" in values:
            blocked = f"reproduction_blocked_due_to_fertility_{species}"
            metrics[f"fertility_expired_{species}"] = values[f"fertility_expired_{species}"]
            metrics[blocked] = values[blocked]
    return metrics


def _compute_variant_metrics(values: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
    """Return the metrics of choices and traits, where the episodes have any.

    `hunt_join_fraction` is the fraction of predators beside an attacked prey that joined,
    `free_ride_fraction` that of the fed at captures that had not joined.
    """
    metrics = {name: value for name, value in values.items() if name.startswith("trait_")}
    metrics.pop("trait_mutations", None)
    joins, rides = values.get("hunt_joins"), values.get("hunt_free_rides")
    if joins is not None and rides is not None and np.any(joins + rides > 0):
        metrics["hunt_join_fraction"] = _divide(joins, joins + rides)
        helpers = values["team_capture_helper_total"]
        metrics["free_ride_fraction"] = _divide(rides, helpers + rides)
    return metrics


def compute_trait_statistics(
    state: SavannaState, names: tuple[str, ...], founder_counts: Ints
) -> dict[str, Floats]:
    """Return `[W]` statistics of each trait and species.

    `mean` and `variance` are of the living, or of all lives where none is left. The
    `selection_differential` is the mean of parents, weighted by their births, minus that of all
    lives: how much more of a trait those have that pass it on.

    Args:
        state: State of the batch.
        names: Names of the traits.
        founder_counts: `[4]`, founders of each species and type.
    """
    statistics: dict[str, Floats] = {}
    for t, name in enumerate(names):
        for k, species in enumerate(("predator", "prey")):
            births = state.counters[:, SPAWNED + k].astype(np.float64)
            lives = births + founder_counts[2 * k : 2 * k + 2].sum()
            all_lives, parents = state.trait_totals[:, k, t, 0], state.trait_totals[:, k, t, 1]
            overall = all_lives / np.maximum(lives, 1)
            mean, variance = overall.copy(), np.zeros(len(overall))
            for w in range(len(overall)):
                rows = state.alive_rows[w, k, : state.n_alive[w, k]]
                if len(rows):
                    mean[w] = state.traits[w, rows, t].mean()
                    variance[w] = state.traits[w, rows, t].var()
            statistics[f"trait_{name}_mean_{species}"] = mean
            statistics[f"trait_{name}_variance_{species}"] = variance
            statistics[f"trait_{name}_selection_differential_{species}"] = np.where(
                births > 0, parents / np.maximum(births, 1) - overall, 0.0
            )
    return statistics


def _sum_over_types(values: Mapping[str, AnyArray], prefix: str, species: str) -> AnyArray:
    """Return the sum over the types of a species of the values named `prefix..._species`.

    Args:
        values: `[episodes]` each, by name.
        prefix: Start of the names.
        species: `predator` or `prey`.
    """
    names = [n for n in values if n.startswith(prefix) and n.endswith(f"_{species}")]
    total: AnyArray = np.sum([values[name] for name in names], axis=0)
    return total


def _divide(part: AnyArray, whole: AnyArray) -> AnyArray:
    """Return `part / whole`, `[episodes]`; NaN where `whole` is 0."""
    return np.where(whole > 0, part / np.maximum(whole, 1), np.nan)
