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
from pydantic import Field as Setting

from kinfolk.core.arrays import AnyArray, Arrays, Bools, Bytes, Floats, Ints
from kinfolk.core.errors import ContractError, SettingsError
from kinfolk.core.settings import Settings
from kinfolk.core.spaces import Field, Group, Head, WorldSpec
from kinfolk.worlds.base import Happening, check_actions, put_snapshot, take_snapshot
from kinfolk.worlds.batch import Batch, check_batch
from kinfolk.worlds.gym_lanes import make_lanes
from kinfolk.worlds.gym_tasks import make_task


class GymTask(Settings):
    """Which task, and how it is played."""

    task: str = "CartPole-v1"  # or MODULE:ID
    env_kwargs: dict[str, Any] = Setting(default={})  # keywords for gymnasium.make
    bins: int = Setting(default=11, ge=2)  # steps of a number to act with
    max_steps: int | None = Setting(default=None, ge=1)  # None: the task's own limit, else 1000


class State(NamedTuple):
    """What is known of each lane, beside the task's own state; one row per world."""

    key: Ints
    tick: Ints
    done: Bools
    total: Floats  # reward of the episode
    shown: AnyArray  # [W, size] float32
    uid: Ints  # [W, 1], as are all below
    alive: Bools
    reward: Floats
    terminated: Bools
    truncated: Bools
    group: Ints
    parents: Ints
    parent_rows: Ints


class GymWorld(Batch):
    """A batch of tasks. They are done, and wait for a reset, until they get one."""

    settings_type = GymTask

    def __init__(self, settings: GymTask, worlds: int = 1) -> None:
        check_batch(worlds)
        self.settings = settings
        spec, size = spec_of(settings)
        self._lanes = make_lanes(settings.task, worlds, settings.bins, settings.env_kwargs)
        self._state = _empty(worlds, size)
        super().__init__(spec, self._state)
        self._watching = False
        self._seen: list[Happening] = []

    def reset(self, keys: Ints, worlds: Ints | None = None) -> None:
        """Begin episodes; a key is the seed of the task."""
        s, which = self._state, self._all if worlds is None else worlds
        if len(keys) != len(which):
            raise ContractError(f"{len(which)} worlds need as many keys, not {len(keys)}.")
        for world, key in zip(which.tolist(), np.asarray(keys).tolist(), strict=True):
            s.shown[world] = self._lanes.reset(world, key)
        s.key[which] = keys
        s.tick[which], s.total[which] = 0, 0.0
        s.done[which], s.alive[which], s.uid[which] = False, True, 0
        s.reward[which], s.terminated[which], s.truncated[which] = 0.0, False, False
        self._seen = []

    def step(self, actions: Ints) -> None:
        """Advance every world that is not done by one tick."""
        check_actions(self, actions)
        s, active = self._state, ~self._state.done
        self._seen = []
        if not active.any():
            return
        outcome = self._lanes.step(actions, active)
        ended = outcome.terminated
        s.tick[:] += active
        late = outcome.truncated | (s.tick >= self.spec.max_ticks)
        np.copyto(s.shown, outcome.shown, where=active[:, None])
        np.copyto(s.reward[:, 0], outcome.reward, where=active)
        s.total[:] += outcome.reward * active
        np.copyto(s.terminated[:, 0], ended, where=active)
        np.copyto(s.truncated[:, 0], late & ~ended, where=active)
        np.copyto(s.alive[:, 0], ~ended, where=active)
        np.copyto(s.done, ended | late, where=active)
        if self._watching:
            for world in np.flatnonzero(active & s.done).tolist():
                note = "ended" if s.terminated[world, 0] else "cut"
                self._seen.append(
                    Happening(world, int(s.tick[world]), "end", 0, -1, float(s.total[world]), note)
                )

    def observe(self, out: Bytes, worlds: Ints | None = None) -> None:
        """Write what the tasks showed last."""
        which = self._all if worlds is None else worlds
        size = self._state.shown.shape[1]
        if worlds is None and self._state.uid.min() >= 0:
            out.view(np.float32)[:, :size] = self._state.shown
            return
        present = self._state.uid[which] >= 0
        out.view(np.float32)[which, :size] = np.where(present, self._state.shown[which], 0.0)

    def counters(self) -> dict[str, Ints | Floats]:
        """The return so far."""
        return {"return": self._state.total.copy()}

    def watch(self, on: bool) -> None:
        """Keep happenings, or stop."""
        self._watching, self._seen = on, []

    def happenings(self) -> list[Happening]:
        """Episodes that ended in the last step."""
        return list(self._seen)

    def picture(self, world: int) -> str:
        """The numbers that the task shows."""
        numbers = " ".join(f"{value:+.3f}" for value in self._state.shown[world][:12])
        return f"{self.settings.task} tick {int(self._state.tick[world])}: {numbers}"

    def snapshot(self) -> dict[str, Any]:
        """The whole state, copied.

        Raises:
            SettingsError: The task cannot be copied.
        """
        inner = {f"task_{name}": array for name, array in self._lanes.keep().items()}
        return take_snapshot(self._state) | inner

    def restore(
        self, snapshot: Arrays, source: Ints | None = None, keys: Ints | None = None
    ) -> None:
        """Go back, or branch: world `i` becomes the snapshot's world `source[i]`."""
        put_snapshot(self._state, snapshot, source)
        inner = {n.removeprefix("task_"): a for n, a in snapshot.items() if n.startswith("task_")}
        self._lanes.put(inner, self._all if source is None else source)
        self._seen = []
        if keys is not None:
            self._state.key[:] = keys


