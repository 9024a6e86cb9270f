"""Nets whose topology grows and shrinks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Bools, Ints, is_tensor
from kinfolk.core.errors import SettingsError, require
from kinfolk.core.random import fold_in
from kinfolk.nets.dynamic.forward import NodeState, run_passes
from kinfolk.nets.dynamic.graph import (
    CAPACITY_STEP,
    FREE,
    RUNNING_STATS_FIELDS,
    GraphArrays,
    empty_graph,
    pad_slots,
    with_capacity,
)
from kinfolk.nets.dynamic.mutation import allocate_scratch, mutate_graphs
from kinfolk.nets.gaussian import draw_seed
from kinfolk.nets.running_stats import RunningStats, merge_running_stats

_NO_PARAMETERS = (
    "Dynamic nets have no fixed set of parameters, which evolution strategies need. "
    "Use the algorithm ga, or feedforward or recurrent nets."
)


class DynamicNets:
    """A population of nets, each with its own nodes, edges and evolvable scalars.

    A new population has no edges: mutate it once before it is of use.

    Args:
        num_nets: How many members.
        inputs: Numbers in.
        outputs: Numbers out.
        key: Where the first growths come from; None draws one from the operating system. It can be
            read as `seed`, which is None for nets that were not grown.
        zero: Leave the nets without edges instead.
    """

    kind: ClassVar[str] = "dynamic"

    def __init__(
        self,
        num_nets: int,
        inputs: int,
        outputs: int,
        *,
        key: int | None = None,
        zero: bool = False,
    ) -> None:
        for name, size in (("num_nets", num_nets), ("inputs", inputs), ("outputs", outputs)):
            require(size >= 1, f"Nets need {name} of at least 1, not {size}.")
        self.inputs, self.outputs = inputs, outputs
        self.graph: GraphArrays = empty_graph(num_nets, inputs, outputs)
        self.seed: int | None = None
        if not zero:
            self.seed = draw_seed() if key is None else key
            self.mutate(self.seed)

    def __repr__(self) -> str:
        low, high = int(self.node_counts.min()), int(self.node_counts.max())
        return (
            f"DynamicNets(num_nets={self.num_nets}, inputs={self.inputs}, "
            f"outputs={self.outputs}; {low} to {high} nodes)"
        )

    @property
    def num_nets(self) -> int:
        """How many members."""
        return len(self.graph.top)

    @property
    def capacity(self) -> int:
        """How many slots for nodes each member has."""
        return int(self.graph.kind.shape[1])

    @property
    def node_counts(self) -> Ints:
        """How many nodes each member has."""
        counted: Ints = (self.graph.kind != FREE).sum(axis=1)
        return counted

    def take(self, indices: Ints) -> None:
        """Member `i` becomes a copy of the member `indices[i]`, calibration and all."""
        self.graph = GraphArrays(
            **{name: array[indices] for name, array in self.to_arrays().items()}
        )

    def mutate(self, key: int, n_elites: int = 0) -> None:
        """Scalars, prunings, growths, for all but the first `n_elites` members."""
        most = int(np.ceil(self.graph.growths.max() * 1.1)) + 1
        needed = int(self.graph.top.max()) + most
        if needed > self.capacity:
            self.graph = with_capacity(self.graph, needed + CAPACITY_STEP)
        keys: Ints = fold_in(key, np.arange(self.num_nets, dtype=np.int64))
        mutate_graphs(self.graph, keys, n_elites, allocate_scratch(self.capacity))

    def initial_memory(self, batch: int) -> NodeState:
        """Nothing remembered, and a copy of each member's calibration for every row."""
        zeros = np.zeros((self.num_nets, batch, self.capacity))
        copies = (
            np.repeat(getattr(self.graph, part)[:, None], batch, 1) for part in RUNNING_STATS_FIELDS
        )
        return NodeState(zeros, zeros.copy(), *copies)

    def __call__(self, x: Any, memory: NodeState | None = None) -> tuple[Any, NodeState]:
        """Run `[nets, batch, inputs]` through the nets: outputs, and the state after it.

        The outputs are a tensor if `x` is one; the state is of arrays either way.
        """
        given = np.asarray(x, dtype=np.float64)
        if given.ndim != 3 or given.shape[::2] != (self.num_nets, self.inputs):
            raise SettingsError(
                f"Inputs have shape [{self.num_nets}, batch, {self.inputs}] here, "
                f"not {list(given.shape)}."
            )
        nets, batch = given.shape[:2]
        before = self.initial_memory(batch) if memory is None else memory
        after = NodeState(*(part.reshape(nets * batch, -1).copy() for part in before))
        out = np.empty((nets * batch, self.outputs), dtype=np.float32)
        rows = np.arange(nets * batch, dtype=np.int64)
        self.run_rows(rows // batch, rows, given.reshape(nets * batch, -1), after, True, out)
        shaped = NodeState(*(part.reshape(nets, batch, -1) for part in after))
        result = out.reshape(nets, batch, self.outputs)
        if not is_tensor(x):
            return result, shaped
        import torch

        return torch.from_numpy(result), shaped

    def run_rows(
        self,
        member: Ints,
        stats_row: Ints,
        x: AnyArray,
        state: NodeState,
        update_stats: bool,
        out: AnyArray,
    ) -> None:
        """Row `i` through member `member[i]`; `state` is changed in place, calibration `at[i]` too."""
        g, active = self.graph, np.ones(len(member), dtype=np.bool_)
        raw = np.empty(self.capacity)
        run_passes(
            g.kind,
            g.source,
            g.weight,
            g.top,
            g.passes,
            member,
            stats_row,
            x,
            state,
            update_stats,
            active,
            raw,
            out,
        )

    def reset(self, memory: NodeState, done: Bools | None = None) -> NodeState:
        """Forget the rows of `done`, `[nets, batch]`, or all; calibration stays."""
        keep = 0.0 if done is None else ~np.asarray(done)[..., None]
        return memory._replace(x=memory.x * keep, z=memory.z * keep)

    def merge_copies(self, memories: Sequence[NodeState]) -> list[NodeState]:
        """Merge what the copies in `memories` have learned: role by role, row by row.

        Returns:
            The memories, whose copies go on from what was merged: absorbed again, they add nothing.
        """
        if not memories:
            return []
        base = RunningStats(*(getattr(self.graph, part) for part in RUNNING_STATS_FIELDS))
        copies = (
            np.concatenate([getattr(m, part) for m in memories], 1) for part in RUNNING_STATS_FIELDS
        )
        self.set_running_stats(merge_running_stats(base, RunningStats(*copies)))
        return [self.initial_memory(m.z.shape[1])._replace(x=m.x, z=m.z) for m in memories]

    def set_running_stats(self, stats: RunningStats) -> None:
        """Take a calibration, `[nets, room]` each."""
        self.graph = self.graph._replace(**stats._asdict())

    def adapt_memory(self, memory: NodeState) -> NodeState:
        """A memory from before the last mutation, for the nodes there are now.

        Nodes that are new remember nothing; copies of calibration begin from the members'.
        """
        missing = self.capacity - memory.z.shape[2]
        fresh = self.graph.fresh[:, None]
        x, z = (np.where(fresh, 0.0, pad_slots(part, 2, missing)) for part in memory[:2])
        return self.initial_memory(memory.z.shape[1])._replace(x=x, z=z)

    def get_params(self) -> AnyArray:
        """There are none.

        Raises:
            SettingsError: Always.
        """
        raise SettingsError(_NO_PARAMETERS)

    def set_params(self, params: AnyArray) -> None:
        """There are none.

        Raises:
            SettingsError: Always.
        """
        del params
        raise SettingsError(_NO_PARAMETERS)

    def to_arrays(self) -> dict[str, AnyArray]:
        """All that members carry, with the member as first axis."""
        return dict(self.graph._asdict())

    def load_arrays(self, arrays: Arrays) -> None:
        """Become the population that `to_arrays` described."""
        self.graph = GraphArrays(**{name: arrays[name].copy() for name in GraphArrays._fields})

    def config(self) -> dict[str, Any]:
        """Plain values that, with the arrays, make these nets again."""
        return {"kind": self.kind, "inputs": self.inputs, "outputs": self.outputs}

    @classmethod
    def from_arrays(cls, config: Mapping[str, Any], arrays: Arrays) -> DynamicNets:
        """The nets that `config` and `to_arrays` describe."""
        nets = cls(len(arrays["top"]), config["inputs"], config["outputs"], zero=True)
        nets.load_arrays(arrays)
        return nets
