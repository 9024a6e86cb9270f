"""What all adapters share: one world with its random keys, observations, actions and Gymnasium spaces."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from kinfolk.core.arrays import AnyArray, Bytes, Ints
from kinfolk.core.errors import UsageError, require
from kinfolk.core.random import WORLD_STREAM, episode_key, fold_in
from kinfolk.core.spaces import AgentGroup, ObservationField
from kinfolk.worlds.base import World

Observation = AnyArray | dict[str, AnyArray]


def check_render_mode(render_mode: str | None) -> str | None:
    """The mode that was given, if there is such a one."""
    require(
        render_mode in (None, "ansi"),
        f"A world renders as 'ansi' or not at all, not as '{render_mode}'.",
    )
    return render_mode


class SingleWorld:
    """Steps one world, row by row.

    `reset(seed)` begins episode 0 of that seed, `reset()` the next episode of the last one. So a
    single seed gives a whole series of different episodes, and the same series every time.
    """

    def __init__(self, world: World, seed: int = 0, record_events: bool = False) -> None:
        require(
            world.n_worlds == 1, f"An adapter takes one world; this batch has {world.n_worlds}."
        )
        self.world, self._records_events = world, record_events
        world.record_events(record_events)
        self.seed, self.episode = seed, -1
        self.has_reset = False
        spec = world.spec
        self.observations: Bytes = np.zeros((spec.rows, spec.row_bytes), dtype=np.uint8)
        self.actions: Ints = np.zeros((spec.rows, spec.n_heads), dtype=np.int64)
        self._choices: list[list[int]] = spec.n_choices.tolist()
        self._views = [
            {field.name: group.read_field(self.observations, field.name) for field in group.fields}
            for group in spec.groups
        ]

    def reset(self, seed: int | None) -> None:
        """Begin an episode, with the chance that `kinfolk.make` gives it."""
        if seed is not None:
            self.seed, self.episode = int(seed), -1
        self.episode += 1
        key = fold_in(episode_key(self.seed, self.episode), WORLD_STREAM)
        self.world.reset(np.array([key], dtype=np.int64))
        self.world.observe(self.observations)
        self.actions[:] = 0
        self.has_reset = True

    def check_can_step(self) -> None:
        """Refuse to step before a reset, or after the end."""
        if not self.has_reset:
            raise UsageError("Call reset() before the first step().")
        if self.world.done[0]:
            raise UsageError("The episode is over; call reset() before the next step().")

    def step(self) -> None:
        """One step with the actions put down by `choose`."""
        self.world.step(self.actions)
        self.world.observe(self.observations)

    def set_action(self, row: int, group: int, agent: str, action: Any) -> None:
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

    def render_text(self, render_mode: str | None) -> str | None:
        """The world as text in mode "ansi"; nothing without a mode."""
        return self.world.render_text(0) if render_mode == "ansi" else None

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
            "watching": self._records_events,
            "plain": (self.seed, self.episode, self.has_reset),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        """The same world in new memory."""
        world = state["kind"](state["settings"], 1)
        world.restore(state["snapshot"])
        SingleWorld.__init__(self, world, record_events=state["watching"])
        self.observations[...] = state["observations"]
        self.seed, self.episode, self.has_reset = state["plain"]


def make_observation_space(group: AgentGroup, bounds: tuple[float, float]) -> spaces.Space[Any]:
    """A box, or one per field if there are several. `bounds` are for numbers with a fraction."""
    boxes: dict[str, spaces.Space[Any]] = {f.name: _make_box(f, bounds) for f in group.fields}
    if len(boxes) == 1:
        return next(iter(boxes.values()))
    return spaces.Dict(boxes)


def _make_box(field: ObservationField, bounds: tuple[float, float]) -> spaces.Box:
    dtype = np.dtype(field.dtype)
    low, high = bounds
    if dtype.kind in "iu":
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    elif dtype.kind == "b":
        low, high = 0, 1
    return spaces.Box(low, high, field.shape, dtype.type)


def make_action_space(group: AgentGroup) -> spaces.Space[Any]:
    """One choice, or one per head."""
    sizes = [len(head.choices) for head in group.heads]
    return spaces.Discrete(sizes[0]) if len(sizes) == 1 else spaces.MultiDiscrete(sizes)


def make_zero_observation(group: AgentGroup) -> Observation:
    """The observation of an empty place: zeros."""
    blank = {field.name: np.zeros(field.shape, field.dtype) for field in group.fields}
    return next(iter(blank.values())) if len(blank) == 1 else blank


def make_stacked_observation_space(
    group: AgentGroup, rows: int, bounds: tuple[float, float]
) -> spaces.Dict:
    """All fields of all rows, and who of them lives."""
    stacked = [
        ObservationField(field.name, (rows, *field.shape), field.dtype) for field in group.fields
    ]
    boxes: dict[str, spaces.Space[Any]] = {
        field.name: _make_box(field, bounds) for field in stacked
    }
    return spaces.Dict(boxes | {"alive": spaces.MultiBinary(rows)})


def make_stacked_action_space(group: AgentGroup, rows: int) -> spaces.MultiDiscrete:
    """One choice per row and head."""
    sizes = [len(head.choices) for head in group.heads]
    return spaces.MultiDiscrete(np.tile(np.array(sizes, dtype=np.int64), (rows, 1)))
