"""`kinfolk bench`: speed, beside a reference measured in the same run."""

from __future__ import annotations

from typing import Annotated

import typer

from kinfolk.cli.show import JsonOption, print_json, print_table, say_if_cold
from kinfolk.core.errors import UnknownNameError, suggestion

_SUBJECTS = ("engines",)


def bench(
    subjects: Annotated[list[str], typer.Argument(help=f"Of: {', '.join(_SUBJECTS)}.")] = [  # noqa: B006
        "engines"
    ],
    json: JsonOption = False,
) -> None:
    """Measure throughput."""
    from kinfolk.jobs.bench_engines import bench_engines

    for subject in subjects:
        if subject not in _SUBJECTS:
            known = suggestion(subject, _SUBJECTS)
            raise UnknownNameError(f"There is no benchmark '{subject}'.{known}")
    say_if_cold()
    report = bench_engines()
    if json:
        print_json({"engines": report})
        return
    print_table(
        "The loop's own cost, beyond world and policy",
        ("worlds", "rows", "us per tick", "ns per row", "whole tick us"),
        [
            (
                r["worlds"],
                r["rows"],
                f"{r['loop_us_per_tick']:.1f}",
                f"{r['loop_ns_per_row']:.1f}",
                f"{r['whole_us_per_tick']:.1f}",
            )
            for r in report["loop"]
        ],
    )
    tasks = report["tasks"]
    print_table(
        f"{tasks['tasks']} tasks of {tasks['task_ms']:.0f} ms on {tasks['jobs']} workers",
        ("engine", "seconds", "times local"),
        [
            ("local", f"{tasks['local_s']:.2f}", "1.00"),
            ("processes", f"{tasks['processes_s']:.2f}", f"{tasks['ratio']:.2f}"),
        ],
    )
