"""`kinfolk play`: one game in the terminal."""

from __future__ import annotations

import sys
import textwrap
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from kinfolk.cli.compile import compile_kernels
from kinfolk.cli.flags import job_call
from kinfolk.cli.formatting import command, hint, print_json, print_table, stdout_for_document
from kinfolk.cli.slots import warn_of_idle_slots


def play(
    context: typer.Context,
    speed: Annotated[float, typer.Option(min=0.1, help="Ticks per second on a terminal.")] = 10.0,
    record: Annotated[
        bool, typer.Option("--record", help="Keep the game as a run, for `kinfolk view`.")
    ] = False,
) -> None:
    """Play one game and watch it."""
    from kinfolk.play.episode_settings import EpisodeSettings
    from kinfolk.play.loop import EpisodeLoop
    from kinfolk.play.slots import LoadedSlot
    from kinfolk.policies.resolve import build_policy
    from kinfolk.store.run_folder import new_run_folder
    from kinfolk.worlds import build_world as build_world

    call = job_call(context)
    settings = call.read_settings(EpisodeSettings)
    world, seed = settings.world, settings.seed
    compile_kernels(world, settings.world_settings, settings.preset, settings.policy_uris)
    game = build_world(world, settings.world_settings, 1, settings.preset)
    table = settings.build_assignment(game.spec)
    warn_of_idle_slots(settings.slot_ids, table)
    with stdout_for_document(call.json):
        slots = [
            LoadedSlot(slot.id, build_policy(slot.resolve_policy(), game.spec))
            for slot in settings.slots
        ]
    game.record_events(True)
    loop = EpisodeLoop(game, slots, table, seed, range(1), inherit_slot=settings.inherit_slot)
    kept = (
        Recording(call.out or new_run_folder("play"), loop, settings.model_dump())
        if record
        else None
    )
    happenings, results = [], []
    watched = sys.stdout.isatty() and not call.json
    while not loop.is_done:
        with stdout_for_document(call.json):
            results += loop.tick()
        happenings += game.events()
        if kept:
            kept.see(results)
        if watched:
            print(f"\x1b[2J\x1b[Htick {int(game.tick[0])}\n{game.render_text(0)}", flush=True)
            time.sleep(1.0 / speed)
    if call.json:
        print_json(
            {"result": asdict(results[0]), "happenings": [event._asdict() for event in happenings]}
        )
        return
    [result] = results
    print_table(
        f"{world}: game {seed}, {result.ticks} ticks",
        ("slot", "return", "lives", "ticks lived"),
        [(n, result.returns[n], result.lives[n], result.ticks_lived[n]) for n in settings.slot_ids],
    )
    counted = [f"{name} {value:g}" for name, value in result.counters.items() if value]
    print(textwrap.fill(", ".join(counted), 100))
    if kept:
        hint(f"Watch it again: {command('view', kept.folder)}")


class Recording:
    """A game that is kept as a run while it is played."""

    def __init__(self, folder: Path, loop: Any, asked: dict[str, Any]) -> None:
        from kinfolk.evaluation.record import replay_name
        from kinfolk.replay.recorder import ReplayRecorder
        from kinfolk.store.run import create_run

        self.folder = folder
        self._run = create_run(folder, "play", asked)
        self._run.open_for_writing()
        self._recorder = ReplayRecorder(loop, {**asked, "episode": 0})
        self._name = replay_name(0)
        self._write(self._recorder.start(), more=False)

    def see(self, results: list[Any]) -> None:
        """Keep a tick; with the result, the end."""
        data = self._recorder.record_tick(is_last=bool(results))
        if results:
            data += self._recorder.finish(results[0])
        if data:
            self._write(data, more=True)
        if results:
            self._run.finish()

    def _write(self, data: bytes, more: bool) -> None:
        from kinfolk.core.events import FileChunk
        from kinfolk.replay.reader import REPLAY_FOLDER, REPLAY_SUFFIX

        name = f"{REPLAY_FOLDER}/{self._name}{REPLAY_SUFFIX}"
        self._run.write_file_chunk(FileChunk(path=name, data=data, append=more))
