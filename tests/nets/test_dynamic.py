import json
import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinfolk.core.errors import SettingsError
from kinfolk.core.random import seed_key
from kinfolk.nets.dynamic.graph import FREE, HIDDEN, INPUT, OUTPUT
from kinfolk.nets.dynamic.nets import DynamicNets, nets_from_topologies, topology_to_dict
from kinfolk.nets.registry import load_nets, make_nets, save_nets
from kinfolk.nets.running_stats import RunningStats, merge_running_stats


def grown(members=6, inputs=4, outputs=2, mutations=30, seed=0):
    nets = DynamicNets(members, inputs, outputs, key=seed_key(seed))
    for step in range(mutations):
        nets.mutate(seed_key(1000 * seed + step + 1))
    return nets


class Naive:
    """Reference interpreter of one member, one node at a time."""

    def __init__(self, nets, member):
        text = topology_to_dict(nets, member)
        self.inputs, self.outputs, self.passes = text["inputs"], text["outputs"], text["passes"]
        self.nodes = {node["slot"]: node for node in text["nodes"]}
        self.seen = {slot: np.empty(5000) for slot in self.nodes}
        self.count = dict.fromkeys(self.nodes, 0)
        self.x, self.z = dict.fromkeys(self.nodes, 0.0), dict.fromkeys(self.nodes, 0.0)

    def take_in(self, slot, value):
        if value == 0.0:
            self.z[slot] = 0.0
            return
        if value != self.x[slot]:
            self.seen[slot][self.count[slot]] = value
            self.count[slot] += 1
        self.x[slot] = value
        seen = self.seen[slot][: self.count[slot]]
        self.z[slot] = 0.0
        if len(seen) >= 2:
            self.z[slot] = (value - seen.mean()) / max(seen.std(ddof=1), 1e-8)

    def __call__(self, inputs):
        for slot, value in enumerate(inputs):
            self.take_in(slot, float(value))
        for _ in range(self.passes):
            before = dict(self.z)
            for slot, node in self.nodes.items():
                if node["kind"] != "input":
                    edges = zip(node["weights"], node["sources"], strict=True)
                    self.take_in(slot, sum(weight * before[source] for weight, source in edges))
        return [self.z[self.inputs + o] for o in range(self.outputs)]


def test_it_equals_a_naive_interpreter_over_a_thousand_steps():
    nets = grown(members=2, mutations=25, seed=3)
    nets.graph.passes[:] = [1, 3]
    naive = [Naive(nets, member) for member in range(2)]
    x = np.random.default_rng(0).standard_normal((1000, 2, 1, 4))
    x[::7] = 0.0
    memory, worst = None, 0.0
    for step in x:
        out, memory = nets(step, memory)
        for member in range(2):
            expected = naive[member](step[member, 0])
            worst = max(worst, np.abs(memory.z[member, 0, 4:6] - expected).max())
            assert np.allclose(out[member, 0], expected, atol=1e-4)
    assert 0 < worst < 1e-6


def test_welford_equals_numpy():
    nets = DynamicNets(1, 3, 1, key=seed_key(0))
    values = np.random.default_rng(1).normal(5.0, 2.0, (500, 1, 1, 3))
    memory = None
    for x in values:
        _, memory = nets(x, memory)
    seen = values[:, 0, 0]
    assert memory.n[0, 0, :3].tolist() == [500, 500, 500]
    assert np.allclose(memory.mean[0, 0, :3], seen.mean(axis=0), rtol=1e-12)
    assert np.allclose(memory.m2[0, 0, :3] / 499, seen.var(axis=0, ddof=1), rtol=1e-10)
    last = (seen[-1] - seen.mean(axis=0)) / seen.std(axis=0, ddof=1)
    assert np.allclose(memory.z[0, 0, :3], last, rtol=1e-9)


