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
    from kinfolk.play.task import EpisodeRunner, RolloutTask
    from kinfolk.replay.record import record_ticks
    from kinfolk.store.run_folder import new_run_folder

    call = job_call(context)
    settings = call.read_settings(EpisodeSettings)
    world, seed = settings.world, settings.seed
    compile_kernels(world, settings.world_settings, settings.preset, settings.policy_uris)
    game = settings.world_ref.build()
    warn_of_idle_slots(settings.slot_ids, settings.build_assignment(game.spec))
    with stdout_for_document(call.json):
        policies = {slot.id: slot.resolve_policy() for slot in settings.slots}
        task = RolloutTask[None](
            settings.world_ref,
            policies,
            seed,
            range(1),
            settings.slot_map_for(world),
            inherit_slot=settings.inherit_slot,
        )
        runner = EpisodeRunner(task, game)
    game.record_events(True)
    document = settings.model_dump()
    recording = GameRecording(call.out or new_run_folder("play"), document) if record else None
    ticks = record_ticks(runner, {**document, "episode": 0}) if recording else None
    events: list[Any] = []
    results: list[Any] = []
    on_screen = sys.stdout.isatty() and not call.json
    if ticks and recording:
        recording.write(next(ticks)[1])
    while not results:
        with stdout_for_document(call.json):
            results, chunk = next(ticks) if ticks else (runner.tick(), b"")
        events += game.events()
        if recording and chunk:
            recording.write(chunk)
        if on_screen:
            print(f"\x1b[2J\x1b[Htick {int(game.tick[0])}\n{game.render_text(0)}", flush=True)
            time.sleep(1.0 / speed)
    if recording:
        recording.finish()
    if call.json:
        print_json({"result": asdict(results[0]), "events": [event._asdict() for event in events]})
        return
    [result] = results
    print_table(
        f"{world}: game {seed}, {result.ticks} ticks",
        ("slot", "return", "lives", "ticks lived"),
        [(n, result.returns[n], result.lives[n], result.ticks_lived[n]) for n in settings.slot_ids],
    )
    counted = [f"{name} {value:g}" for name, value in result.counters.items() if value]
    print(textwrap.fill(", ".join(counted), 100))
    if recording:
        hint(f"Watch it again: {command('view', recording.folder)}")


class GameRecording:
    """A game that is stored as a run while it is played.

    Args:
        folder: Folder of the run.
        settings: Settings of the game.
    """

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        from kinfolk.replay.reader import REPLAY_FOLDER, REPLAY_SUFFIX
        from kinfolk.replay.record import replay_name
        from kinfolk.store.run import create_run

        self.folder, self._name = folder, f"{REPLAY_FOLDER}/{replay_name(0)}{REPLAY_SUFFIX}"
        self._run = create_run(folder, "play", settings)
        self._run.open_for_writing()
        self._has_data = False

    def write(self, data: bytes) -> None:
        """Append the next bytes of the replay."""
        from kinfolk.core.events import FileChunk

        self._run.write_file_chunk(FileChunk(path=self._name, data=data, append=self._has_data))
        self._has_data = True

    def finish(self) -> None:
        """Mark the run as done."""
        self._run.finish()
