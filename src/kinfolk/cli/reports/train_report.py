"""Report of a training: progress, evaluations and the final table."""

from __future__ import annotations

from typing import Any

from kinfolk.cli.formatting import print_table
from kinfolk.cli.run_lifecycle import as_uris
from kinfolk.evaluation.formatting import format_estimate, format_estimate_1dp, format_sample_size


def describe_update(event: Any) -> str:
    """Describe the running means after an update."""
    if event.length is None:
        return "no episode has ended yet"
    return f"length {event.length:,.0f}, score {event.score:,.2f}"


def describe_evaluation(event: Any) -> str:
    """Describe an evaluation on held-out seeds in a line."""
    best = ", the best so far" if event.is_best else ""
    others = ", ".join(f"{name} {base['score']:,.2f}" for name, base in event.baselines.items())
    compared = f"; baselines: {others}" if others else ""
    return (
        f"Evaluated at {event.step:,} steps: score {event.score:,.2f}{best}, "
        f"length {format_estimate_1dp(event.length)}{compared}"
    )


def last_events(events: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the end of a training, its last update and all its evaluations."""
    last = {event["kind"]: event for event in events}
    return {
        "result": last.get("training_done"),
        "last_update": last.get("update_done"),
        "evaluations": [event for event in events if event["kind"] == "evaluation_done"],
    }


def print_report(run: Any, settings: Any, events: list[dict[str, Any]]) -> None:
    """Print a table of slots, the last evaluation, and how to play the result.

    Args:
        run: The run.
        settings: Its settings.
        events: All its events.
    """
    last = last_events(events)
    result, update = last["result"], last["last_update"]
    shown = ("return_per_life", "wins", "entropy", "kl", "explained_variance")
    print_table(
        f"{settings.world}: {result['step']:,} steps in {result['updates']} updates and "
        f"{result['episodes']:,} episodes; stopped by {result['reason']}",
        ("slot", *(name.replace("_", " ") for name in shown)),
        [
            (name, *(f"{values[s]:.3g}" if s in values else "" for s in shown))
            for name, values in update["slots"].items()
        ],
    )
    if update["length"] is not None:
        recent = min(settings.stats_window, result["episodes"])
        print(f"The last {recent} episodes were {update['length']:,.0f} ticks long.")
    if last["evaluations"]:
        _print_evaluation(last["evaluations"][-1])
    trained = [slot.id for slot in settings.slots if slot.trainable]
    print(f"The run lies in {run.folder}; play it as {as_uris(run, trained, '@best')}")


def _print_evaluation(event: dict[str, Any]) -> None:
    """Print the trained team beside the baselines, a row per metric."""
    baselines = event["baselines"]
    teams = (event, *baselines.values())
    rows = [("length", *(format_estimate(team["length"]) for team in teams))]
    rows += [
        (name, *(format_estimate(team["metrics"].get(name)) for team in teams))
        for name in event["metrics"]
    ]
    rows += [
        (f"return per life, {slot}", format_estimate(estimate), *("" for _ in baselines))
        for slot, estimate in event["return_per_life"].items()
    ]
    print_table(
        f"Evaluated on {format_sample_size(event['length'])} episodes of held-out seeds at the end, "
        f"means (95 %)",
        ("", "trained", *baselines),
        rows,
    )
