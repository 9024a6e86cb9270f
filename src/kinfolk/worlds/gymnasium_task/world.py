"""A Gymnasium task as a world of one agent: `gym:CartPole-v1` and any other by its id.

`gym:mymodule:MyEnv-v0` imports the module that registers it; `env_kwargs` go to `gymnasium.make`.

What the task shows is one flat row of float32 (a number out of n is n places, one of them 1). A
number to act with is chosen from `bins` steps of its range.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from gymnasium.spaces.utils import flatdim

from kinfolk.core.arrays import AnyArray, Arrays, Bools, Bytes, Floats, Ints
from kinfolk.core.errors import ContractError, SettingsError
from kinfolk.core.settings import Settings, setting
from kinfolk.core.spaces import ActionHead, AgentGroup, ObservationField, WorldSpec
from kinfolk.worlds.base import WorldEvent, check_actions, load_snapshot, take_snapshot
from kinfolk.worlds.batched import BatchedWorld, check_batch_size
from kinfolk.worlds.gymnasium_task.factory import make_env
from kinfolk.worlds.gymnasium_task.vector import make_vector_tasks


class GymTask(Settings):
    """Which task, and how it is played."""

    task: str = setting("CartPole-v1", "Gymnasium id, or MODULE:ID.")
    env_kwargs: dict[str, Any] = setting({}, "Keyword arguments of gymnasium.make.")
    bins: int = setting(11, "Discrete actions per continuous action.", ge=2)
    max_steps: int | None = setting(None, "Step limit; by default the task's own, else 1000.", ge=1)


class GymState(NamedTuple):
    """What is known of each lane, beside the task's own state; one row per world."""

    key: Ints
    tick: Ints
    done: Bools
    episode_return: Floats  # reward of the episode
    observation: AnyArray  # [W, size] float32
    uid: Ints  # [W, 1], as are all below
    alive: Bools
    reward: Floats
    terminated: Bools
    truncated: Bools
    group: Ints
    parents: Ints
    parent_rows: Ints


