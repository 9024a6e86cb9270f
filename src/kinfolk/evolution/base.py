"""The base of populations: nets with memory, uids and inherited fitness.

A member has weights, memory, inherited fitness, a uid and its parent's uid. Selection copies all of
them. The state of a member's world belongs to the fitness function, which owns the worlds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Bools, Floats, Ints, is_tensor
from kinfolk.core.errors import ContractError, DamagedRunError, KinfolkError, SettingsError, require
from kinfolk.evolution.selection import check_fitness
from kinfolk.nets.base import BaseNets
from kinfolk.nets.memory import flatten_memory, take_members, unflatten_memory
from kinfolk.nets.registry import nets_from_config
from kinfolk.store.arrays import POPULATION, read_arrays_and_entry, write_arrays


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
        mates: `[members]`, uids of the second parents; -1 for members that have none.
        next_uid: The uid of the next new member.
    """

    roles: tuple[str, ...] = ()

    def __init__(
        self, nets: BaseNets, ga_config: GAConfig | None = None, first_uid: int = 0
    ) -> None:
        self.nets, self.ga_config = nets, ga_config or GAConfig()
        members = nets.num_nets
        self.uid: Ints = first_uid + np.arange(members, dtype=np.int64)
        self.parents: Ints = np.full(members, -1, dtype=np.int64)
        self.mates: Ints = self.parents.copy()
        self.next_uid = first_uid + members
        self._memory: dict[str, Any] = dict.fromkeys(self.roles)
        self._inherited: Floats = np.zeros(members)
        self._total: Floats | None = None

    def __repr__(self) -> str:
        inherits = [name for name, on in vars(self.ga_config).items() if on]
        return f"{type(self).__name__}({', '.join([repr(self.nets), *self._options(), *inherits])})"

    def _options(self) -> list[str]:
        """Return the arguments of a subclass as `name=value`, for `repr`."""
        return []

    @property
    def num_nets(self) -> int:
        """Number of members of the population."""
        return self.nets.num_nets

    @property
    def seed(self) -> int | None:
        """Random key that the initial weights were drawn from; None if the nets have none."""
        return self.nets.seed

    def mutate(self, key: int | None = None, n_elites: int = 0) -> None:
        """Mutate all but the first `n_elites` members, and adapt inherited memory to the new nets.

        Args:
            key: Random key, which determines the mutation exactly; None takes the next key of the
                nets' own counter.
            n_elites: How many of the first members stay as they are.
        """
        self.nets.mutate_members(key, n_elites)
        for role, memory in self._memory.items():
            self._memory[role] = None if memory is None else self.nets.adapt_memory(memory)

    def apply_selection(
        self,
        indices: Sequence[int] | Ints,
        n_elites: int = 0,
        mates: Sequence[int] | Ints | None = None,
        key: int = 0,
    ) -> None:
        """Replace member `i` by a child of member `indices[i]`.

        Running statistics that dynamic nets collected in this generation are merged first, so that
        children inherit them.

        Args:
            indices: `[members]`, the parent of each new member.
            n_elites: How many of the first are not children but survivors that keep their uid.
            mates: `[members]`, the second parent of each new member, whose net is crossed with that
                of the first; -1 for none. All else is inherited from the first.
            key: Random key of the crossover.

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
        self._cross_nets(chosen, mates, n_elites, key)
        for role, memory in self._memory.items():
            inherits = self.ga_config.inherit_mem and memory is not None
            self._memory[role] = take_members(memory, chosen) if inherits else None
        if self.ga_config.inherit_fit:
            self._inherited = (self._inherited if self._total is None else self._total)[chosen]
        self._total = None
        second = None if mates is None else np.asarray(mates, dtype=np.int64)
        uids = self.uid
        self._assign_uids(uids[chosen], n_elites)
        self.mates = np.full(self.num_nets, -1, dtype=np.int64)
        if second is not None:
            self.mates[n_elites:] = np.where(second >= 0, uids[second], -1)[n_elites:]

    def _cross_nets(
        self, chosen: Ints, mates: Sequence[int] | Ints | None, n_elites: int, key: int
    ) -> None:
        """Replace the nets by copies of the parents, crossed with those of their mates."""
        if mates is None:
            self.nets.apply_selection(chosen)
            return
        second = np.asarray(mates, dtype=np.int64)
        if second.shape != chosen.shape or second.min() < -1 or second.max() >= self.num_nets:
            raise ContractError(
                f"Mates of {self.num_nets} members are as many indices from -1 to "
                f"{self.num_nets - 1}, not {second.tolist()}."
            )
        partners = self.nets.select(np.maximum(second, 0))
        self.nets.apply_selection(chosen)
        crossed = (second >= 0) & (np.arange(len(chosen)) >= n_elites)
        self.nets.crossover(partners, crossed, key)

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

    def get_total_fitness(self, eval_fitness: Any) -> Any:
        """Return the fitness for selection: that of this generation plus what is inherited.

        Args:
            eval_fitness: `[members]`, an array, a tensor or a list; higher is better.

        Returns:
            `[members]`: a tensor if it was given one, else float64 numbers.

        Raises:
            ContractError: There is not one finite number for each member.
        """
        self._total = check_fitness(eval_fitness, self.uid) + self._inherited
        return (
            eval_fitness.new_tensor(self._total) if is_tensor(eval_fitness) else self._total.copy()
        )

    def get_inheritable_fitness(self) -> Floats:
        """Return the fitness that each member inherited from its ancestors."""
        return self._inherited.copy()

    def get_params(self) -> Any:
        """Return all parameters, `[nets, parameters]`, for evolution strategies.

        They are a tensor if the nets were last given tensors, or are torch modules; else an array.
        """
        return self.nets.get_params()

    def set_params(self, params: Any, parent: int = -1) -> None:
        """Replace all members by new ones with these parameters, children of the uid `parent`."""
        self.nets.set_params(params)
        self._start_members(np.full(len(params), parent, dtype=np.int64))

    def replace_members(self, arrays: Arrays, parents: Ints) -> None:
        """Replace all members by new ones with the nets of `arrays`, children of the uids `parents`."""
        self.nets.load_arrays(arrays)
        self._start_members(np.array(parents, dtype=np.int64))

    def _start_members(self, parents: Ints) -> None:
        """Give all members new uids and no state but their nets."""
        count = len(parents)
        self.uid = self.next_uid + np.arange(count, dtype=np.int64)
        self.parents = parents
        self.mates = np.full(count, -1, dtype=np.int64)
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

    def save(self, path: str | Path) -> None:
        """Write the population to a safetensors file, with all that its members carry."""
        entry = {
            "class": type(self).__name__,
            "arguments": self._arguments(),
            "ga_config": asdict(self.ga_config),
            "nets": self.nets.config(),
            "counter": self.nets.counter_state(),
            "next_uid": self.next_uid,
        }
        write_arrays(Path(path), self.to_arrays(), POPULATION, entry)

    def _arguments(self) -> dict[str, int]:
        """Return the arguments of a subclass beyond those of the base."""
        return {}

    @classmethod
    def load(cls, path: str | Path, nets: BaseNets | None = None) -> Self:
        """Return the population that `save` wrote.

        Args:
            path: File to read.
            nets: Nets of the saved kind, whose members are replaced; needed for nets of your own, as
                a file holds no code.

        Raises:
            UsageError: There is no such file, or it holds something else.
            SettingsError: The file holds a population of another class or of other nets.
            DamagedRunError: It is damaged.
        """
        arrays, entry = read_arrays_and_entry(Path(path), POPULATION)
        try:
            saved = entry["class"]
            message = f"{path} holds a {saved}: load it with {saved}.load."
            require(cls.__name__ == saved, message)
            if nets is None:
                message = (
                    f"{path} holds nets of your own, and a file holds no code: load it with "
                    f"{saved}.load(path, nets=...), nets of the same class and sizes."
                )
                require(entry["nets"]["kind"] != BaseNets.kind, message)
                saved_nets = {n[5:]: array for n, array in arrays.items() if n.startswith("nets/")}
                nets = nets_from_config(entry["nets"], saved_nets)
            kind, config = nets.kind, entry["nets"]
            given = nets.config()
            sizes = all(given[name] == config[name] for name in ("inputs", "outputs"))
            require(
                kind == config["kind"] and sizes, f"{path} holds {config['kind']} nets, not {nets}."
            )
            nets.load_counter(entry["counter"])
            pop = cls(nets, **entry["arguments"], ga_config=GAConfig(**entry["ga_config"]))
            pop.load_arrays(arrays, entry["next_uid"])
        except KinfolkError:
            raise
        except (AttributeError, LookupError, TypeError, ValueError, OverflowError) as error:
            reason = f"{type(error).__name__}: {error}"
            problem = f"it does not describe a population ({reason})"
            raise DamagedRunError(f"{path} is damaged: {problem}.") from None
        return pop

    def to_arrays(self) -> dict[str, AnyArray]:
        """Return everything that members carry; each array has the member as first axis."""
        arrays = {f"nets/{name}": array for name, array in self.nets.to_arrays().items()}
        arrays |= {"uid": self.uid, "parents": self.parents, "mates": self.mates}
        arrays["inherited"] = self._inherited
        if self._total is not None:
            arrays["total"] = self._total
        for role, memory in self._memory.items():
            arrays |= flatten_memory(memory, f"memory/{role}")
        return arrays

    def load_arrays(self, arrays: Arrays, next_uid: int) -> None:
        """Replace the population by what `to_arrays` returned; `next_uid` is stored beside it."""
        names = [name for name in arrays if name.startswith("nets/")]
        self.nets.load_arrays({name.removeprefix("nets/"): arrays[name] for name in names})
        self.uid, self.parents = arrays["uid"].copy(), arrays["parents"].copy()
        self.mates = arrays["mates"].copy() if "mates" in arrays else np.full_like(self.uid, -1)
        self._inherited, self._total = arrays["inherited"].copy(), arrays.get("total")
        self.next_uid = next_uid
        template = self.nets.initial_memory(1)
        for role in self.roles:
            require(
                template is not None or f"memory/{role}/0" not in arrays,
                f"The structure of a memory of {type(self.nets).__name__} is not in a file: call "
                f"reset_memory before save, or define initial_memory.",
            )
            self._memory[role] = unflatten_memory(template, arrays, f"memory/{role}")
