"""`kinfolk play`: one game in the terminal."""

from __future__ import annotations

import sys
import textwrap
import time
from dataclasses import asdict
from typing import Annotated

import typer

from kinfolk.cli.show import JsonOption, print_json, print_table
from kinfolk.cli.slots import MapOption, SetOption, SlotOption, pairs, warn_of_idle_slots
from kinfolk.cli.warm import warm


def play(
    world: Annotated[str, typer.Option(help="See `kinfolk worlds`.")] = "probe",
    preset: Annotated[str | None, typer.Option(help="See `kinfolk presets`.")] = None,
    slot: SlotOption = ["all=kin://random"],  # noqa: B006, typer copies it
    mapping: MapOption = [],  # noqa: B006
    rule: SetOption = [],  # noqa: B006
    seed: Annotated[int, typer.Option(min=0, help="Which game of chance.")] = 0,
    speed: Annotated[float, typer.Option(min=0.1, help="Ticks per second on a terminal.")] = 10.0,
    json: JsonOption = False,
) -> None:
    """Play one game and watch it."""
    from kinfolk.core.settings import from_flags
    from kinfolk.play.episode import Play
    from kinfolk.play.slots import Slot, slot_table
    from kinfolk.policies.resolve import build, resolve
    from kinfolk.worlds import build as build_world

    lineup = pairs("--slot", slot)
    warm(world, from_flags(rule), preset, lineup)
    game = build_world(world, from_flags(rule), 1, preset)
    table = slot_table(game.spec, list(lineup), pairs("--map", mapping))
    warn_of_idle_slots(list(lineup), table)
    slots = [Slot(name, build(resolve(uri), game.spec)) for name, uri in lineup.items()]
    game.watch(True)
    loop = Play(game, slots, table, seed, range(1))
    happenings, results = [], []
    watched = sys.stdout.isatty() and not json
    while not loop.over:
        results += loop.tick()
        happenings += game.happenings()
        if watched:
            print(f"\x1b[2J\x1b[Htick {int(game.tick[0])}\n{game.picture(0)}", flush=True)
            time.sleep(1.0 / speed)
    if json:
        print_json(
            {"result": asdict(results[0]), "happenings": [event._asdict() for event in happenings]}
        )
        return
    [result] = results
    print_table(
        f"{world}: game {seed}, {result.ticks} ticks",
        ("slot", "return", "lives", "ticks lived"),
        [(n, result.returns[n], result.lives[n], result.ticks_lived[n]) for n in lineup],
    )
    counted = [f"{name} {value:g}" for name, value in result.counters.items() if value]
    print(textwrap.fill(", ".join(counted), 100))
