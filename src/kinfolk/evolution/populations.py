"""The two populations: members that only act, and members that act and discriminate."""

from __future__ import annotations

from typing import Any

from kinfolk.core.errors import SettingsError
from kinfolk.evolution.base import BasePop, GAConfig
from kinfolk.nets.base import BaseNets
from kinfolk.nets.memory import copy_memory


class GeneratorPop(BasePop):
    """Population whose members only act, with one memory each."""

    roles = ("gen",)

    @property
    def _mem(self) -> Any:
        """Memory of the members, not copied."""
        return self._memory["gen"]

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
        nets: BaseNets,
        n_gen: int,
        n_disc: int,
        ga_config: GAConfig | None = None,
        first_uid: int = 0,
    ) -> None:
        super().__init__(nets, ga_config, first_uid)
        if n_gen < 1 or n_disc < 1:
            raise SettingsError(f"n_gen and n_disc must be at least 1, not {n_gen} and {n_disc}.")
        self.n_gen, self.n_disc = n_gen, n_disc
        if hasattr(nets, "outputs"):  # else the first outputs tell
            self._check_outputs(nets.outputs)

    def _check_outputs(self, outputs: int) -> None:
        """Raise SettingsError if the nets have too few outputs for both roles."""
        needed = self.n_gen + self.n_disc
        if outputs < needed:
            raise SettingsError(
                f"The generator has the first {self.n_gen} outputs and the discriminator the last "
                f"{self.n_disc}, so nets need at least {needed}; with {outputs} they would overlap."
            )

    def _run(self, role: str, x: Any) -> Any:
        """Run the nets with the memory of a role, and check that both roles have outputs."""
        out = super()._run(role, x)
        self._check_outputs(out.shape[-1])
        return out

    def _arguments(self) -> dict[str, int]:
        """Return the numbers of outputs of both roles."""
        return {"n_gen": self.n_gen, "n_disc": self.n_disc}

    def _options(self) -> list[str]:
        """Return the numbers of outputs of both roles, for `repr`."""
        return [f"{name}={value}" for name, value in self._arguments().items()]

    @property
    def _gen_mem(self) -> Any:
        """Memory of the generator, not copied."""
        return self._memory["gen"]

    @property
    def _disc_mem(self) -> Any:
        """Memory of the discriminator, not copied."""
        return self._memory["disc"]

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
