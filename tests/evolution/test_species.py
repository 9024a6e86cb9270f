"""Crossover, species, novelty and archives of nets of any kind."""

import numpy as np
import pytest

from kinfolk.core.errors import ContractError, SettingsError
from kinfolk.evolution import (
    GeneratorPop,
    MapElitesArchive,
    NoveltyArchive,
    assign_species,
    draw_mates,
    select_in_species,
)
from kinfolk.evolution.speciation import share_offspring
from kinfolk.nets import BaseNets, DynamicNets, FeedforwardStaticNets
from kinfolk.nets.dynamic.graph import FREE, HIDDEN, MAX_SOURCES


def grown(members=12, steps=20, key=3):
    nets = DynamicNets(members, 4, 3, key=key)
    for step in range(steps):
        nets.mutate(step)
    nets.apply_selection(np.zeros(members, dtype=np.int64))  # all descend from one
    for step in range(6):
        nets.mutate(1000 + step)
    return nets


def assert_sound(nets):
    """The invariants of graphs: see tests/nets/test_dynamic.py."""
    g = nets.graph
    for net in range(nets.num_nets):
        kinds, sources = g.kind[net], g.source[net]
        for node in range(nets.capacity):
            edges = [s for s in sources[node].tolist() if s >= 0]
            assert len(edges) <= MAX_SOURCES
            assert len(set(edges)) == len(edges)
            assert node not in edges
            assert all(kinds[s] != FREE for s in edges)
            if kinds[node] == HIDDEN:
                assert edges
                assert (sources == node).any()
            if kinds[node] == FREE:
                assert not edges


@pytest.mark.parametrize("seed", range(4))
def test_children_of_two_dynamic_nets_are_sound_and_mix_their_parents(seed):
    first, second = grown(), grown().select(np.roll(np.arange(12), 1 + seed))
    before = first.select(range(12))
    first.crossover(second, np.arange(12) % 3 > 0, seed)
    assert_sound(first)
    changed = [(first.graph.weight[i] != before.graph.weight[i]).any() for i in range(12)]
    assert not any(changed[::3]), "those that do not cross stay as they are"
    assert sum(changed) > 3
    for net in np.flatnonzero(changed):
        known = set(before.graph.weight[net].ravel()) | set(second.graph.weight[net].ravel())
        assert set(first.graph.weight[net].ravel()) <= known | {0.0}
        own = set(before.graph.innovation[net].tolist())
        assert set(first.graph.innovation[net].tolist()) <= own, "the topology of the first"


def test_a_net_that_crosses_with_itself_stays_the_same():
    nets, same = grown(), grown()
    nets.crossover(same, np.ones(12, dtype=bool), 1)
    for name, array in nets.to_arrays().items():
        assert np.array_equal(array, same.to_arrays()[name]), name


def test_parameters_come_from_either_parent():
    ones, twos = (FeedforwardStaticNets(3, 4, 2, (30,), zero=True) for _ in range(2))
    ones.flat[:], twos.flat[:] = 1.0, 2.0
    ones.crossover(twos, np.array([True, False, True]), 5)
    assert set(np.unique(ones.flat[0])) == {1.0, 2.0}
    assert ones.flat[0].mean() == pytest.approx(1.5, abs=0.1)
    assert (ones.flat[1] == 1.0).all()


def test_relatives_are_nearer_than_strangers():
    nets = DynamicNets(4, 4, 3, key=1)
    for step in range(20):
        nets.mutate(step)
    distance = nets.distances()
    assert np.array_equal(distance, distance.T)
    assert not np.diag(distance).any()
    assert (distance[np.triu_indices(4, 1)] == 1.0).all(), "strangers share no edge"
    nets.apply_selection(np.array([0, 0, 1, 1]))
    nets.mutate(99)
    family = nets.distances()
    assert max(family[0, 1], family[2, 3]) < min(family[0, 2], family[1, 3])
    assert assign_species(family, 0.8).tolist() == [0, 0, 1, 1]


def test_a_distance_is_the_share_of_edges_that_differ():
    """A parent of 3 edges and a child that grew 3 more: 3 of 6 edges are of one only."""
    nets = DynamicNets(3, 4, 3, key=1)
    assert (nets.distances() == 1.0 - np.eye(3)).all(), "new nets have nothing in common"
    nets.apply_selection(np.array([0, 0, 1]))
    nets.graph.growths[:], nets.graph.prunings[:] = 1.0, 0.0
    nets.mutate(5, n_elites=1)
    edges = [edges_of(nets, net) for net in range(3)]
    differing = len(edges[0] ^ edges[1]) / len(edges[0] | edges[1])
    assert 0.0 < differing < 1.0, "the case shows something"
    assert nets.distances()[0, 1] == differing
    assert nets.distances().max() == 1.0


def edges_of(nets, net):
    """The edges of a net, by the innovations of their nodes."""
    g = nets.graph
    return {
        (int(g.innovation[net, node]), int(g.innovation[net, source]))
        for node in range(nets.capacity)
        for source in g.source[net, node].tolist()
        if source >= 0
    }