@pytest.mark.parametrize("copies", [1, 2, 5])
def test_copies_of_running_statistics_merge_to_those_of_all_values(copies):
    random = np.random.default_rng(copies)
    first, parts = random.normal(3, 2, 40), [random.normal(i, 1 + i, 30) for i in range(copies)]

    def of(values):
        return [
            np.array([float(len(values))]),
            np.array([np.mean(values)]),
            np.array([np.var(values) * len(values)]),
        ]

    base = RunningStats(*of(first))
    each = [of(np.concatenate([first, part])) for part in parts]
    together = merge_running_stats(
        base, RunningStats(*(np.stack([stats[i] for stats in each], 1) for i in range(3)))
    )
    expected = of(np.concatenate([first, *parts]))
    assert all(np.allclose(a, b, rtol=1e-10) for a, b in zip(together, expected, strict=True))


def check_graph(nets):
    g = nets.graph
    for member in range(nets.num_nets):
        kinds = g.kind[member]
        assert (kinds[: nets.inputs] == INPUT).all()
        assert (kinds[nets.inputs : nets.inputs + nets.outputs] == OUTPUT).all()
        assert np.isin(kinds[nets.inputs + nets.outputs :], (FREE, HIDDEN)).all()
        assert g.top[member] == np.flatnonzero(kinds != FREE)[-1] + 1
        feeds = set(g.source[member][g.source[member] >= 0].tolist())
        for node in range(nets.capacity):
            sources = g.source[member, node]
            edges = int((sources >= 0).sum())
            assert (sources[edges:] == -1).all(), "sources have no gaps"
            assert len(set(sources[:edges].tolist())) == edges, "no edge is there twice"
            assert node not in sources[:edges], "nobody is its own source"
            assert all(kinds[s] != FREE for s in sources[:edges])
            assert (g.weight[member, node, :edges] != 0).all()
            assert not g.weight[member, node, edges:].any()
            if kinds[node] in (INPUT, FREE):
                assert edges == 0
            if kinds[node] == HIDDEN:
                assert edges >= 1
                assert node in feeds
    assert (g.passes >= 1).all()
    assert ((g.locality >= 0) & (g.locality <= 1)).all()


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    inputs=st.integers(1, 6),
    outputs=st.integers(1, 4),
    mutations=st.integers(0, 50),
    growths=st.sampled_from([0.0, 0.5, 1.0, 3.5]),
    prunings=st.sampled_from([0.0, 0.5, 2.0]),
)
def test_invariants_hold_under_random_mutations(
    seed, inputs, outputs, mutations, growths, prunings
):
    # 40 examples of 10 members and 25 mutations on average: ten thousand mutations.
    nets = DynamicNets(10, inputs, outputs, key=seed_key(seed))
    nets.graph.growths[:], nets.graph.prunings[:] = growths, prunings
    for step in range(mutations):
        weights = nets.graph.weight.copy()
        kept = nets.graph.source.copy()
        nets.mutate(seed_key(seed + step + 1))
        same = (nets.graph.source[:, : kept.shape[1]] == kept) & (kept >= 0)
        renewed = np.take_along_axis(nets.graph.fresh, np.maximum(kept, 0).reshape(10, -1), 1)
        same &= ~renewed.reshape(kept.shape)  # another node in the same slot
        same &= ~nets.graph.fresh[:, : kept.shape[1], None]
        stayed = np.cumprod(same, axis=2).astype(bool)  # an earlier edge that left moves the rest
        assert np.array_equal(nets.graph.weight[:, : kept.shape[1]][stayed], weights[stayed]), (
            "weights are frozen"
        )
        if step % 5 == 0:
            check_graph(nets)
    check_graph(nets)
    out, _ = nets(np.ones((10, 2, inputs)))
    assert np.isfinite(out).all()


def test_first_growths_connect_idle_inputs_and_outputs():
    nets = DynamicNets(200, 4, 2, zero=True)
    nets.graph.prunings[:] = 0
    nets.mutate(seed_key(1))
    nets.mutate(seed_key(2))
    g = nets.graph
    hidden = (g.kind == HIDDEN).sum(axis=1)
    two = np.flatnonzero(hidden == 2)
    assert len(two) > 150
    for member in two:
        sources = g.source[member, 6:8]
        assert sorted(sources[sources >= 0].tolist()) == [0, 1, 2, 3]
        assert (g.source[member, 4:6, 0] >= 0).all()
        assert (g.source[member, 4:6, 1:] < 0).all()


