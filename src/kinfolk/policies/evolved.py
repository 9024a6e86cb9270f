"""Evolved nets as a policy: one net for all its agents, or a population with a member for each.

Static nets run row by row (`kinfolk.nets.rows`), so that the batch has no effect on a row. Dynamic
nets play with their calibration frozen; while they evolve, an evaluator lends them copies to
learn in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Bytes, Ints
from kinfolk.core.errors import SettingsError
from kinfolk.core.keys import uniform
from kinfolk.core.spaces import WorldSpec
from kinfolk.nets.calibration import Calibration
from kinfolk.nets.dynamic import DynamicNets
from kinfolk.nets.heads import choose, outputs_for
from kinfolk.nets.kinds import nets_from
from kinfolk.nets.passes import NodeState
from kinfolk.nets.rows import forward_rows
from kinfolk.policies.base import Cell, Memory, MemoryLayout, Rows
from kinfolk.policies.inputs import Inputs, inputs_of

CLASS_PATH = "kinfolk.policies.evolved:EvolvedPolicy"


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
        blind: int = 0,
    ) -> None:
        self._about, self._head, self._spec = dict(nets), head, spec
        names = list(groups) or [group.name for group in spec.groups]
        self._groups = [spec.group_index(name) for name in names]
        self._inputs = {group: inputs_of(spec, group) for group in self._groups}
        self._choices = {group: spec.choices[group].tolist() for group in self._groups}
        for group in self._groups:
            _check(spec, self._inputs[group], blind, self._choices[group], self._about, head)
        self._blind = blind
        self._strange = np.ones(len(spec.groups), dtype=np.bool_)
        self._strange[self._groups] = False
        self._nets: Any = None
        self._who: Ints | None = None
        # Lent by an evaluator, a row per place: calibrations to learn in, memory to begin with.
        self.copies: Calibration | None = None
        self.lent: Arrays = {}

    def load(self, arrays: Arrays) -> None:
        """Take the nets' arrays."""
        given = dict(arrays)
        who = given.pop("who", None)
        self._nets = nets_from(self._about, given)
        self._who = None if who is None else np.ascontiguousarray(who, dtype=np.int64)

    @property
    def memory(self) -> MemoryLayout:
        """Hidden states, or what each node took in and said."""
        if isinstance(self._nets, DynamicNets):
            room = (self._nets.room,)
            return {"x": Cell(room, "float64"), "z": Cell(room, "float64")}
        recurrent = [layer for layer in self._nets.layers if layer.recurrent]
        return {f"hidden_{i}": Cell((layer.outs,), "float32") for i, layer in enumerate(recurrent)}

    def begin(self, rows: Rows, memory: Memory, keys: Ints) -> None:
        """A life begins with nothing remembered, unless memory was lent to its place."""
        del keys
        for name, array in self.lent.items():
            memory[name][rows.place] = array[rows.place]

    def ask(self, observations: Bytes, rows: Rows, memory: Memory, keys: Ints) -> None:
        """One forward for the rows of each group."""
        self._actions = np.zeros((len(keys), self._spec.heads), dtype=np.int64)
        self._refuse_others(rows.group)
        member = rows.member % self._nets.num_nets if self._who is None else self._who[rows.member]
        for group in self._groups:
            at: Any = slice(None)  # most policies play one group, and need not look for it
            if len(self._groups) > 1:
                at = np.flatnonzero(rows.group == group)
            if len(self._groups) == 1 or len(at):
                x = self._inputs[group](observations[at])
                if self._blind:
                    x = np.pad(x, ((0, 0), (0, self._blind)))
                out = self._forward(member[at], rows.place[at], x, memory)
                parts = np.arange(self._spec.heads, dtype=np.int64)
                chance = (
                    uniform(keys[at][:, None], parts) if self._head == "softmax_sample" else None
                )
                self._actions[at] = choose(self._head, out, self._choices[group], chance)

    def _refuse_others(self, group: Ints) -> None:
        strange = self._strange[group]
        if strange.any():
            names = [one.name for one in self._spec.groups]
            own = ", ".join(names[index] for index in self._groups)
            raise SettingsError(
                f"These nets play {own}, not {names[int(group[strange][0])]}. "
                f"Map that group to another slot."
            )

    def _forward(self, member: Ints, place: Ints, x: AnyArray, memory: Memory) -> AnyArray:
        if not isinstance(self._nets, DynamicNets):
            states = [memory[name][place] for name in memory]
            out, after = forward_rows(self._nets.flat, self._nets.layers, member, x, states)
            for name, state in zip(memory, after, strict=True):
                memory[name][place] = state
            return out
        said = np.empty((len(member), self._nets.outputs), dtype=np.float32)
        x64 = np.ascontiguousarray(x, dtype=np.float64)
        g, learn = self._nets.graph, self.copies is not None
        calibration = self.copies or Calibration(g.n, g.mean, g.m2)
        nodes = NodeState(memory["x"][place], memory["z"][place], *calibration)
        self._nets.run_rows(member, place if learn else member, x64, nodes, learn, said)
        memory["x"][place], memory["z"][place] = nodes.x, nodes.z
        return said

    def answer(self) -> Ints:
        """The choices."""
        return self._actions

    def close(self) -> None:
        """Nothing is held."""


def _check(
    spec: WorldSpec,
    inputs: Inputs,
    blind: int,
    choices: list[int],
    about: Mapping[str, Any],
    head: str,
) -> None:
    """Refuse nets that were made for other eyes or hands.

    Raises:
        SettingsError: The group shows or takes another number of things than the nets do.
    """
    needed = outputs_for(head, choices)
    for what, has, needs in (
        ("inputs", about["inputs"], inputs.size + blind),
        ("outputs", about["outputs"], needed),
    ):
        if has < needs if what == "outputs" else has != needs:
            raise SettingsError(
                f"These nets have {has} {what}; group {inputs.group.name} of world {spec.world} "
                f"needs {needs}. They were evolved for another world, group or observation."
            )
