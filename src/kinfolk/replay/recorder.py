"""Recording an episode while it is played: frames in, chunks of a replay file out.

A frame is the world after a step; frame 0 is the world after its reset. A frame also holds the
actions that agents chose after observing it and, for policies that provide them, explanations of
those actions. Nothing here writes to the disk, and recording does not change the episode.
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

EMPTY, ALIVE, ENDED = 0, 1, 2  # values of the column `state`, per row
_REWARD_SCALE = 100.0  # returns are stored as whole hundredths
_CHUNK_BYTES = 1 << 17  # rows times frames of a chunk, which the page decodes without a pause
_MIN_CHUNK = 16  # frames, unless the map is too large for a record of that many
# Upper bounds per frame: a change of every cell, twice; and 64 columns of 4 bytes per row.
_CELL_BYTES, _ROW_BYTES = 16, 256


class ReplayOptions(Settings):
    """How much of an episode a replay contains."""

    record_every: int = Field(default=1, ge=1)  # record each n-th tick, and the last
    with_explanations: bool = True  # also why agents act as they do, if their policy says so


class ReplayRecorder:
    """Records the episode that a loop plays in one world.

    Call `start` before the first tick, `record_tick` after each and `finish` after the last. Each
    returns bytes to append to the replay file, often none.

    Args:
        loop: A loop over one world that has an episode left to play.
        metadata: Plain values to add to the replay's HEAD record.
        options: How much of the episode is recorded; every tick with explanations by default.

    Raises:
        UsageError: The world cannot be rendered.
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
        n_cells = self._scene.width * self._scene.height * len(self._scene.layers)
        max_frames = max(1, MAX_PAYLOAD_BYTES // (_CELL_BYTES * n_cells + _ROW_BYTES * self._rows))
        preferred = max(_MIN_CHUNK, min(MAX_FRAMES, _CHUNK_BYTES // self._rows))
        self._chunk_frames = min(preferred, max_frames)
        self._series = ReplaySeries(loop, world)
        explainers = {i: find_explainable(slot.policy) for i, slot in enumerate(loop.slots)}
        self._explainers = {
            index: policy
            for index, policy in explainers.items()
            if policy and self._options.with_explanations
        }
        self._explanation_schemas = {
            index: policy.explanation_schema for index, policy in self._explainers.items()
        }
        self._depth = max(
            (schema.depth for schema in self._explanation_schemas.values()), default=0
        )
        self._cells: list[AnyArray] = []
        self._columns: list[dict[str, AnyArray]] = []
        self._first_frame = 0  # number of the first frame of the chunk

    def start(self) -> bytes:
        """Start the episode, record its first frame and return the head of the file."""
        self._world.record_events(True)
        for policy in self._explainers.values():
            policy.enable_explanations(True)
        self._loop.start_episodes()
        self._add_frame()
        return MAGIC + encode_json_record(HEADER, self._header())

    def record_tick(self, is_last: bool = False) -> bytes:
        """Record the world after a tick; `is_last` if the episode ended with it."""
        if self._series.awaits_actions:  # actions belong to the frame before
            self._columns[-1] |= self._choices()
            self._series.awaits_actions = False
        self._series.add_events(self._world.events())
        if not is_last and int(self._world.tick[0]) % self._options.record_every:
            return b""
        chunk = self._flush() if len(self._cells) == self._chunk_frames else b""
        self._add_frame()
        return chunk

    def finish(self, result: EpisodeResult) -> bytes:
        """Return the last chunk and the DONE record with the episode's result."""
        for policy in self._explainers.values():
            policy.enable_explanations(False)
        return self._flush() + encode_json_record(DONE, {"result": asdict(result)})

    def _add_frame(self) -> None:
        frame = self._world.render_frame(0)
        self._cells.append(frame.cells.reshape(-1))
        self._columns.append(self._agent_columns(frame) | self._empty_choices())
        self._series.add_frame(frame)

    def _agent_columns(self, frame: RenderFrame) -> dict[str, AnyArray]:
        """Return the columns that describe each row's agent in a frame."""
        agents, row_state = self._world.columns, self._loop.row_state
        state = np.where(agents.alive, ALIVE, np.where(agents.uid >= 0, ENDED, EMPTY))
        occupied = state != EMPTY
        assigned = occupied & (row_state.uid == agents.uid)
        columns: dict[str, AnyArray] = {
            "uid": np.where(occupied, agents.uid, -1),
            "state": state,
            "group": np.where(occupied, agents.group, 0),
            "cell": np.where(occupied, frame.agent_cell, 0),
            "slot": np.where(assigned, row_state.slot, -1),
            "return": np.where(assigned, np.rint(row_state.total_reward * _REWARD_SCALE), 0),
        }
        for attribute, values in zip(self._scene.attributes, frame.attributes, strict=True):
            columns[f"attribute/{attribute.name}"] = np.where(occupied, values, 0)
        return columns

    def _empty_choices(self) -> dict[str, AnyArray]:
        """Return the columns of actions and explanations of rows that did not act: -1."""
        empty: Ints = np.full(self._rows, -1, dtype=np.int64)
        columns: dict[str, AnyArray] = {f"action/{head}": empty for head in self._heads}
        for index, schema in self._explanation_schemas.items():
            for name in schema.facts:
                columns[f"why/{index}/{name}"] = empty
        for name in ("considered", "outcome") if self._explainers else ():
            columns[f"why/{name}"] = np.full(self._rows * self._depth, -1, dtype=np.int64)
        return columns

    def _choices(self) -> dict[str, AnyArray]:
        """Return the actions chosen after the last frame, and their explanations."""
        columns, slot_rows = self._empty_choices(), self._loop.slot_rows
        acting = np.concatenate([slot_rows.row[i, :n] for i, n in enumerate(slot_rows.n_rows)])
        for index, head in enumerate(self._heads):
            actions = columns[f"action/{head}"] = columns[f"action/{head}"].copy()
            actions[acting] = self._loop.actions[acting, index]
        for index in self._explainers:
            rows = slot_rows.row[index, : slot_rows.n_rows[index]]
            explanation = self._explain_slot(index) if len(rows) else None
            if explanation is None:
                continue
            for name in self._explanation_schemas[index].facts:
                fact = columns[f"why/{index}/{name}"] = columns[f"why/{index}/{name}"].copy()
                fact[rows] = explanation.facts[name]
            for name in ("considered", "outcome"):
                codes = getattr(explanation, name)
                columns[f"why/{name}"].reshape(self._rows, -1)[rows, : codes.shape[1]] = codes
        return columns

    def _explain_slot(self, index: int) -> ExplanationBatch | None:
        """Return the explanations of a slot's last actions.

        None if the slot's policy was replaced since the last tick, as after a failure: the new one
        explains from the next tick on.
        """
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
        """Encode the frames since the last chunk as a pair of records, and forget them."""
        n_frames, first = len(self._cells), self._first_frame
        arrays = encode_cell_changes(np.stack(self._cells))
        rows_used = (
            1
            + int(  # rows behind the last occupied one are not stored
                np.max([np.flatnonzero(c["state"])[-1:].max(initial=0) for c in self._columns])
            )
        )
        for name, column in self._columns[0].items():
            length = rows_used * (len(column) // self._rows)
            arrays |= delta_encode(name, np.stack([c[name][:length] for c in self._columns]))
        series, series_notes, events, event_notes = self._series.take_chunk()
        chunk = encode_record(SERIES, encode_arrays(series, series_notes), first, n_frames)
        chunk += encode_record(FRAMES, encode_arrays(arrays | events, event_notes), first, n_frames)
        self._first_frame += n_frames
        self._cells, self._columns = [], []
        return chunk

    def _header(self) -> dict[str, Any]:
        """Return the values of the HEAD record."""
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
            "explanations": {str(index): asdict(schema) for index, schema in self._explanation_schemas.items()},
            "explanation_depth": self._depth,
        }  # fmt: skip
