"""Put the report of a finished study into the documents: python docs/results/studies/add.py RUN, in the root folder.

The page is the report as the run wrote it, without the plan at its end, which the package holds; its figures
lie beside it. Its capsule, of up to 20 MB, stays with the run.
"""

import shutil
import sys
from pathlib import Path

FOLDER = Path(__file__).parent


def add_report(run: Path, name: str) -> Path:
    """Copy the report of a study and its figures, and return the page.

    Args:
        run: Folder of the finished study.
        name: Of its plan.
    """
    report = (run / "report.md").read_text()
    body, _ = report.split("\n## The plan as registered\n")
    for figure in sorted(run.glob("figure-*.svg")):
        copy = f"{name}-{figure.name.removeprefix('figure-')}"
        shutil.copy(figure, FOLDER / copy)
        body = body.replace(f"({figure.name})", f"({copy})")
    body = body.replace(
        "`capsule.zip` beside this report holds",
        "`capsule.zip`, which the run writes beside its report and which is not stored here, holds",
    )
    page = FOLDER / f"{name}.md"
    page.write_text(body.rstrip() + "\n")
    return page


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    words = (folder / "command.txt").read_text().split()
    add_report(folder, words[words.index("study") + 1])
