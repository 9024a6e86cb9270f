"""Populations: nets, what their members remember, and what they inherit.

A member carries weights, memory, fitness, a number (uid) and its parent's. All of it follows the
indices of a selection. The state of its world lies with the evaluator, which owns the worlds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays, Bools, Floats, Ints
from kinfolk.core.errors import ContractError, SettingsError
from kinfolk.evolution import tree as memories
from kinfolk.evolution.protocol import NetPopulation
from kinfolk.evolution.selection import check_fitness


@dataclass(frozen=True)
class GAConfig:
    """What children inherit from their parent besides its net; each by itself or together."""

    inherit_env: bool = False
    inherit_mem: bool = False
    inherit_fit: bool = False


class BasePop(ABC):
    """What all populations do: select, mutate, hand parameters out and in."""

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
        shown = f"{type(self).__name__}({self.nets!r}"
        return f"{shown}, {', '.join(inherits)})" if inherits else f"{shown})"

    @property
    def num_nets(self) -> int:
        """How many members."""
        return self.nets.num_nets

    @property
    def seed(self) -> int | None:
        """What the nets' first weights were drawn from: as their `key` it makes them again.

        None for nets that were not drawn, or that do not say.
        """
        return getattr(self.nets, "seed", None)

    def mutate(self, key: int, n_elites: int = 0) -> None:
        """Mutate all but the first `n_elites` members; inherited memory is made to fit."""
        self.nets.mutate(key, n_elites)
        for role, memory in self._memory.items():
            self._memory[role] = None if memory is None else self.nets.adapt_memory(memory)

    def apply_selection(self, indices: Sequence[int] | Ints, n_elites: int = 0) -> None:
        """Member `i` becomes a child of member `indices[i]`; the first `n_elites` live on themselves.

        Nets first keep what they have learned in this generation, such as the calibration of
        dynamic nets, so that children inherit it.

        Raises:
            ContractError: There are not as many indices as members, or one names nobody.
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
            kept = self.ga_config.inherit_mem and memory is not None
            self._memory[role] = memories.take_members(memory, chosen) if kept else None
        self._inherit_fitness(chosen)
        self._assign_uids(self.uid[chosen], n_elites)

    def _merge_copies(self) -> None:
        """Let the nets keep what copies have learned, once: role by role, row by row."""
        roles = [role for role, memory in self._memory.items() if memory is not None]
        after = self.nets.merge_copies([self._memory[role] for role in roles])
        self._memory |= dict(zip(roles, after, strict=True))

    def _inherit_fitness(self, chosen: Ints) -> None:
        if self.ga_config.inherit_fit:
            total = self._inherited if self._total is None else self._total
            self._inherited = total[chosen]
        self._total = None

    def _assign_uids(self, origin: Ints, spare: int) -> None:
        """New lives get new numbers; who lives on keeps its own, and its parent."""
        parent_of = dict(zip(self.uid.tolist(), self.parents.tolist(), strict=True))
        fresh = len(origin) - spare
        self.parents = origin.copy()
        self.parents[:spare] = [parent_of[uid] for uid in origin[:spare].tolist()]
        self.uid = np.concatenate([origin[:spare], self.next_uid + np.arange(fresh)])
        self.next_uid += fresh

    def get_total_fitness(self, eval_fitness: AnyArray) -> Floats:
        """What selection looks at: with `inherit_fit` the ancestors' sum is added.

        Raises:
            ContractError: There is not one finite number for each member.
        """
        self._total = check_fitness(eval_fitness, self.uid) + self._inherited
        return self._total.copy()

    def get_inheritable_fitness(self) -> Floats:
        """What each member has from its ancestors."""
        return self._inherited.copy()

    def get_params(self) -> AnyArray:
        """`[nets, parameters]`, for evolution strategies."""
        return self.nets.get_params()

    def set_params(self, params: AnyArray, parent: int = -1) -> None:
        """Take parameters that a strategy has drawn: new members, children of `parent`."""
        self.nets.set_params(params)
        count = len(params)
        self.parents = np.full(count, parent, dtype=np.int64)
        self.uid = self.next_uid + np.arange(count, dtype=np.int64)
        self.next_uid += count
        self._inherited, self._total = np.zeros(count), None
        self._memory = dict.fromkeys(self.roles)

    def new_uid(self) -> int:
        """A number for a life that is no member, such as the centre of a search."""
        self.next_uid += 1
        return self.next_uid - 1

    def memory_of(self, role: str) -> Any:
        """What is remembered in a role; not a copy."""
        return self._memory[role]

    def set_memory(self, role: str, memory: Any) -> None:
        """Remember what members remembered elsewhere, such as in the worlds they played."""
        self._memory[role] = memory

    def _run(self, role: str, x: Any) -> Any:
        out, self._memory[role] = self.nets(x, self._memory[role])
        return out

    def on_done(self, done: Bools, mode: str | None = None) -> None:
        """Forget the rows, `[nets, batch]`, whose episode ended."""
        for role in self._chosen(mode):
            memory = self._memory[role]
            self._memory[role] = None if memory is None else self.nets.reset(memory, done)

    def reset_memory(self, mode: str | None = None) -> None:
        """Forget: the role `mode`, or all. What nets have learned of their inputs stays."""
        for role in self._chosen(mode):
            memory = self._memory[role]
            self._memory[role] = None if memory is None else self.nets.reset(memory)

    @abstractmethod
    def save_memory(self) -> Any:
        """A copy of all that is remembered."""

    @abstractmethod
    def restore_memory(self, state: Any) -> None:
        """Remember what `save_memory` copied."""

    def _chosen(self, mode: str | None) -> tuple[str, ...]:
        if mode is None:
            return self.roles
        if mode not in self.roles:
            known = " or ".join(f"'{role}'" for role in self.roles)
            raise SettingsError(f"A memory's mode is {known}, or None for all, not '{mode}'.")
        return (mode,)

    def to_arrays(self) -> dict[str, AnyArray]:
        """All that members carry, each array with the member as first axis."""
        found = {f"nets/{name}": array for name, array in self.nets.to_arrays().items()}
        found |= {"uid": self.uid, "parents": self.parents, "inherited": self._inherited}
        for role, memory in self._memory.items():
            found |= memories.flatten(memory, f"memory/{role}")
        return found

    def load_arrays(self, arrays: Arrays, next_uid: int) -> None:
        """Become the population that `to_arrays` described."""
        inside = "nets/"
        self.nets.load_arrays(
            {k.removeprefix(inside): v for k, v in arrays.items() if k.startswith(inside)}
        )
        self.uid, self.parents = arrays["uid"].copy(), arrays["parents"].copy()
        self._inherited, self._total = arrays["inherited"].copy(), None
        self.next_uid = next_uid
        template = self.nets.initial_memory(1)
        for role in self.roles:
            self._memory[role] = memories.unflatten(template, arrays, f"memory/{role}")


