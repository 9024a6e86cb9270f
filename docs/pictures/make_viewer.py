"""Draw the pictures of the viewer: .venv/bin/python docs/pictures/make_viewer.py, in the root folder.

The runs are made in a temporary folder, or reused from the folder given as argument.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

PICTURES_FOLDER = Path(__file__).parent
RUNS = {
    "savanna": "eval --world savanna --slot hunters=kin://hunter --slot herd=kin://grazer "
    "--map type_1_predator=hunters --map type_1_prey=herd --episodes 2 --replay 1",
    "evolved": "evolve roles --preset head_to_head --generations 8 --games-per-generation 34 "
    "--eval-games 20 --replay-every 4",
}
PICTURES = {
    "viewer-savanna.png": "png savanna --tick 300 --agent 3 --descendants --tab lineage",
    "viewer.png": "png evolved --replay champion --tick 420 --agent 6",
    "viewer-roles.png": "png evolved --replay champion --tick 700 --tab roles --theme dark",
    "viewer-compare.png": "png evolved --replay champion --with-replay seeded --tick 700 --tab charts",
    "viewer.gif": "gif evolved --replay champion --from 150 --to 300 --every 3 "
    "--speed 12 --size 520x545",
}


def run_kinfolk(command: str, folder: Path, *arguments: str) -> None:
    """Run a command line in a folder.

    Args:
        command: Arguments of `kinfolk`, separated by spaces.
        folder: Working directory.
        arguments: Further arguments, which may contain spaces.
    """
    line = [sys.executable, "-m", "kinfolk", *command.split(), *arguments]
    subprocess.run(line, cwd=folder, check=True)


def main() -> None:
    """Make the runs that are missing and export all pictures."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(sys.argv[1] if len(sys.argv) > 1 else temporary).resolve()
        for name, command in RUNS.items():
            if not (folder / name).exists():
                run_kinfolk(command, folder, "--out", name)
        for name, command in PICTURES.items():
            path = (PICTURES_FOLDER / name).resolve()
            run_kinfolk(f"export {command}", folder, "--out", str(path))


if __name__ == "__main__":
    main()