class GymWorld(BatchedWorld):
    """A batch of tasks. They are done, and wait for a reset, until they get one."""

    settings_type = GymTask

    def __init__(self, settings: GymTask, n_worlds: int = 1) -> None:
        check_batch_size(n_worlds)
        self.settings = settings
        spec, size = make_spec(settings)
        self._tasks = make_vector_tasks(settings.task, n_worlds, settings.bins, settings.env_kwargs)
        self._state = _allocate_state(n_worlds, size)
        super().__init__(spec, self._state)
        self._is_recording_events = False
        self._events: list[WorldEvent] = []

    def reset(self, keys: Ints, worlds: Ints | None = None) -> None:
        """Begin episodes; a key is the seed of the task."""
        s, which = self._state, self._all_worlds if worlds is None else worlds
        if len(keys) != len(which):
            raise ContractError(f"{len(which)} worlds need as many keys, not {len(keys)}.")
        for world, key in zip(which.tolist(), np.asarray(keys).tolist(), strict=True):
            s.observation[world] = self._tasks.reset(world, key)
        s.key[which] = keys
        s.tick[which], s.episode_return[which] = 0, 0.0
        s.done[which], s.alive[which], s.uid[which] = False, True, 0
        s.reward[which], s.terminated[which], s.truncated[which] = 0.0, False, False
        self._events = []

    def step(self, actions: Ints) -> None:
        """Advance every world that is not done by one tick."""
        check_actions(self, actions)
        s, active = self._state, ~self._state.done
        self._events = []
        if not active.any():
            return
        outcome = self._tasks.step(actions, active)
        ended = outcome.terminated
        s.tick[:] += active
        late = outcome.truncated | (s.tick >= self.spec.max_ticks)
        np.copyto(s.observation, outcome.observation, where=active[:, None])
        np.copyto(s.reward[:, 0], outcome.reward, where=active)
        s.episode_return[:] += outcome.reward * active
        np.copyto(s.terminated[:, 0], ended, where=active)
        np.copyto(s.truncated[:, 0], late & ~ended, where=active)
        np.copyto(s.alive[:, 0], ~ended, where=active)
        np.copyto(s.done, ended | late, where=active)
        if self._is_recording_events:
            for world in np.flatnonzero(active & s.done).tolist():
                note = "ended" if s.terminated[world, 0] else "cut"
                self._events.append(
                    WorldEvent(
                        world,
                        int(s.tick[world]),
                        "end",
                        0,
                        -1,
                        float(s.episode_return[world]),
                        note,
                    )
                )

    def observe(self, out: Bytes, worlds: Ints | None = None) -> None:
        """Write what the tasks showed last."""
        which = self._all_worlds if worlds is None else worlds
        size = self._state.observation.shape[1]
        if worlds is None and self._state.uid.min() >= 0:
            out.view(np.float32)[:, :size] = self._state.observation
            return
        present = self._state.uid[which] >= 0
        out.view(np.float32)[which, :size] = np.where(present, self._state.observation[which], 0.0)

    def counters(self) -> dict[str, Ints | Floats]:
        """The return so far."""
        return {"return": self._state.episode_return.copy()}

    def record_events(self, on: bool) -> None:
        """Keep happenings, or stop."""
        self._is_recording_events, self._events = on, []

    def events(self) -> list[WorldEvent]:
        """Episodes that ended in the last step."""
        return list(self._events)

    def render_text(self, world: int) -> str:
        """The numbers that the task shows."""
        numbers = " ".join(f"{value:+.3f}" for value in self._state.observation[world][:12])
        return f"{self.settings.task} tick {int(self._state.tick[world])}: {numbers}"

    def snapshot(self) -> dict[str, Any]:
        """The whole state, copied.

        Raises:
            SettingsError: The task cannot be copied.
        """
        inner = {f"task_{name}": array for name, array in self._tasks.get_states().items()}
        return take_snapshot(self._state) | inner

    def restore(
        self, snapshot: Arrays, source: Ints | None = None, keys: Ints | None = None
    ) -> None:
        """Go back, or branch: world `i` becomes the snapshot's world `source[i]`."""
        load_snapshot(self._state, snapshot, source)
        inner = {n.removeprefix("task_"): a for n, a in snapshot.items() if n.startswith("task_")}
        self._tasks.set_states(inner, self._all_worlds if source is None else source)
        self._events = []
        if keys is not None:
            self._state.key[:] = keys


def make_spec(settings: GymTask) -> tuple[WorldSpec, int]:
    """The face of a task, and how many numbers it shows.

    Raises:
        UsageError: Gymnasium has no such task, or it cannot be made.
        SettingsError: It does not take these keywords, or what it takes cannot be laid out as
            choices.
    """
    task = settings.task
    env = make_env(task, settings.env_kwargs)
    limit = settings.max_steps or (env.spec.max_episode_steps if env.spec else None) or 1000
    size = flatdim(env.observation_space)
    heads = _make_heads(task, env.action_space, settings.bins)
    group = AgentGroup("agent", (ObservationField("observation", (size,), "float32"),), heads)
    return WorldSpec(f"gym:{task}", 1, (group,), limit), size


def _make_heads(task: str, space: Any, bins: int) -> tuple[ActionHead, ...]:
    if isinstance(space, Discrete):
        return (ActionHead("action", tuple(str(i + space.start) for i in range(int(space.n)))),)
    if isinstance(space, MultiDiscrete):
        return tuple(
            ActionHead(f"action_{i}", tuple(map(str, range(n))))
            for i, n in enumerate(space.nvec.ravel())
        )
    if isinstance(space, Box) and np.isfinite([space.low, space.high]).all():
        steps = tuple(f"{step}/{bins - 1}" for step in range(bins))
        return tuple(ActionHead(f"action_{i}", steps) for i in range(int(np.prod(space.shape))))
    raise SettingsError(f"gym:{task} takes {space}, which cannot be laid out as choices.")


def _allocate_state(n_worlds: int, size: int) -> GymState:
    def column(value: Any, dtype: Any, *tail: int) -> AnyArray:
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
