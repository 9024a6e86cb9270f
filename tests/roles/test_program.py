from collections import Counter

import numpy as np
import pytest

from kinfolk.core.errors import SettingsError, UnknownNameError
from kinfolk.core.random import fold_in, seed_key
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.model import RoleDef, RoleTier, TierSelection
from kinfolk.roles.program import (
    materialize_role_behaviors,
    resolve_tier_order,
    role_tables,
    write_programs,
)


def idle(*_):
    return False


@pytest.fixture
def catalog():
    made = RoleCatalog()
    for i in range(13):
        made.add_behavior(
            name=f"deed_{i}", source="miner", can_start=idle, act=idle, should_terminate=idle
        )
    return made


MIXED = RoleDef(
    (
        RoleTier((3, 1)),
        RoleTier((0, 2, 4), selection=TierSelection.SHUFFLE),
        RoleTier((5, 6, 7), (1.0, 1.0, 8.0), TierSelection.WEIGHTED),
    )
)


def test_tiers_keep_their_order_and_their_behaviors(catalog):
    for seed in range(50):
        names = [b.name for b in materialize_role_behaviors(catalog, MIXED, seed_key(seed))]
        assert names[:2] == ["deed_3", "deed_1"]
        assert sorted(names[2:5]) == ["deed_0", "deed_2", "deed_4"]
        assert sorted(names[5:]) == ["deed_5", "deed_6", "deed_7"]


def test_a_shuffled_tier_takes_each_of_its_orders_equally_often():
    tier = RoleTier((0, 1, 2), selection=TierSelection.SHUFFLE)
    counts = Counter(resolve_tier_order(tier, seed_key(seed)) for seed in range(3000))
    assert len(counts) == 6
    assert all(420 <= n <= 580 for n in counts.values())  # 500 expected, four deviations


def test_a_weighted_tier_starts_with_each_behavior_in_proportion_to_its_weight():
    tier = RoleTier((0, 1, 2), (1.0, 1.0, 8.0), TierSelection.WEIGHTED)
    first = Counter(resolve_tier_order(tier, seed_key(seed))[0] for seed in range(2000))
    assert 1520 <= first[2] <= 1680  # 80 %


def test_a_tier_of_a_role_runs_in_the_order_of_the_key_folded_by_its_number(catalog):
    for seed in range(20):
        whole = [b.id for b in materialize_role_behaviors(catalog, MIXED, seed_key(seed))]
        parts = [
            resolve_tier_order(t, fold_in(seed_key(seed), i)) for i, t in enumerate(MIXED.tiers)
        ]
        assert whole == [i for part in parts for i in part]


def test_the_kernel_writes_the_same_programs_as_the_function_for_one_role(catalog):
    long = RoleDef((RoleTier(range(12), selection=TierSelection.SHUFFLE),))
    roles = np.arange(40) % 2
    keys = np.array([seed_key(i) for i in range(40)])
    out = np.full((40, 12), 99, dtype=np.int16)
    write_programs(role_tables([MIXED, long]), roles, keys, out)
    for i in range(40):
        single = materialize_role_behaviors(catalog, (MIXED, long)[i % 2], int(keys[i]))
        assert out[i].tolist() == [b.id for b in single] + [-1] * (12 - len(single))


def test_the_catalog_assigns_unique_ids_and_names(catalog):
    one = catalog.add_role(RoleDef((RoleTier((5, 2)),)))
    other = catalog.add_role(RoleDef((RoleTier((5,)),)))
    assert (one.id, one.name) == (0, "Deed_5-1")
    assert (other.id, other.name) == (1, "Deed_5-2")
    assert (catalog.next_role_id, catalog.next_name_id) == (2, 3)
    assert catalog.role("Deed_5-2") is other


def test_a_copy_of_a_catalog_is_independent_of_it(catalog):
    kept = catalog.copy()
    catalog.add_role(MIXED)
    assert (len(kept.roles), kept.next_name_id) == (0, 1)


def test_invalid_roles_raise_errors(catalog):
    with pytest.raises(UnknownNameError, match=r"^No behavior is named 'deed_x'\. Did you mean"):
        catalog.behavior_id("deed_x")
    with pytest.raises(SettingsError, match=r"^A role contains behavior 13; the catalog has 13\.$"):
        catalog.add_role(RoleDef((RoleTier((13,)),)))
    with pytest.raises(SettingsError, match="at most 12 behaviors, not 13"):
        RoleDef((RoleTier(range(13)),))
    with pytest.raises(SettingsError, match="at least one behavior"):
        RoleTier(())
    with pytest.raises(SettingsError, match="as many weights, not 1"):
        RoleTier((1, 2), (1.0,))
    with pytest.raises(SettingsError, match="already"):
        catalog.add_behavior(
            name="deed_1", source="miner", can_start=idle, act=idle, should_terminate=idle
        )
