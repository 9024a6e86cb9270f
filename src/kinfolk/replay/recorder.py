"""Recording an episode while it is played: frames in, pieces of a replay out.

A frame is the world after a step; frame 0 is its beginning. With a frame are kept the actions
that its agents chose on seeing it, and the reasons of those that can tell them. Nothing here
touches the disk, and playing is the same whether it is recorded or not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

import numpy as np
from pydantic import Field

from kinfolk.core.arrays import AnyArray, Ints
from kinfolk.core.errors import UsageError
from kinfolk.core.settings import Settings
from kinfolk.play.loop import EpisodeLoop
from kinfolk.play.results import EpisodeResult
from kinfolk.policies.explain import ExplanationBatch, find_explainable
from kinfolk.replay.format import (
    DONE,
    FORMAT_VERSION,
    FRAMES,
    HEADER,
    MAGIC,
    MAX_FRAMES,
    MAX_PAYLOAD_BYTES,
    SERIES,
    delta_encode,
    encode_arrays,
    encode_cell_changes,
    encode_json_record,
    encode_record,
)
from kinfolk.replay.series import ReplaySeries
from kinfolk.worlds.render import Renderable, RenderFrame

EMPTY, ALIVE, ENDED = 0, 1, 2  # of the column `state`
_REWARD_SCALE = 100.0
_CHUNK_BYTES = 1 << 17  # rows times frames of a chunk: what a page unpacks without a pause
_MIN_CHUNK = 16
_CELL_BYTES, _ROW_BYTES = 16, 256  # at most, of a frame: twice a change of a cell, and 64 columns


class ReplayOptions(Settings):
    """How much of an episode is kept."""

    record_every: int = Field(default=1, ge=1)  # keep each n-th tick, and the last
    with_explanations: bool = True  # and why agents act as they do


class ReplayRecorder:
    """Looks at a loop that plays one episode in one world.

    Call `begin` before the first tick, `see` after each, `end` after the last; each gives bytes
    to be appended to the replay, often none.

    Raises:
        UsageError: The world cannot be looked at.
    """

    def __init__(
        self, loop: EpisodeLoop, metadata: Mapping[str, Any], options: ReplayOptions | None = None
    ) -> None:
        world = loop.world
        if not isinstance(world, Renderable):
            raise UsageError(
                f"World {world.spec.world} has no render_spec, so it cannot be recorded."
            )
        self._loop, self._world, self._metadata = loop, world, dict(metadata)
        self._options = options or ReplayOptions()
        self._rows = world.spec.rows
        self._scene = world.render_spec
        places = self._scene.width * self._scene.height * len(self._scene.layers)
        room = max(1, MAX_PAYLOAD_BYTES // (_CELL_BYTES * places + _ROW_BYTES * self._rows))
        wanted = max(_MIN_CHUNK, min(MAX_FRAMES, _CHUNK_BYTES // self._rows))
        self._chunk_frames = min(wanted, room)
        self._series = ReplaySeries(loop, world)
        tellers = {i: find_explainable(slot.policy) for i, slot in enumerate(loop.slots)}
        self._explainers = {
            i: one for i, one in tellers.items() if one and self._options.with_explanations
        }
        self._explanation_schemas = {
            index: policy.explanation_schema for index, policy in self._explainers.items()
        }
        self._depth = max(
            (reasons.depth for reasons in self._explanation_schemas.values()), default=0
        )
        self._cells: list[AnyArray] = []
        self._columns: list[dict[str, AnyArray]] = []
        self._first_frame = 0  # frame number of the chunk's first

    def start(self) -> bytes:
        """Start the episode and look at its beginning."""
        self._world.record_events(True)
        for policy in self._explainers.values():
            policy.enable_explanations(True)
        self._loop.start_episodes()
        self._add_frame()
        return MAGIC + encode_json_record(HEADER, self._header())

    def record_tick(self, is_last: bool = False) -> bytes:
        """Look at the world after a tick; `is_last` if the episode ended in it."""
        if self._series.awaits_actions:  # the choices that led here belong to the frame before
            self._columns[-1] |= self._choices()
            self._series.awaits_actions = False
        self._series.add_events(self._world.events())
        if not is_last and int(self._world.tick[0]) % self._options.record_every:
            return b""
        out = self._flush() if len(self._cells) == self._chunk_frames else b""
        self._add_frame()
        return out

    def finish(self, result: EpisodeResult) -> bytes:
        """What is left, and how it ended."""
        for policy in self._explainers.values():
            policy.enable_explanations(False)
        return self._flush() + encode_json_record(DONE, {"result": asdict(result)})

    def _add_frame(self) -> None:
        shown = self._world.render_frame(0)
        self._cells.append(shown.cells.reshape(-1))
        self._columns.append(self._agent_columns(shown) | self._empty_choices())
        self._series.add_frame(shown)

    def _agent_columns(self, frame: RenderFrame) -> dict[str, AnyArray]:
        columns, seats = self._world.columns, self._loop.row_state
        state = np.where(columns.alive, ALIVE, np.where(columns.uid >= 0, ENDED, EMPTY))
        here = state != EMPTY
        known = here & (seats.uid == columns.uid)
        found: dict[str, AnyArray] = {
            "uid": np.where(here, columns.uid, -1),
            "state": state,
            "group": np.where(here, columns.group, 0),
            "cell": np.where(here, frame.agent_cell, 0),
            "slot": np.where(known, seats.slot, -1),
            "return": np.where(known, np.rint(seats.total_reward * _REWARD_SCALE), 0),
        }
        for trait, values in zip(self._scene.attributes, frame.attributes, strict=True):
            found[f"attribute/{trait.name}"] = np.where(here, values, 0)
        return found

    def _empty_choices(self) -> dict[str, AnyArray]:
        nothing: Ints = np.full(self._rows, -1, dtype=np.int64)
        found: dict[str, AnyArray] = {f"action/{h}": nothing for h in self._heads}
        for index, reasons in self._explanation_schemas.items():
            for name in reasons.facts:
                found[f"why/{index}/{name}"] = nothing
        for name in ("considered", "outcome") if self._explainers else ():
            found[f"why/{name}"] = np.full(self._rows * self._depth, -1, dtype=np.int64)
        return found

    def _choices(self) -> dict[str, AnyArray]:
        """What was chosen on seeing the last frame, and why."""
        found, lists = self._empty_choices(), self._loop.slot_rows
        asked = np.concatenate([lists.row[i, :n] for i, n in enumerate(lists.n_rows)])
        for at, head in enumerate(self._heads):
            chosen = found[f"action/{head}"] = found[f"action/{head}"].copy()
            chosen[asked] = self._loop.actions[asked, at]
        for index in self._explainers:
            rows = lists.row[index, : lists.n_rows[index]]
            why = self._explain_slot(index) if len(rows) else None
            if why is None:
                continue
            for name in self._explanation_schemas[index].facts:
                fact = found[f"why/{index}/{name}"] = found[f"why/{index}/{name}"].copy()
                fact[rows] = why.facts[name]
            for name in ("considered", "outcome"):
                told = getattr(why, name)
                found[f"why/{name}"].reshape(self._rows, -1)[rows, : told.shape[1]] = told
        return found

    def _explain_slot(self, index: int) -> ExplanationBatch | None:
        """What the policy of a slot tells of the last question; one begun anew tells from now on."""
        policy = find_explainable(self._loop.slots[index].policy)
        if policy is not None and policy is self._explainers[index]:
            return policy.last_explanation()
        if policy is not None:
            policy.enable_explanations(True)
            self._explainers[index] = policy
        return None

    @property
    def _heads(self) -> list[str]:
        return [head.name for head in self._world.spec.groups[0].heads]

    def _flush(self) -> bytes:
        """The chunk as a pair of records."""
        count, first = len(self._cells), self._first_frame
        arrays = encode_cell_changes(np.stack(self._cells))
        used = 1 + int(
            np.max([np.flatnonzero(c["state"])[-1:].max(initial=0) for c in self._columns])
        )
        for name, column in self._columns[0].items():
            kept = used * (len(column) // self._rows)
            arrays |= delta_encode(name, np.stack([c[name][:kept] for c in self._columns]))
        numbers, number_notes, events, notes = self._series.take_chunk()
        out = encode_record(SERIES, encode_arrays(numbers, number_notes), first, count)
        out += encode_record(FRAMES, encode_arrays(arrays | events, notes), first, count)
        self._first_frame += count
        self._cells, self._columns = [], []
        return out

    def _header(self) -> dict[str, Any]:
        spec = self._world.spec
        return {
            **self._metadata,
            "format": FORMAT_VERSION,
            "kinfolk": version("kinfolk"),
            "world": spec.world,
            "rows": spec.rows,
            "max_ticks": spec.max_ticks,
            "record_every": self._options.record_every,
            "render_spec": self._scene.to_dict(),
            "groups": [group.name for group in spec.groups],
            "slots": [slot.id for slot in self._loop.slots],
            "heads": {h: [g.heads[i].choices for g in spec.groups] for i, h in enumerate(self._heads)},
            "return_scale": _REWARD_SCALE,
            "series": self._series.series_names,
            "explanations": {str(index): asdict(reasons) for index, reasons in self._explanation_schemas.items()},
            "explanation_depth": self._depth,
        }  # fmt: skip
