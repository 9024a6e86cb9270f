"""Digests of whole episodes, so that tests can compare them exactly."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kinfolk.core.arrays import Ints
from kinfolk.play.loop import EpisodeLoop
from kinfolk.play.results import EpisodeResult
from kinfolk.play.task import EpisodeRunner, RolloutTask, WorldRef
from kinfolk.policies.resolve import resolve


def digest_loop(loop: EpisodeLoop) -> dict[int, str]:
    """Play a loop to its end and return a digest of each episode.

    A digest covers the actions, observations and agent columns (rewards among them) of every tick.
    """
    digests: dict[int, Any] = {}
    rows, heads = loop.world.spec.rows, loop.world.spec.n_heads
    while not loop.is_done:
        loop.tick()
        columns = loop.world.columns
        acting: Ints = np.concatenate(
            [loop.slot_rows.memory_index[slot, :n] for slot, n in enumerate(loop.slot_rows.n_rows)]
        )
        actions = np.full((loop.world.n_worlds, rows, heads), -1, dtype=np.int64)
        actions.reshape(-1, heads)[acting] = loop.actions[acting]
        for world in np.unique(acting // rows):
            digest = digests.setdefault(int(loop.episode[world]), hashlib.sha256())
            world_rows = slice(world * rows, (world + 1) * rows)
            occupied = columns.uid[world_rows] >= 0
            digest.update(actions[world].tobytes())
            digest.update(loop.observations[world_rows].tobytes())
            for column in columns:
                digest.update(np.ascontiguousarray(column[world_rows][occupied]).tobytes())
            digest.update(occupied.tobytes())
    return {episode: digest.hexdigest() for episode, digest in sorted(digests.items())}


def play_to_end(play: EpisodeLoop) -> list[EpisodeResult]:
    """Play to the end; return the results in the order of the episodes' numbers."""
    results: list[EpisodeResult] = []
    while not play.is_done:
        results += play.tick()
    return sorted(results, key=lambda result: result.episode)


def episode_digests(
    world: str,
    slots: Mapping[str, str],
    *,
    seed: int = 0,
    episodes: range = range(4),
    batch: int = 4,
    preset: str | None = None,
    slot_map: Mapping[str, str] | Sequence[str] | None = None,
    **settings: Any,
) -> dict[int, str]:
    """Play episodes and return a digest of each.

    Row `r` is assigned member `r % 4`, for policies that are populations.

    Args:
        world: Name of the world.
        slots: URIs of the policies, by slot.
        seed: Seed of the episodes.
        episodes: Numbers of the episodes.
        batch: How many worlds play at a time; it has no effect on the digests.
        preset: Preset of the world.
        slot_map: Slot of each group or agent; by default as `build_slot_assignment` chooses.
        settings: Settings of the world.

    Returns:
        SHA-256 digests by the number of the episode.
    """
    ref = WorldRef(world, preset, settings)
    game = ref.build(batch)
    task = RolloutTask[None](
        ref,
        {name: resolve(uri) for name, uri in slots.items()},
        seed,
        episodes,
        slot_map,
        worlds=batch,
        members=np.tile(np.arange(game.spec.rows, dtype=np.int64) % 4, (batch, 1)),
    )
    return digest_loop(EpisodeRunner(task, game).loop)


def _read_stat(pid: int | str) -> list[str]:
    """Return the fields of /proc/PID/stat after the name: state, parent and others.

    The list is empty if the process has exited.
    """
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return []


def is_alive(pid: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    return _read_stat(pid)[:1] not in ([], ["Z"], ["X"])


def children_of(pid: int) -> list[int]:
    """Return the running child processes of a process."""
    pids = [entry.name for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [int(n) for n in pids if _read_stat(n)[1:2] == [str(pid)] and is_alive(int(n))]


def wait_for_exit(timeout: float, pids: Iterable[int]) -> bool:
    """Wait at most `timeout` seconds; return whether all processes have ended."""
    deadline, running = time.monotonic() + timeout, list(pids)
    while running and time.monotonic() < deadline:
        time.sleep(0.02)
        running = [pid for pid in running if is_alive(pid)]
    return not running
