"""Execute notebooks and write them as pages of the site, with their outputs.

    python docs/tutorials/generate.py [NAME...]

Notebooks are stored without outputs, and the site executes nothing: these pages are what one run showed. A
test says if the code of a page is no longer that of its notebook. Needs the extras `dev` and `train`.
"""

import base64
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parent
NOTEBOOKS = FOLDER.parent.parent / "examples" / "notebooks"
END = (
    "---\n\nThis page is the notebook `examples/notebooks/{name}.ipynb` with the outputs of one run; "
    "`docs/tutorials/generate.py {name}` makes it anew.\n"
)


def write_page(name: str) -> None:
    """Execute a notebook in an empty folder and write its page and pictures."""
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(notebook, timeout=900, resources={"metadata": {"path": folder}}).execute()
    parts, pictures = [], 0
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source.replace("](../../docs/", "](../"))
            continue
        parts.append(f"```python\n{cell.source}\n```")
        for output in cell.outputs:
            data = output.get("data", {})
            if "image/png" in data:
                pictures += 1
                picture = f"pictures/{name}-{pictures}.png"
                (FOLDER / "pictures").mkdir(exist_ok=True)
                (FOLDER / picture).write_bytes(base64.b64decode(data["image/png"]))
                parts.append(f"![Output {pictures} of the notebook]({picture})")
            else:
                parts += format_output(output)
    (FOLDER / f"{name}.md").write_text("\n\n".join([*parts, END.format(name=name)]))


def format_output(output: Any) -> list[str]:
    """Return an output as Markdown: text, a table, or nothing for a progress bar."""
    if output.output_type == "stream":
        return [f"```text\n{output.text.rstrip()}\n```"]
    html = output.data.get("text/html")
    if html is None:
        return [f"```text\n{output.data['text/plain']}\n```"]
    if "<progress" in html:
        return []
    if html.startswith("<iframe"):
        return ["*Here the notebook plays the replay.*"]
    html = re.sub(r"<style.*?</style>\s*| style=\"[^\"]*\"| border=\"1\"", "", html, flags=re.S)
    table = re.sub(r"<table[^>]*>", '<table class="docutils align-left">', html)
    return [f'```{{raw}} html\n<div class="table-wrapper">\n{table.strip()}\n</div>\n```']


if __name__ == "__main__":
    for name in sys.argv[1:] or sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb")):
        write_page(name)
