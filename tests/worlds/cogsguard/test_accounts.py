"""What leaves one account enters another: elements and hearts are neither made nor lost unseen."""

import numpy as np
import pytest

from kinfolk.core.settings import validate_settings
from kinfolk.testing.contracts.world import random_actions
from kinfolk.worlds.cogsguard.codes import ELEMENTS, EXTRACTOR, FIRST_CARGO, HEARTS, HUB, KIND_MASK
from kinfolk.worlds.cogsguard.settings import Cogsguard
from kinfolk.worlds.cogsguard.world import CogsguardWorld

# Everybody can carry as much as a miner and nobody is exhausted, so nothing is dropped.
RULES = {
    "map": "tutorial",
    "agents": 12,
    "free_moves": True,
    "cargo_limit": 40,
    "start_hp": 100_000,
    "hp_limit": 100_000,
    "gear_price_main": 1,
    "extractor_stock": 30,
    "heart_price": 2,
    "store_elements": 60,
    "influence_limit": 20,
    "clips_seed_at": 1,
    "window_radius": 3,
}
PRICE_OF_GEAR = 1


def stock(world):
    """What is left in the extractors, by element, `[W, 4]`."""
    s = world._arrays
    kind = s.team_view[:, 0] & KIND_MASK
    found = [
        np.where(kind == EXTRACTOR + e, s.cell_detail, 0).sum(axis=1)
        for e in range(HUB - EXTRACTOR)
    ]
    return np.stack(found, axis=1)


@pytest.mark.parametrize("edition", ["F", "A"])
def test_elements_and_hearts_are_accounted_for(edition):
    rules = RULES | {"edition": edition, "temple": True}
    world = CogsguardWorld(validate_settings(Cogsguard, rules), 4)
    world.reset(np.arange(4) + 5)
    s, start = world._arrays, stock(world)
    for _ in range(400):
        world.step(random_actions(world, 3))
    c = world.counters()
    mined = np.stack([c[f"{element}_mined"] for element in ELEMENTS], axis=1)
    assert (start - stock(world) == mined).all()
    carried = s.body[:, :, FIRST_CARGO : FIRST_CARGO + 4].sum(axis=(1, 2))
    assert (mined.sum(axis=1) == carried + c["deposited"]).all()
    paid = 4 * (2 * c["hearts_made"] + PRICE_OF_GEAR * c["gear_changes"])
    assert (s.store[:, 0, :4].sum(axis=1) == 4 * 60 + c["deposited"] - paid).all()
    assert (s.store[:, 0, 4] == 5 - c["hearts_taken"] - c["births_team_0"]).all()
    held = s.body[:, :, HEARTS].sum(axis=1)
    assert (held == c["hearts_taken"] + c["hearts_made"] - c["hearts_spent"]).all()
    assert (c["hearts_spent"] == c["aligned"] + c["scrambled"]).all()
    for name in ("deposited", "hearts_taken", "hearts_made", "gear_changes", "births_team_0"):
        assert c[name].sum() > 0, name
