"""Evolved nets as a policy: one net for all agents, or a population with a member for each.

Static nets run row by row (`kinfolk.nets.forward`), so that the batch has no effect on a row.
Dynamic nets, and nets that normalise their inputs, play with frozen running statistics; while they
evolve, the fitness evaluation sets `running_stats` to copies that they update.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Bytes, Ints
from kinfolk.core.errors import SettingsError, require
from kinfolk.core.random import uniform
from kinfolk.core.spaces import ObservationField, WorldSpec
from kinfolk.nets.dynamic.forward import NodeState
from kinfolk.nets.dynamic.nets import DynamicNets
from kinfolk.nets.heads import count_outputs, decode_actions
from kinfolk.nets.registry import nets_from_config
from kinfolk.nets.running_stats import RunningStats, normalize_rows
from kinfolk.policies.base import AgentBatch, Memory, MemoryField, MemoryLayout, StatelessPolicy

_ENERGY_SCALE = 0.1  # savanna: energies go up to about ten


class GroupEncoder:
    """Turns the observations of one group into rows of float32 features for evolved nets.

    Plain numbers are taken as they are. Words of cells are unpacked into planes, as each world's
    `spec` describes them, and scaled so that most values lie within -1 and 1.

    Args:
        spec: Spec of the world.
        group: Index of the group in `spec.groups`.

    Attributes:
        group: Description of the group, from `spec.groups`.
        n_features: Columns of the result.
    """

    def __init__(self, spec: WorldSpec, group: int) -> None:
        self.group = spec.groups[group]
        self._encoders = [(f.name, _make_field_encoder(spec.world, f)) for f in self.group.fields]
        self.n_features = self(np.zeros((1, spec.row_bytes), dtype=np.uint8)).shape[1]

    def __call__(self, observations: Bytes) -> AnyArray:
        """Return the features `[rows, n_features]` of observations `[rows, row_bytes]`."""
        parts = []
        for name, encode in self._encoders:
            features = encode(self.group.read_field(observations, name))
            parts.append(np.asarray(features, dtype=np.float32).reshape(len(observations), -1))
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)


def _make_field_encoder(world: str, field: ObservationField) -> Callable[[AnyArray], AnyArray]:
    """Return the function that turns one field into planes or numbers."""
    if world == "savanna":
        return _unpack_savanna_words if field.dtype == "uint32" else _scale_savanna_planes
    if world == "cogsguard":
        from kinfolk.worlds.cogsguard.spec import facts_to_features, window_to_planes

        return window_to_planes if field.name == "window" else facts_to_features
    return np.asarray


def _scale_savanna_planes(values: AnyArray) -> AnyArray:
    """Scale the energies in float32 planes `[n, planes, x, y]`."""
    scaled: AnyArray = values * np.float32(_ENERGY_SCALE)
    scaled[:, 0] = values[:, 0]  # walls
    scaled[:, 4:] = values[:, 4:]  # visibility, where there is such a plane
    return scaled


def _unpack_savanna_words(words: AnyArray) -> AnyArray:
    """Unpack compact words `[n, x, y]` into planes wall, predator, prey, grass, visibility."""
    from kinfolk.worlds.savanna import spec

    bits, energy = words.astype(np.int64), _ENERGY_SCALE / spec.CODES_PER_ENERGY
    predator = (bits >> spec.PREDATOR_SHIFT & spec.MAX_CODE) * energy
    prey = (bits >> spec.PREY_SHIFT & spec.MAX_CODE) * energy
    grass = (bits >> spec.GRASS_SHIFT & spec.MAX_CODE) / spec.MAX_CODE
    wall, visible = (bits & spec.WALL_BIT) > 0, (bits & spec.VISIBLE_BIT) > 0
    return np.stack([wall, predator, prey, grass, visible], axis=1)


CLASS_PATH = "kinfolk.policies.neural.evolved:EvolvedPolicy"


class EvolvedPolicy(StatelessPolicy):
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
        running_stats: Statistics of the nets to update, one row per agent slot; None freezes them.
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
        self._encoders = {group: GroupEncoder(spec, group) for group in self._groups}
        self._choices = {group: spec.n_choices[group].tolist() for group in self._groups}
        for group, encoder in self._encoders.items():
            n_outputs = count_outputs(head, self._choices[group])
            needed = {"inputs": encoder.n_features + n_zero_inputs, "outputs": n_outputs}
            for name, needs in needed.items():
                has = nets[name]
                require(
                    has == needs or (has > needs and name == "outputs"),
                    f"These nets have {has} {name}; group {encoder.group.name} of world {spec.world} "
                    f"needs {needs}. They were evolved for another world, group or observation.",
                )
        self._n_zero_inputs = n_zero_inputs
        self._is_foreign_group = ~np.isin(np.arange(len(spec.groups)), self._groups)
        self._nets: Any = None
        self._match_members: Ints | None = None
        self.running_stats: RunningStats | None = None
        self.initial_memory: Arrays = {}

    def load(self, arrays: Arrays) -> None:
        """Load the arrays of the nets, and `match_members` if it is among them."""
        net_arrays = dict(arrays)
        members = net_arrays.pop("match_members", None)
        self._match_members = None if members is None else members.astype(np.int64)
        self._nets = nets_from_config(self._net_config, net_arrays)

    @property
    def memory_layout(self) -> MemoryLayout:
        """Hidden states of recurrent layers, or input and output of each dynamic node."""
        if isinstance(self._nets, DynamicNets):
            return dict.fromkeys(("x", "z"), MemoryField((self._nets.capacity,), "float64"))
        sizes = [layer.out_features for layer in self._nets.layers if layer.recurrent]
        return {f"hidden_{i}": MemoryField((size,), "float32") for i, size in enumerate(sizes)}

    def reset_agents(self, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Copy `initial_memory` of the new agents, where it is given."""
        del keys
        for name, array in self.initial_memory.items():
            memory[name][batch.memory_index] = array[batch.memory_index]

    def act_async(self, observations: Bytes, batch: AgentBatch, memory: Memory, keys: Ints) -> None:
        """Run one forward pass for the rows of each group."""
        self._actions = np.zeros((len(keys), self._spec.n_heads), dtype=np.int64)
        self._check_groups(batch.group)
        members, heads = self._match_members, np.arange(self._spec.n_heads, dtype=np.int64)
        member = batch.member % self._nets.num_nets if members is None else members[batch.member]
        for group in self._groups:
            rows: Any = slice(None)  # most policies play one group: no need to search for its rows
            if len(self._groups) > 1:
                rows = np.flatnonzero(batch.group == group)
                if not len(rows):
                    continue
            x = self._encoders[group](observations[rows])
            if self._n_zero_inputs:
                x = np.pad(x, ((0, 0), (0, self._n_zero_inputs)))
            out = self._forward(member[rows], batch.memory_index[rows], x, memory)
            samples = self._head == "softmax_sample"
            uniforms = uniform(keys[rows, None], heads) if samples else None
            bounds = self._spec.action_bounds[group]
            self._actions[rows] = decode_actions(
                self._head, out, self._choices[group], uniforms, bounds
            )

    def _check_groups(self, group: Ints) -> None:
        """Raise SettingsError if an agent belongs to a group that the nets do not play."""
        foreign = group[self._is_foreign_group[group]]
        if len(foreign):
            played = ", ".join(self._spec.groups[index].name for index in self._groups)
            name = self._spec.groups[int(foreign[0])].name
            message = f"These nets play {played}, not {name}. Map that group to another slot."
            raise SettingsError(message)

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
        learn = self.running_stats is not None
        stats = self.running_stats or self._nets.running_stats
        stats_row = memory_index if learn else member
        out: AnyArray
        if not isinstance(self._nets, DynamicNets):
            if stats is not None:
                normalized = np.empty(x.shape, dtype=np.float32)
                normalize_rows(np.ascontiguousarray(x), stats_row, stats, learn, normalized)
                x = normalized
            states = [memory[name][memory_index] for name in memory]
            out, next_states = self._nets.run_rows(member, x, states)
            for name, state in zip(memory, next_states, strict=True):
                memory[name][memory_index] = state
            return out
        x64: AnyArray = np.ascontiguousarray(x, dtype=np.float64)
        nodes = NodeState(memory["x"][memory_index], memory["z"][memory_index], *stats)
        out = self._nets.run_rows(member, stats_row, x64, nodes, learn)
        memory["x"][memory_index], memory["z"][memory_index] = nodes.x, nodes.z
        return out
