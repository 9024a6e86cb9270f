"""`WorldContract` passes legitimate worlds of every kind, and names what a wrong one does wrong."""

from typing import NamedTuple

import numpy as np
import pytest

from kinfolk.core.random import uniform
from kinfolk.core.settings import Settings, setting
from kinfolk.core.spaces import (
    ActionHead,
    AgentGroup,
    ObservationField,
    WorldSpec,
    decode_numbers,
)
from kinfolk.testing.contracts.world import WorldContract
from kinfolk.worlds.base import BatchedWorld, check_actions

STEPS = ActionHead("step", ("left", "right"))
FORCE = ActionHead("force", (), -1.0, 1.0)
ROWS = 3  # as many as the wrong shape of actions had in an earlier version of the contract


class LineSettings(Settings):
    """No rules to set."""

    max_ticks: int = setting(30, "Length of an episode in ticks.", ge=1)


class State(NamedTuple):
    """A state without a random key: three agents start in the same places in every episode."""

    tick: np.ndarray
    done: np.ndarray
    place: np.ndarray
    uid: np.ndarray
    alive: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    group: np.ndarray
    parents: np.ndarray
    parent_rows: np.ndarray


class KeyedState(NamedTuple):
    """The same with a random key."""

    key: np.ndarray
    tick: np.ndarray
    done: np.ndarray
    place: np.ndarray
    uid: np.ndarray
    alive: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    group: np.ndarray
    parents: np.ndarray
    parent_rows: np.ndarray


class Line(BatchedWorld):
    """Three agents walk on a line, without chance and without events."""

    settings_type = LineSettings
    state_type = State
    fields = (ObservationField("place", (1,), "float64"),)
    heads = (STEPS,)

    def __init__(self, settings, n_worlds=1):
        self.settings = settings
        shape = (n_worlds, ROWS)
        arrays = {name: np.zeros(shape, np.bool_) for name in ("alive", "terminated", "truncated")}
        arrays |= {name: np.full((*shape, 2), -1) for name in ("parents", "parent_rows")}
        arrays |= {name: np.zeros(n_worlds, np.int64) for name in ("key", "tick")}
        arrays |= {"place": np.zeros(shape), "reward": np.zeros(shape)}
        arrays |= {"uid": np.full(shape, -1), "group": np.zeros(shape, np.int64)}
        arrays["done"] = np.ones(n_worlds, np.bool_)
        fields = self.state_type._fields
        self._state = self.state_type(**{name: arrays[name] for name in fields})
        group = AgentGroup("walker", self.fields, self.heads)
        super().__init__(WorldSpec("line", ROWS, (group,), settings.max_ticks), self._state)

    def reset(self, keys, worlds=None):
        s, worlds = self._state, self._select_worlds(worlds, keys)
        if "key" in s._fields:
            s.key[worlds] = keys
        for name in ("tick", "reward", "terminated", "truncated", "done"):
            getattr(s, name)[worlds] = 0
        s.uid[worlds], s.alive[worlds], s.place[worlds] = np.arange(ROWS), True, [0.0, 1.0, 2.0]

    def moves(self, actions):
        return actions[..., 0] * 2.0 - 1.0

    def step(self, actions):
        check_actions(self, actions)
        s, worlds = self._state, np.flatnonzero(~self._state.done)
        moves = self.moves(actions.reshape(self.n_worlds, ROWS, -1))[worlds]
        s.place[worlds] += moves
        s.reward[worlds] = moves
        s.tick[worlds] += 1
        s.done[worlds] = s.tick[worlds] >= self.settings.max_ticks
        s.truncated[worlds] = s.done[worlds][:, None]

    def observe(self, out, worlds=None):
        rows = out.reshape(self.n_worlds, ROWS, -1)
        for world in self._select_worlds(worlds):
            rows[world, :, :8] = self._state.place[world][:, None].view(np.uint8)

    def counters(self):
        return {}

    def record_events(self, on):
        pass

    def events(self):
        return []

    def render_text(self, world):
        return str(self._state.place[world])


class PushedLine(Line):
    """Agents choose a number, then a side; chance acts from the first step on, not at the start."""

    state_type = KeyedState
    heads = (FORCE, STEPS)

    def moves(self, actions):
        wind = uniform(self._state.key, self._state.tick)
        return decode_numbers(actions[..., 0]) + wind[:, None]


