"""The pages of evolutions: fitness with its spread, champions, hall of fame, archive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kinfolk.viewer.reports.blocks import (
    Block,
    EventList,
    find_last,
    join_notes,
    make_curves,
    make_estimates,
    make_line,
    make_matrix,
    make_row,
    make_text,
)

_SPREAD = (10, 90)  # percentiles of the members of a generation
# Curves of an archive: the title of each figure, and the fields in it with the names of their lines.
_ARCHIVE_CURVES = {
    "Cells filled": {"num_elites": "elites", "num_role_elites": "elites among roles"},
    "QD score": {"qd_score": "sum of the elites' fitness"},
    "Fitness of elites": {"obj_max": "best", "obj_mean": "mean"},
}


def report_roles(settings: Mapping[str, Any], events: EventList) -> list[Block]:
    """Return the page of an evolution of roles, besides its roles and archive.

    Args:
        settings: Settings of the run; `generations` is read.
        events: All events of the run.
    """
    champion = find_last(events, "champion_evaluated")
    blocks: list[Block] = [] if champion is None else _list_champion(champion)
    scored = _by_population(events, "generation_scored")
    if champion is None:
        done = len(next(iter(scored.values()), []))
        blocks.append(make_text("", [f"{done} of {settings.get('generations')} generations."]))
    for population, generations in scored.items():
        of = f" of {population}" if population else ""
        mean, std = _column(generations, "mean"), _column(generations, "std")
        x = _column(generations, "step")
        best = [event["best"] for event in generations]
        lines = [
            make_line("best team", x, *_split_estimates(best)),
            make_line("mean of teams", x, mean, _add(mean, std)),
            make_line("seeded team", x, _column(generations, "seeded_mean")),
        ]
        note = "areas: 95 % interval of the best team, standard deviation between teams"
        blocks.append(make_curves(f"Fitness{of}", "generation", lines, note))
        roles, spread = _column(generations, "roles_mean"), _column(generations, "roles_std")
        pool = [make_line("best role", x, _column(generations, "roles_best")),
                make_line("mean of roles", x, roles, _add(roles, spread))]  # fmt: skip
        note = "area: standard deviation between roles"
        blocks.append(make_curves(f"Fitness of roles{of}", "generation", pool, note))
    blocks += _list_shared_curves(scored)
    return [*blocks, *_list_hall(events), *_list_archive(events)]


def _by_population(events: EventList, kind: str) -> dict[str, list[Mapping[str, Any]]]:
    """Return the events of a kind by population; "" if there is only one."""
    populations: dict[str, list[Mapping[str, Any]]] = {}
    for event in events:
        if event["kind"] == kind:
            populations.setdefault(str(event.get("population") or ""), []).append(event)
    return populations


def _column(events: EventList, field: str) -> list[Any]:
    """Return a field of each event; of an estimate, its mean."""
    values = [event.get(field) for event in events]
    return [value[0] if isinstance(value, list) else value for value in values]


def _split_estimates(
    estimates: Sequence[Any],
) -> tuple[list[Any], tuple[list[Any], list[Any]]]:
    """Return the means of estimates, and the ends of their intervals."""
    mean, low, high = ([None if e is None else e[i] for e in estimates] for i in range(3))
    return mean, (low, high)


def _add(mean: Sequence[Any], spread: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return the ends of an area of one spread on each side of the mean."""
    pairs = [
        (None, None) if m is None or s is None else (m - s, m + s)
        for m, s in zip(mean, spread, strict=True)
    ]
    return [low for low, _ in pairs], [high for _, high in pairs]


def _list_shared_curves(scored: Mapping[str, EventList]) -> list[Block]:
    """Return the figures in which every population has a line."""
    blocks = []
    figures = {"advantage": "Advantage over the seeded team", "win_rate": "Share of games won",
               "win_rate_vs_seeded": "Share of games better than the seeded team",
               "diversity": "Diversity of roles"}  # fmt: skip
    for field, title in figures.items():
        lines = [
            make_line(population or title.lower(), _column(events, "step"), _column(events, field))
            for population, events in scored.items()
        ]
        if lines:
            blocks.append(make_curves(title, "generation", lines))
    return blocks


def _list_champion(last: Mapping[str, Any]) -> list[Block]:
    """Return how the champion compares with other teams, and how it differs from the seeded one."""
    metric, games = str(last["metric"]), last["games"]
    axis = f"{metric}, 95 % interval over {games} held-out games"
    scores = [make_row(name, value) for name, value in last["scores"].items()]
    paired = [make_row(f"champion - {name}", v) for name, v in last["difference"].items()]
    blocks = [make_estimates("The champion and other teams", axis, scores)]
    if paired:
        blocks.append(make_estimates("Advantage of the champion", axis, paired, True))
    blocks.append(make_text("The champion, compared with the seeded team", last["changes"], "diff"))
    for field, title in (("credit", "Lost without one agent of a role"),
                         ("parts", "Lost if a change is taken back")):  # fmt: skip
        rows = [make_row(name, value) for name, value in last[field].items()]
        if rows:
            blocks.append(make_estimates(title, f"{metric}, 95 % interval", rows, True))
    held_out = [
        make_row(f"{name}: {side}", value)
        for name, sides in last["held_out"].items()
        for side, value in sides.items()
    ]
    return [*blocks, *([make_estimates("Held-out settings", axis, held_out)] if held_out else [])]


