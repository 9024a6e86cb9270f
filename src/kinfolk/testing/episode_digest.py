"""Whole episodes as digests, so that laws can compare them exactly."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kinfolk.core.arrays import Ints
from kinfolk.play.loop import EpisodeLoop
from kinfolk.play.results import EpisodeResult
from kinfolk.play.task import EpisodeRunner, RolloutTask, WorldRef
from kinfolk.policies.resolve import resolve


def digest_loop(play: EpisodeLoop) -> dict[int, str]:
    """Play to the end; for each episode a digest of all that was seen, done and earned in it."""
    digests: dict[int, Any] = {}
    rows, heads = play.world.spec.rows, play.world.spec.n_heads
    while not play.is_done:
        play.tick()
        columns = play.world.columns
        asked: Ints = np.concatenate(
            [play.slot_rows.memory_index[slot, :n] for slot, n in enumerate(play.slot_rows.n_rows)]
        )
        actions = np.full((play.world.n_worlds, rows, heads), -1, dtype=np.int64)
        actions.reshape(-1, heads)[asked] = play.actions[asked]
        for world in np.unique(asked // rows):
            digest = digests.setdefault(int(play.episode[world]), hashlib.sha256())
            places = slice(world * rows, (world + 1) * rows)
            present = columns.uid[places] >= 0
            digest.update(actions[world].tobytes())
            digest.update(play.observations[places].tobytes())
            for column in columns:
                digest.update(np.ascontiguousarray(column[places][present]).tobytes())
            digest.update(present.tobytes())
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
    """Digests of `episodes`, played `batch` at a time by the policies of `slots`.

    Row `r` is seated with member `r % 4`, for policies that are populations.
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
