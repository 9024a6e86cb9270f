"""Record episodes as replays, written chunk by chunk while they are played."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from importlib.metadata import version
from typing import Any, cast

import numpy as np
from pydantic import Field

from kinfolk.core.arrays import AnyArray, Ints
from kinfolk.core.errors import UsageError
from kinfolk.core.events import FileChunk
from kinfolk.core.settings import Settings
from kinfolk.play.loop import EpisodeLoop
from kinfolk.play.results import EpisodeResult
from kinfolk.play.task import EpisodeRunner, RolloutTask
from kinfolk.policies.base import Explainable, ExplanationBatch, find_explainable
from kinfolk.replay import codec
from kinfolk.replay.reader import REPLAY_FOLDER, REPLAY_SUFFIX
from kinfolk.replay.series import ReplaySeries
from kinfolk.worlds.render import Renderable, RenderFrame
from kinfolk.worlds.render_check import CheckedRenderer, find_missing_member


def record_episode(
    task: RolloutTask[Any],
    episode: int,
    name: str | None = None,
    options: ReplayOptions | None = None,
    names: Mapping[str, Sequence[str]] | None = None,
) -> Iterator[FileChunk]:
    """Play one episode of a task and yield its replay as chunks of a file of the run.

    A job passes the chunks on (`yield from record_episode(...)`) and the store writes them, so the
    viewer can follow the episode while it is played. Recording does not change the episode.

    Args:
        task: The task; its own episodes are ignored.
        episode: Number of the episode.
        name: Name of the replay; None: derived from the number of the episode.
        options: Which ticks and explanations are recorded; None: all of them.
        names: Texts for the integers of a policy's explanations by fact, such as names of roles.
    """
    chunks = record_replay(task, episode, options, names)
    yield from as_file_chunks(name or replay_name(episode), chunks)


def record_replay(
    task: RolloutTask[Any],
    episode: int,
    options: ReplayOptions | None = None,
    names: Mapping[str, Sequence[str]] | None = None,
    **metadata: Any,
) -> Iterator[bytes]:
    """Play one episode of a task and yield its replay as chunks of bytes.

    Args:
        task: The task; its own episodes are ignored.
        episode: Number of the episode.
        options: Which ticks and explanations are recorded; None: all of them.
        names: Texts for the integers of a policy's explanations by fact, such as names of roles.
        metadata: Further entries of the replay's header, JSON values.
    """
    header = {
        "names": {fact: list(texts) for fact, texts in (names or {}).items()},
        "preset": task.world.preset,
        "world_settings": dict(task.world.settings),
        "seed": task.seed,
        "episode": episode,
        "policies": {
            slot: {"class": policy.class_path, "settings": dict(policy.settings)}
            for slot, policy in task.resolved.items()
        },
        **metadata,
    }
    with EpisodeRunner(replace(task, episodes=(episode,), log_agents=False)) as runner:
        for _, chunk in record_ticks(runner, header, options):
            if chunk:
                yield chunk


def record_ticks(
    runner: EpisodeRunner[Any], header: Mapping[str, Any], options: ReplayOptions | None = None
) -> Iterator[tuple[list[EpisodeResult], bytes]]:
    """Play and record the only episode of a runner, tick by tick.

    Args:
        runner: A runner of one world and one episode that has not played yet.
        header: Entries of the replay's header, JSON values.
        options: Which ticks and explanations are recorded; None: all of them.

    Yields:
        Before the first tick and after each tick: the episode's result in a list once it has
        ended (else an empty list), and the next bytes of the replay, which may be empty.
    """
    recorder = ReplayRecorder(runner.loop, header, options)
    yield [], recorder.start()
    results: list[EpisodeResult] = []
    while not results:
        results = runner.tick()
        chunk = recorder.record_tick(is_last=bool(results))
        yield results, chunk + recorder.finish(results[0]) if results else chunk


def as_file_chunks(name: str, chunks: Iterable[bytes]) -> Iterator[FileChunk]:
    """Yield the bytes of the replay called `name` as file chunks, which a job yields in turn."""
    for number, data in enumerate(chunks):
        yield FileChunk(path=f"{REPLAY_FOLDER}/{name}{REPLAY_SUFFIX}", data=data, append=number > 0)


def replay_name(episode: int) -> str:
    """Return the default name of an episode's replay.

    >>> replay_name(3)
    'game-00003'
    """
    return f"game-{episode:05d}"


EMPTY, ALIVE, ENDED = 0, 1, 2  # values of the column `state`, per row
_REWARD_SCALE = 100.0  # returns are stored as whole hundredths
_CHUNK_BYTES = 1 << 17  # rows times frames of a chunk, which the page decodes without a pause
_MIN_CHUNK = 16  # frames, unless the map is too large for a record of that many
_PLANNED_BYTES = codec.MAX_PAYLOAD_BYTES // 2  # of a record with several frames, by these
# upper bounds per frame: a change of every cell, twice; and 64 columns of 4 bytes per row.
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
        ContractError: Its `render_spec` is wrong; or, later, a frame does not fit it.
    """

    def __init__(
        self, loop: EpisodeLoop, metadata: Mapping[str, Any], options: ReplayOptions | None = None
    ) -> None:
        world = loop.world
        if missing := find_missing_member(world):
            raise UsageError(
                f"World {world.spec.world} has no {missing}, so it cannot be recorded."
                " docs/own_world.md shows one, and `kinfolk new world` writes one."
            )
        self._loop, self._world, self._metadata = loop, cast("Renderable", world), dict(metadata)
        self._options = options or ReplayOptions()
        self._rows = world.spec.rows
        self._renderer = CheckedRenderer(self._world)
        self._scene = self._renderer.spec
        n_cells = self._scene.width * self._scene.height * len(self._scene.layers)
        frame_bytes = _CELL_BYTES * n_cells + _ROW_BYTES * self._rows
        preferred = max(_MIN_CHUNK, min(codec.MAX_FRAMES, _CHUNK_BYTES // self._rows))
        self._chunk_frames = min(preferred, max(1, _PLANNED_BYTES // frame_bytes))
        self._series = ReplaySeries(loop, self._world)
        self._explainers: dict[int, Explainable] = {}  # by the index of the slot
        for index, slot in enumerate(loop.slots if self._options.with_explanations else ()):
            if policy := find_explainable(slot.policy):
                self._explainers[index] = policy
        self._schemas = {i: policy.explanation_schema for i, policy in self._explainers.items()}
        self._depth = max((schema.depth for schema in self._schemas.values()), default=0)
        self._cells: list[AnyArray] = []
        self._columns: list[dict[str, AnyArray]] = []
        self._first_frame = 0  # number of the first frame of the chunk

    def start(self) -> bytes:
        """Start the episode, record its first frame and return the head of the file."""
        self._world.record_events(True)
        for policy in self._explainers.values():
            policy.enable_explanations(True)
        self._loop.start_episodes()
        self._add_frame(is_first=True)
        return codec.MAGIC + codec.encode_json_record(codec.HEADER, self._header())

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
        return self._flush() + codec.encode_json_record(codec.DONE, {"result": asdict(result)})

    def _add_frame(self, is_first: bool = False) -> None:
        """Record the current frame, without the actions that agents choose after it."""
        frame = self._renderer.render(0, with_values=is_first)
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
        for index, schema in self._schemas.items():
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
            for name in self._schemas[index].facts:
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
        """Names of the action heads."""
        return [head.name for head in self._world.spec.groups[0].heads]

    def _flush(self) -> bytes:
        """Encode the frames since the last chunk as a pair of records, and forget them."""
        n_frames, first = len(self._cells), self._first_frame
        arrays = codec.encode_cell_changes(np.stack(self._cells))
        # Rows behind the last occupied one are not stored.
        occupied = np.any([column["state"] for column in self._columns], axis=0)
        rows_used = 1 + int(np.flatnonzero(occupied)[-1:].max(initial=0))
        for name, column in self._columns[0].items():
            length = rows_used * (len(column) // self._rows)
            arrays |= codec.delta_encode(name, np.stack([c[name][:length] for c in self._columns]))
        series, series_notes, events, event_notes = self._series.take_chunk()
        series_payload = codec.encode_arrays(series, series_notes)
        frames_payload = codec.encode_arrays(arrays | events, event_notes)
        largest = max(len(series_payload), len(frames_payload))
        if largest > codec.MAX_PAYLOAD_BYTES:
            raise UsageError(
                f"This world is too large for a replay: a record of {n_frames} frames takes"
                f" {largest >> 20} MB, and can take {codec.MAX_PAYLOAD_BYTES >> 20} MB."
                " Use fewer agents or a smaller grid, or record no replay."
            )
        chunk = codec.encode_record(codec.SERIES, series_payload, first, n_frames)
        chunk += codec.encode_record(codec.FRAMES, frames_payload, first, n_frames)
        self._first_frame += n_frames
        self._cells, self._columns = [], []
        return chunk

    def _header(self) -> dict[str, Any]:
        """Return the values of the HEAD record."""
        spec = self._world.spec
        return {
            **self._metadata,
            "format": codec.FORMAT_VERSION,
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
            "explanations": {str(index): asdict(schema) for index, schema in self._schemas.items()},
            "explanation_depth": self._depth,
        }  # fmt: skip