def test_a_chain_of_growths_goes_on_from_the_node_just_grown():
    nets = DynamicNets(100, 3, 2, zero=True)
    nets.graph.prunings[:], nets.graph.growths[:] = 0, 3.0
    nets.mutate(seed_key(5))
    for member in range(100):
        hidden = np.flatnonzero(nets.graph.kind[member] == HIDDEN)
        for before, after in pairwise(hidden):
            assert nets.graph.source[member, after, 0] == before


def test_locality_one_stays_near_and_zero_goes_anywhere():
    def share_near(locality):
        near = 0
        nets = grown(members=300, mutations=12, seed=1)
        nets.graph.growths[:], nets.graph.prunings[:] = 1.0, 0.0
        nets.graph.locality[:] = locality
        linked = [edges(nets, member) for member in range(300)]
        count = 0
        nets.mutate(seed_key(77))
        for member in range(300):
            for node in np.flatnonzero(
                nets.graph.fresh[member] & (nets.graph.kind[member] == HIDDEN)
            ):
                first, second = nets.graph.source[member, node, :2].tolist()
                near += (first, second) in linked[member] or (second, first) in linked[member]
                count += 1
        assert count > 200
        return near / count

    assert share_near(1.0) > 0.6 > 0.35 > share_near(0.0)


def edges(nets, member):
    source = nets.graph.source[member]
    return {(int(s), node) for node in range(nets.capacity) for s in source[node] if s >= 0}


def test_pruning_removes_disconnected_hidden_nodes_and_keeps_outputs():
    nets = DynamicNets(1, 1, 1, zero=True)
    g = nets.graph
    # input 0 -> hidden 2 -> hidden 3 -> output 1: without one, the other goes too
    g.kind[0, 2:4], g.top[0] = HIDDEN, 4
    g.source[0, 2, 0], g.source[0, 3, 0], g.source[0, 1, 0] = 0, 2, 3
    g.weight[0, 2, 0] = g.weight[0, 3, 0] = g.weight[0, 1, 0] = 1.0
    g.prunings[:], g.growths[:] = 1.0, 0.0
    g.prunings[:] = 1.9999
    nets.mutate(seed_key(3))
    assert nets.node_counts.tolist() == [2]
    assert (nets.graph.source == -1).all()
    assert nets.graph.fresh[0, 2:4].tolist() == [True, True]


def test_scalars_mutate_with_the_documented_rates():
    nets = DynamicNets(4000, 2, 1, zero=True)
    nets.graph.passes[:] = 3
    nets.mutate(seed_key(11))
    g = nets.graph
    assert (g.growths - 1.0).std() == pytest.approx(0.01, rel=0.05)
    assert (g.prunings / 0.5 - 1.0).std() == pytest.approx(0.01, rel=0.05)
    assert (g.locality - 0.5).std() == pytest.approx(0.01, rel=0.05)
    assert (g.passes == 2).mean() == pytest.approx(0.01, abs=0.006)
    assert (g.passes == 4).mean() == pytest.approx(0.01, abs=0.006)
    lone = DynamicNets(4000, 2, 1, key=seed_key(11))
    assert lone.graph.passes.min() == 1


def test_each_net_runs_its_own_number_of_passes():
    nets = grown(members=2, mutations=10)
    nets.apply_selection(np.array([0, 0]))
    nets.graph.passes[:] = [1, 4]
    x = np.random.default_rng(0).standard_normal((60, 2, 1, 4))
    memory = None
    for step in x:
        _, memory = nets(np.broadcast_to(step[:1], (2, 1, 4)), memory)
    moving = nets.graph.top[0] > 6 and memory.n[0, 0, 4:6].max() > 0
    assert moving
    assert memory.n[1, 0].max() > 2 * memory.n[0, 0].max()


def test_batched_equals_single_and_every_row_has_its_own_statistics():
    nets = grown(members=3, mutations=20, seed=5)
    x = np.random.default_rng(2).standard_normal((50, 3, 4, 4))
    memory, single = None, [None] * 4
    for step in x:
        out, memory = nets(step, memory)
        for row in range(4):
            out_row, single[row] = nets(step[:, row : row + 1], single[row])
            assert np.array_equal(out_row[:, 0], out[:, row])
    assert np.array_equal(memory.mean[:, 1], single[1].mean[:, 0])
    assert not np.array_equal(memory.mean[:, 0], memory.mean[:, 1])


