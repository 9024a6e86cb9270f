"""Put the report of a finished study into the documents: python docs/results/studies/add.py RUN, in the root folder.

The page is the report of the run as the present version writes it, from the results that the run stored, without the plan at
its end, which the package holds. Its figures and the value of every run lie beside it; its capsule, of up to 20 MB, stays with the run. What `after.toml`
says of the study was written after its results were seen, and is put below the summary under a heading that says so.
"""

import re
import sys
import tomllib
from pathlib import Path

from kinfolk.jobs.studies.outputs import MARKDOWN_FILE, TABLE_FILE
from kinfolk.jobs.studies.packing import render_study
from kinfolk.jobs.studies.report import LEVELS_TEXT
from kinfolk.store.run import open_run

FOLDER = Path(__file__).parent
AFTER = (
    "## After the results were seen\n\nNone of this was planned, and no verdict depends on it.\n\n"
)


def render(folder: Path) -> tuple[str, dict[str, bytes]]:
    """Return the name of a study and the files of its report.

    Args:
        folder: Folder of the finished study.
    """
    run = open_run(folder)
    return run.config["settings"]["name"], render_study(run)


def add_report(folder: Path) -> Path:
    """Write the page of a study and its figures, and return the page.

    Args:
        folder: Folder of the finished study.
    """
    name, files = render(folder)
    body, _ = files[MARKDOWN_FILE].decode().split("\n## The plan as registered\n")
    for file, data in files.items():
        if file.endswith(".svg"):
            copy = f"{name}-{file.removeprefix('figure-')}"
            (FOLDER / copy).write_bytes(data)
            body = body.replace(f"({file})", f"({copy})")
    (FOLDER / f"{name}.csv").write_bytes(files[TABLE_FILE])
    body = body.replace("`table.csv` has", f"[{name}.csv]({name}.csv) has")
    body = body.replace(
        "`capsule.zip` beside this report holds",
        "`capsule.zip`, which the run writes beside its report and which is not stored here, holds",
    )
    body = body.replace(
        LEVELS_TEXT,
        "What each level adds to the settings of its stage, which the plan has: "
        f"`kinfolk study {name} --show` prints it.",
    )
    body = re.sub(
        r"(Its SHA-256 is `\w+`)\.",
        rf"\1, as of `kinfolk study {name} --show | sha256sum`.",
        body,
    )
    body = re.sub(
        r"\* (kinfolk .*)\. Commit (\w+)\.",
        r"* The runs were made at commit \2; this page was written from their stored results by \1.",
        body,
    )
    after = tomllib.loads((FOLDER / "after.toml").read_text()).get(name, {}).get("text", "")
    if after:
        body = body.replace("## Question\n", f"{AFTER}{after.strip()}\n\n## Question\n", 1)
    page = FOLDER / f"{name}.md"
    page.write_text(body.rstrip() + "\n")
    return page


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        add_report(Path(argument))
