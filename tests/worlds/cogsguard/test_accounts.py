"""The books: every change of hp, energy, influence, hearts and elements has a source or a sink."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kinfolk.core.settings import validate_settings
from kinfolk.testing.contracts.world import random_actions
from kinfolk.worlds.cogsguard.codes import (
    ELEMENTS,
    EXTRACTOR,
    HUB,
    KIND_MASK,
    LEDGER,
    OBSERVED_COLUMNS,
    TEAM_LEDGER,
)
from kinfolk.worlds.cogsguard.settings import Cogsguard
from kinfolk.worlds.cogsguard.world import CogsguardWorld

YARD = """
#########
#c@.Jo!X#
#.H.M..0#
#@.g..s.#
#C@A.R@T#
#########
"""
RULES = {
    "map_text": YARD,
    "agents": 4,
    "clips_seed_at": 3,
    "clips_reseed_from": 3,
    "clips_reseed_every": 7,
    "clips_align_from": 5,
    "clips_align_every": 5,
    "clips_scramble_from": 4,
    "clips_scramble_every": 6,
    "temple": True,
    "temple_cap": 6,
    "temple_cooldown": 5,
    "window_radius": 3,
}
RESOURCES = ("hp", "energy", "influence", "hearts", *ELEMENTS)
QUIRKS = (
    "clips_lose_marks",
    "clips_find_all",
    "both_marks",
    "stale_chains",
    "wasted_hearts",
    "vibe_success",
)


def stock(world):
    """What is left in the extractors, by element, `[W, 4]`."""
    s = world._arrays
    kind = s.team_view[:, 0] & KIND_MASK
    found = [
        np.where(kind == EXTRACTOR + e, s.cell_detail, 0).sum(axis=1)
        for e in range(HUB - EXTRACTOR)
    ]
    return np.stack(found, axis=1)


def check_books(world):
    """Every amount that agents and stores hold is the sum of its entries."""
    s, books = world._arrays, world.ledger()
    for resource in RESOURCES:
        entries = sum(books[name] for name in LEDGER if name.startswith(f"{resource}_"))
        held = s.body[:, :, OBSERVED_COLUMNS.index(resource)]
        assert (entries == held).all(), resource
    places = [f"store_{name}" for name in (*ELEMENTS, "hearts")]
    for i, place in enumerate((*places, "chest_hearts")):
        entries = sum(books[name] for name in TEAM_LEDGER if name.startswith(f"{place}_"))
        assert (entries == s.store[:, :, i]).all(), place


@settings(max_examples=25, deadline=None)
@given(
    edition=st.sampled_from("FA"),
    seed=st.integers(0, 1 << 20),
    quirks=st.sets(st.sampled_from(QUIRKS)),
    start=st.integers(1, 60),
    area=st.integers(0, 6),
    elements=st.integers(0, 60),
    hearts=st.integers(0, 3),
    stocks=st.integers(1, 9),
    cap=st.integers(20, 10_000),
)
def test_books_balance_under_any_rules(
    edition, seed, quirks, start, area, elements, hearts, stocks, cap
):
    rules = RULES | {"edition": edition, "quirks": dict.fromkeys(quirks, True)}
    rules |= {"start_hp": start, "area_radius": area, "hub_strength": area, "store_cap": cap}
    rules |= {"junction_strength": area, "store_elements": elements, "store_hearts": hearts}
    rules |= {"chest_hearts": hearts, "extractor_stock": stocks, "gear_price_main": 1}
    world = CogsguardWorld(validate_settings(Cogsguard, rules), 3, keep_books=True)
    world.reset(np.arange(3) + seed)
    start_stock = stock(world)
    check_books(world)
    for tick in range(60):
        world.step(random_actions(world, seed))
        if tick % 6 == 0:
            check_books(world)
    books, counted = world.ledger(), world.counters()
    for e, element in enumerate(ELEMENTS):
        mined = books[f"{element}_mined"].sum(axis=1)
        assert (start_stock[:, e] - stock(world)[:, e] == mined).all()
        assert (mined == counted[f"{element}_mined"]).all()
        # What agents deposit is what stores receive.
        deposits = books[f"store_{element}_deposits"].sum(axis=1)
        assert (deposits + books[f"{element}_deposited"].sum(axis=1) == 0).all()
    given_hearts = books["store_hearts_given"] + books["chest_hearts_given"]
    assert (given_hearts.sum(axis=1) + books["hearts_received"].sum(axis=1) == 0).all()
    spent = books["hearts_aligning"] + books["hearts_scrambling"]
    assert (spent.sum(axis=1) + counted["hearts_spent"] == 0).all()
    assert (counted["hearts_spent"] == counted["aligned"] + counted["scrambled"]).all()


def test_in_a_long_game_every_source_and_sink_is_used():
    used = set()
    for edition, gear in (("F", 0), ("A", 0), ("F", 1)):
        rules = RULES | {
            "edition": edition,
            "start_hp": 40,
            "store_elements": 90,
            "free_moves": gear,
        }
        rules |= {"area_radius": 1, "hub_strength": 2, "junction_strength": 2, "chest_hearts": 2}
        rules |= {
            "gear_price_main": 1 - gear,
            "gear_price_other": 1 - gear,
            "extractor_stock": 40,
            "hearts_limit": 2,
        }
        world = CogsguardWorld(
            validate_settings(Cogsguard, rules | {"quirks": {"wasted_hearts": True}}),
            24,
            keep_books=True,
        )
        world.reset(np.arange(24))
        for _ in range(400):
            world.step(random_actions(world, 3))
        check_books(world)
        used |= {name for name, amounts in world.ledger().items() if amounts.any()}
    unused = {*LEDGER, *TEAM_LEDGER} - used
    # Chests have no births, and hearts above the limit are never taken.
    assert unused <= {"chest_hearts_births", "hearts_limit"}, unused
