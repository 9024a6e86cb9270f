"""The series and events of a replay, which charts show, collected from frame to frame."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray
from kinfolk.play.loop import EpisodeLoop
from kinfolk.play.results import BirthDeathLog
from kinfolk.worlds.base import WorldEvent
from kinfolk.worlds.render import Renderable, RenderFrame


class ReplaySeries:
    """Collects series and events from frame to frame and hands them out in chunks.

    Args:
        loop: Loop over one world, whose returns per slot become series.
        world: The loop's world.

    Attributes:
        series_names: Names of the series as `chart/line`, in the order of their rows.
        awaits_actions: Whether the actions chosen after the last frame are still to come.
    """

    def __init__(self, loop: EpisodeLoop, world: Renderable) -> None:
        self._loop, self._world = loop, world
        groups, slots = [g.name for g in world.spec.groups], [s.id for s in loop.slots]
        spec = world.render_spec
        energies = [i for i, attribute in enumerate(spec.attributes) if attribute.name == "energy"]
        self._energy = energies[0] if energies else None  # index among the attributes
        self._scale = spec.attributes[energies[0]].scale if energies else 1.0
        self.series_names = [
            *(f"population/{name}" for name in groups),
            *spec.series,
            *(f"mean energy/{name}" for name in groups if self._energy is not None),
            *(f"return/{name}" for name in slots),
        ]
        self.awaits_actions = False
        self._agents = BirthDeathLog()
        self._clear()

    def _clear(self) -> None:
        """Forget the series and events of the last chunk."""
        self._ticks: list[int] = []
        self._series: list[list[float]] = []
        self._events: list[tuple[int, WorldEvent]] = []  # with the frame in the chunk that shows it
        self._agents.clear()

    def add_frame(self, frame: RenderFrame) -> None:
        """Compute the series of a frame that was recorded."""
        columns = self._world.columns
        groups = len(self._world.spec.groups)
        alive = self._world.living
        population = np.bincount(columns.group[alive], minlength=groups)
        values = [*population.tolist(), *frame.series.tolist()]
        if self._energy is not None:
            energy = np.bincount(
                columns.group[alive], frame.attributes[self._energy][alive] / self._scale, groups
            )
            values += (energy / np.maximum(population, 1)).tolist()
        values += self._loop.totals.returns[0].tolist()
        self._ticks.append(int(self._world.tick[0]))
        self._series.append(values)
        self._agents.add_births(self._world)
        self.awaits_actions = True

    def add_events(self, events: Iterable[WorldEvent]) -> None:
        """Add the events of a tick; the next frame shows them, even if it is some ticks later."""
        self._agents.add_births(self._world)
        new_events = list(events)
        self._agents.add_deaths(self._world, new_events)
        self._events += [(len(self._ticks), event) for event in new_events]

    def take_chunk(
        self,
    ) -> tuple[dict[str, AnyArray], dict[str, Any], dict[str, AnyArray], dict[str, Any]]:
        """Return the series and events since the last chunk, and forget them.

        An event that came after the chunk's last frame is shown by the next frame, and stays.

        Returns:
            Arrays and notes of the SERI record, then the events' arrays and notes, which belong
            to the FRAM record.
        """
        n_frames = len(self._ticks)
        later = [(0, event) for frame, event in self._events if frame >= n_frames]
        shown = [(frame, event) for frame, event in self._events if frame < n_frames]
        kinds = list(dict.fromkeys(event.kind for _, event in shown))
        notes = list(dict.fromkeys(event.note for _, event in shown))
        marks = sorted({(frame, kinds.index(event.kind)) for frame, event in shown})
        born = [[b.uid, b.tick, b.group, *b.parents] for b in self._agents.births]
        causes = list(dict.fromkeys(death.cause for death in self._agents.deaths))
        died = [[d.uid, d.tick, causes.index(d.cause)] for d in self._agents.deaths]
        series: dict[str, AnyArray] = {
            "ticks": np.array(self._ticks, dtype=np.int32),
            "series": np.array(self._series, dtype=np.float32).T,
            "mark_frame": np.array([frame for frame, _ in marks], dtype=np.uint16),
            "mark_kind": np.array([kind for _, kind in marks], dtype=np.uint8),
            "born": np.array(born, dtype=np.int32).reshape(-1, 5),
            "died": np.array(died, dtype=np.int32).reshape(-1, 3),
        }
        series_notes = {"kinds": kinds, "causes": causes}
        events: dict[str, AnyArray] = {
            "event_frame": np.array([frame for frame, _ in shown], dtype=np.uint16),
            "event_tick": np.array([event.tick for _, event in shown], dtype=np.int32),
            "event_kind": np.array([kinds.index(event.kind) for _, event in shown], dtype=np.uint8),
            "event_uid": np.array([event.uid for _, event in shown], dtype=np.int32),
            "event_other": np.array([event.other for _, event in shown], dtype=np.int32),
            "event_value": np.array([event.value for _, event in shown], dtype=np.float32),
            "event_note": np.array([notes.index(event.note) for _, event in shown], dtype=np.uint8),
        }
        self._clear()
        self._events = later
        return series, series_notes, events, {"kinds": kinds, "notes": notes}
