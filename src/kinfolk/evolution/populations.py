"""Populations of nets with memory, uids and inherited fitness.

A member has weights, memory, inherited fitness, a uid and its parent's uid. Selection copies all of
them. The state of a member's world belongs to the fitness function, which owns the worlds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Bools, Floats, Ints
from kinfolk.core.errors import ContractError, SettingsError
from kinfolk.evolution import protocol
from kinfolk.evolution.protocol import NetPopulation, copy_memory
from kinfolk.evolution.selection import check_fitness


@dataclass(frozen=True)
class GAConfig:
    """What offspring inherit from their parent besides its net."""

    inherit_env: bool = False  # the state of its world
    inherit_mem: bool = False  # the net's memory
    inherit_fit: bool = False  # the sum of its ancestors' fitness


class BasePop(ABC):
    """Base of populations: selection, mutation, memory by role, parameters.

    Args:
        nets: The members' networks.
        ga_config: What offspring inherit; nothing by default.
        first_uid: Uid of the first member.

    Attributes:
        uid: `[members]`, unique within a run.
        parents: `[members]`, uids of the parents; -1 in the initial population.
        next_uid: The uid of the next new member.
    """

    roles: tuple[str, ...] = ()

    def __init__(
        self, nets: NetPopulation, ga_config: GAConfig | None = None, first_uid: int = 0
    ) -> None:
        self.nets, self.ga_config = nets, ga_config or GAConfig()
        members = nets.num_nets
        self.uid: Ints = first_uid + np.arange(members, dtype=np.int64)
        self.parents: Ints = np.full(members, -1, dtype=np.int64)
        self.next_uid = first_uid + members
        self._memory: dict[str, Any] = dict.fromkeys(self.roles)
        self._inherited: Floats = np.zeros(members)
        self._total: Floats | None = None

    def __repr__(self) -> str:
        inherits = [name for name, on in vars(self.ga_config).items() if on]
        return f"{type(self).__name__}({', '.join([repr(self.nets), *inherits])})"

    @property
    def num_nets(self) -> int:
        """Number of members of the population."""
        return self.nets.num_nets

    @property
    def seed(self) -> int | None:
        """Random key that the initial weights were drawn from; None if the nets have none."""
        return getattr(self.nets, "seed", None)

    def mutate(self, key: int, n_elites: int = 0) -> None:
        """Mutate all but the first `n_elites` members, and adapt inherited memory to the new nets."""
        self.nets.mutate(key, n_elites)
        for role, memory in self._memory.items():
            self._memory[role] = None if memory is None else self.nets.adapt_memory(memory)

    def apply_selection(self, indices: Sequence[int] | Ints, n_elites: int = 0) -> None:
        """Replace member `i` by a child of member `indices[i]`.

        Running statistics that dynamic nets collected in this generation are merged first, so that
        children inherit them.

        Args:
            indices: `[members]`, the parent of each new member.
            n_elites: How many of the first are not children but survivors that keep their uid.

        Raises:
            ContractError: There are not as many indices as members, or one is out of range.
        """
        chosen = np.asarray(indices, dtype=np.int64)
        if chosen.shape != (self.num_nets,) or chosen.min() < 0 or chosen.max() >= self.num_nets:
            raise ContractError(
                f"A selection of {self.num_nets} members needs as many indices from 0 to "
                f"{self.num_nets - 1}, not {chosen.tolist()}."
            )
        self._merge_copies()
        self.nets.take(chosen)
        for role, memory in self._memory.items():
            inherits = self.ga_config.inherit_mem and memory is not None
            self._memory[role] = protocol.take_members(memory, chosen) if inherits else None
        if self.ga_config.inherit_fit:
            self._inherited = (self._inherited if self._total is None else self._total)[chosen]
        self._total = None
        self._assign_uids(self.uid[chosen], n_elites)

    def _merge_copies(self) -> None:
        """Merge the running statistics of all copies into the nets: role by role, row by row."""
        roles = [role for role, memory in self._memory.items() if memory is not None]
        merged = self.nets.merge_copies([self._memory[role] for role in roles])
        self._memory |= dict(zip(roles, merged, strict=True))

    def _assign_uids(self, parents: Ints, n_elites: int) -> None:
        """Give children new uids; the first `n_elites` keep their uid and their parent."""
        parent_of = dict(zip(self.uid.tolist(), self.parents.tolist(), strict=True))
        elites, n_children = parents[:n_elites], len(parents) - n_elites
        self.parents = parents.copy()
        self.parents[:n_elites] = [parent_of[uid] for uid in elites.tolist()]
        self.uid = np.concatenate([elites, self.next_uid + np.arange(n_children)])
        self.next_uid += n_children

    def get_total_fitness(self, eval_fitness: AnyArray) -> Floats:
        """Return the fitness for selection: that of this generation plus what is inherited.

        Raises:
            ContractError: There is not one finite number for each member.
        """
        self._total = check_fitness(eval_fitness, self.uid) + self._inherited
        return self._total.copy()

    def get_inheritable_fitness(self) -> Floats:
        """Return the fitness that each member inherited from its ancestors."""
        return self._inherited.copy()

    def get_params(self) -> AnyArray:
        """Return all parameters, `[nets, parameters]`, for evolution strategies."""
        return self.nets.get_params()

    def set_params(self, params: AnyArray, parent: int = -1) -> None:
        """Replace all members by new ones with these parameters, children of the uid `parent`."""
        self.nets.set_params(params)
        count = len(params)
        self.uid = self.next_uid + np.arange(count, dtype=np.int64)
        self.parents = np.full(count, parent, dtype=np.int64)
        self.next_uid += count
        self._inherited, self._total = np.zeros(count), None
        self._memory = dict.fromkeys(self.roles)

    def new_uid(self) -> int:
        """Return a uid for something that is not a member, such as the mean of a strategy."""
        self.next_uid += 1
        return self.next_uid - 1

    def memory_of(self, role: str) -> Any:
        """Return the memory of a role, not copied."""
        return self._memory[role]

    def set_memory(self, role: str, memory: Any) -> None:
        """Replace the memory of a role, such as by what policies remembered in their worlds."""
        self._memory[role] = memory

    def _run(self, role: str, x: Any) -> Any:
        """Run the nets with the memory of a role, and keep the new memory."""
        out, self._memory[role] = self.nets(x, self._memory[role])
        return out

    def on_done(self, done: Bools, mode: str | None = None) -> None:
        """Clear the memory of rows `done`, `[nets, batch]`, in the role `mode`, or in all if None."""
        self._clear_memory(mode, done)

    def reset_memory(self, mode: str | None = None) -> None:
        """Clear the memory of the role `mode`, or of all if None; running statistics stay."""
        self._clear_memory(mode, None)

    def _clear_memory(self, mode: str | None, done: Bools | None) -> None:
        """Clear rows `done` of the memory of the role `mode`; None means all rows, or all roles."""
        if mode is not None and mode not in self.roles:
            known = " or ".join(f"'{role}'" for role in self.roles)
            raise SettingsError(f"A memory's mode is {known}, or None for all, not '{mode}'.")
        for role in self.roles if mode is None else (mode,):
            memory = self._memory[role]
            self._memory[role] = None if memory is None else self.nets.reset(memory, done)

    @abstractmethod
    def save_memory(self) -> Any:
        """Return a copy of the memory of all roles."""

    @abstractmethod
    def restore_memory(self, state: Any) -> None:
        """Restore the memory that `save_memory` returned."""

    def to_arrays(self) -> dict[str, AnyArray]:
        """Return everything that members carry; each array has the member as first axis."""
        arrays = {f"nets/{name}": array for name, array in self.nets.to_arrays().items()}
        arrays |= {"uid": self.uid, "parents": self.parents, "inherited": self._inherited}
        for role, memory in self._memory.items():
            arrays |= protocol.flatten_memory(memory, f"memory/{role}")
        return arrays

    def load_arrays(self, arrays: Arrays, next_uid: int) -> None:
        """Replace the population by what `to_arrays` returned; `next_uid` is stored beside it."""
        names = [name for name in arrays if name.startswith("nets/")]
        self.nets.load_arrays({name.removeprefix("nets/"): arrays[name] for name in names})
        self.uid, self.parents = arrays["uid"].copy(), arrays["parents"].copy()
        self._inherited, self._total = arrays["inherited"].copy(), None
        self.next_uid = next_uid
        template = self.nets.initial_memory(1)
        for role in self.roles:
            self._memory[role] = protocol.unflatten_memory(template, arrays, f"memory/{role}")


class GeneratorPop(BasePop):
    """Population whose members only act, with one memory each."""

    roles = ("gen",)

    def generate(self, x: Any) -> Any:
        """Return the outputs `[nets, batch, outputs]` for inputs `[nets, batch, inputs]`."""
        return self._run("gen", x)

    def save_memory(self) -> Any:
        """Return a copy of the memory."""
        return copy_memory(self._memory["gen"])

    def restore_memory(self, state: Any) -> None:
        """Restore the memory that `save_memory` returned."""
        self._memory["gen"] = copy_memory(state)


class GeneratorDiscriminatorPop(BasePop):
    """Population whose members act and discriminate, with one net and two separate memories each.

    Args:
        nets: Networks with at least `n_gen + n_disc` outputs.
        n_gen: How many of the first outputs are for acting.
        n_disc: How many of the last outputs are for discriminating.
        ga_config: What offspring inherit; nothing by default.
        first_uid: Uid of the first member.

    Raises:
        SettingsError: A role has no output, or the outputs of both would overlap.
    """

    roles = ("gen", "disc")

    def __init__(
        self,
        nets: NetPopulation,
        n_gen: int,
        n_disc: int,
        ga_config: GAConfig | None = None,
        first_uid: int = 0,
    ) -> None:
        super().__init__(nets, ga_config, first_uid)
        if n_gen < 1 or n_disc < 1:
            raise SettingsError(f"n_gen and n_disc must be at least 1, not {n_gen} and {n_disc}.")
        self.n_gen, self.n_disc = n_gen, n_disc
        outputs = getattr(nets, "outputs", None)  # not part of the contract of nets
        if outputs is not None:
            self._check_outputs(outputs)

    def _check_outputs(self, outputs: int) -> None:
        """Raise SettingsError if the outputs of both roles would overlap."""
        needed = self.n_gen + self.n_disc
        if outputs < needed:
            raise SettingsError(
                f"The generator has the first {self.n_gen} outputs and the discriminator the last "
                f"{self.n_disc}, so nets need at least {needed}; with {outputs} they would overlap."
            )

    def _run(self, role: str, x: Any) -> Any:
        """Run the nets as in `BasePop`, and raise SettingsError if the roles' outputs overlap."""
        out = super()._run(role, x)
        self._check_outputs(out.shape[-1])
        return out

    def generate(self, x: Any) -> Any:
        """Return the first `n_gen` outputs, with the memory of the role `gen`."""
        return self._run("gen", x)[..., : self.n_gen]

    def discriminate(self, x: Any) -> Any:
        """Return the last `n_disc` outputs, with the memory of the role `disc`."""
        return self._run("disc", x)[..., -self.n_disc :]

    def save_memory(self) -> dict[str, Any]:
        """Return a copy of both memories, by role."""
        return {role: copy_memory(memory) for role, memory in self._memory.items()}

    def restore_memory(self, state: dict[str, Any]) -> None:
        """Restore the memory that `save_memory` returned."""
        self._memory = {role: copy_memory(state[role]) for role in self.roles}
