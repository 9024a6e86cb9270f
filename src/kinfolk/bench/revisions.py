"""Compare the speed of the savanna with that of another revision, both measured in turn."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from kinfolk.bench import savanna_rates
from kinfolk.core.errors import UsageError

ROUNDS = 5


def compare_revisions(source: Path, rounds: int = ROUNDS) -> dict[str, Any]:
    """Measure this revision and the one in `source` in turn, each time in a new process.

    Args:
        source: Folder that holds the other revision's package, such as `../before/src`.
        rounds: How often both are measured, after one round that fills the cache of kernels.

    Returns:
        `rounds`, and `figures`: per benchmark its `name`, medians of agent-steps per second of the
        other revision (`before`) and this one (`now`), the median, `lowest` and `highest` ratio of
        a round, and all rates.

    Raises:
        UsageError: There is no package there, or its measurement fails.
    """
    if not (source / "kinfolk" / "__init__.py").is_file():
        raise UsageError(f"There is no package kinfolk in {source}.")
    this_source = Path(savanna_rates.__file__).parents[2]
    measured = [(_measure(source), _measure(this_source)) for _ in range(rounds + 1)][1:]
    figures = []
    for name in measured[0][0]:
        before, now = (np.array([pair[i][name] for pair in measured]) for i in range(2))
        ratios = now / before
        figures.append(
            {
                "name": name,
                "before": float(np.median(before)),
                "now": float(np.median(now)),
                "ratio": float(np.median(ratios)),
                "lowest": float(ratios.min()),
                "highest": float(ratios.max()),
                "rates": [before.tolist(), now.tolist()],
            }
        )
    return {"rounds": rounds, "figures": figures}


def _measure(source: Path) -> dict[str, float]:
    """Run `savanna_rates` with the package in `source`, and return its rates."""
    environment = {**os.environ, "PYTHONPATH": str(source.resolve())}
    command = [sys.executable, "-P", savanna_rates.__file__]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = done.stderr.strip().splitlines()[-1:] or ["no message"]
        raise UsageError(f"The savanna of {source} could not be measured: {reason[0]}")
    rates: dict[str, float] = json.loads(done.stdout)
    return rates
