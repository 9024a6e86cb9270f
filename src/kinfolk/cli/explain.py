"""`kinfolk explain`: which behaviour acted, and why the others did not."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from kinfolk.cli.compile import compile_kernels
from kinfolk.cli.completion import complete_preset, complete_world
from kinfolk.cli.show import JsonOption, print_json, print_table, stdout_for_document
from kinfolk.cli.slots import MapOption, SetOption, SlotOption, pairs, slot_map
from kinfolk.core.errors import UsageError

_WORLD, _POLICY = "cogsguard", "kin://smart"  # what is explained unless another is asked for


def explain(
    world: Annotated[
        str, typer.Option(help="See `kinfolk worlds`.", autocompletion=complete_world)
    ] = _WORLD,
    preset: Annotated[
        str | None, typer.Option(help="See `kinfolk presets`.", autocompletion=complete_preset)
    ] = None,
    slot: SlotOption = [],  # noqa: B006, typer copies it
    mapping: MapOption = [],  # noqa: B006
    rule: SetOption = [],  # noqa: B006
    seed: Annotated[int, typer.Option(min=0, help="Which game of chance.")] = 0,
    tick: Annotated[int, typer.Option(min=0, help="Which tick of the game, from 0.")] = 0,
    agent: Annotated[int | None, typer.Option(min=0, help="Only this agent, by number.")] = None,
    json: JsonOption = False,
) -> None:
    """Play a game to a tick and say why everybody did what they did."""
    from kinfolk.core.settings import parse_overrides
    from kinfolk.evaluation.explain import explain_tick, find_explanation
    from kinfolk.evaluation.rollout import RolloutTask
    from kinfolk.policies.resolve import resolve
    from kinfolk.worlds import build_world

    build_world(
        world, parse_overrides(rule), 1, preset
    )  # a mistyped world is said before a missing slot
    if not slot and world != _WORLD:
        raise UsageError(
            f"Without --slot kinfolk explain plays {_POLICY}, which plays {_WORLD}, not {world}. Name a "
            f"policy for {world} that tells its reasons: --slot all=URI"
        )
    lineup = pairs("--slot", slot or [f"cogs={_POLICY}"])
    compile_kernels(world, parse_overrides(rule), preset, lineup)
    policies = {name: resolve(uri) for name, uri in lineup.items()}
    match = RolloutTask(
        world, parse_overrides(rule), policies, seed, 0, 1, preset, slot_map(mapping)
    )
    with stdout_for_document(json):
        found = explain_tick(match, tick)
    if agent is not None:
        found = [find_explanation(found, agent)]
    if json:
        print_json([asdict(one) for one in found])
    elif agent is not None:
        _print_one(found[0], tick)
    else:
        rows = [
            (one.uid, *_words(one), one.behavior or "nothing", one.action["move"]) for one in found
        ]
        print_table(f"{world}, tick {tick}", ("agent", "role", "behaviour", "move"), rows)


def _words(one: Any) -> tuple[str, ...]:
    return tuple(one.facts.values()) or ("",)


def _print_one(one: Any, tick: int) -> None:
    print(f"Agent {one.uid} in tick {tick}, {', '.join(f'{k} {v}' for k, v in one.facts.items())}:")
    print(f"  {one.behavior or 'nothing'} acts: {', '.join(one.action.values())}")
    for behavior, verdict in one.rejected:
        print(f"  {behavior}: {verdict}")
