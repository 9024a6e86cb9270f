"""Draw the pictures of the README: run it from the root with .venv/bin/python docs/pictures/make.py."""

import io
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

HERE = Path(__file__).parent
COMMAND = (
    "kinfolk eval --world savanna --slot hunters=kin://hunter --slot herd=kin://grazer "
    "--map type_1_predator=hunters --map type_1_prey=herd --episodes 100 --engine processes --plot"
)


def main() -> None:
    """Run the command for real and draw what it printed."""
    words = [sys.executable, "-m", *COMMAND.split()]
    shown = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    console = Console(record=True, width=86, file=io.StringIO())
    console.print(Text(f"$ {COMMAND}\n", style="bold"))
    console.print(Text(shown.rstrip()))
    picture = console.export_svg(title="kinfolk")
    # No font from elsewhere: the page must not call out.
    picture = re.sub(r"@font-face\s*\{.*?\}", "", picture, flags=re.S)
    (HERE / "run.svg").write_text(picture)


if __name__ == "__main__":
    main()
