"""Result tables of comparisons and round robins, failures of policies and families of nets, for the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from kinfolk.core.errors import ContractError, DamagedRunError, UsageError, escape_text
from kinfolk.evaluation.failures import describe_failure, extract_event, iter_failures
from kinfolk.evaluation.formatting import describe_comparison, format_interval, format_number
from kinfolk.evaluation.ratings import PlayerScores, average_by_seed, count_wins
from kinfolk.evaluation.significance import SIGNIFICANCE_LEVEL, paired_permutation_test
from kinfolk.evaluation.statistics import win_shares
from kinfolk.lineage.net_family import UID_STRIDE, family_from_events, inheritance_columns

_JOBS = ("compare", "round_robin")
_EMPTY_CELL = "-"  # of a table, where there is no value
_MAX_FAILURES = 200  # rows of the table of failures
_MAX_FAILURE_CHARS = 300  # of what happened; the exported table has all
DAMAGE_ERRORS = (AttributeError, IndexError, KeyError, TypeError, ValueError)  # of damaged events

ResultTable = tuple[list[str], list[list[str]], list[str]]  # headings, rows, verdict


def build_results(
    job: str, settings: Mapping[str, Any], events: Iterable[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the result table and the verdict of a run, also while it is running.

    Args:
        job: `compare` or `round_robin`.
        settings: Settings of the run.
        events: All events of the run as plain values, in their order.

    Returns:
        `title`, `headings`, `rows` (text, one row per policy) and `verdict` (sentences).

    Raises:
        UsageError: Runs of this job have no such table.
        DamagedRunError: An event lacks a field, or its values are of the wrong kind.
    """
    if job not in _JOBS:
        raise UsageError(f"A run of {job} has no table of policies.")
    build = _build_comparison if job == "compare" else _build_ratings
    try:
        policies = [str(policy) for policy in settings["policies"]]
        headings, rows, verdict = build(settings, policies, events)
    except DAMAGE_ERRORS as error:
        raise make_damage_error(error) from None
    title = f"{settings.get('world')}, seed {settings.get('seed')}"
    return {"title": title, "headings": headings, "rows": rows, "verdict": verdict}


def make_damage_error(error: Exception) -> DamagedRunError:
    """Return the error for events that lack a field or have one of the wrong kind."""
    reason = f"{type(error).__name__}: {error}"
    return DamagedRunError(f"The events of this run are damaged ({reason}).")


