"""How a training is shown: progress, evaluations and the final table."""

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
    best = ", the best so far" if event.best else ""
    others = ", ".join(f"{name} {base['score']:,.2f}" for name, base in event.baselines.items())
    beside = f"; beside it {others}" if others else ""
    return (
        f"Judged at {event.step:,} steps: score {event.score:,.2f}{best}, "
        f"length {format_estimate_1dp(event.length)}{beside}"
    )


def last_events(events: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the end of a training, its last update and all its evaluations."""
    last = {event["kind"]: event for event in events}
    judged = [event for event in events if event["kind"] == "judged"]
    return {"trained": last.get("trained"), "last": last.get("update_done"), "judged": judged}


def print_report(run: Any, settings: Any, events: list[dict[str, Any]]) -> None:
    """Print a table of slots, the last evaluation, and how to play the result.

    Args:
        run: The run.
        settings: Its settings.
        events: All its events.
    """
    told = last_events(events)
    trained, last = told["trained"], told["last"]
    shown = ("return_per_life", "wins", "entropy", "kl", "explained_variance")
    print_table(
        f"{settings.world}: {trained['step']:,} steps in {trained['updates']} updates and "
        f"{trained['episodes']:,} episodes; stopped by {trained['reason']}",
        ("slot", *(name.replace("_", " ") for name in shown)),
        [
            (name, *(f"{values[s]:.3g}" if s in values else "" for s in shown))
            for name, values in last["slots"].items()
        ],
    )
    if last["length"] is not None:
        recent = min(settings.stats_window, trained["episodes"])
        print(f"The last {recent} episodes were {last['length']:,.0f} ticks long.")
    if told["judged"]:
        judged = told["judged"][-1]
        others = judged["baselines"]
        sides = (judged, *others.values())
        rows = [("length", *(format_estimate(one["length"]) for one in sides))]
        rows += [
            (name, *(format_estimate(one["measures"].get(name)) for one in sides))
            for name in judged["measures"]
        ]  # fmt: skip
        rows += [
            (f"return per life, {n}", format_estimate(v), *("" for _ in others))
            for n, v in judged["return_per_life"].items()
        ]
        episodes = format_sample_size(judged["length"])
        print_table(
            f"Judged on {episodes} episodes of unseen seeds at the end, means (95 %)",
            ("", "trained", *others),
            rows,
        )
    learnt = [slot.id for slot in settings.slots if slot.trainable]
    print(f"The run lies in {run.folder}; play it as {as_uris(run, learnt, '@best')}")
