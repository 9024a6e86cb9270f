"""`kf.tournament` and `kf.crossplay`: policies that meet each other, with ratings and matrices."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, Unpack

from kinfolk.api.frames import to_html
from kinfolk.api.results import JobResult, run_job, signature_of
from kinfolk.core.errors import UsageError
from kinfolk.core.events import Job
from kinfolk.core.settings import Settings, merge_settings, validate_settings
from kinfolk.engines.base import Engine
from kinfolk.evaluation.export import ColumnTable
from kinfolk.evaluation.formatting import describe_standings, format_estimate, format_number
from kinfolk.evaluation.statistics import Estimate
from kinfolk.jobs.crossplay import CrossPlay, CrossPlayDone
from kinfolk.jobs.crossplay import crossplay as crossplay_job
from kinfolk.jobs.tournament.job import tournament as tournament_job
from kinfolk.jobs.tournament.outputs import payoff_rows, standing_row
from kinfolk.jobs.tournament.settings import Tournament
from kinfolk.jobs.tournament.standings import TournamentDone
from kinfolk.jobs.tournament.submissions import read_submissions
from kinfolk.jobs.tournament.summary import MeetingsDone
from kinfolk.store.files import write_atomic
from kinfolk.viewer.tournament_page import PAGE_FILE, export_tournament_page

if TYPE_CHECKING:
    from kinfolk.api import job_arguments

# A folder, a policy or settings file, a URI, a class, or a table of policies by name.
PolicySource: TypeAlias = str | Path | type | Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, repr=False)
class _MeetingResult(JobResult, MeetingsDone):
    """A result with one main table, and a page of the stored run."""

    def table(self) -> ColumnTable:
        """Return the main table as columns."""
        raise NotImplementedError

    def columns(self) -> ColumnTable:
        """Return what `frame()` and `save()` write: the main table."""
        return self.table()

    def save(self, path: str | Path) -> None:
        """Write the main table or the figure, as other results do, or the page (.html) of a stored run.

        Raises:
            UsageError: The suffix is another one, or the page is asked for and nothing was stored.
        """
        if Path(path).suffix != ".html":
            super().save(path)
            return
        if self.run is None:
            raise UsageError(
                "The page holds recorded games, and nothing was stored: give out=FOLDER."
            )
        write_atomic(Path(path), export_tournament_page(self.run.folder))


@dataclass(frozen=True, kw_only=True, repr=False)
class TournamentResult(_MeetingResult, TournamentDone):
    """What a tournament found: standings, payoff matrices and failures."""

    def table(self) -> ColumnTable:
        """Return the leaderboard as columns, a row per policy and side."""
        return _columns([standing_row(row) for row in self.standings])

    def __repr__(self) -> str:
        lines = [f"TournamentResult: {len(self.policies)} policies, {len(self.pairings)} pairings"]
        for row in self.standings:
            side = f" ({row.side})" if row.side else ""
            failed = f", {row.failures} failures" if row.failures else ""
            rank = "disqualified" if row.rank is None else f"{row.rank}."
            won = f"won {format_estimate(row.win_rate)}, n = {row.win_rate.n} seeds"
            lines.append(
                f"  {rank} {row.name}{side}: rating {format_number(row.rating.mean)}, {won}{failed}"
            )
        return "\n".join([*lines, *_indent((*self._notes(), *self.failure_messages))])

    def _notes(self) -> list[str]:
        """Return how policies are ranked, and which ranks to distrust."""
        return describe_standings(self.format, self.standings)

    def _repr_html_(self) -> str:
        rows = [
            [row.rank, row.name, row.side, row.rating.mean, row.win_rate, row.score, row.failures]
            for row in self.standings
        ]
        headings = ["", "policy", "side", "rating", "won (95 %)", "score (95 %)", "failures"]
        notes = "".join(f"<p>{escape(note)}</p>" for note in self._notes())
        return to_html(headings, rows, "Leaderboard") + notes


@dataclass(frozen=True, kw_only=True, repr=False)
class CrossPlayResult(_MeetingResult, CrossPlayDone):
    """What cross-play found: payoff matrices, mixtures, and self-play minus cross-play."""

    def table(self) -> ColumnTable:
        """Return all payoff matrices as columns, a row per two policies."""
        return _columns([row for table in self.payoffs for row in payoff_rows(table)])

    def __repr__(self) -> str:
        lines = [f"CrossPlayResult: {len(self.policies)} policies, {len(self.pairings)} pairings"]
        for mixture in self.mixtures:
            for i, name in enumerate(mixture.policies):
                side = f" ({mixture.side})" if mixture.side else ""
                rank = (
                    "" if mixture.alpha_rank is None else f" alpha-rank {mixture.alpha_rank[i]:.3f}"
                )
                nash = "" if mixture.nash is None else f" Nash {mixture.nash[i]:.3f}"
                lines.append(f"  {name}{side}:{rank}{nash}")
        for row in self.self_play:
            if row.difference is not None:
                side = f" ({row.side})" if row.side else ""
                text = f"{format_estimate(row.difference)}, n = {row.difference.n}"
                lines.append(f"  self-play minus cross-play{side}: {text}")
        return "\n".join([*lines, *_indent((*self.notes, *self.failure_messages))])

    def _repr_html_(self) -> str:
        rows = [
            [row["side"], row["policy"], row["against"], Estimate(*[*row.values()][3:])]
            for table in self.payoffs
            for row in payoff_rows(table)
        ]
        return to_html(["side", "policy", "against", "score (95 %)"], rows, "Cross-play")


M = TypeVar("M", bound=_MeetingResult)


def _indent(texts: tuple[str, ...]) -> list[str]:
    """Return the lines of texts, indented."""
    return [f"  {line}" for text in texts for line in text.splitlines()]


def _columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Return rows of equal fields as columns."""
    return {name: [row[name] for row in rows] for name in rows[0]}