class GeneratorPop(BasePop):
    """Members that only act: one memory each."""

    roles = ("gen",)

    def generate(self, x: Any) -> Any:
        """All outputs, `[nets, batch, outputs]`."""
        return self._run("gen", x)

    def save_memory(self) -> Any:
        """A copy of what is remembered."""
        return memories.copy_arrays(self._memory["gen"])

    def restore_memory(self, state: Any) -> None:
        """Remember what `save_memory` copied."""
        self._memory["gen"] = memories.copy_arrays(state)


class GeneratorDiscriminatorPop(BasePop):
    """Members that act and judge, each with one net and two memories that never mix.

    Args:
        nets: They have at least `n_gen + n_disc` outputs.
        n_gen: The first outputs, for acting.
        n_disc: The last outputs, for judging.
        ga_config: What children inherit.
        first_uid: The number of the first member.

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
            raise SettingsError(f"Both roles need an output; these have {n_gen} and {n_disc}.")
        self.n_gen, self.n_disc = n_gen, n_disc
        outputs = getattr(nets, "outputs", None)  # nets of one's own may not say
        if outputs is not None:
            self._check_outputs(outputs)

    def _check_outputs(self, outputs: int) -> None:
        needed = self.n_gen + self.n_disc
        if outputs < needed:
            raise SettingsError(
                f"Acting takes the first {self.n_gen} outputs and judging the last {self.n_disc}, "
                f"so nets need at least {needed}; with {outputs} the two would overlap."
            )

    def _run(self, role: str, x: Any) -> Any:
        out = super()._run(role, x)
        self._check_outputs(out.shape[-1])
        return out

    def generate(self, x: Any) -> Any:
        """The first `n_gen` outputs, with the memory of acting."""
        return self._run("gen", x)[..., : self.n_gen]

    def discriminate(self, x: Any) -> Any:
        """The last `n_disc` outputs, with the memory of judging."""
        return self._run("disc", x)[..., -self.n_disc :]

    def save_memory(self) -> dict[str, Any]:
        """A copy of both memories."""
        return {role: memories.copy_arrays(memory) for role, memory in self._memory.items()}

    def restore_memory(self, state: dict[str, Any]) -> None:
        """Remember what `save_memory` copied."""
        self._memory = {role: memories.copy_arrays(state[role]) for role in self.roles}
