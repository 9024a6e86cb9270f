"""`kinfolk explain`: which behaviour acted, and why the others did not."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import typer

from kinfolk.cli.compile import compile_kernels
from kinfolk.cli.flags import job_call
from kinfolk.cli.formatting import print_json, print_table, stdout_for_document
from kinfolk.core.errors import UsageError


def explain(context: typer.Context) -> None:
    """Play a game to a tick and explain why every agent acted as it did."""
    from kinfolk.evaluation.explain import explain_tick, find_explanation
    from kinfolk.evaluation.explain_settings import Explain
    from kinfolk.evaluation.rollout import evaluation_task

    call = job_call(context)
    settings = call.read_settings(Explain)
    world, tick, agent = settings.world, settings.tick, settings.agent
    settings.world_ref.build()  # reports a mistyped world first
    default = Explain()
    if settings.slots == default.slots and world != default.world:
        raise UsageError(
            f"Without --slot kinfolk explain plays {default.slots[0].policy_uri}, which plays "
            f"{default.world}, not {world}. Name a policy for {world} that explains its actions: "
            f"--slot all=URI"
        )
    compile_kernels(world, settings.world_settings, settings.preset, settings.policy_uris)
    task = evaluation_task(
        settings.world_ref,
        {slot.id: slot.resolve_policy() for slot in settings.slots},
        settings.seed,
        range(1),
        settings.slot_map_for(world),
        inherit_slot=settings.inherit_slot,
    )
    with stdout_for_document(call.json):
        explanations = explain_tick(task, tick)
    if agent is not None:
        explanations = [find_explanation(explanations, agent)]
    if call.json:
        print_json([asdict(explanation) for explanation in explanations])
    elif agent is not None:
        _print_explanation(explanations[0], tick)
    else:
        rows = [
            (e.uid, *_facts(e), e.behavior or "nothing", e.action["move"]) for e in explanations
        ]
        print_table(f"{world}, tick {tick}", ("agent", "role", "behavior", "move"), rows)


def _facts(explanation: Any) -> tuple[str, ...]:
    """Return the facts that an explanation tells, such as the role."""
    return tuple(explanation.facts.values()) or ("",)


def _print_explanation(explanation: Any, tick: int) -> None:
    """Print what one agent did, and why the other behaviors did not act."""
    print(
        f"Agent {explanation.uid} in tick {tick}, {', '.join(f'{k} {v}' for k, v in explanation.facts.items())}:"
    )
    print(f"  {explanation.behavior or 'nothing'} acts: {', '.join(explanation.action.values())}")
    for behavior, verdict in explanation.rejected:
        print(f"  {behavior}: {verdict}")
