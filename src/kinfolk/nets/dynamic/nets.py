"""Populations of nets whose topology evolves: growth, pruning, running standardisation.

The topology can be converted to JSON values and back without loss of a bit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Bools, Floats, Ints, is_tensor
from kinfolk.core.errors import SettingsError, require
from kinfolk.core.random import fold_in
from kinfolk.nets.base import BaseNets
from kinfolk.nets.dynamic import graph as graphs
from kinfolk.nets.dynamic.crossover import cross_graphs
from kinfolk.nets.dynamic.forward import NodeState, run_passes
from kinfolk.nets.dynamic.graph import FREE, MAX_SOURCES, GraphArrays
from kinfolk.nets.dynamic.mutation import mutate_graphs
from kinfolk.nets.forward import check_net_sizes
from kinfolk.nets.memory import clear_rows
from kinfolk.nets.numerics import draw_seed
from kinfolk.nets.running_stats import RunningStats, merge_running_stats


class DynamicNets(BaseNets):
    """A population of nets, each with its own nodes, edges and evolvable scalars.

    A new population is mutated once, which gives it the first edges.

    Args:
        num_nets: Number of members.
        inputs: Number of inputs.
        outputs: Number of outputs.
        key: Random key of the first mutation, and of mutations without one; None draws one from the
            operating system. It can be read as `seed`, which is None for nets that were not mutated.
        zero: Whether the nets are left without edges instead.
    """

    kind = "dynamic"

    def __init__(
        self, num_nets: int, inputs: int, outputs: int, key: int | None = None, zero: bool = False
    ) -> None:
        check_net_sizes(num_nets, inputs, outputs)
        seed = draw_seed() if key is None and not zero else key
        super().__init__(inputs, outputs, seed)
        self.graph: GraphArrays = graphs.empty_graph(num_nets, inputs, outputs)
        if not zero:
            self.seed = seed
            self.mutate(seed)

    def __repr__(self) -> str:
        low, high = int(self.node_counts.min()), int(self.node_counts.max())
        sizes = f"num_nets={self.num_nets}, inputs={self.inputs}, outputs={self.outputs}"
        return f"DynamicNets({sizes}; {low} to {high} nodes)"

    @property
    def num_nets(self) -> int:
        """Number of members of the population."""
        return len(self.graph.top)

    @property
    def capacity(self) -> int:
        """Number of slots for nodes that each member has."""
        return int(self.graph.kind.shape[1])

    @property
    def node_counts(self) -> Ints:
        """Number of nodes of each member, `[nets]`."""
        counts: Ints = (self.graph.kind != FREE).sum(axis=1)
        return counts

    @property
    def running_stats(self) -> RunningStats:
        """Running statistics of all members, `[nets, capacity]` each."""
        return RunningStats(self.graph.n, self.graph.mean, self.graph.m2)

    def apply_selection(self, indices: Ints) -> None:
        """Replace member `i` by a copy of the member `indices[i]`, running statistics included."""
        self.graph = GraphArrays._make(array[indices] for array in self.graph)

    def mutate_with(self, key: int, n_elites: int) -> None:
        """Mutate scalars, prune and grow nodes of all but the first `n_elites` members."""
        max_growths = int(np.ceil(self.graph.growths.max() * 1.1)) + 1
        needed = int(self.graph.top.max()) + max_growths
        if needed > self.capacity:
            self.graph = graphs.with_capacity(self.graph, needed + graphs.CAPACITY_STEP)
        keys: Ints = fold_in(key, np.arange(self.num_nets, dtype=np.int64))
        mutate_graphs(self.graph, keys, n_elites, graphs.allocate_scratch(self.capacity))

    def initial_memory(self, batch: int) -> NodeState:
        """Return zero memory, and a copy of each member's running statistics for every row."""
        zeros = np.zeros((self.num_nets, batch, self.capacity))
        copies = (np.repeat(part[:, None], batch, 1) for part in self.running_stats)
        return NodeState(zeros, zeros.copy(), *copies)

    def __call__(self, x: Any, mem: NodeState | None = None) -> tuple[Any, NodeState]:
        """Return outputs `[nets, batch, outputs]` for inputs `[nets, batch, inputs]`, and new state.

        Tensors return tensors, and arrays return arrays; `mem` may be of either.

        Raises:
            SettingsError: `x` is not `[nets, batch, inputs]`, or the memory does not fit it.
        """
        self.check_inputs(x)
        inputs = np.asarray(x, dtype=np.float64)
        nets, batch = inputs.shape[:2]
        before = self.check_memory(mem, batch)
        after = NodeState(*(np.asarray(part).copy().reshape(nets * batch, -1) for part in before))
        rows = np.arange(nets * batch, dtype=np.int64)
        out = self.run_rows(rows // batch, rows, inputs.reshape(nets * batch, -1), after, True)
        shaped = NodeState(*(part.reshape(nets, batch, -1) for part in after))
        result = out.reshape(nets, batch, self.outputs)
        if not is_tensor(x):
            return result, shaped
        import torch

        tensors: Any = map(torch.from_numpy, shaped)
        return torch.from_numpy(result), NodeState(*tensors)

    def run_rows(
        self, member: Ints, stats_row: Ints, x: AnyArray, state: NodeState, update_stats: bool
    ) -> AnyArray:
        """Run every row through the net of its member.

        Args:
            member: `[n]`, which net each row goes through.
            stats_row: `[n]`, which row of the running statistics each row uses.
            x: `[n, inputs]`, float64.
            state: `[n, capacity]`, changed.
            update_stats: Whether the running statistics are updated.

        Returns:
            `[n, outputs]`, float32.
        """
        sums = np.empty(self.capacity)
        run_passes(self.graph, member, stats_row, x, state, update_stats, sums)
        return state.z[:, self.inputs : self.inputs + self.outputs].astype(np.float32)

    def reset(self, memory: NodeState, done: Bools | None = None) -> NodeState:
        """Return memory with the rows of `done`, `[nets, batch]`, or all set to zero; statistics stay."""
        return memory._replace(x=clear_rows(memory.x, done), z=clear_rows(memory.z, done))

    def merge_copies(self, memories: Sequence[NodeState]) -> list[NodeState]:
        """Merge the running statistics of all rows into the members', memory by memory, row by row.

        Returns:
            The memories with the merged statistics in every row: merging them again adds nothing.
        """
        if not memories:
            return []
        parts = zip(*((m.n, m.mean, m.m2) for m in memories), strict=True)
        copies = RunningStats(*(np.concatenate(part, axis=1) for part in parts))
        self.set_running_stats(merge_running_stats(self.running_stats, copies))
        return [self.initial_memory(m.z.shape[1])._replace(x=m.x, z=m.z) for m in memories]

    def set_running_stats(self, stats: RunningStats) -> None:
        """Replace the running statistics of all members, `[nets, capacity]` each."""
        self.graph = self.graph._replace(**stats._asdict())

    def crossover(self, mates: Any, crossed: Bools, key: int) -> None:
        """Let members take the wiring of nodes that they share with their mates; see NEAT.

        Args:
            mates: A population of the same size; member `i` crosses with its member `i`.
            crossed: `[nets]`, which members cross; they should be the fitter of each pair.
            key: Random key.
        """
        capacity = max(self.capacity, mates.capacity)
        self.graph = graphs.with_capacity(self.graph, capacity)
        other = graphs.with_capacity(mates.graph, capacity)
        keys: Ints = fold_in(key, np.arange(self.num_nets, dtype=np.int64))
        scratch = graphs.allocate_scratch(capacity)
        cross_graphs(self.graph, other, np.asarray(crossed), keys, self.inputs, scratch)

    def distances(self) -> Floats:
        """Return the share of edges in which any two members differ, `[nets, nets]`, from 0 to 1.

        It is the Jaccard distance: of the edges that either has, the share that only one has. Edges
        match if both of their nodes do, by descent, so nets of different founders have a distance of
        1. Weights of matching edges are frozen and do not count.
        """
        g = self.graph
        net, node, edge = np.nonzero(g.source >= 0)
        target, source = g.innovation[net, node], g.innovation[net, g.source[net, node, edge]]
        genes, column = np.unique(fold_in(target, source), return_inverse=True)
        has_gene = np.zeros((self.num_nets, max(len(genes), 1)))
        has_gene[net, column] = 1.0
        counts, shared = has_gene.sum(axis=1), has_gene @ has_gene.T
        either = counts[:, None] + counts - shared
        shares: Floats = (either - shared) / np.maximum(either, 1.0)
        return shares

    def get_params(self) -> AnyArray:
        """Raise SettingsError: dynamic nets differ in their weights, also in number."""
        raise SettingsError(
            "Dynamic nets have no fixed set of parameters, which evolution strategies "
            "need. Use the algorithm ga, or feedforward or recurrent nets."
        )

    def set_params(self, params: Any) -> None:
        """Raise SettingsError: dynamic nets differ in their weights, also in number."""
        del params
        self.get_params()

    def adapt_memory(self, memory: NodeState) -> NodeState:
        """Return a memory from before the last mutation in the shape of the current nodes.

        New nodes have zero memory; running statistics start from those of the members.
        """
        missing = self.capacity - memory.z.shape[2]
        fresh = self.graph.fresh[:, None]
        parts = [np.asarray(part) for part in memory[:2]]
        x, z = (np.where(fresh, 0.0, graphs.pad_slots(part, 2, missing)) for part in parts)
        return self.initial_memory(memory.z.shape[1])._replace(x=x, z=z)

    def to_arrays(self) -> dict[str, AnyArray]:
        """Return everything that members carry, with the member as first axis."""
        return dict(self.graph._asdict())

    def load_arrays(self, arrays: Arrays) -> None:
        """Replace the population by what `to_arrays` returned."""
        known = {"innovation": np.zeros_like(arrays["kind"])} | dict(arrays)  # not in older files
        self.graph = GraphArrays(**{name: known[name].copy() for name in GraphArrays._fields})

    @staticmethod
    def stack_members(members: Sequence[Arrays]) -> dict[str, AnyArray]:
        """Return the arrays of a population of these members, each in the largest capacity."""
        fields = GraphArrays._fields
        parts = [GraphArrays(**{name: member[name] for name in fields}) for member in members]
        capacity = max(part.kind.shape[1] for part in parts)
        padded = [graphs.with_capacity(part, capacity) for part in parts]
        return dict(zip(fields, map(np.concatenate, zip(*padded, strict=True)), strict=True))

    @classmethod
    def from_arrays(cls, config: Mapping[str, Any], arrays: Arrays) -> DynamicNets:
        """Return the nets that `config()` and `to_arrays()` describe.

        Raises:
            SettingsError: The arrays do not have the sizes that `config` names.
        """
        n_fixed, capacity = config["inputs"] + config["outputs"], arrays["kind"].shape[1]
        require(n_fixed <= capacity, f"{n_fixed} inputs and outputs do not fit {capacity} nodes.")
        nets = cls(len(arrays["top"]), config["inputs"], config["outputs"], zero=True)
        nets.load_arrays(arrays)
        return nets


_KIND_NAMES = {graphs.INPUT: "input", graphs.OUTPUT: "output", graphs.HIDDEN: "hidden"}
_KINDS = {name: kind for kind, name in _KIND_NAMES.items()}
_SCALARS = ("growths", "prunings", "passes", "locality")


def topology_to_dict(nets: DynamicNets, member: int) -> dict[str, Any]:
    """Return a member's scalars, and its nodes with their edges and running statistics."""
    g = nets.graph
    nodes = []
    for slot in np.flatnonzero(g.kind[member] != FREE).tolist():
        edges = int((g.source[member, slot] >= 0).sum())
        node = {"slot": slot, "kind": _KIND_NAMES[int(g.kind[member, slot])]}
        node["sources"] = g.source[member, slot, :edges].tolist()
        node["weights"] = g.weight[member, slot, :edges].tolist()
        node["running_stats"] = [float(part[member, slot]) for part in nets.running_stats]
        node["innovation"] = int(g.innovation[member, slot])
        nodes.append(node)
    scalars = {name: getattr(g, name)[member].item() for name in _SCALARS}
    return {"inputs": nets.inputs, "outputs": nets.outputs, **scalars, "nodes": nodes}


def nets_from_topologies(members: Sequence[Mapping[str, Any]]) -> DynamicNets:
    """Return the population of members that `topology_to_dict` described.

    Raises:
        SettingsError: There are no members, they differ in inputs or outputs, or a node has too
            many sources.
    """
    shapes = {(topology["inputs"], topology["outputs"]) for topology in members}
    different = sorted(shapes)
    message = f"Members of a population must have the same inputs and outputs, not {different}."
    require(len(shapes) == 1, message)
    nets = DynamicNets(len(members), *shapes.pop(), zero=True)
    capacity = max(node["slot"] for topology in members for node in topology["nodes"]) + 1
    nets.graph = g = graphs.with_capacity(nets.graph, capacity)
    for member, topology in enumerate(members):
        for name in _SCALARS:
            getattr(g, name)[member] = topology[name]
        g.top[member] = topology["nodes"][-1]["slot"] + 1
        for node in topology["nodes"]:
            slot, edges = node["slot"], len(node["sources"])
            message = f"Node {slot} has {edges} sources; at most {MAX_SOURCES} are allowed."
            require(edges <= MAX_SOURCES, message)
            g.kind[member, slot] = _KINDS[node["kind"]]
            g.source[member, slot, :edges] = node["sources"]
            g.weight[member, slot, :edges] = node["weights"]
            g.n[member, slot], g.mean[member, slot], g.m2[member, slot] = node["running_stats"]
            g.innovation[member, slot] = node.get("innovation", slot)
    return nets