def _list_hall(events: EventList) -> list[Block]:
    """Return the payoffs of the champions of a co-evolution, and how exploitable they are."""
    hall, done = find_last(events, "hall_updated"), find_last(events, "coevolution_evaluated")
    blocks = []
    if hall is not None:
        names, games = hall["champions"], hall["games"]
        cells = [[[lead, None, None, games] for lead in row] for row in hall["payoffs"]]
        note = (
            f"Mean lead of the row's champion over {games} games; names are population-generation."
        )
        blocks.append(make_matrix("Hall of fame", (names, names), cells, note))
        rows = [make_row(name, [share, None, None]) for name, share in zip(
            names, hall["nash"] or [], strict=False)]  # fmt: skip
        blocks.append(make_estimates("Nash mixture of the champions", "probability", rows))
    if done is not None:
        rows = [make_row(name, value) for name, value in done["exploitability"].items()]
        axis = "lead of a fresh best response, 95 % interval"
        blocks.append(make_estimates("Exploitability", axis, rows, True))
    return blocks


def _list_archive(events: EventList) -> list[Block]:
    """Return how the archive of an evolution was filled."""
    blocks = []
    for population, updates in _by_population(events, "archive_updated").items():
        x, of = _column(updates, "step"), f" of {population}" if population else ""
        for title, fields in _ARCHIVE_CURVES.items():
            lines = [make_line(label, x, _column(updates, field))
                     for field, label in fields.items() if field in updates[0]]  # fmt: skip
            if lines:
                blocks.append(make_curves(f"{title}{of}", "generation", lines))
    return blocks


def report_nets(settings: Mapping[str, Any], events: EventList) -> list[Block]:
    """Return the page of an evolution of nets, besides its family tree.

    Args:
        settings: Settings of the run; `generations` is read.
        events: All events of the run.
    """
    scored, last = _by_population(events, "generation_scored"), find_last(events, "nets_evolved")
    blocks: list[Block] = []
    if last is None:
        done = len(next(iter(scored.values()), []))
        blocks.append(make_text("", [f"{done} of {settings.get('generations')} generations."]))
    else:
        rows = [make_row(f"{name}, @best", value) for name, value in last.get("best", {}).items()]
        rows += [make_row(f"{name}, last", value) for name, value in last["held_out"].items()]
        if rows:
            axis = "score in held-out episodes, 95 % interval"
            blocks.append(make_estimates("Final evaluation", axis, rows))
    held_out = _by_population(events, "held_out")
    for population, generations in scored.items():
        of = f" of {population}" if len(scored) > 1 else ""
        x = _column(generations, "step")
        spread = np.array([np.percentile(e["fitness"], _SPREAD) for e in generations])
        band = (spread[:, 0].tolist(), spread[:, 1].tolist())
        lines = [make_line("best", x, _column(generations, "best")),
                 make_line("median", x, _column(generations, "median"), band),
                 make_line("mean", x, _column(generations, "mean"))]  # fmt: skip
        note = f"area: {_SPREAD[0]} to {_SPREAD[1]} % of the members"
        blocks.append(make_curves(f"Fitness{of}", "generation", lines, note))
        blocks += _list_held_out(held_out.get(population, []), of)
    for field, title in (("spread", "Distance of members from their mean"), ("nodes", "Nodes"),
                         ("n_lineages", "Living lineages"), ("n_species", "Species")):  # fmt: skip
        lines = [
            make_line(population, _column(e, "step"), _column(e, field))
            for population, e in scored.items()
            if any(event.get(field) is not None for event in e)
        ]
        if lines:
            blocks.append(make_curves(title, "generation", lines))
    return [*blocks, *_list_archive(events), *join_notes((last or {}).get("notes", []))]


def _list_held_out(evaluations: EventList, of: str) -> list[Block]:
    """Return the scores of candidates for `@best` in held-out episodes over generations."""
    lines = []
    individuals = dict.fromkeys(event["individual"] for event in evaluations)
    individuals.pop("best", None)  # scored once, on other episodes
    for individual in individuals:
        mine = [event for event in evaluations if event["individual"] == individual]
        scores = [event["score"] for event in mine]
        lines.append(make_line(individual, _column(mine, "step"), *_split_estimates(scores)))
    note = "areas: 95 % interval over episodes"
    return [make_curves(f"Held-out evaluations{of}", "generation", lines, note)] if lines else []