def spec_of(given: GymTask) -> tuple[WorldSpec, int]:
    """The face of a task, and how many numbers it shows.

    Raises:
        UsageError: Gymnasium has no such task, or it cannot be made.
        SettingsError: It does not take these keywords, or what it takes cannot be laid out as
            choices.
    """
    task = given.task
    env = make_task(task, given.env_kwargs)
    limit = given.max_steps or (env.spec.max_episode_steps if env.spec else None) or 1000
    size = flatdim(env.observation_space)
    heads = _heads(task, env.action_space, given.bins)
    group = Group("agent", (Field("numbers", (size,), "float32"),), heads)
    return WorldSpec(f"gym:{task}", 1, (group,), limit), size


def _heads(task: str, space: Any, bins: int) -> tuple[Head, ...]:
    if isinstance(space, Discrete):
        return (Head("action", tuple(str(i + space.start) for i in range(int(space.n)))),)
    if isinstance(space, MultiDiscrete):
        return tuple(
            Head(f"action_{i}", tuple(map(str, range(n)))) for i, n in enumerate(space.nvec.ravel())
        )
    if isinstance(space, Box) and np.isfinite([space.low, space.high]).all():
        steps = tuple(f"{step}/{bins - 1}" for step in range(bins))
        return tuple(Head(f"action_{i}", steps) for i in range(int(np.prod(space.shape))))
    raise SettingsError(f"gym:{task} takes {space}, which cannot be laid out as choices.")


def _empty(worlds: int, size: int) -> State:
    def column(value: Any, dtype: Any, *tail: int) -> AnyArray:
        return np.full((worlds, *tail), value, dtype=dtype)

    return State(
        key=column(0, np.int64),
        tick=column(0, np.int64),
        done=column(True, np.bool_),
        total=column(0.0, np.float64),
        shown=column(0.0, np.float32, size),
        uid=column(-1, np.int64, 1),
        alive=column(False, np.bool_, 1),
        reward=column(0.0, np.float64, 1),
        terminated=column(False, np.bool_, 1),
        truncated=column(False, np.bool_, 1),
        group=column(0, np.int64, 1),
        parents=column(-1, np.int64, 1, 2),
        parent_rows=column(-1, np.int64, 1, 2),
    )
