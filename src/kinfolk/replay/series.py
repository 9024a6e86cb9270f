"""The numbers of a recording: series for charts, events, and who began and ended when."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray
from kinfolk.play.agent_log import BirthDeathLog
from kinfolk.play.loop import EpisodeLoop
from kinfolk.worlds.base import WorldEvent
from kinfolk.worlds.render import Renderable, RenderFrame


class ReplaySeries:
    """Collects what is counted and heard from frame to frame, and gives it away in chunks."""

    def __init__(self, loop: EpisodeLoop, world: Renderable) -> None:
        self._loop, self._world = loop, world
        groups, slots = [g.name for g in world.spec.groups], [s.id for s in loop.slots]
        scene = world.render_spec
        energies = [i for i, trait in enumerate(scene.attributes) if trait.name == "energy"]
        self._energy = energies[0] if energies else None
        self._scale = scene.attributes[energies[0]].scale if energies else 1.0
        self.series_names = [
            *(f"population/{name}" for name in groups),
            *scene.series,
            *(f"mean energy/{name}" for name in groups if self._energy is not None),
            *(f"return/{name}" for name in slots),
        ]
        self.awaits_actions = False  # a frame was kept whose choices are not known yet
        self._agents = BirthDeathLog()
        self._clear()

    def _clear(self) -> None:
        self._ticks: list[int] = []
        self._series: list[list[float]] = []
        self._events: list[tuple[int, WorldEvent]] = []  # with the frame that shows it
        self._agents.clear()

    def add_frame(self, frame: RenderFrame) -> None:
        """A frame was kept."""
        columns = self._world.columns
        groups = len(self._world.spec.groups)
        alive = columns.alive
        population = np.bincount(columns.group[alive], minlength=groups)
        found = [*population.tolist(), *frame.series.tolist()]
        if self._energy is not None:
            energy = np.bincount(
                columns.group[alive], frame.attributes[self._energy][alive] / self._scale, groups
            )
            found += (energy / np.maximum(population, 1)).tolist()
        found += self._loop.totals.returns[0].tolist()
        self._ticks.append(int(self._world.tick[0]))
        self._series.append(found)
        self._agents.add_births(self._world)
        self.awaits_actions = True

    def add_events(self, events: Iterable[WorldEvent]) -> None:
        """What took place in the tick before the next frame; deaths of lives nobody saw count."""
        self._agents.add_births(self._world)
        heard = list(events)
        self._agents.add_deaths(self._world, heard)
        self._events += [(len(self._ticks), one) for one in heard]

    def take_chunk(
        self,
    ) -> tuple[dict[str, AnyArray], dict[str, Any], dict[str, AnyArray], dict[str, Any]]:
        """The chunk: arrays and notes of its numbers, and of its events.

        An event that was heard after the chunk's last frame shows in the next frame, and stays.
        """
        frames = len(self._ticks)
        later = [(0, one) for frame, one in self._events if frame >= frames]
        now = [(frame, one) for frame, one in self._events if frame < frames]
        kinds = list(dict.fromkeys(one.kind for _, one in now))
        notes = list(dict.fromkeys(one.note for _, one in now))
        marks = sorted({(frame, kinds.index(one.kind)) for frame, one in now})
        born = [[b.uid, b.tick, b.group, *b.parents] for b in self._agents.births]
        causes = list(dict.fromkeys(death.cause for death in self._agents.deaths))
        died = [[d.uid, d.tick, causes.index(d.cause)] for d in self._agents.deaths]
        numbers: dict[str, AnyArray] = {
            "ticks": np.array(self._ticks, dtype=np.int32),
            "series": np.array(self._series, dtype=np.float32).T,
            "mark_frame": np.array([frame for frame, _ in marks], dtype=np.uint16),
            "mark_kind": np.array([kind for _, kind in marks], dtype=np.uint8),
            "born": np.array(born, dtype=np.int32).reshape(-1, 5),
            "died": np.array(died, dtype=np.int32).reshape(-1, 3),
        }
        number_notes = {"kinds": kinds, "causes": causes}
        events: dict[str, AnyArray] = {
            "event_frame": np.array([frame for frame, _ in now], dtype=np.uint16),
            "event_tick": np.array([one.tick for _, one in now], dtype=np.int32),
            "event_kind": np.array([kinds.index(one.kind) for _, one in now], dtype=np.uint8),
            "event_uid": np.array([one.uid for _, one in now], dtype=np.int32),
            "event_other": np.array([one.other for _, one in now], dtype=np.int32),
            "event_value": np.array([one.value for _, one in now], dtype=np.float32),
            "event_note": np.array([notes.index(one.note) for _, one in now], dtype=np.uint8),
        }
        self._clear()
        self._events = later
        return numbers, number_notes, events, {"kinds": kinds, "notes": notes}
