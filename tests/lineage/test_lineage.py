"""Lineages: kernels against brute force, metrics and exports against hand-made numbers."""

import csv
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinfolk.core.errors import ContractError
from kinfolk.lineage.family import (
    Family,
    FamilyMember,
    depths,
    lineage_survival,
    live_descendants,
    max_depth,
    mean_depth,
    relatedness,
    surviving_founders,
    to_csv,
    to_newick,
)
from kinfolk.lineage.kernels import (
    compute_lineage_reward,
    record_birth,
    record_death,
    update_descendant_change,
)


class Lineage:
    """The arrays of one world."""

    def __init__(self, max_uids=64):
        self.parent = np.full((1, max_uids), -1, dtype=np.int64)
        self.living = np.zeros((1, max_uids), dtype=np.bool_)
        self.live = np.zeros((1, max_uids), dtype=np.int64)
        self.prev = np.zeros((1, max_uids), dtype=np.int64)
        self.n_uids = 0

    def birth(self, parent=-1):
        record_birth(self.parent, self.living, self.live, self.prev, 0, self.n_uids, parent)
        self.n_uids += 1
        return self.n_uids - 1

    def death(self, uid):
        record_death(self.parent, self.living, self.live, 0, uid)

    def change(self, uid):
        return update_descendant_change(self.live, self.prev, 0, uid)


def small_family():
    #  0 founder, died 9; 1 founder, died 3; 2 child of 0; 3 child of 2, died 8; 4 child of 2
    return Family.from_members(
        [
            FamilyMember(0, (), "prey", 0, 9, "eaten"),
            FamilyMember(1, (), "prey", 0, 3, "starved"),
            FamilyMember(2, (0,), "prey", 2),
            FamilyMember(3, (2,), "prey", 4, 8, "max_age"),
            FamilyMember(4, (2,), "prey", 6),
        ]
    )


def test_a_birth_counts_for_every_ancestor_and_a_death_is_subtracted():
    tree = Lineage()
    founder = tree.birth()
    child = tree.birth(founder)
    grandchild = tree.birth(child)
    assert tree.live[0, :3].tolist() == [2, 1, 0]
    tree.death(child)
    assert tree.live[0, :3].tolist() == [1, 1, 0]
    tree.death(child)  # a second death changes nothing
    tree.death(grandchild)
    assert tree.live[0, :3].tolist() == [0, 0, 0]


def test_a_change_in_descendants_is_returned_once():
    tree = Lineage()
    founder = tree.birth()
    tree.birth(founder)
    tree.birth(founder)
    assert [tree.change(founder), tree.change(founder)] == [2, 0]
    tree.death(1)
    assert tree.change(founder) == -1


def test_lost_descendants_are_penalised_only_where_the_reward_is_symmetric():
    assert compute_lineage_reward(0.35, 2, False) == 0.7
    assert compute_lineage_reward(0.35, -1, False) == 0.0
    assert compute_lineage_reward(0.35, -1, True) == -0.35


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 10**6)), max_size=60))
@settings(max_examples=60, deadline=None)
def test_live_descendants_equal_a_count_by_brute_force(history):
    tree = Lineage()
    members = {tree.birth(): [(), None] for _ in range(3)}
    for is_birth, number in history:
        uid = number % tree.n_uids
        if is_birth:
            members[tree.birth(uid)] = [(uid,), None]
        else:
            tree.death(uid)
            members[uid][1] = 0
    family = Family.from_members(
        FamilyMember(u, p, "x", 0, died) for u, (p, died) in members.items()
    )
    expected = live_descendants(family)
    assert tree.live[0, : tree.n_uids].tolist() == [expected[u] for u in range(tree.n_uids)]
    by_walk = dict.fromkeys(members, 0)
    for parents, died in members.values():
        while parents and died is None:
            by_walk[parents[0]] += 1
            parents = members[parents[0]][0]
    assert expected == by_walk


def test_metrics_of_a_small_family():
    family = small_family()
    assert depths(family) == {0: 0, 1: 0, 2: 1, 3: 2, 4: 2}
    assert live_descendants(family) == {0: 2, 1: 0, 2: 1, 3: 0, 4: 0}
    assert surviving_founders(family) == [0]
    assert lineage_survival(family) == 0.5
    assert mean_depth(family) == 1.5
    assert max_depth(family) == 2
    assert lineage_survival(Family.from_members([])) == 0.0


def test_relatedness_is_a_half_for_siblings_and_children_of_two_parents():
    pair = [FamilyMember(0, (), "x", 0), FamilyMember(1, (), "x", 0)]
    family = Family.from_members(
        [*pair, FamilyMember(2, (0, 1), "x", 1), FamilyMember(3, (0, 1), "x", 1)]
    )
    assert relatedness(family, 0, 2) == 0.5
    assert relatedness(family, 2, 3) == 0.5
    assert relatedness(family, 0, 1) == 0.0
    assert relatedness(small_family(), 0, 4) == 1.0


def test_a_descendant_by_two_paths_counts_once():
    pair = [
        FamilyMember(0, (), "x", 0),
        FamilyMember(1, (0,), "x", 0),
        FamilyMember(2, (0,), "x", 0),
    ]
    family = Family.from_members([*pair, FamilyMember(3, (1, 2), "x", 1)])
    assert live_descendants(family) == {0: 3, 1: 1, 2: 1, 3: 0}


def test_the_csv_follows_the_alife_standard():
    rows = list(csv.DictReader(io.StringIO(to_csv(small_family()))))
    assert [row["id"] for row in rows] == ["0", "1", "2", "3", "4"]
    assert [row["ancestor_list"] for row in rows] == ["[NONE]", "[NONE]", "[0]", "[2]", "[2]"]
    assert [row["destruction_time"] for row in rows] == ["9", "3", "inf", "8", "inf"]
    assert rows[3]["cause"] == "max_age"


def test_newick_has_a_tree_per_founder():
    assert to_newick(small_family(), end_time=10).splitlines() == [
        "((prey_3:6,prey_4:8,prey_2_end:8)prey_2:2,prey_0_end:9)prey_0;",
        "prey_1;",
    ]


def test_a_deep_tree_needs_no_recursion():
    line = Family.from_members(FamilyMember(u, (u - 1,) if u else (), "x", u) for u in range(5000))
    assert to_newick(line, end_time=5000).count("(") == 4999
    assert max_depth(line) == 4999


def test_newick_raises_an_error_for_two_parents():
    family = Family.from_members(
        [FamilyMember(0, (), "x", 0), FamilyMember(1, (), "x", 0), FamilyMember(2, (0, 1), "x", 1)]
    )
    with pytest.raises(ContractError, match="Member 2 has two parents"):
        to_newick(family, end_time=3)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([FamilyMember(0, (), "x", 0), FamilyMember(0, (), "x", 0)], "Two members have the uid 0"),
        ([FamilyMember(0, (7,), "x", 0)], "has the parent 7"),
    ],
)
def test_an_impossible_family_raises_an_error(members, message):
    with pytest.raises(ContractError, match=message):
        Family.from_members(members)