@signature_of(Tournament)
def tournament(
    *policies: PolicySource,
    engine: str | Engine | None = None,
    jobs: int | None = None,
    out: str | Path | None = None,
    **settings: Unpack[job_arguments.TournamentArguments],
) -> TournamentResult:
    """Let policies meet each other, in a sandbox unless told otherwise, and rate them.

    >>> grazers = {"grazer": {"still": "kin://noop", "random": "kin://random"}}
    >>> result = tournament(
    ...     grazers, {"hunter": {"random": "kin://random"}}, world="probe", sandbox=False, isolate="none"
    ... )
    >>> sorted((row.side, row.name, row.score.n) for row in result.standings)
    [('grazer', 'random', 10), ('grazer', 'still', 10), ('hunter', 'random', 10)]

    Args:
        policies: Folders, policy files, a .toml of settings, URIs, classes, or tables of these by name.
        engine: Engine that plays the games: local, processes, ray, or one of `kf.make_engine`; by
            default processes if `jobs` is more than 1, else local.
        jobs: Tasks that run at once.
        out: Folder for the run, with the page `tournament.html`; without it nothing is stored.
        settings: Fields of `kf.jobs.Tournament`; see `kinfolk settings tournament`.

    Returns:
        Standings, payoff matrices and failures.

    Raises:
        UsageError: A setting, world or policy is wrong.
    """
    return _run_meeting(
        TournamentResult, "tournament", tournament_job, Tournament, policies, dict(settings),
        engine, jobs, out,
    )  # fmt: skip


@signature_of(CrossPlay)
def crossplay(
    *policies: PolicySource,
    engine: str | Engine | None = None,
    jobs: int | None = None,
    out: str | Path | None = None,
    **settings: Unpack[job_arguments.CrossPlayArguments],
) -> CrossPlayResult:
    """Play every policy with every other: payoff matrix, alpha-rank, Nash mixture, self-play.

    >>> result = crossplay(
    ...     {"still": "kin://noop", "random": "kin://random"}, world="probe", games=2
    ... )
    >>> [(row.side, row.difference.n) for row in result.self_play]
    [('grazer', 2), ('hunter', 2)]

    Args:
        policies: Folders, policy files, a .toml of settings, URIs, classes, or tables of these by name.
        engine: Engine that plays the games: local, processes, ray, or one of `kf.make_engine`; by
            default processes if `jobs` is more than 1, else local.
        jobs: Tasks that run at once.
        out: Folder for the run, with the page `tournament.html`; without it nothing is stored.
        settings: Fields of `kf.jobs.CrossPlay`; see `kinfolk settings crossplay`.

    Returns:
        Payoff matrices with intervals, mixtures, and self-play minus cross-play.

    Raises:
        UsageError: A setting, world or policy is wrong.
    """
    return _run_meeting(
        CrossPlayResult, "crossplay", crossplay_job, CrossPlay, policies, dict(settings),
        engine, jobs, out,
    )  # fmt: skip


def _run_meeting(
    result_type: type[M],
    name: str,
    job: Job,
    model: type[Settings],
    policies: tuple[PolicySource, ...],
    settings: dict[str, Any],
    engine: str | Engine | None,
    jobs: int | None,
    out: str | Path | None,
) -> M:
    """Run a tournament or cross-play, and write its page if it is stored.

    Args:
        result_type: Class of the result.
        name: Name of the job in a run's folder.
        job: Function of the job.
        model: Class of its settings.
        policies: Sources of the policies.
        settings: Other settings.
        engine: Engine that plays the games, or its name.
        jobs: Tasks that run at once.
        out: Folder for the run; None stores nothing.
    """
    submitted = read_submissions(policies)
    for entry, reason in submitted.get("refused", {}).items():
        warnings.warn(f"{entry} is refused and does not play: {reason}.", stacklevel=3)
    chosen = validate_settings(model, merge_settings(submitted, settings))
    result = run_job(result_type, name, job, chosen, engine, jobs, out)
    if result.run is not None:
        result.save(result.run.folder / PAGE_FILE)
    return result
