"""The parts that all adapters share: a single world with its random keys, and Gymnasium spaces."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from kinfolk.core.arrays import AnyArray, Bytes, Ints
from kinfolk.core.errors import UsageError, require
from kinfolk.core.random import WORLD_STREAM, episode_key, fold_in
from kinfolk.core.spaces import AgentGroup, ObservationField, encode_numbers
from kinfolk.worlds.adapters.infos import get_info_provider, require_log
from kinfolk.worlds.base import World

# One array if the group has one field, else an array per field.
Observation = AnyArray | dict[str, AnyArray]

_NO_OBSERVATION: Observation = {}  # replaced by that of each agent


class SingleWorld:
    """Step a single world with actions that are set row by row.

    `reset(seed)` starts episode 0 of that seed, `reset()` the next episode of the last seed. So one
    seed gives a reproducible series of different episodes.

    Args:
        world: A batch of one world.
        seed: Seed whose episode 0 the first `reset(None)` starts.
        record_events: Whether the world records its events.
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
        self._choices = [list_choices(group) for group in spec.groups]
        self._views = [
            {field.name: group.read_field(self.observations, field.name) for field in group.fields}
            for group in spec.groups
        ]
        # The number of heads and the view of all groups, where they are the same.
        n_heads = {len(choices) for choices in self._choices}
        self._n_shared_heads = n_heads.pop() if len(n_heads) == 1 else None
        has_one_field = len(spec.groups[0].fields) == 1
        is_shared = has_one_field and all(g.fields == spec.groups[0].fields for g in spec.groups)
        self._shared_view = next(iter(self._views[0].values())) if is_shared else None

    def reset(self, seed: int | None) -> None:
        """Start an episode with the same random key that `kinfolk.make` gives it."""
        if seed is not None:
            self.seed, self.episode = int(seed), -1
        self.episode += 1
        key = fold_in(episode_key(self.seed, self.episode), WORLD_STREAM)
        self.world.reset(np.array([key], dtype=np.int64))
        self.world.observe(self.observations)
        self.actions[:] = 0
        self.has_reset = True

    def check_can_step(self) -> None:
        """Raise UsageError before the first reset and after the end of an episode."""
        if not self.has_reset:
            raise UsageError("Call reset() before the first step().")
        if self.world.done[0]:
            raise UsageError("The episode is over; call reset() before the next step().")

    def step(self) -> None:
        """Step the world with the actions set by `set_action`, and observe it."""
        self.world.step(self.actions)
        self.world.observe(self.observations)

    def set_action(self, row: int, group: int, agent: str, action: Any) -> None:
        """Set the action of the agent in a row for the next step.

        Args:
            row: The agent's row.
            group: Index of the agent's group.
            agent: Name of the agent in error messages.
            action: One integer per action head, or one number if the heads are continuous.

        Raises:
            UsageError: The action is not one integer per head, or one is out of range.
        """
        choices = self._choices[group]
        if 0 in choices:
            self._set_numbers(row, group, agent, action)
            return
        chosen = np.asarray(action)
        if chosen.dtype.kind not in "iu" or chosen.size != len(choices):
            expected = "a whole number" if len(choices) == 1 else f"{len(choices)} whole numbers"
            raise UsageError(f"The action of {agent} must be {expected}, not {action!r}.")
        for head, choice in enumerate(chosen.reshape(-1).tolist()):
            if not 0 <= choice < choices[head]:
                spec = self.world.spec.groups[group]
                raise UsageError(
                    f"{agent} chose {choice} for {spec.heads[head].name}; "
                    f"a {spec.name} has 0 to {choices[head] - 1}."
                )
            self.actions[row, head] = choice

    def set_actions(self, rows: Ints, chosen: list[Any] | AnyArray) -> bool:
        """Set the actions of several agents, unless one of them is not of whole numbers.

        The world checks their range when it is stepped.

        Args:
            rows: Rows of the agents.
            chosen: An action per agent: one integer per action head.

        Returns:
            Whether the actions were set. If not, set them one by one, which says what is wrong.
        """
        if self._n_shared_heads is None:
            return self._set_actions_by_group(rows, chosen)
        try:
            actions = np.array(chosen)
        except ValueError:  # ragged
            return False
        is_whole = actions.dtype.kind in "iu"
        if not is_whole or actions.size != len(rows) * self._n_shared_heads:
            return False
        self.actions[rows, : self._n_shared_heads] = actions.reshape(len(rows), -1)
        return True

    def _set_actions_by_group(self, rows: Ints, chosen: list[Any] | AnyArray) -> bool:
        """Set the actions of agents whose groups differ in their number of heads, as `set_actions`."""
        groups = self.world.columns.group[rows]
        for group, choices in enumerate(self._choices):
            (members,) = (groups == group).nonzero()
            if not len(members):
                continue
            try:
                actions = np.array([chosen[i] for i in members.tolist()])
            except (ValueError, IndexError):
                return False
            if actions.dtype.kind not in "iu" or actions.size != len(members) * len(choices):
                return False
            self.actions[rows[members], : len(choices)] = actions.reshape(len(members), -1)
        return True

    def copy_observations(self, rows: Ints) -> list[Observation]:
        """Return copies of the observations of agents, in the order of `rows`."""
        if self._shared_view is not None:
            return list(self._shared_view[rows])
        groups = self.world.columns.group[rows]
        observations: list[Observation] = [_NO_OBSERVATION] * len(rows)
        for group, views in enumerate(self._views):
            members = np.flatnonzero(groups == group)
            copies = {name: view[rows[members]] for name, view in views.items()}
            for i, member in enumerate(members.tolist()):
                fields = {name: copy[i] for name, copy in copies.items()}
                observations[member] = fields if len(fields) > 1 else next(iter(fields.values()))
        return observations

    def _set_numbers(self, row: int, group: int, agent: str, action: Any) -> None:
        """Set the action of an agent whose heads are all continuous.

        Args:
            row: The agent's row.
            group: Index of the agent's group.
            agent: Name of the agent in error messages.
            action: One number per head.

        Raises:
            UsageError: The action is not one finite number per head.
        """
        n_heads = len(self._choices[group])
        numbers = np.asarray(action)
        is_numeric = numbers.dtype.kind in "iuf" and numbers.size == n_heads
        if not (is_numeric and np.isfinite(numbers).all()):
            expected = "a finite number" if n_heads == 1 else f"{n_heads} finite numbers"
            raise UsageError(f"The action of {agent} must be {expected}, not {action!r}.")
        self.actions[row] = encode_numbers(numbers.reshape(-1))

    def observation(self, row: int, group: int) -> Observation:
        """Return a copy of the observation of the agent in `row`."""
        views = self._views[group]
        if len(views) == 1:
            (view,) = views.values()
            observation: AnyArray = view[row].copy()
            return observation
        return {name: view[row].copy() for name, view in views.items()}

    def __getstate__(self) -> dict[str, Any]:
        """Return the state as plain values, because views of arrays would not survive the copy."""
        return {
            "world_type": type(self.world),
            "settings": self.world.settings,  # type: ignore[attr-defined]
            "snapshot": self.world.snapshot(),
            "observations": self.observations.copy(),
            "record_events": self._records_events,
            "episode": (self.seed, self.episode, self.has_reset),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Rebuild the world in new memory from its snapshot."""
        world = state["world_type"](state["settings"], 1)
        world.restore(state["snapshot"])
        SingleWorld.__init__(self, world, record_events=state["record_events"])
        self.observations[...] = state["observations"]
        self.seed, self.episode, self.has_reset = state["episode"]


class SingleWorldEnv:
    """Hold the single world of an environment with its log, and render it.

    Args:
        world: A batch of one world.
        seed: Seed whose episode 0 the first `reset()` starts; see `SingleWorld`.
        render_mode: None, or "ansi" for text.
        reads_events: Whether infos are made of the world's events.
        record_log: Whether an event log is kept.

    Raises:
        SettingsError: The batch has several worlds, or `render_mode` is unknown.
    """

    def __init__(
        self,
        world: World,
        seed: int,
        render_mode: str | None,
        reads_events: bool = False,
        record_log: bool = True,
    ) -> None:
        self.info_provider = get_info_provider(world)
        record_events = (reads_events or record_log) and self.info_provider.needs_events
        self.single_world = SingleWorld(world, seed, record_events)
        self._log = self.info_provider.make_log(world) if record_log else None
        is_known = render_mode in (None, "ansi")
        require(is_known, f"render_mode must be None or 'ansi', not '{render_mode}'.")
        self.render_mode = render_mode

    def _start_episode(self, seed: int | None) -> None:
        """Reset the world and start its log."""
        self.single_world.reset(seed)
        if self._log is not None:
            self._log.start()

    def _step_world(self) -> None:
        """Step the world with the actions set before, and add the step to its log."""
        self.single_world.step()
        if self._log is not None:
            self._log.update()

    @property
    def counters(self) -> dict[str, Any]:
        """Counters of the world since the reset, by name."""
        return self.info_provider.world_info(self.world)

    def event_log(self) -> dict[str, dict[str, Any]]:
        """Return the events of all agents of this episode, by name.

        Raises:
            UsageError: The environment keeps no log.
        """
        return require_log(self._log, self.world).event_log()

    def agent_stats(self) -> dict[str, dict[str, Any]]:
        """Return statistics of all agents of this episode, by name.

        Raises:
            UsageError: The environment keeps no log.
        """
        return require_log(self._log, self.world).agent_stats()

    @property
    def agent_event_log(self) -> dict[str, dict[str, Any]]:
        """The events of all agents of this episode, by name: `event_log()` under its published name."""
        return self.event_log()

    @property
    def agent_stats_live(self) -> dict[str, dict[str, Any]]:
        """Statistics of all agents of this episode, the dead too, by name: `agent_stats()`."""
        return self.agent_stats()

    @property
    def lineage_tracker(self) -> dict[str, dict[str, Any]]:
        """Parents, children and live descendants of all agents of this episode, by name.

        Raises:
            UsageError: The environment keeps no log.
        """
        return require_log(self._log, self.world).lineage_tracker()

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Attach the log to the copy of the world."""
        self.__dict__.update(state)
        if self._log is not None:
            self._log.attach(self.world)

    @property
    def world(self) -> World:
        """The wrapped world, which must only be stepped through this adapter."""
        return self.single_world.world

    def render(self) -> Any:
        """Return the world as text in mode "ansi", else None."""
        return self.world.render_text(0) if self.render_mode == "ansi" else None


def make_observation_space(group: AgentGroup, bounds: tuple[float, float]) -> spaces.Space[Any]:
    """Return a box, or a dictionary of boxes if the group has several fields.

    Args:
        group: Group whose fields are described.
        bounds: Lowest and highest value of floating-point fields.
    """
    boxes: dict[str, spaces.Space[Any]] = {f.name: make_box(f, bounds) for f in group.fields}
    if len(boxes) == 1:
        return next(iter(boxes.values()))
    return spaces.Dict(boxes)


def make_box(field: ObservationField, bounds: tuple[float, float]) -> spaces.Box:
    """Return the space of a field; `bounds` are those of floating-point fields."""
    dtype = np.dtype(field.dtype)
    low, high = bounds
    if dtype.kind in "iu":
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    elif dtype.kind == "b":
        low, high = 0, 1
    return spaces.Box(low, high, field.shape, dtype.type)


def make_action_space(group: AgentGroup) -> spaces.Space[Any]:
    """Return a discrete space, a multi-discrete one for several heads, or a box for numbers."""
    if any(head.is_continuous for head in group.heads):
        bounds = np.array([(head.low, head.high) for head in group.heads], dtype=np.float32)
        return spaces.Box(bounds[:, 0], bounds[:, 1], dtype=np.float32)
    sizes = list_choices(group)
    return spaces.Discrete(sizes[0]) if len(sizes) == 1 else spaces.MultiDiscrete(sizes)


def list_choices(group: AgentGroup) -> list[int]:
    """Return the number of choices of each head; last heads without a choice are left out."""
    sizes = [len(head.choices) for head in group.heads]
    while len(sizes) > 1 and sizes[-1] == 1:
        sizes.pop()
    return sizes


def make_zero_observation(group: AgentGroup) -> Observation:
    """Return the observation of an empty row: zeros."""
    zeros = {field.name: np.zeros(field.shape, field.dtype) for field in group.fields}
    return next(iter(zeros.values())) if len(zeros) == 1 else zeros
