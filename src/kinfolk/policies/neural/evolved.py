"""Evolved nets as a policy: one net for all agents, or a population with a member for each.

Static nets run row by row (`kinfolk.nets.forward_rows`), so that the batch has no effect on a row.
Dynamic nets play with frozen running statistics; while they evolve, the fitness evaluation sets
`running_stats` to copies that they update.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Bytes, Ints
from kinfolk.core.errors import SettingsError
from kinfolk.core.random import uniform
from kinfolk.core.spaces import WorldSpec
from kinfolk.nets.dynamic.forward import NodeState
from kinfolk.nets.dynamic.nets import DynamicNets
from kinfolk.nets.forward_rows import forward_rows
from kinfolk.nets.heads import count_outputs, decode_actions
from kinfolk.nets.registry import nets_from_config
from kinfolk.nets.running_stats import RunningStats
from kinfolk.policies.base import AgentBatch, Memory, MemoryField, MemoryLayout
from kinfolk.policies.neural.encoding.group_encoder import GroupEncoder, make_group_encoder

CLASS_PATH = "kinfolk.policies.neural.evolved:EvolvedPolicy"


class EvolvedPolicy:
    """Plays agents of the groups whose observations its nets can read.

    The arrays for `load` are those of the nets and, optionally, `match_members` `[matches]`: the
    member of the population that plays the agents assigned to each match. Without it, the member
    number of an agent (modulo the population size) is the member that plays it.

    Args:
        spec: Spec of the world to play.
        nets: What `config()` of the nets returned.
        head: How outputs become actions; see `kinfolk.nets.heads`.
        groups: Names of the groups it plays; all of them if empty.
        n_zero_inputs: Inputs of the nets beyond the encoded observation, always zero.

    Raises:
        SettingsError: The nets have other numbers of inputs or outputs than a group needs.

    Attributes:
        running_stats: Statistics of dynamic nets to update, one row per agent slot; None freezes them.
        initial_memory: Memory that new agents start with, by field name, one row per agent slot.
    """

    def __init__(
        self,
        spec: WorldSpec,
        nets: Mapping[str, Any],
        head: str = "argmax",
        groups: tuple[str, ...] | list[str] = (),
        n_zero_inputs: int = 0,
    ) -> None:
        self._net_config, self._head, self._spec = dict(nets), head, spec
        names = list(groups) or [group.name for group in spec.groups]
        self._groups = [spec.group_index(name) for name in names]
        self._encoders = {group: make_group_encoder(spec, group) for group in self._groups}
        self._choices = {group: spec.n_choices[group].tolist() for group in self._groups}
        for group in self._groups:
            _check_sizes(
                spec,
                self._encoders[group],
                n_zero_inputs,
                self._choices[group],
                self._net_config,
                head,
            )
        self._n_zero_inputs = n_zero_inputs
        self._is_foreign_group = np.ones(len(spec.groups), dtype=np.bool_)
        self._is_foreign_group[self._groups] = False
        self._nets: Any = None
        self._match_members: Ints | None = None
        self.running_stats: RunningStats | None = None
        self.initial_memory: Arrays = {}

    def load(self, arrays: Arrays) -> None:
        """Take the arrays of the nets, and `match_members` if there is one."""
        net_arrays = dict(arrays)
        members = net_arrays.pop("match_members", None)
        self._nets = nets_from_config(self._net_config, net_arrays)
        self._match_members = (
            None if members is None else np.ascontiguousarray(members, dtype=np.int64)
        )

    @property
    def memory_layout(self) -> MemoryLayout:
        """Return hidden states of recurrent layers, or input and output of each dynamic node."""
        if isinstance(self._nets, DynamicNets):
            nodes = (self._nets.capacity,)
            return {"x": MemoryField(nodes, "float64"), "z": MemoryField(nodes, "float64")}
        recurrent = [layer for layer in self._nets.layers if layer.recurrent]
        return {
            f"hidden_{i}": MemoryField((layer.out_features,), "float32")
            for i, layer in enumerate(recurrent)
        }

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Copy `initial_memory` of the new agents, where it is given."""
        del keys
        for name, array in self.initial_memory.items():
            memory[name][batch.memory_index] = array[batch.memory_index]

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Run one forward pass for the rows of each group."""
        self._actions = np.zeros((len(keys), self._spec.n_heads), dtype=np.int64)
        self._check_groups(batch.group)
        member = (
            batch.member % self._nets.num_nets
            if self._match_members is None
            else self._match_members[batch.member]
        )
        for group in self._groups:
            rows: Any = slice(None)  # most policies play one group: no need to search for its rows
            if len(self._groups) > 1:
                rows = np.flatnonzero(batch.group == group)
            if len(self._groups) == 1 or len(rows):
                x = self._encoders[group](observations[rows])
                if self._n_zero_inputs:
                    x = np.pad(x, ((0, 0), (0, self._n_zero_inputs)))
                out = self._forward(member[rows], batch.memory_index[rows], x, memory)
                heads = np.arange(self._spec.n_heads, dtype=np.int64)
                draws = (
                    uniform(keys[rows][:, None], heads) if self._head == "softmax_sample" else None
                )
                self._actions[rows] = decode_actions(self._head, out, self._choices[group], draws)

    def _check_groups(self, group: Ints) -> None:
        """Raise SettingsError if an agent belongs to a group that the nets do not play."""
        foreign = self._is_foreign_group[group]
        if foreign.any():
            names = [group.name for group in self._spec.groups]
            played = ", ".join(names[index] for index in self._groups)
            raise SettingsError(
                f"These nets play {played}, not {names[int(group[foreign][0])]}. "
                f"Map that group to another slot."
            )

    def _forward(self, member: Ints, memory_index: Ints, x: AnyArray, memory: Memory) -> AnyArray:
        """Run the nets of some agents and update their memory.

        Args:
            member: `[n]`, member of the population that plays each agent.
            memory_index: `[n]`, the agents' rows in memory.
            x: `[n, inputs]`, encoded observations.
            memory: Hidden or node state of all agents, changed in place at `memory_index`.

        Returns:
            `[n, outputs]`, float32.
        """
        if not isinstance(self._nets, DynamicNets):
            states = [memory[name][memory_index] for name in memory]
            out, next_states = forward_rows(self._nets.flat, self._nets.layers, member, x, states)
            for name, state in zip(memory, next_states, strict=True):
                memory[name][memory_index] = state
            return out
        outputs = np.empty((len(member), self._nets.outputs), dtype=np.float32)
        x64 = np.ascontiguousarray(x, dtype=np.float64)
        graph, learn = self._nets.graph, self.running_stats is not None
        stats = self.running_stats or RunningStats(graph.n, graph.mean, graph.m2)
        nodes = NodeState(memory["x"][memory_index], memory["z"][memory_index], *stats)
        self._nets.run_rows(member, memory_index if learn else member, x64, nodes, learn, outputs)
        memory["x"][memory_index], memory["z"][memory_index] = nodes.x, nodes.z
        return outputs

    def act_wait(self) -> Ints:
        """Return the actions that `act_async` computed."""
        return self._actions

    def close(self) -> None:
        """Do nothing: no resources are held."""


def _check_sizes(
    spec: WorldSpec,
    encoder: GroupEncoder,
    n_zero_inputs: int,
    choices: list[int],
    net_config: Mapping[str, Any],
    head: str,
) -> None:
    """Check the input and output sizes of the nets against a group.

    Args:
        spec: Spec of the world to play.
        encoder: Encoder of the group's observations.
        n_zero_inputs: Inputs beyond the encoded observation.
        choices: Number of choices of each action head.
        net_config: Config of the nets, with `inputs` and `outputs`.
        head: How outputs become actions.

    Raises:
        SettingsError: The nets have another number of inputs, or too few outputs.
    """
    for name, has, needs in (
        ("inputs", net_config["inputs"], encoder.n_features + n_zero_inputs),
        ("outputs", net_config["outputs"], count_outputs(head, choices)),
    ):
        if has < needs if name == "outputs" else has != needs:
            raise SettingsError(
                f"These nets have {has} {name}; group {encoder.group.name} of world {spec.world} "
                f"needs {needs}. They were evolved for another world, group or observation."
            )
