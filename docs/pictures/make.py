"""Draw run.svg, the output of a command: .venv/bin/python docs/pictures/make.py, in the root folder."""

import io
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

PICTURES = Path(__file__).parent
COMMAND = (
    "kinfolk eval --world savanna --slot hunters=kin://hunter --slot herd=kin://grazer "
    "--map type_1_predator=hunters --map type_1_prey=herd --episodes 100 --engine processes --plot"
)


def main() -> None:
    """Run the command and draw what it prints."""
    arguments = [sys.executable, "-m", *COMMAND.split()]
    output = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout
    console = Console(record=True, width=86, file=io.StringIO())
    console.print(Text(f"$ {COMMAND}\n", style="bold"))
    console.print(Text(output.rstrip()))
    svg = console.export_svg(title="kinfolk")
    # Remove web fonts: the page must not load anything from elsewhere.
    svg = re.sub(r"@font-face\s*\{.*?\}", "", svg, flags=re.S)
    (PICTURES / "run.svg").write_text(svg)


if __name__ == "__main__":
    main()
