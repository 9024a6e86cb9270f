"""Recording an episode while it is played: frames in, pieces of a replay out.

A frame is the world after a step; frame 0 is its beginning. With a frame are kept the actions
that its agents chose on seeing it, and the reasons of those that can tell them. Nothing here
touches the disk, and playing is the same whether it is recorded or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

import numpy as np
from pydantic import Field

from kinfolk.core.arrays import AnyArray, Ints
from kinfolk.core.errors import UsageError
from kinfolk.core.events import Artefact
from kinfolk.core.settings import Settings
from kinfolk.play.episode import EpisodeResult, Play
from kinfolk.play.replay_numbers import Numbers
from kinfolk.policies.reasons import Why, teller_of
from kinfolk.store.replay import FOLDER, SUFFIX
from kinfolk.store.replay_form import (
    DONE,
    FORMAT,
    FRAMES,
    HEAD,
    MAGIC,
    MOST_FRAMES,
    MOST_UNPACKED,
    NUMBERS,
    as_changes,
    as_steps,
    block,
    json_record,
    packed_record,
)
from kinfolk.worlds.scene import Shown, Viewable

EMPTY, ALIVE, ENDED = 0, 1, 2  # of the column `state`
_EARNED_SCALE = 100.0
_CHUNK_BYTES = 1 << 17  # rows times frames of a chunk: what a page unpacks without a pause
_LEAST_CHUNK = 16
_CELL_BYTES, _ROW_BYTES = 16, 256  # at most, of a frame: twice a change of a cell, and 64 columns


class Thin(Settings):
    """How much of an episode is kept."""

    every: int = Field(default=1, ge=1)  # keep each n-th tick, and the last
    reasons: bool = True  # and why agents act as they do


def record(play: Play, about: Mapping[str, Any], thin: Thin | None = None) -> Iterator[bytes]:
    """Play one episode to its end and yield its replay piece by piece, as it goes.

    Args:
        play: A loop over one world, with an episode left to play. It plays as without recording.
        about: What else the replay should say of itself: plain values.
        thin: How much is kept.
    """
    recorder = Recorder(play, about, thin)
    yield recorder.begin()
    while not (results := play.tick()):
        if piece := recorder.see():
            yield piece
    yield recorder.see(last=True) + recorder.end(results[0])


def artefacts(name: str, pieces: Iterable[bytes]) -> Iterator[Artefact]:
    """The pieces of a replay as what a job yields; `name` is that of the replay."""
    for number, data in enumerate(pieces):
        yield Artefact(name=f"{FOLDER}/{name}{SUFFIX}", data=data, more=number > 0)


class Recorder:
    """Looks at a loop that plays one episode in one world.

    Call `begin` before the first tick, `see` after each, `end` after the last; each gives bytes
    to be appended to the replay, often none.

    Raises:
        UsageError: The world cannot be looked at.
    """

    def __init__(self, play: Play, about: Mapping[str, Any], thin: Thin | None = None) -> None:
        world = play.world
        if not isinstance(world, Viewable):
            raise UsageError(f"World {world.spec.world} has no scene, so it cannot be recorded.")
        self._play, self._world, self._about = play, world, dict(about)
        self._thin = thin or Thin()
        self._rows = world.spec.rows
        self._scene = world.scene
        places = self._scene.width * self._scene.height * len(self._scene.layers)
        room = max(1, MOST_UNPACKED // (_CELL_BYTES * places + _ROW_BYTES * self._rows))
        wanted = max(_LEAST_CHUNK, min(MOST_FRAMES, _CHUNK_BYTES // self._rows))
        self._chunk = min(wanted, room)
        self._numbers = Numbers(play, world)
        tellers = {i: teller_of(slot.policy) for i, slot in enumerate(play.slots)}
        self._tellers = {i: one for i, one in tellers.items() if one and self._thin.reasons}
        self._reasons = {index: policy.reasons for index, policy in self._tellers.items()}
        self._depth = max((reasons.depth for reasons in self._reasons.values()), default=0)
        self._cells: list[AnyArray] = []
        self._columns: list[dict[str, AnyArray]] = []
        self._first = 0  # frame number of the chunk's first

    def begin(self) -> bytes:
        """Start the episode and look at its beginning."""
        self._world.watch(True)
        for policy in self._tellers.values():
            policy.explain(True)
        self._play.begin()
        self._keep_frame()
        return MAGIC + json_record(HEAD, self._head())

    def see(self, last: bool = False) -> bytes:
        """Look at the world after a tick; `last` if the episode ended in it."""
        if self._numbers.frame_is_open:  # the choices that led here belong to the frame before
            self._columns[-1] |= self._choices()
            self._numbers.frame_is_open = False
        self._numbers.hear(self._world.happenings())
        if not last and int(self._world.tick[0]) % self._thin.every:
            return b""
        out = self._flush() if len(self._cells) == self._chunk else b""
        self._keep_frame()
        return out

    def end(self, result: EpisodeResult) -> bytes:
        """What is left, and how it ended."""
        for policy in self._tellers.values():
            policy.explain(False)
        return self._flush() + json_record(DONE, {"result": asdict(result)})

    def _keep_frame(self) -> None:
        shown = self._world.show(0)
        self._cells.append(shown.cells.reshape(-1))
        self._columns.append(self._agents(shown) | self._no_choices())
        self._numbers.count(shown)

    def _agents(self, shown: Shown) -> dict[str, AnyArray]:
        columns, seats = self._world.columns, self._play.seats
        state = np.where(columns.alive, ALIVE, np.where(columns.uid >= 0, ENDED, EMPTY))
        here = state != EMPTY
        known = here & (seats.uid == columns.uid)
        found: dict[str, AnyArray] = {
            "uid": np.where(here, columns.uid, -1),
            "state": state,
            "group": np.where(here, columns.group, 0),
            "cell": np.where(here, shown.cell, 0),
            "slot": np.where(known, seats.slot, -1),
            "earned": np.where(known, np.rint(seats.earned * _EARNED_SCALE), 0),
        }
        for trait, values in zip(self._scene.traits, shown.traits, strict=True):
            found[f"trait/{trait.name}"] = np.where(here, values, 0)
        return found

    def _no_choices(self) -> dict[str, AnyArray]:
        nothing: Ints = np.full(self._rows, -1, dtype=np.int64)
        found: dict[str, AnyArray] = {f"action/{h}": nothing for h in self._heads}
        for index, reasons in self._reasons.items():
            for name in reasons.facts:
                found[f"why/{index}/{name}"] = nothing
        for name in ("considered", "verdict") if self._tellers else ():
            found[f"why/{name}"] = np.full(self._rows * self._depth, -1, dtype=np.int64)
        return found

    def _choices(self) -> dict[str, AnyArray]:
        """What was chosen on seeing the last frame, and why."""
        found, lists = self._no_choices(), self._play.lists
        asked = np.concatenate([lists.row[i, :n] for i, n in enumerate(lists.asked)])
        for at, head in enumerate(self._heads):
            chosen = found[f"action/{head}"] = found[f"action/{head}"].copy()
            chosen[asked] = self._play.actions[asked, at]
        for index in self._tellers:
            rows = lists.row[index, : lists.asked[index]]
            why = self._why(index) if len(rows) else None
            if why is None:
                continue
            for name in self._reasons[index].facts:
                fact = found[f"why/{index}/{name}"] = found[f"why/{index}/{name}"].copy()
                fact[rows] = why.facts[name]
            for name in ("considered", "verdict"):
                told = getattr(why, name)
                found[f"why/{name}"].reshape(self._rows, -1)[rows, : told.shape[1]] = told
        return found

    def _why(self, index: int) -> Why | None:
        """What the policy of a slot tells of the last question; one begun anew tells from now on."""
        policy = teller_of(self._play.slots[index].policy)
        if policy is not None and policy is self._tellers[index]:
            return policy.why()
        if policy is not None:
            policy.explain(True)
            self._tellers[index] = policy
        return None

    @property
    def _heads(self) -> list[str]:
        return [head.name for head in self._world.spec.groups[0].heads]

    def _flush(self) -> bytes:
        """The chunk as a pair of records."""
        count, first = len(self._cells), self._first
        arrays = as_changes(np.stack(self._cells))
        used = 1 + int(
            np.max([np.flatnonzero(c["state"])[-1:].max(initial=0) for c in self._columns])
        )
        for name, column in self._columns[0].items():
            kept = used * (len(column) // self._rows)
            arrays |= as_steps(name, np.stack([c[name][:kept] for c in self._columns]))
        numbers, number_notes, events, notes = self._numbers.take()
        out = packed_record(NUMBERS, block(numbers, number_notes), first, count)
        out += packed_record(FRAMES, block(arrays | events, notes), first, count)
        self._first += count
        self._cells, self._columns = [], []
        return out

    def _head(self) -> dict[str, Any]:
        spec = self._world.spec
        return {
            **self._about,
            "format": FORMAT,
            "kinfolk": version("kinfolk"),
            "world": spec.world,
            "rows": spec.rows,
            "max_ticks": spec.max_ticks,
            "every": self._thin.every,
            "scene": self._scene.to_dict(),
            "groups": [group.name for group in spec.groups],
            "slots": [slot.id for slot in self._play.slots],
            "heads": {h: [g.heads[i].choices for g in spec.groups] for i, h in enumerate(self._heads)},
            "earned_scale": _EARNED_SCALE,
            "series": self._numbers.names,
            "reasons": {str(index): asdict(reasons) for index, reasons in self._reasons.items()},
            "depth": self._depth,
        }  # fmt: skip
