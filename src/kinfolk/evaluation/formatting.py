"""Format results as text: estimates with confidence intervals, comparisons as sentences."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

# Mean, low, high and n, as in events. Low and high are None for a single value.
EstimateValues: TypeAlias = Sequence[float | None]
_STEADY_GAMES = 30  # of two members, below which a mixture is called unsteady


def format_number(value: float) -> str:
    """Format a number with three digits, from 100 on without decimals.

    >>> format_number(0.65342), format_number(12345.6)
    ('0.653', '12,346')
    """
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def format_estimate(estimate: EstimateValues | None) -> str:
    """Format a mean with its confidence interval, with three digits.

    >>> format_estimate((0.6534, 0.61, 0.7, 20)), format_estimate((5993.2, 700.0, 12345.6))
    ('0.653 (0.61 to 0.7)', '5,993 (700 to 12,346)')
    """
    return format_estimate_with(estimate, format_number)


def format_estimate_1dp(estimate: EstimateValues | None) -> str:
    """Format a mean with its confidence interval, with one decimal.

    >>> format_estimate_1dp((12.345, 10.0, 15.5, 20)), format_estimate_1dp(None)
    ('12.3 (10.0 to 15.5)', 'none')
    """
    return format_estimate_with(estimate, lambda value: f"{value:,.1f}")


def format_estimate_with(
    estimate: EstimateValues | None, format_value: Callable[[float], str]
) -> str:
    """Format a mean with its confidence interval, with a given format of numbers.

    Args:
        estimate: Mean, low, high and more, as in an event; None where there were no values.
        format_value: Formats a number.

    Returns:
        Text; "none" if there were no values.

    >>> format_estimate_with((2.0, None, None, 1), format_number)
    '2 (no interval)'
    """
    if estimate is None or estimate[0] is None:
        return "none"
    return (
        f"{format_value(estimate[0])} ({format_interval(estimate, format_value) or 'no interval'})"
    )


def format_interval(
    estimate: EstimateValues, format_value: Callable[[float], str] = format_number
) -> str:
    """Format the confidence interval of an estimate; "" if it has none.

    >>> format_interval((0.6534, 0.61, 0.7)), format_interval((2.0, None, None, 1))
    ('0.61 to 0.7', '')
    """
    low, high = estimate[1:3]
    return "" if low is None or high is None else f"{format_value(low)} to {format_value(high)}"


def format_sample_size(estimate: EstimateValues | None) -> str:
    """Format the number of values of an estimate.

    >>> format_sample_size((12.345, 10.0, 15.5, 20)), format_sample_size(None)
    ('20', '0')
    """
    return "0" if estimate is None else f"{estimate[3]}" if len(estimate) > 3 else "?"


def describe_counts(counts: Collection[int], unit: str) -> str:
    """Describe how many values the estimates of a table are of.

    >>> describe_counts({4}, "games"), describe_counts({6, 2}, "games")
    ('4 games', '2 to 6 games')
    """
    low, high = min(counts, default=0), max(counts, default=0)
    return f"{low} {unit}" if low == high else f"{low} to {high} {unit}"


def name_policies(policies: Sequence[str]) -> list[str]:
    """Return the policies of a run as labels that differ from each other.

    >>> name_policies(["kin://noop", "kin://random", "kin://noop"])
    ['kin://noop', 'kin://random', 'kin://noop (2)']
    """
    counts = [list(policies[:i]).count(uri) for i, uri in enumerate(policies)]
    return [f"{uri} ({n + 1})" if n else uri for uri, n in zip(policies, counts, strict=True)]


def format_duration(seconds: float) -> str:
    """Format a duration in the unit that suits it.

    >>> [format_duration(seconds) for seconds in (3.21, 75.0, 7300.0)]
    ['3 s', '1 min 15 s', '2 h 1 min']
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{int(seconds) // 60} min {int(seconds) % 60} s"
    return f"{int(seconds) // 3600} h {int(seconds) % 3600 // 60} min"


def describe_time_left(done: int, total: int, seconds: float) -> str:
    """Describe how long the rest will take if it goes on like this.

    Args:
        done: How many are done since the start of the clock.
        total: How many there are, counted likewise.
        seconds: Time that those took.

    >>> describe_time_left(10, 40, 20.0), describe_time_left(0, 40, 3.0)
    ('about 1 min 0 s left', 'time left unknown')
    """
    if done <= 0:
        return "time left unknown"
    return f"about {format_duration(seconds * (total - done) / done)} left"


# Metrics of which more is better.
_REWARDS = ("return", "return_per_life", "reward_per_tick", "win_rate")


def describe_comparison(event: Mapping[str, Any]) -> Iterator[str]:
    """Yield one sentence for every pair of policies of a comparison.

    Args:
        event: The event of a finished comparison, as JSON values.
    """
    for pair, comparison in event["pairs"].items():
        a, b = (event["policies"][int(i)] for i in pair.split())
        difference, p_value, better, episodes = comparison[:4]
        evidence = f"p = {p_value:.4f}, {episodes} common episodes"
        n_pairs = len(event["pairs"])
        if n_pairs > 1 and len(comparison) > 5:  # runs of earlier versions have no adjusted p-value
            evidence += f", p = {comparison[5]:.4f} adjusted for {n_pairs} comparisons"
        if better == "neither":
            yield f"No difference is shown between {a} and {b}: {format_estimate(difference)}, {evidence}."
        else:
            winner, loser = (a, b) if better == "first" else (b, a)
            advantage = difference if better == "first" else _negate(difference)
            relation = "is better than"
            if event.get("metric", "return") not in _REWARDS:  # more of it need not be better
                relation = f"is higher in {event['metric']} than"
            yield f"{winner} {relation} {loser}: by {format_estimate(advantage)}, {evidence}."


def _negate(difference: EstimateValues) -> EstimateValues:
    """Return the estimate of a difference with the order of its operands exchanged."""
    mean, low, high = (None if v is None else -v for v in difference[:3])
    return [mean, high, low, *difference[3:]]


def describe_standings(form: str, standings: Sequence[Sequence[Any]]) -> list[str]:
    """Describe how the policies of a tournament are ranked, and which ranks to distrust.

    Args:
        form: `swiss`, or another format.
        standings: Standings as in an event; without any, there is nothing to describe.
    """
    if not standings:
        return []
    by = "points, then by the rating (mu - 3 sigma)" if form == "swiss" else "rating (mu - 3 sigma)"
    lines = [f"Ranked by {by}. Equal scores and shares won share a rank."]
    if len(standings[0]) > _DISQUALIFIED:  # runs of earlier versions have fewer columns
        lines += _describe_sample(standings)
    return [*lines, *describe_equal_scores([(row[1], row[5]) for row in standings])]


_DISQUALIFIED, _P_VALUE = 10, 11  # columns of a standing


def _group_close(standings: Sequence[Sequence[Any]]) -> list[str]:
    """Return the ranges of ranks in which no policy can be told apart from the next one."""
    from kinfolk.evaluation.significance import SIGNIFICANCE_LEVEL

    groups: list[list[Sequence[Any]]] = []
    is_close = False  # whether the row belongs to the group of the row above
    for row in standings:
        if not is_close:
            groups.append([])
        groups[-1].append(row)
        is_close = row[_P_VALUE] is not None and row[_P_VALUE] >= SIGNIFICANCE_LEVEL
    ends = [(group[0], group[-1]) for group in groups if group[0][0] != group[-1][0]]
    return [f"{first[0]}. {first[1]} to {last[0]}. {last[1]}" for first, last in ends]


def _describe_sample(standings: Sequence[Sequence[Any]]) -> Iterator[str]:
    """Yield what the intervals are over, which ranks cannot be told apart, and who is disqualified."""
    counts = {row[5][3] for row in standings if row[5] is not None}
    yield (
        f"Intervals are over seeds ({describe_counts(counts, 'seeds')}): games on one seed are not "
        "independent."
    )
    groups = _group_close(standings)
    if groups:
        yield (
            f"Neighbours that the shares won on the same seeds cannot tell apart: {', '.join(groups)}. "
            "More --games may."
        )
    for row in standings:
        if row[_DISQUALIFIED]:
            side = f" ({row[2]})" if row[2] else ""
            yield f"{row[1]}{side} is disqualified (--max-failure-rate): {row[_DISQUALIFIED]}."


def has_separate_sides(league: Mapping[str, Any]) -> bool:
    """Return whether the sides of a league cannot be exchanged, so that their returns have no common scale.

    Args:
        league: Event `league_updated`.
    """
    return any(side for side, *_ in league["mixtures"])


def mean_win_rates(league: Mapping[str, Any]) -> dict[str, float]:
    """Return the win rate of each learner of a league, the mean over its opponents.

    >>> mean_win_rates({"win_rates": [["a", "b-0", 0.5, 9], ["a", "b-2", 0.75, 3], ["b", "a", 1.0, 1]]})
    {'a': 0.625, 'b': 1.0}

    Args:
        league: Event `league_updated`.
    """
    met: dict[str, list[float]] = {}
    for learner, _, rate, _ in league["win_rates"]:
        met.setdefault(learner, []).append(rate)
    return {learner: sum(rates) / len(rates) for learner, rates in met.items()}


# Below a table or chart of `mean_win_rates`, for leagues with separate sides.
WIN_RATE_NOTE = (
    "The win rate is the mean over opponents in the league; an episode counts as won by the share of the main "
    "agent's recent episodes in which its side earned less."
)


def describe_mixtures(league: Mapping[str, Any]) -> list[str]:
    """Describe what the Nash mixture and alpha-rank of a league mean, and how many games they rest on.

    Args:
        league: Event `league_updated`.
    """
    regret, games = league["nash_regret"], league["games"]
    gain = "" if regret is None else f", here by at most {format_number(regret)}"
    count = f"{games} game{'s' * (games != 1)} of each two members"
    unsteady = (
        ". So few games make them unsteady: other games may give the weight to other members"
        if games < _STEADY_GAMES
        else ""
    )
    return [
        f"In a Nash mixture no side gains by changing its own weights alone{gain}; alpha-rank is the share of "
        f"time that evolution under strong selection spends at a member.",
        f"Both rest on {count}{unsteady}.",
    ]


def describe_budget(steps: int, used: Mapping[str, int]) -> list[str]:
    """Describe that more rows were learnt from than a setting asks for; nothing if they are as many.

    >>> describe_budget(100, {"a": 120, "b": 100})
    ['Rollouts are whole: budgets are the rows really used, where --steps asks for 100.']

    Args:
        steps: Rows that the setting `steps` asks for.
        used: Rows that were used, by what they were used for.
    """
    if all(rows == steps for rows in used.values()):
        return []
    subject = (
        f"{next(iter(used.values())):,} rows were used"
        if len(used) == 1
        else "budgets are the rows really used"
    )
    return [f"Rollouts are whole: {subject}, where --steps asks for {steps:,}."]


def leave_out_empty(
    headings: Sequence[str], rows: Sequence[Sequence[str]], heading: str
) -> tuple[list[str], list[list[str]]]:
    """Return a table without one of its columns, if every cell of that is empty.

    >>> leave_out_empty(["policy", "points"], [["a", ""], ["b", ""]], "points")
    (['policy'], [['a'], ['b']])

    Args:
        headings: Heading of each column.
        rows: Cells of each row.
        heading: The column that may be left out.
    """
    column = headings.index(heading)
    left_out = -1 if any(row[column] for row in rows) else column
    table = [[cell for i, cell in enumerate(row) if i != left_out] for row in (headings, *rows)]
    return table[0], table[1:]


def describe_equal_scores(scores: Iterable[tuple[str, EstimateValues | None]]) -> list[str]:
    """Describe whose intervals have no width, because all their games had the same score.

    >>> describe_equal_scores([("a", (0.0, 0.0, 0.0, 6)), ("b", (1.0, 0.5, 1.5, 6)), ("c", None)])
    ['All games of a had the same score: an interval without width says nothing about other games.']

    Args:
        scores: Name and mean score of each policy, as in an event.
    """
    alike = [
        name for name, score in scores if score and score[1] is not None and score[1] == score[2]
    ]
    reason = "an interval without width says nothing about other games"
    return [f"All games of {', '.join(alike)} had the same score: {reason}."] if alike else []
