"""Draw the pictures of the viewer: run it from the root with .venv/bin/python docs/pictures/make_viewer.py.

Runs are made anew in a scratch folder, or taken from the folder given.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
RUNS = {
    "savanna": "eval --world savanna --slot hunters=kin://hunter --slot herd=kin://grazer "
    "--map type_1_predator=hunters --map type_1_prey=herd --episodes 2 --replay 1",
    "evolved": "evolve roles --preset head_to_head --generations 8 --games-per-generation 34 "
    "--judge-games 20 --showcase-every 4",
}
PICTURES = {
    "viewer-savanna.png": "png savanna --tick 300 --agent 3 --descendants --tab 3",
    "viewer.png": "png evolved --replay generation-00008 --tick 420 --agent 3",
    "viewer-roles.png": "png evolved --replay champion --tick 700 --tab 4 --theme dark",
    "viewer-compare.png": "png evolved --replay champion --with-replay seeded --tick 700 --tab 2",
    "viewer.gif": "gif evolved --replay champion --from 150 --to 300 --every 3 "
    "--speed 12 --size 520x545",
}


def kinfolk(words: str, folder: Path, *more: str) -> None:
    """Run a command as a user would."""
    subprocess.run([sys.executable, "-m", "kinfolk", *words.split(), *more], cwd=folder, check=True)


def main() -> None:
    """Play, then photograph."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(sys.argv[1] if len(sys.argv) > 1 else scratch).resolve()
        for name, words in RUNS.items():
            if not (folder / name).exists():
                kinfolk(words, folder, "--out", name)
        for name, words in PICTURES.items():
            kinfolk(f"export {words}", folder, "--out", str((HERE / name).resolve()))


if __name__ == "__main__":
    main()
