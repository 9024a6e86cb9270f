"""Evolved nets as a policy: one net for all its agents, or a population with a member for each.

Static nets run row by row (`kinfolk.nets.forward_rows`), so that the batch has no effect on a row. Dynamic
nets play with their calibration frozen; while they evolve, an evaluator lends them copies to
learn in.
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

    Args:
        spec: The world's face.
        nets: What `about()` of the nets said.
        head: How outputs become actions; see `kinfolk.nets.heads`.
        groups: Names of the groups it plays; all of them if empty.
        blind: Inputs beyond what is shown, always zero when acting.

    The arrays are those of the nets and, for a population, `who`: `[matches]`, the member that
    plays agents seated with each match number. Without it, the seated number is the member.
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
        # Lent by an evaluator, a row per place: calibrations to learn in, memory to begin with.
        self.running_stats: RunningStats | None = None
        self.initial_memory: Arrays = {}

    def load(self, arrays: Arrays) -> None:
        """Take the nets' arrays."""
        given = dict(arrays)
        who = given.pop("match_members", None)
        self._nets = nets_from_config(self._net_config, given)
        self._match_members = None if who is None else np.ascontiguousarray(who, dtype=np.int64)

    @property
    def memory_layout(self) -> MemoryLayout:
        """Hidden states, or what each node took in and said."""
        if isinstance(self._nets, DynamicNets):
            room = (self._nets.capacity,)
            return {"x": MemoryField(room, "float64"), "z": MemoryField(room, "float64")}
        recurrent = [layer for layer in self._nets.layers if layer.recurrent]
        return {
            f"hidden_{i}": MemoryField((layer.out_features,), "float32")
            for i, layer in enumerate(recurrent)
        }

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """A life begins with nothing remembered, unless memory was lent to its place."""
        del keys
        for name, array in self.initial_memory.items():
            memory[name][batch.memory_index] = array[batch.memory_index]

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """One forward for the rows of each group."""
        self._actions = np.zeros((len(keys), self._spec.n_heads), dtype=np.int64)
        self._check_groups(batch.group)
        member = (
            batch.member % self._nets.num_nets
            if self._match_members is None
            else self._match_members[batch.member]
        )
        for group in self._groups:
            at: Any = slice(None)  # most policies play one group, and need not look for it
            if len(self._groups) > 1:
                at = np.flatnonzero(batch.group == group)
            if len(self._groups) == 1 or len(at):
                x = self._encoders[group](observations[at])
                if self._n_zero_inputs:
                    x = np.pad(x, ((0, 0), (0, self._n_zero_inputs)))
                out = self._forward(member[at], batch.memory_index[at], x, memory)
                parts = np.arange(self._spec.n_heads, dtype=np.int64)
                chance = (
                    uniform(keys[at][:, None], parts) if self._head == "softmax_sample" else None
                )
                self._actions[at] = decode_actions(self._head, out, self._choices[group], chance)

    def _check_groups(self, group: Ints) -> None:
        strange = self._is_foreign_group[group]
        if strange.any():
            names = [one.name for one in self._spec.groups]
            own = ", ".join(names[index] for index in self._groups)
            raise SettingsError(
                f"These nets play {own}, not {names[int(group[strange][0])]}. "
                f"Map that group to another slot."
            )

    def _forward(self, member: Ints, memory_index: Ints, x: AnyArray, memory: Memory) -> AnyArray:
        if not isinstance(self._nets, DynamicNets):
            states = [memory[name][memory_index] for name in memory]
            out, after = forward_rows(self._nets.flat, self._nets.layers, member, x, states)
            for name, state in zip(memory, after, strict=True):
                memory[name][memory_index] = state
            return out
        said = np.empty((len(member), self._nets.outputs), dtype=np.float32)
        x64 = np.ascontiguousarray(x, dtype=np.float64)
        g, learn = self._nets.graph, self.running_stats is not None
        calibration = self.running_stats or RunningStats(g.n, g.mean, g.m2)
        nodes = NodeState(memory["x"][memory_index], memory["z"][memory_index], *calibration)
        self._nets.run_rows(member, memory_index if learn else member, x64, nodes, learn, said)
        memory["x"][memory_index], memory["z"][memory_index] = nodes.x, nodes.z
        return said

    def act_wait(self) -> Ints:
        """The choices."""
        return self._actions

    def close(self) -> None:
        """Nothing is held."""


def _check_sizes(
    spec: WorldSpec,
    encoder: GroupEncoder,
    n_zero_inputs: int,
    choices: list[int],
    net_config: Mapping[str, Any],
    head: str,
) -> None:
    """Refuse nets that were made for other eyes or hands.

    Raises:
        SettingsError: The group shows or takes another number of things than the nets do.
    """
    needed = count_outputs(head, choices)
    for what, has, needs in (
        ("inputs", net_config["inputs"], encoder.n_features + n_zero_inputs),
        ("outputs", net_config["outputs"], needed),
    ):
        if has < needs if what == "outputs" else has != needs:
            raise SettingsError(
                f"These nets have {has} {what}; group {encoder.group.name} of world {spec.world} "
                f"needs {needs}. They were evolved for another world, group or observation."
            )