def test_a_call_changes_neither_its_memory_nor_the_nets():
    nets = grown(members=3, mutations=8)
    _, memory = nets(np.ones((3, 1, 4)))
    before = [part.copy() for part in memory]
    nets(np.full((3, 1, 4), 2.0), memory)
    assert all(np.array_equal(a, b) for a, b in zip(memory, before, strict=True))
    assert not nets.graph.n.any()


def test_reset_clears_memory_and_keeps_running_statistics():
    nets = grown(members=2, mutations=8)
    memory = None
    for step in range(5):
        _, memory = nets(np.full((2, 2, 4), float(step + 1)), memory)
    done = np.array([[True, False], [False, False]])
    after = nets.reset(memory, done)
    assert not after.z[0, 0].any()
    assert not after.x[0, 0].any()
    assert np.array_equal(after.z[1], memory.z[1])
    assert np.array_equal(after.n, memory.n)


def test_memory_fits_after_a_mutation():
    nets = grown(members=40, mutations=10, seed=2)
    memory = None
    for step in range(6):
        x = np.random.default_rng(step).standard_normal((40, 1, 4))
        _, memory = nets(x, memory)
    nets.merge_copies([memory])
    nets.mutate(seed_key(99))
    after = nets.adapt_memory(memory)
    assert after.z.shape == (40, 1, nets.capacity)
    fresh = nets.graph.fresh[:, None]
    assert nets.graph.fresh.any()
    assert not after.z[fresh].any()
    kept = ~fresh[:, :, : memory.z.shape[2]]
    assert np.array_equal(after.z[:, :, : memory.z.shape[2]][kept], memory.z[kept])
    assert np.array_equal(after.n[:, 0], nets.graph.n)


def test_clone_save_load_clone_is_identical(tmp_path):
    nets = grown(members=5, mutations=30, seed=8)
    _, memory = nets(np.ones((5, 1, 4)))
    nets.merge_copies([memory])
    nets.apply_selection(np.array([4, 4, 0, 2, 1]))
    save_nets(tmp_path / "nets.safetensors", nets)
    loaded = load_nets(tmp_path / "nets.safetensors")
    loaded.apply_selection(np.arange(5))
    text = json.loads(json.dumps([topology_to_dict(nets, member) for member in range(5)]))
    rebuilt = nets_from_topologies(text)
    for name, array in nets.to_arrays().items():
        assert np.array_equal(loaded.to_arrays()[name], array), name
    assert [topology_to_dict(rebuilt, member) for member in range(5)] == text
    x = np.random.default_rng(0).standard_normal((5, 2, 4))
    for other in (loaded, rebuilt):
        assert np.array_equal(other(x)[0], nets(x)[0])


@pytest.mark.parametrize("kind", ["feedforward", "recurrent"])
def test_static_nets_round_trip(tmp_path, kind):
    nets = make_nets(kind, 4, 3, 2, (5,), key=seed_key(1), sigma=0.02, self_adaptive=True)
    nets.mutate(seed_key(2))
    save_nets(tmp_path / "nets.safetensors", nets)
    loaded = load_nets(tmp_path / "nets.safetensors")
    assert np.array_equal(loaded.flat, nets.flat)
    assert np.array_equal(loaded.sigmas, nets.sigmas)
    assert loaded.config() == nets.config()


def test_parameters_are_refused_with_an_error_message():
    with pytest.raises(SettingsError) as caught:
        DynamicNets(2, 3, 1).get_params()
    assert str(caught.value) == (
        "Dynamic nets have no fixed set of parameters, which evolution strategies need. "
        "Use the algorithm ga, or feedforward or recurrent nets."
    )


def test_a_single_input_works():
    nets = grown(members=20, inputs=1, outputs=1, mutations=30)
    check_graph(nets)
    memory = None
    for step in range(20):
        out, memory = nets(np.full((20, 1, 1), math.sin(step)), memory)
    assert np.isfinite(out).all()
    assert np.abs(out).max() > 0
