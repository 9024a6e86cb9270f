"""Heritable traits: founders draw them, children inherit them with mutations."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinfolk.core.arrays import Floats, Ints
from kinfolk.core.jit import inline, inline_always
from kinfolk.core.random import fold_in, randint, uniform
from kinfolk.worlds.savanna import codes
from kinfolk.worlds.savanna.rules import SavannaRules
from kinfolk.worlds.savanna.state import SavannaState

FOUNDER_KEY, HEADING_KEY = -3, -4  # folded into an episode's key, where ticks are not negative
_NEWBORN_TRAIT_KEY, _NEWBORN_HEADING_KEY = 4, 5  # folded into a tick's key, as in `births`
_N_UNIFORMS = 12  # uniforms whose sum is nearly normal, with variance 1


@inline
def draw_normal(key: Any, first: Any) -> Any:
    """Return a number that is nearly standard normal: the sum of twelve uniforms, minus six.

    No logarithm or cosine, so that compiled and uncompiled kernels give equal bits.

    Args:
        key: Random key.
        first: Number of the first draw from the key, or an array of such numbers.
    """
    total = -0.5 * _N_UNIFORMS
    for i in range(_N_UNIFORMS):
        total += uniform(key, first + i)
    return total


def draw_founder_traits(
    state: SavannaState, rules: SavannaRules, worlds: Ints, founder_counts: Ints
) -> None:
    """Draw the traits of founders, clipped to their bounds.

    Args:
        state: Writes `traits` and `trait_totals`; reads the keys of the episodes.
        rules: Rules of the batch.
        worlds: Indices of the worlds.
        founder_counts: `[4]`, founders of each species and type; their rows are in that order.
    """
    n_predators, n_founders = int(founder_counts[:2].sum()), int(founder_counts.sum())
    n_traits = rules.trait_bounds.shape[0]
    first = np.arange(n_founders * n_traits).reshape(n_founders, n_traits) * _N_UNIFORMS
    is_prey = (np.arange(n_founders) >= n_predators).astype(np.int64)
    for w in worlds.tolist() if n_traits else ():
        key = fold_in(int(state.key[w]), FOUNDER_KEY)
        mean, std = np.moveaxis(rules.founder_traits[is_prey], -1, 0)
        traits = mean + std * draw_normal(key, first)
        set_founder_traits(state, rules, w, traits, n_predators)


def set_founder_traits(
    state: SavannaState, rules: SavannaRules, w: int, traits: Floats, n_predators: int
) -> None:
    """Set the traits of the founders of a world.

    Args:
        state: Writes `traits` and `trait_totals`.
        rules: Reads the bounds, to which traits are clipped.
        w: World.
        traits: `[founders, traits]`.
        n_predators: How many of the founders are predators; they come first.
    """
    low, high = rules.trait_bounds[:, 0], rules.trait_bounds[:, 1]
    clipped = np.clip(traits, low, high)
    state.traits[w, : len(traits)] = clipped
    state.trait_totals[w, 0, :, 0] = clipped[:n_predators].sum(axis=0)
    state.trait_totals[w, 1, :, 0] = clipped[n_predators:].sum(axis=0)


@inline
def inherit_traits(
    state: SavannaState,
    rules: SavannaRules,
    w: int,
    species: int,
    child: int,
    parent: int,
    key: int,
) -> None:
    """Copy the traits of the parent to a child, with mutations.

    With `neutral_drift` they are those of a random living agent of the species instead, so that
    traits do not affect who passes them on.

    Args:
        state: Writes `traits`, `trait_totals` and counters.
        rules: Rules of the batch.
        w: World.
        species: PREDATOR or PREY.
        child: Row of the child, which is not yet among the living.
        parent: Row of the parent.
        key: Random key of this birth.
    """
    template = parent
    if rules.neutral_drift:
        chosen = randint(key, 0, state.n_alive[w, species])
        template = state.alive_rows[w, species, chosen]
    for t in range(rules.trait_bounds.shape[0]):
        value = state.traits[w, template, t]
        trait_key = fold_in(key, t)
        if uniform(trait_key, 1) < rules.trait_mutation_rate[t]:
            value += rules.trait_mutation_std[t] * draw_normal(trait_key, 2)
            value = min(max(value, rules.trait_bounds[t, 0]), rules.trait_bounds[t, 1])
            state.counters[w, codes.TRAIT_MUTATIONS] += 1
        state.traits[w, child, t] = value
        state.trait_totals[w, species, t, 0] += value
        state.trait_totals[w, species, t, 1] += state.traits[w, parent, t]


def draw_headings(state: SavannaState, worlds: Ints) -> None:
    """Draw the directions in which founders look at first, one of eight."""
    for w in worlds.tolist():
        key = fold_in(int(state.key[w]), HEADING_KEY)
        drawn = randint(key, np.arange(state.heading.shape[1]), 8)
        state.heading[w] = drawn + (drawn >= 4)


@inline_always
def give_traits(
    state: SavannaState,
    rules: SavannaRules,
    w: int,
    species: int,
    child: int,
    parent: int,
    given_traits: Floats,
    n_newborns: int,
) -> None:
    """Set the traits, heading and records of a newborn that options need.

    Args:
        state: Writes `traits`, `trait_totals`, `heading`, `satiated_until` and `energy_before`.
        rules: Rules of the batch.
        w: World.
        species: PREDATOR or PREY.
        child: Row of the child, which has its uid.
        parent: Row of the parent.
        given_traits: `[W, births, traits]`, of newborns whose traits are not drawn.
        n_newborns: Births of this world in this step so far.
    """
    tick_key, uid = fold_in(state.key[w], state.tick[w]), state.uid[w, child]
    if rules.satiation > 0:
        state.satiated_until[w, child] = 0
    if rules.pays_energy:
        state.energy_before[w, child] = state.energy[w, child]
    if rules.forward_view:
        drawn = randint(fold_in(fold_in(tick_key, _NEWBORN_HEADING_KEY), uid), 0, 8)
        state.heading[w, child] = drawn + (1 if drawn >= 4 else 0)
    if rules.trait_bounds.shape[0] == 0:
        return
    inherit_traits(
        state, rules, w, species, child, parent, fold_in(fold_in(tick_key, _NEWBORN_TRAIT_KEY), uid)
    )
    if n_newborns < given_traits.shape[1]:
        for t in range(rules.trait_bounds.shape[0]):
            given = given_traits[w, n_newborns, t]
            state.trait_totals[w, species, t, 0] += given - state.traits[w, child, t]
            state.traits[w, child, t] = given