def build_failures(
    job: str, settings: Mapping[str, Any], events: Iterable[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the failures of policies in a run as a table, also while it is running.

    Args:
        job: Name of the job; those that evaluate policies have failures.
        settings: Settings of the run.
        events: All events of the run as plain values, in their order.

    Returns:
        `total` (number of failures), `headings` and `rows` (text, of the first failures): the policy,
        the candidate or opponent, slot, agent, episode, tick, what happened, and where.

    Raises:
        DamagedRunError: An event lacks a field, or its values are of the wrong kind.
    """
    others = {"compare": ("candidate", "playing for")}
    others |= dict.fromkeys(("round_robin", "tournament", "crossplay"), ("opponent", "against"))
    column, heading = others.get(job, ("", ""))
    rows, total = [], 0
    try:
        for record in iter_failures(job, settings, events):
            total += 1
            if total <= _MAX_FAILURES:
                other = [str(record[column])] if column else []
                agent = "all" if record["agent"] == -1 else str(record["agent"])
                where = "\n".join(line.strip() for line in [*describe_failure(record)][1:])
                places = [record["slot"], agent, record["episode"], record["tick"]]
                event = escape_text(extract_event(record), _MAX_FAILURE_CHARS)
                texts = [record["uri"], *other, *places, event, where]
                rows.append([str(text) for text in texts])
    except DAMAGE_ERRORS as error:
        raise make_damage_error(error) from None
    others_heading = [heading] if heading else []
    headings = ["policy", *others_heading, "slot", "agent", "episode", "tick", "failure", "where"]
    return {"total": total, "headings": headings, "rows": rows}


def build_family(
    settings: Mapping[str, Any], events: Iterable[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the ancestors of the last generation of an evolution of nets, with what they inherited.

    Args:
        settings: Settings of the run; `inherit` is read.
        events: All events of the run as plain values, in their order.

    Returns:
        `total` (members that ever lived), `generations`, and `members`: the last generation and its
        ancestors, parents first, each with `uid`, `number` (in its population), `parents`, `group`,
        `born` and `died` (generations; null while it lives) and, if known, `fitness`, `inherited` and `inherited_fitness` (text).

    Raises:
        DamagedRunError: An event lacks a field, or its values are of the wrong kind.
    """
    scored = [event for event in events if event.get("kind") == "generation_scored"]
    try:
        family = family_from_events(scored)
        columns = inheritance_columns(scored, settings.get("inherit", ()))
        ancestors = {member.uid for member in family if member.destruction_time is None}
        for member in reversed(list(family)):
            if member.uid in ancestors:
                ancestors.update(member.parents)
        members = [
            {"uid": member.uid, "number": member.uid % UID_STRIDE,
             "parents": member.parents, "group": member.group,
             "born": member.origin_time, "died": member.destruction_time}
            | {name: column[member.uid] for name, column in columns.items() if member.uid in column}
            for member in family if member.uid in ancestors
        ]  # fmt: skip
        generations = 1 + max((int(event["step"]) for event in scored), default=-1)
    except (*DAMAGE_ERRORS, ContractError) as error:
        raise make_damage_error(error) from None
    return {"total": len(family), "generations": generations, "members": members}


def _build_comparison(
    settings: Mapping[str, Any], policies: Sequence[str], events: Iterable[Mapping[str, Any]]
) -> ResultTable:
    """Return each policy's mean over the episodes, and the verdict on every pair.

    Args:
        settings: Settings of the run; `metric` and `episodes` are read.
        policies: URIs of the policies, in the order in which events number them.
        events: All events of the run.
    """
    values: list[dict[int, float]] = [{} for _ in policies]
    failures, last = [0 for _ in policies], None
    for event in events:
        if event["kind"] == "candidate_played":
            value = event["value"]  # None where the metric does not apply to the episode
            if value is not None:
                values[event["policy"]][event["step"]] = float(value)
            failed = event["failures"]  # a number in runs of earlier versions
            failures[event["policy"]] += failed if isinstance(failed, int) else len(failed)
        elif event["kind"] == "compared":
            last = event
    wins = _count_wins(values)
    rows = []
    for i, policy in enumerate(policies):
        played = list(values[i].values())
        mean_so_far = float(np.mean(played)) if played else None
        so_far = [mean_so_far, None, None, len(played)]
        estimate = (last["means"][i] if last else None) or so_far
        mean = _EMPTY_CELL if estimate[0] is None else format_number(estimate[0])
        n = estimate[3] if len(estimate) > 3 else len(played)
        counts = [str(n), f"{round(wins[i], 2):g}", str(failures[i])]
        rows.append([policy, mean, format_interval(estimate) or _EMPTY_CELL, *counts])
    metric = f"mean {settings.get('metric', 'return')}"
    headings = ["policy", metric, "95 % confidence interval", "n", "wins", "failures"]
    if last:
        return headings, rows, [*describe_comparison(last), *map(str, last.get("notes", []))]
    n_played, n_planned = sum(map(len, values)), settings.get("episodes", 0) * len(policies)
    return headings, rows, [f"No verdict yet: {n_played} of {n_planned} episodes are played."]


def _count_wins(values: Sequence[Mapping[int, float]]) -> list[float]:
    """Return how many of the episodes that all have played each policy won; ties are shared."""
    common = sorted(set.intersection(*(set(by_episode) for by_episode in values)))
    if not common:
        return [0.0 for _ in values]
    scores = [[by_episode[episode] for episode in common] for by_episode in values]
    table = {str(i): np.array(of_policy) for i, of_policy in enumerate(scores)}
    return [float(np.nansum(shares)) for shares in win_shares(table).values()]


def _build_ratings(
    settings: Mapping[str, Any], policies: Sequence[str], events: Iterable[Mapping[str, Any]]
) -> ResultTable:
    """Return each policy's rating, best first, and by how much the best one leads.

    Args:
        settings: Settings of the run; `episodes` is read.
        policies: URIs of the policies, in the order in which events number them.
        events: All events of the run.
    """
    games, wins, last = [0 for _ in policies], [0.0 for _ in policies], None
    played: list[PlayerScores] = []
    for event in events:
        if event["kind"] == "pair_played":
            pair = (event["first"], event["second"])
            scores = (event["first_score"], event["second_score"])
            played.append(PlayerScores(pair, scores, event["step"]))
        elif event["kind"] == "rated":
            last = event
    won_games = count_wins(played)
    for game in won_games:
        for player, share in zip(game.players, game.scores, strict=True):
            games[player] += 1
            wins[player] += share
    headings = ["policy", "rating", "uncertainty", "games", "wins"]
    counts = [[str(n), f"{won:g}"] for n, won in zip(games, wins, strict=True)]
    order = list(range(len(policies)))
    if last is None:
        n_planned = settings.get("episodes", 0) * (len(policies) * (len(policies) - 1) // 2)
        rows = [[policies[i], _EMPTY_CELL, _EMPTY_CELL, *counts[i]] for i in order]
        verdict = f"No ratings yet: {sum(games) // 2} of {n_planned} games are played."
        return headings, rows, [verdict]
    ratings = last["ratings"]
    failed = last.get("failures", [0] * len(policies))
    order.sort(key=lambda i: (failed[i] > 0, -ratings[i][2]))  # those that failed last
    figures = [[f"{mu:.1f}", f"{sigma:.1f}"] for mu, sigma, *_ in ratings]
    rows = [[policies[i], *figures[i], *counts[i]] for i in order]
    best, second = order[:2]
    shares = average_by_seed(len(policies), won_games)
    p_value = paired_permutation_test(shares[best], shares[second])
    leader = f"{policies[best]} is rated highest, before {policies[second]}"
    relation = "is" if p_value < SIGNIFICANCE_LEVEL else "is not"
    reason = f"p = {p_value:.2g}, shares won on {len(shares[best])} common seeds"
    return headings, rows, [f"{leader}; the difference {relation} significant ({reason})."]
