"""Search of settings by Optuna, the same on every engine and after a resume.

Trials are proposed in batches, and a batch is told when all of its runs are done. So what is proposed
follows from the seed and the results alone: neither from the number of workers, nor from which of them
was the first. After a resume the same is asked and told again, from the results that are stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kinfolk.core.imports import optional_import
from kinfolk.jobs.sweeps.settings import Sweep, parse_range

_N_RANDOM = 10  # trials before the sampler has a model; Optuna's default


class SettingsSearch:
    """The trials of a search, in order.

    Args:
        sweep: Settings of the sweep, with `search`.

    Raises:
        MissingLibraryError: Optuna is not installed.
    """

    def __init__(self, sweep: Sweep) -> None:
        with optional_import("A search"):
            import optuna
        optuna.logging.set_verbosity(optuna.logging.ERROR)  # a job prints nothing
        self._sweep, self._failed = sweep, optuna.trial.TrialState.FAIL
        sampler = optuna.samplers.TPESampler(seed=sweep.search_seed, n_startup_trials=_N_RANDOM)
        self._study = optuna.create_study(direction=sweep.direction, sampler=sampler)
        self._distributions = {
            name: _make_distribution(name, values) for name, values in sweep.search.items()
        }
        self._trials: list[Any] = []  # trials of the last batch
        self._n_proposed = 0

    def propose(self) -> list[dict[str, Any]]:
        """Return the values of the next batch of trials; an empty list at the end."""
        n = min(self._sweep.batch, self._sweep.trials - self._n_proposed)
        self._trials = [self._study.ask(self._distributions) for _ in range(n)]
        self._n_proposed += n
        return [
            {name: trial.params[name] for name in self._distributions} for trial in self._trials
        ]

    def report(self, values: Sequence[float | None]) -> None:
        """Report the metric of each trial of the last batch; None where it had no value."""
        for trial, value in zip(self._trials, values, strict=True):
            if value is None:
                self._study.tell(trial, state=self._failed)
            else:
                self._study.tell(trial, value)


def _make_distribution(name: str, values: str | tuple[Any, ...]) -> Any:
    """Return Optuna's distribution of a searched setting.

    Args:
        name: Name of the setting.
        values: A range, as `parse_range` reads it, or choices.
    """
    from optuna.distributions import (
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )

    if not isinstance(values, str):
        return CategoricalDistribution(values)
    low, high, log = parse_range(name, values)
    if isinstance(low, int) and isinstance(high, int):
        return IntDistribution(low, high, log=log)
    return FloatDistribution(float(low), float(high), log=log)