def test_a_small_species_keeps_its_share():
    species = np.array([0] * 7 + [1])
    fitness = np.array([5.0, 5, 5, 5, 5, 5, 0, 4])
    assert share_offspring(fitness, species, 8).tolist() == [4, 4]
    parents = select_in_species(fitness, species, elites=1)
    assert parents.tolist() == [0, 0, 1, 2, 3, 7, 7, 7]
    assert share_offspring(np.zeros(4), np.array([0, 1, 1, 1]), 5).tolist() == [3, 2]


def test_mates_are_of_the_same_species_and_the_fitter_comes_first():
    fitness, species = np.array([1.0, 2, 3, 4]), np.array([0, 0, 1, 1])
    parents = np.repeat([0, 1, 2, 3], 50)
    first, second = draw_mates(fitness, parents, species, 1.0, key=3)
    crossed = second >= 0
    assert 0.3 < crossed.mean() < 0.7, "the rest drew themselves"
    assert (fitness[first[crossed]] > fitness[second[crossed]]).all()
    assert (species[first[crossed]] == species[second[crossed]]).all()
    assert (draw_mates(fitness, parents, None, 0.0, key=3)[1] == -1).all()


def test_a_child_of_two_has_both_uids():
    pop = GeneratorPop(FeedforwardStaticNets(4, 3, 2, key=1))
    pop.apply_selection([1, 1, 3, 3], n_elites=1, mates=[0, 2, -1, 0], key=7)
    assert pop.parents.tolist() == [-1, 1, 3, 3]
    assert pop.mates.tolist() == [-1, 2, -1, 0]
    with pytest.raises(ContractError) as caught:
        pop.apply_selection([0, 1, 2, 3], mates=[0, 1, 2, 4])
    assert str(caught.value) == (
        "Mates of 4 members are as many indices from -1 to 3, not [0, 1, 2, 4]."
    )


class Constant(BaseNets):
    """Nets of one's own that do as little as possible."""

    num_nets = 3

    def __call__(self, x, memory=None):
        return x, memory

    def apply_selection(self, indices): ...

    def mutate_with(self, key, n_elites): ...

    def to_arrays(self):
        return {}

    def load_arrays(self, arrays): ...


def test_nets_that_cannot_cross_say_so():
    with pytest.raises(SettingsError, match="Constant cannot cross: leave out crossover"):
        Constant(1, 1).crossover(None, np.ones(3, dtype=bool), 0)


# Novelty


def test_novelty_is_the_mean_distance_to_the_nearest():
    archive = NoveltyArchive(1, neighbors=2, added=1)
    behaviors = np.array([[0.0], [1.0], [2.0], [9.0]])
    scale = behaviors.std()
    novelty = archive.score(behaviors)
    assert novelty.tolist() == pytest.approx(np.array([1.5, 1.0, 1.5, 7.5]) / scale)
    archive.add(behaviors, novelty)
    assert archive.behaviors.tolist() == [[9.0]]
    again = archive.score(np.array([[9.0], [0.0], [0.1]]))
    assert again.argmax() != 0, "what is in the archive is no longer new"
    with pytest.raises(ContractError, match=r"shape \[members, 1\]"):
        archive.score(np.zeros((3, 2)))


# Archives


@pytest.mark.parametrize("kind", ["dynamic", "static"])
def test_an_archive_keeps_the_best_net_of_each_cell(kind):
    nets = grown(6) if kind == "dynamic" else FeedforwardStaticNets(6, 4, 3, (5,), key=1)
    archive = MapElitesArchive([4], [(0.0, 4.0)])
    measures = np.array([[0.5], [0.6], [1.5], [3.5], [3.6], [3.7]])
    added = archive.add(nets, np.array([1.0, 2, 3, 6, 5, 4]), measures, np.arange(10, 16))
    assert (added, archive.num_elites, archive.coverage) == (6, 3, 0.75)
    arrays, uid = archive.sample_elites(40, 7, nets)
    assert set(uid.tolist()) == {11, 12, 13}
    x = np.random.default_rng(0).standard_normal((40, 1, 4))
    chosen = nets.select([0] * 40)
    chosen.load_arrays(arrays)
    expected = nets.select(uid - 10)
    assert np.array_equal(chosen(x)[0], expected(x)[0])
    other = MapElitesArchive([4], [(0.0, 4.0)])
    other.load_arrays(archive.to_arrays(nets))
    again, same = other.sample_elites(40, 7, nets)
    assert same.tolist() == uid.tolist()
    for name, array in arrays.items():
        assert np.array_equal(again[name], array)


def test_an_archive_holds_dynamic_nets_of_different_sizes():
    archive = MapElitesArchive([2], [(0.0, 2.0)])
    small, large = grown(1, 2), grown(1, 80)
    archive.add(small, np.array([1.0]), np.array([[0.5]]), np.array([1]))
    archive.add(large, np.array([1.0]), np.array([[1.5]]), np.array([2]))
    arrays, uid = archive.sample_elites(8, 1, small)
    nets = large.select([0] * 8)
    nets.load_arrays(arrays)
    assert set(nets.node_counts[uid == 1]) == {int(small.node_counts[0])}
    assert set(nets.node_counts[uid == 2]) == {int(large.node_counts[0])}
