"""Episode results as columns: for snapshots, and for measures over many episodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays
from kinfolk.play.episode import EpisodeResult

_SINGLE = ("episode", "ticks", "full_length")
_NAMED = [f.name for f in fields(EpisodeResult) if f.name not in _SINGLE]


def to_arrays(results: Sequence[EpisodeResult]) -> tuple[dict[str, AnyArray], dict[str, Any]]:
    """Arrays with an episode per row, and the names of their columns."""
    arrays = {name: np.array([getattr(r, name) for r in results]) for name in _SINGLE}
    names: dict[str, Any] = {}
    for table in _NAMED:
        names[table] = list(getattr(results[0], table))
        arrays[table] = np.array([[getattr(r, table)[n] for n in names[table]] for r in results])
    return arrays, names


def from_arrays(arrays: Arrays, names: Mapping[str, Sequence[str]]) -> list[EpisodeResult]:
    """The results that `to_arrays` laid down, to the last bit."""
    return [
        EpisodeResult(
            episode=int(arrays["episode"][i]),
            ticks=int(arrays["ticks"][i]),
            full_length=bool(arrays["full_length"][i]),
            **{
                table: dict(zip(names[table], arrays[table][i].tolist(), strict=True))
                for table in _NAMED
            },
        )
        for i in range(len(arrays["episode"]))
    ]


def column(results: Sequence[EpisodeResult], table: str, name: str) -> AnyArray:
    """One value of every episode, such as a slot's return."""
    return np.array([getattr(r, table)[name] for r in results], dtype=np.float64)
