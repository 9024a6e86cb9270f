"""A Gymnasium task as a world of one agent: `gym:CartPole-v1` and any other by its id.

`gym:mymodule:MyEnv-v0` imports the module that registers it; `env_kwargs` go to `gymnasium.make`.

Observations are flattened to one row of float32, discrete ones as one-hot vectors. The components of
a Box action are continuous heads or, with `bins`, choices from equidistant values of their range.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete

from kinfolk.core.arrays import AnyArray, Arrays, Bools, Bytes, Floats, Ints
from kinfolk.core.errors import SettingsError
from kinfolk.core.settings import Settings, setting
from kinfolk.core.spaces import (
    ACTION_MASK,
    ActionHead,
    AgentGroup,
    ObservationField,
    WorldSpec,
)
from kinfolk.worlds.base import BatchedWorld, WorldEvent, check_actions, check_batch_size
from kinfolk.worlds.gymnasium_task.actions import MaskLayout
from kinfolk.worlds.gymnasium_task.env import make_env
from kinfolk.worlds.gymnasium_task.spaces import count_numbers, locate_env
from kinfolk.worlds.gymnasium_task.vector import make_vector_tasks

_FLOAT_BYTES = 4


class GymTask(Settings):
    """Settings of a Gymnasium task as a world."""

    task: str = setting("CartPole-v1", "Gymnasium id, or MODULE:ID.")
    env_kwargs: dict[str, Any] = setting({}, "Keyword arguments of gymnasium.make.")
    bins: int | None = setting(
        None, "Discrete actions per continuous action; by default actions stay continuous.", ge=2
    )
    action_masks: bool = setting(
        False,
        "Neural policies and kin://random choose only what info['action_mask'] of the task allows.",
    )
    max_steps: int | None = setting(None, "Step limit; by default the task's own, else 1000.", ge=1)


class GymState(NamedTuple):
    """State of each task beside its own; one row per world."""

    key: Ints  # random key of the episode
    tick: Ints  # steps since the reset
    done: Bools
    episode_return: Floats  # sum of rewards since the reset
    observation: AnyArray  # [W, size] float32
    uid: Ints  # [W, 1], as are all below; see `AgentColumns`
    alive: Bools
    reward: Floats
    terminated: Bools
    truncated: Bools
    group: Ints
    parents: Ints
    parent_rows: Ints


class GymWorld(BatchedWorld):
    """A batch of Gymnasium tasks; they are done until their first reset.

    Args:
        settings: Which task, and how it is played.
        n_worlds: Number of copies of the task.

    Attributes:
        keeps_tasks_alive: Whether a snapshot of tasks that cannot be copied keeps them alive in this
            object and stores a ticket for them. Otherwise such a snapshot is an error.
        lost_tasks: Whether the last `restore` found no tasks for its ticket, because another process
            has them or had them. Every world is done then, and must be reset.
    """

    settings_type = GymTask

    def __init__(self, settings: GymTask, n_worlds: int = 1) -> None:
        check_batch_size(n_worlds)
        self.settings = settings
        spec = make_spec(settings)
        mask = spec.groups[0].offsets.get(ACTION_MASK)
        self._tasks = make_vector_tasks(
            settings.task,
            n_worlds,
            settings.bins,
            settings.env_kwargs,
            None if mask is None else MaskLayout(mask // _FLOAT_BYTES, int(spec.n_choices[0, 0])),
        )
        fields = spec.groups[0].fields
        size = fields[0].shape[0] if mask is None else spec.row_bytes // _FLOAT_BYTES
        self._state = _allocate_state(n_worlds, size)
        super().__init__(spec, self._state)
        self._is_recording_events = False
        self._events: list[WorldEvent] = []
        self.keeps_tasks_alive = self.lost_tasks = False

    def find_copy_problem(self) -> str:
        """Return why the tasks cannot be copied in the middle of an episode; empty if they can."""
        self.reset(np.zeros(self.n_worlds, dtype=np.int64))
        try:
            self._tasks.get_states()
        except SettingsError as error:
            return str(error)
        return ""

    def reset(self, keys: Ints, worlds: Ints | None = None) -> None:
        """Start episodes; a key is the seed of its task."""
        s, indices = self._state, self._select_worlds(worlds, keys)
        for world, key in zip(indices.tolist(), np.asarray(keys).tolist(), strict=True):
            s.observation[world] = self._tasks.reset(world, key)
        s.key[indices] = keys
        s.tick[indices], s.episode_return[indices] = 0, 0.0
        s.done[indices], s.alive[indices], s.uid[indices] = False, True, 0
        s.reward[indices], s.terminated[indices], s.truncated[indices] = 0.0, False, False
        self._events = []

    def step(self, actions: Ints) -> None:
        """Advance every world that is not done by one step."""
        check_actions(self, actions)
        s, active = self._state, ~self._state.done
        self._events = []
        if not active.any():
            return
        outcome = self._tasks.step(actions, active)
        ended = outcome.terminated
        s.tick[:] += active
        timed_out = outcome.truncated | (s.tick >= self.spec.max_ticks)
        np.copyto(s.observation, outcome.observation, where=active[:, None])
        np.copyto(s.reward[:, 0], outcome.reward, where=active)
        s.episode_return[:] += outcome.reward * active
        np.copyto(s.terminated[:, 0], ended, where=active)
        np.copyto(s.truncated[:, 0], timed_out & ~ended, where=active)
        np.copyto(s.alive[:, 0], ~ended, where=active)
        np.copyto(s.done, ended | timed_out, where=active)
        if self._is_recording_events:
            for world in np.flatnonzero(active & s.done).tolist():
                note = "ended" if s.terminated[world, 0] else "cut"
                tick, total = int(s.tick[world]), float(s.episode_return[world])
                self._events.append(WorldEvent(world, tick, "end", 0, -1, total, note))

    def observe(self, out: Bytes, worlds: Ints | None = None) -> None:
        """Write the latest observations of the tasks."""
        rows, observation, uid = out.view(np.float32), self._state.observation, self._state.uid
        size = observation.shape[1]
        if worlds is None and uid.min() >= 0:
            rows[:, :size] = observation
            return
        indices = self._select_worlds(worlds)
        rows[indices, :size] = np.where(uid[indices] >= 0, observation[indices], 0.0)

    def counters(self) -> dict[str, Ints | Floats]:
        """Return the sum of rewards since the reset as `return`."""
        return {"return": self._state.episode_return.copy()}

    def record_events(self, on: bool) -> None:
        """Start or stop recording ends of episodes."""
        self._is_recording_events, self._events = on, []

    def events(self) -> list[WorldEvent]:
        """Return an event for each episode that ended in the last step."""
        return list(self._events)

    def render_text(self, world: int) -> str:
        """Return the first numbers of the observation as text."""
        numbers = " ".join(f"{value:+.3f}" for value in self._state.observation[world][:12])
        return f"{self.settings.task} tick {int(self._state.tick[world])}: {numbers}"

    def snapshot(self) -> dict[str, Any]:
        """Return a copy of the whole state.

        Raises:
            SettingsError: The task cannot be copied, and `keeps_tasks_alive` is False.
        """
        try:
            states = self._tasks.get_states()
        except SettingsError:
            if not self.keeps_tasks_alive:
                raise
            states = self._tasks.park()
        return super().snapshot() | {f"task_{name}": array for name, array in states.items()}

    def restore(
        self, snapshot: Arrays, source: Ints | None = None, keys: Ints | None = None
    ) -> None:
        """Restore a snapshot: world `i` becomes a copy of the snapshot's world `source[i]`."""
        super().restore(snapshot, source, keys)
        task_arrays = {name: a for name, a in snapshot.items() if name.startswith("task_")}
        task_states = {name.removeprefix("task_"): a for name, a in task_arrays.items()}
        order = self._all_worlds if source is None else source
        self.lost_tasks = not self._tasks.set_states(task_states, order)
        if self.lost_tasks:
            self._state.done[:] = True
        self._events = []


