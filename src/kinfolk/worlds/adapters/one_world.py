"""A batch of one world with its chance, observations and actions at hand: what all faces share."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Bytes, Ints
from kinfolk.core.errors import UsageError, require
from kinfolk.core.keys import WORLD_BRANCH, episode_key, fold
from kinfolk.worlds.base import World

Observation = AnyArray | dict[str, AnyArray]


def render_mode_of(given: str | None) -> str | None:
    """The mode that was given, if there is such a one."""
    require(given in (None, "ansi"), f"A world renders as 'ansi' or not at all, not as '{given}'.")
    return given


class OneWorld:
    """Steps one world, row by row.

    `reset(seed)` begins episode 0 of that seed, `reset()` the next episode of the last one. So a
    single seed gives a whole series of different episodes, and the same series every time.
    """

    def __init__(self, world: World, seed: int = 0, watching: bool = False) -> None:
        require(world.worlds == 1, f"A face shows one world; this batch has {world.worlds}.")
        self.world, self._watching = world, watching
        world.watch(watching)
        self.seed, self.episode = seed, -1
        self.begun = False
        spec = world.spec
        self.observations: Bytes = np.zeros((spec.rows, spec.row_bytes), dtype=np.uint8)
        self.actions: Ints = np.zeros((spec.rows, spec.heads), dtype=np.int64)
        self._choices: list[list[int]] = spec.choices.tolist()
        self._views = [
            {field.name: group.read(self.observations, field.name) for field in group.fields}
            for group in spec.groups
        ]

    def reset(self, seed: int | None) -> None:
        """Begin an episode, with the chance that `kinfolk.make` gives it."""
        if seed is not None:
            self.seed, self.episode = int(seed), -1
        self.episode += 1
        key = fold(episode_key(self.seed, self.episode), WORLD_BRANCH)
        self.world.reset(np.array([key], dtype=np.int64))
        self.world.observe(self.observations)
        self.actions[:] = 0
        self.begun = True

    def expect_a_step(self) -> None:
        """Refuse to step before a reset, or after the end."""
        if not self.begun:
            raise UsageError("Call reset() before the first step().")
        if self.world.done[0]:
            raise UsageError("The episode is over; call reset() before the next step().")

    def step(self) -> None:
        """One step with the actions put down by `choose`."""
        self.world.step(self.actions)
        self.world.observe(self.observations)

    def choose(self, row: int, group: int, agent: str, action: Any) -> None:
        """Put down the action of the life in `row`.

        Raises:
            UsageError: It is not one whole number per head, or out of range.
        """
        choices = self._choices[group]
        chosen = np.asarray(action)
        if chosen.dtype.kind not in "iu" or chosen.size != len(choices):
            asked = "a whole number" if len(choices) == 1 else f"{len(choices)} whole numbers"
            raise UsageError(f"The action of {agent} must be {asked}, not {action!r}.")
        for head, number in enumerate(chosen.reshape(-1).tolist()):
            if not 0 <= number < choices[head]:
                owner = self.world.spec.groups[group]
                raise UsageError(
                    f"{agent} chose {number} for {owner.heads[head].name}; "
                    f"a {owner.name} has 0 to {choices[head] - 1}."
                )
            self.actions[row, head] = number

    def picture(self, mode: str | None) -> str | None:
        """The world as text in mode "ansi"; nothing without a mode."""
        return self.world.picture(0) if mode == "ansi" else None

    def observation(self, row: int, group: int) -> Observation:
        """A copy of what the life in `row` sees: an array, or one per field if there are several."""
        views = self._views[group]
        if len(views) == 1:
            (view,) = views.values()
            alone: AnyArray = view[row].copy()
            return alone
        return {name: view[row].copy() for name, view in views.items()}

    def __getstate__(self) -> dict[str, Any]:
        """Plain values: views of a world's arrays would not be views of the copy's."""
        return {
            "kind": type(self.world),
            "settings": self.world.settings,  # type: ignore[attr-defined]
            "snapshot": self.world.snapshot(),
            "observations": self.observations.copy(),
            "watching": self._watching,
            "plain": (self.seed, self.episode, self.begun),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        """The same world in new memory."""
        world = state["kind"](state["settings"], 1)
        world.restore(state["snapshot"])
        OneWorld.__init__(self, world, watching=state["watching"])
        self.observations[...] = state["observations"]
        self.seed, self.episode, self.begun = state["plain"]