class WalledLine(Line):
    """Refuses steps that its action mask does not allow: beyond the walls at -2 and 4."""

    fields = (
        ObservationField("place", (1,), "float64"),
        ObservationField("action_mask", (2,), "float32"),
    )

    def allowed(self):
        return np.stack([self._state.place > -2, self._state.place < 4], axis=-1)

    def moves(self, actions):
        active = ~self._state.done[:, None]
        assert (np.take_along_axis(self.allowed(), actions, axis=2)[..., 0] | ~active).all()
        return super().moves(actions)

    def observe(self, out, worlds=None):
        super().observe(out, worlds)
        rows = out.reshape(self.n_worlds, ROWS, -1)
        for world in self._select_worlds(worlds):
            mask = np.ascontiguousarray(self.allowed()[world], np.float32)
            rows[world, :, 8:16] = mask.view(np.uint8)


class TestLegitimateWorlds(WorldContract):
    @pytest.fixture(params=[Line, PushedLine, WalledLine])
    def make(self, request):
        return lambda n_worlds: request.param(LineSettings(), n_worlds)


class Crowded(Line):
    """The reward depends on the size of the batch."""

    def moves(self, actions):
        return super().moves(actions) * self.n_worlds


class Forgetful(Line):
    """Hides state that no snapshot holds."""

    strides = 0

    def moves(self, actions):
        self.strides += 1
        return super().moves(actions) * self.strides


class Blinking(Line):
    """Observes something that is not state."""

    n_observed = 0

    def observe(self, out, worlds=None):
        super().observe(out, worlds)
        Blinking.n_observed += 1
        out[:, :8] = np.full((len(out), 1), Blinking.n_observed, np.float64).view(np.uint8)


class Restless(Line):
    """Changes after it is done, and when it refuses actions."""

    def step(self, actions):
        self._state.place[:, 1] += 1.0
        super().step(actions)


class HiddenKey(Line):
    """Has chance, but not in the array `key`."""

    def reset(self, keys, worlds=None):
        super().reset(keys, worlds)
        self._state.place[self._select_worlds(worlds), 0] = uniform(np.asarray(keys), 0)


SAME_KEYS = "test_the_same_keys_give_the_same_episodes"
DONE = "test_stepping_a_done_world_changes_nothing"
RANGE = "test_an_action_out_of_range_is_refused_and_changes_nothing"
RESTORED = "test_a_restored_snapshot_continues_the_episode"


@pytest.mark.parametrize(
    ("world", "test", "message"),
    [
        (Forgetful, RESTORED,
         r"^Restored and continued worlds differ after step 1: reward\[0, 0\] is -1\.0, not -11\.0\.$"),
        (Blinking, SAME_KEYS,
         r"^Two batches with the same keys differ after step 1: "
         r"place of a walker's observation\[0, 0, 0\] is \d+\.0, not \d+\.0\.$"),
        (Restless, DONE, r"^A step changed a world that is done: place\[0, 1\] is -?\d+\.0, not"),
        (Restless, RANGE, r"^A refused step changed the world: place\[0, 1\] is 2\.0, not 1\.0\.$"),
        (HiddenKey, "test_new_keys_change_only_the_random_key_of_a_restored_world",
         r"^a world with chance keeps its random key in the array 'key'\nassert \"place of a"),
    ],
)  # fmt: skip
def test_a_failure_names_the_array_that_differs(world, test, message):
    with pytest.raises(AssertionError, match=message):
        getattr(WorldContract(), test)(lambda n_worlds: world(LineSettings(), n_worlds))


def test_a_failure_in_a_batch_names_the_array_that_differs():
    message = r"^The last of 2 worlds and that world alone differ after step 1: reward\[0, 0\] is"
    with pytest.raises(AssertionError, match=message):
        WorldContract().test_a_single_world_equals_that_world_in_a_batch(
            lambda n_worlds: Crowded(LineSettings(), n_worlds), 2
        )


def test_plain_assertions_of_the_contract_show_their_values():
    class Writable(Line):
        columns = property(lambda self: self._columns._replace(reward=self._state.reward))

    with pytest.raises(AssertionError, match=r"assert \['reward'\] == \[\]"):
        WorldContract().test_its_arrays_are_read_only(lambda n: Writable(LineSettings(), n))