def make_spec(settings: GymTask) -> WorldSpec:
    """Return the spec of a task.

    Raises:
        UsageError: Gymnasium has no such task, or it cannot be made.
        SettingsError: The task does not take these keywords, or its actions are of another kind.
    """
    task = settings.task
    env = make_env(task, settings.env_kwargs)
    limit = settings.max_steps or (env.spec.max_episode_steps if env.spec else None) or 1000
    size = count_numbers(task, env)
    heads = _make_heads(task, env, settings.bins)
    fields: tuple[ObservationField, ...] = (ObservationField("observation", (size,), "float32"),)
    if settings.action_masks:
        if not isinstance(env.action_space, Discrete):
            raise SettingsError(
                f"gym:{task} has the action space {env.action_space}; masks are for Discrete ones"
                f"{locate_env(env)}."
            )
        fields += (ObservationField(ACTION_MASK, (int(env.action_space.n),), "float32"),)
    return WorldSpec(f"gym:{task}", 1, (AgentGroup("agent", fields, heads),), limit)


def _make_heads(task: str, env: Any, bins: int | None) -> tuple[ActionHead, ...]:
    """Return the action heads of an environment's action space.

    Args:
        task: Name of the task in error messages.
        env: The environment.
        bins: Number of values of a continuous component; None leaves it continuous.

    Raises:
        SettingsError: The space is of another kind, or has no bounds to divide into bins.
    """
    space = getattr(env, "action_space", None)
    if isinstance(space, Discrete):
        return (ActionHead("action", tuple(str(i + space.start) for i in range(int(space.n)))),)
    if isinstance(space, MultiDiscrete):
        return tuple(
            ActionHead(f"action_{i}", tuple(map(str, range(n))))
            for i, n in enumerate(space.nvec.ravel())
        )
    if isinstance(space, MultiBinary):
        bits = ("0", "1")
        return tuple(ActionHead(f"action_{i}", bits) for i in range(int(np.prod(space.shape))))
    if isinstance(space, Box) and bins is None:
        bounds = zip(space.low.ravel().tolist(), space.high.ravel().tolist(), strict=True)
        return tuple(ActionHead(f"action_{i}", (), *bound) for i, bound in enumerate(bounds))
    if isinstance(space, Box) and np.isfinite([space.low, space.high]).all():
        assert bins is not None
        values = tuple(f"{step}/{bins - 1}" for step in range(bins))
        return tuple(ActionHead(f"action_{i}", values) for i in range(int(np.prod(space.shape))))
    without_bounds = isinstance(space, Box)
    raise SettingsError(
        f"gym:{task} has the action space {space}, which has no bounds to divide into bins. Leave "
        f"`bins` out{locate_env(env)}."
        if without_bounds
        else f"gym:{task} has the action space {space}; only Discrete, MultiDiscrete, MultiBinary "
        f"and Box spaces are supported{locate_env(env)}."
    )


def _allocate_state(n_worlds: int, size: int) -> GymState:
    """Allocate the state of `n_worlds` tasks with observations of `size` numbers."""

    def column(value: float, dtype: Any, *tail: int) -> AnyArray:
        """Return an array `[n_worlds, *tail]` filled with one value."""
        return np.full((n_worlds, *tail), value, dtype=dtype)

    return GymState(
        key=column(0, np.int64),
        tick=column(0, np.int64),
        done=column(True, np.bool_),
        episode_return=column(0.0, np.float64),
        observation=column(0.0, np.float32, size),
        uid=column(-1, np.int64, 1),
        alive=column(False, np.bool_, 1),
        reward=column(0.0, np.float64, 1),
        terminated=column(False, np.bool_, 1),
        truncated=column(False, np.bool_, 1),
        group=column(0, np.int64, 1),
        parents=column(-1, np.int64, 1, 2),
        parent_rows=column(-1, np.int64, 1, 2),
    )
