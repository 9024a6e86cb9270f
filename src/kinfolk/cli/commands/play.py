"""Games played in this process: `kinfolk play` and `kinfolk explain`."""

from __future__ import annotations

import contextlib
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Annotated, Any

import typer

from kinfolk.cli import output
from kinfolk.cli.compile import compile_kernels
from kinfolk.cli.flags import job_call, warn_of_idle_slots, warn_of_unmapped_groups
from kinfolk.core.errors import UsageError


def play(
    context: typer.Context,
    speed: Annotated[float, typer.Option(min=0.1, help="Ticks per second on a terminal.")] = 10.0,
    record: Annotated[
        bool,
        typer.Option(
            "--record", help="Keep the game as a run, for `kinfolk view`; --out does too."
        ),
    ] = False,
) -> None:
    """Play one game and watch it."""
    from kinfolk.play.settings import EpisodeSettings
    from kinfolk.play.task import EpisodeRunner, RolloutTask
    from kinfolk.store.run import create_run, new_run_folder

    call = job_call(context)
    settings = call.read_settings(EpisodeSettings)
    world, names = settings.world, settings.slot_ids
    compile_kernels(world, settings.world_settings, settings.preset, settings.policy_uris)
    game = settings.world_ref.build()
    warn_of_idle_slots(names, settings.build_assignments())
    warn_of_unmapped_groups(settings, game.spec)
    with output.stdout_for_document(call.json):
        runner = EpisodeRunner(_first_episode(RolloutTask[None], settings), game)
    game.record_events(True)
    run = None
    if record or call.out is not None:
        folder = call.out or new_run_folder("play")
        run = create_run(folder, "play", settings.model_dump(), may_rename=call.out is None)
    ticks = _play_game(runner) if run is None else _record_game(runner, run)
    events: list[Any] = []
    results: list[Any] = []
    on_screen = sys.stdout.isatty() and not call.json
    with contextlib.ExitStack() as stack:
        tell = None
        if run is not None and not on_screen:
            tell = stack.enter_context(output.progress("Ticks", game.spec.max_ticks))
        while not results:
            with output.stdout_for_document(call.json):
                results = next(ticks)
            events += game.events()
            tick = int(game.tick[0])
            if tell is not None:
                tell(tick)
            if on_screen:
                sys.stdout.write("\x1b[2J\x1b[H")  # clears the screen
                output.echo(f"tick {tick}\n{game.render_text(0)}")
                time.sleep(1.0 / speed)
    [result] = results
    if call.json:
        happened = [event._asdict() for event in events]
        output.print_json({"result": asdict(result), "events": happened})
        return
    output.print_table(
        f"{world}: game {settings.seed}, {result.ticks} ticks",
        ("slot", "return", "lives", "ticks lived"),
        [(n, result.returns[n], result.lives[n], result.ticks_lived[n]) for n in names],
    )
    counted = [f"{name} {value:g}" for name, value in result.counters.items() if value]
    output.echo(textwrap.fill(", ".join(counted), 100))
    if run is not None:
        output.hint(f"Watch it again: {output.command('view', run.folder)}")


def _first_episode(make_task: Callable[..., Any], settings: Any) -> Any:
    """Return the task that plays the first episode with these settings.

    Args:
        make_task: `RolloutTask` or `evaluation_task`.
        settings: Settings of the world and the slots.
    """
    return make_task(
        settings.world_ref,
        {slot.id: slot.resolve_policy() for slot in settings.slots},
        settings.seed,
        range(1),
        settings.slot_map_for(settings.world),
        inherit_slot=settings.inherit_slot,
        world_slot_maps=settings.environment_slot_maps,
    )


def _play_game(runner: Any) -> Iterator[list[Any]]:
    """Play tick by tick; yield for each tick the results of the episodes that ended."""
    while True:
        yield runner.tick()


def _record_game(runner: Any, run: Any) -> Iterator[list[Any]]:
    """Play a game as `_play_game` does, and store it with its replay as a run.

    Args:
        runner: Runner of one world with one episode.
        run: New run, whose settings are those of the game.
    """
    from kinfolk.core.events import FileChunk
    from kinfolk.replay.reader import REPLAY_FOLDER, REPLAY_SUFFIX
    from kinfolk.replay.record import record_ticks, replay_name

    path = f"{REPLAY_FOLDER}/{replay_name(0)}{REPLAY_SUFFIX}"
    run.open_for_writing()
    ticks = record_ticks(runner, {**run.config["settings"], "episode": 0})
    run.write_file_chunk(FileChunk(path=path, data=next(ticks)[1], append=False))
    for results, chunk in ticks:
        if chunk:
            run.write_file_chunk(FileChunk(path=path, data=chunk, append=True))
        if results:
            run.finish()
        yield results


def explain(context: typer.Context) -> None:
    """Play a game to a tick and explain why every agent acted as it did."""
    from kinfolk.evaluation.explain import Explain, explain_tick, find_explanation
    from kinfolk.evaluation.rollout import evaluation_task

    call = job_call(context)
    settings = call.read_settings(Explain)
    world, tick, agent = settings.world, settings.tick, settings.agent
    settings.world_ref.build()  # reports a mistyped world first
    default = Explain()
    if settings.slots == default.slots and world != default.world:
        usual = f"{default.slots[0].policy_uri}, which plays {default.world}, not {world}"
        raise UsageError(
            f"Without --slot kinfolk explain plays {usual}. "
            f"Name a policy for {world} that explains its actions: --slot all=URI"
        )
    compile_kernels(world, settings.world_settings, settings.preset, settings.policy_uris)
    task = _first_episode(evaluation_task, settings)
    with output.stdout_for_document(call.json):
        explanations = explain_tick(task, tick)
    if agent is not None:
        explanations = [find_explanation(explanations, agent)]
    if call.json:
        output.print_json([asdict(explanation) for explanation in explanations])
    elif agent is not None:
        _print_explanation(explanations[0], tick)
    else:
        rows = [
            (e.uid, *(e.facts.values() or ("",)), e.behavior or "nothing", e.action["move"])
            for e in explanations
        ]
        output.print_table(f"{world}, tick {tick}", ("agent", "role", "behavior", "move"), rows)


def _print_explanation(explanation: Any, tick: int) -> None:
    """Print what one agent did, and why the other behaviors did not act."""
    facts = ", ".join(f"{name} {value}" for name, value in explanation.facts.items())
    output.echo(f"Agent {explanation.uid} in tick {tick}, {facts}:")
    output.echo(
        f"  {explanation.behavior or 'nothing'} acts: {', '.join(explanation.action.values())}"
    )
    for behavior, verdict in explanation.rejected:
        output.echo(f"  {behavior}: {verdict}")
