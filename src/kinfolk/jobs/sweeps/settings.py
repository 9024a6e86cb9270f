"""Settings of a sweep: the job, the settings that vary, and the seeds."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from pydantic import Field, field_validator, model_validator

from kinfolk.core.errors import SettingsError, format_suggestion, require
from kinfolk.core.settings import Settings, parse_value, setting


class SweptJob(NamedTuple):
    """A job that can be swept, by import path, so that it is imported when it is run."""

    settings: str  # settings class
    run: str  # function of the job
    result: str  # class of its last event
    metric: str  # default metric: a column of the table, or the beginning of its name
    curve: str  # kind of the events that make its learning curve; "" if it has none


SWEPT_JOBS = {
    "eval": SweptJob(
        "kinfolk.jobs.evaluate:Evaluate", "kinfolk.jobs.evaluate:evaluate",
        "kinfolk.jobs.evaluate:Evaluated", "return", "",
    ),
    "train": SweptJob(
        "kinfolk.jobs.train.settings:Train", "kinfolk.jobs.train.job:train",
        "kinfolk.jobs.train.reports:TrainingDone", "score", "update_done",
    ),
    "evolve-roles": SweptJob(
        "kinfolk.jobs.evolve_roles.settings:EvolveRoles",
        "kinfolk.jobs.evolve_roles.job:evolve_roles",
        "kinfolk.jobs.evolve_roles.champion:ChampionEvaluated", "scores/champion",
        "generation_scored",
    ),
    "evolve-nets": SweptJob(
        "kinfolk.jobs.evolve_nets.settings:EvolveNets", "kinfolk.jobs.evolve_nets.job:evolve_nets",
        "kinfolk.jobs.evolve_nets.job:NetsEvolved", "held_out/", "generation_scored",
    ),
}  # fmt: skip


class SearchRange(NamedTuple):
    """Values between which a search looks; whole numbers if both ends are."""

    low: float
    high: float
    log: bool  # whether it looks at magnitudes, as for learning rates


def parse_range(name: str, text: str) -> SearchRange:
    """Parse a range, written `LOW:HIGH` or `LOW:HIGH:log`.

    Args:
        name: Setting that is searched, for error messages.
        text: The range.

    Raises:
        SettingsError: It is written otherwise, or the range is empty.

    >>> parse_range("ppo.learning_rate", "1e-4:1e-2:log")
    SearchRange(low=0.0001, high=0.01, log=True)
    """
    low_text, *rest = text.split(":")
    low: Any = parse_value(low_text)
    high: Any = parse_value(rest[0]) if rest else None
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in (low, high))
    if not numbers or rest[1:] not in ([], ["log"]):
        raise SettingsError(
            f"A range is written LOW:HIGH or LOW:HIGH:log, not '{text}'; choices of {name} are "
            "written A,B,C, or as a list in Python."
        )
    require(low < high, f"The range of {name} is empty: {low} is not below {high}.")
    is_log = rest[1:] == ["log"]
    require(not is_log or low > 0, f"A range with log begins above 0, not at {low} ({name}).")
    return SearchRange(low, high, is_log)


class Sweep(Settings):
    """Settings of a sweep: every combination of the varied settings is run with every seed.

    Settings vary in a grid (`vary`), in a list (`cases`), or as Optuna proposes (`search`).
    """

    job: str = setting("eval", f"Job that is run: {', '.join(SWEPT_JOBS)}.")
    settings: dict[str, Any] = setting({}, "Settings of the job that all runs share.")
    vary: dict[str, tuple[Any, ...]] = setting(
        {}, "Values of each setting that is varied, of the job or of its world; all combinations."
    )
    cases: tuple[dict[str, Any], ...] = setting(
        (), "A list of settings to run instead of all combinations."
    )
    search: dict[str, str | tuple[Any, ...]] = setting(
        {}, "Settings to search by Optuna: LOW:HIGH, LOW:HIGH:log, or choices."
    )
    trials: int = setting(20, "Settings that a search tries.", ge=1)
    batch: int = setting(
        4, "Trials of a search that are proposed together, before their results are known.", ge=1
    )
    direction: Literal["maximize", "minimize"] = setting(
        "maximize", "Whether a search looks for a high or a low metric."
    )
    search_seed: int = setting(0, "Random seed of a search.", ge=0)
    seeds: tuple[int, ...] = Field(
        default=(0,),
        min_length=1,
        description="Random seeds; each setting is run with all of them.",
    )
    metric: str | None = setting(
        None, "Metric of the summary and the figure; none: that of the job."
    )

    @property
    def varied(self) -> list[str]:
        """Names of the settings that vary, in order."""
        return list(self.vary or (self.cases[0] if self.cases else self.search))

    @property
    def n_points(self) -> int:
        """The number of runs of the whole sweep."""
        n = self.trials if self.search else len(self.cases)
        if not self.search and not self.cases:
            n = 1
            for values in self.vary.values():
                n *= len(values)
        return n * len(self.seeds)

    @field_validator("job")
    @classmethod
    def _check_job(cls, job: str) -> str:
        """Check that there is such a job."""
        known = format_suggestion(job, list(SWEPT_JOBS))
        require(job in SWEPT_JOBS, f"No job that can be swept is named '{job}'.{known}")
        return job

    @field_validator("seeds")
    @classmethod
    def _check_seeds(cls, seeds: tuple[int, ...]) -> tuple[int, ...]:
        """Check that every seed is given once: equal seeds would count one run as two."""
        for seed in seeds:
            once = seeds.count(seed) == 1
            require(
                once, f"Seed {seed} is given twice, and would count one run as two. Give it once."
            )
            require(seed >= 0, f"A seed is a whole number of at least 0, not {seed}.")
        return seeds

    @field_validator("vary")
    @classmethod
    def _check_vary(cls, vary: dict[str, tuple[Any, ...]]) -> dict[str, tuple[Any, ...]]:
        """Check that every varied setting has values, each of them once."""
        for name, values in vary.items():
            require(len(values) > 0, f"The varied setting {name} has no values.")
            repeated = [value for value in values if [*values].count(value) > 1]
            require(not repeated, f"{name} is given the value {(repeated or [0])[0]!r} twice.")
        return vary

    @field_validator("search")
    @classmethod
    def _check_search(
        cls, search: dict[str, str | tuple[Any, ...]]
    ) -> dict[str, str | tuple[Any, ...]]:
        """Check that every range can be read, and that there are choices where there is none."""
        for name, values in search.items():
            if isinstance(values, str):
                parse_range(name, values)
            else:
                require(len(values) > 1, f"A search of {name} needs two choices or more.")
                plain = all(
                    value is None or isinstance(value, str | int | float) for value in values
                )
                require(plain, f"Choices of {name} are numbers or texts, not {values!r}.")
        return search

    @model_validator(mode="after")
    def _check_ways(self) -> Sweep:
        """Check that settings vary in one way only, and that cases have the same settings.

        Raises:
            SettingsError: They do not.
        """
        given = [name for name in ("vary", "cases", "search") if getattr(self, name)]
        require(len(given) < 2, f"A sweep takes {' or '.join(given)}, not both.")
        for case in self.cases:
            require(
                list(case) == list(self.cases[0]),
                f"All cases must have the same settings; {case} and {self.cases[0]} do not.",
            )
            require(self.cases.count(case) == 1, f"The case {case} is given twice.")
        require("seed" not in self.varied, "Seeds are varied by seeds, not by vary.")
        return self
