"""Settings of the site: `sphinx-build -W --keep-going docs site` builds it, without any network.

Pages of the repository's root (CONTRIBUTING.md and so on) are pages of the site too: a file of
`docs/project` stands for each, and its text is read when the site is built.
"""

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))  # the reference is that of this tree
sys.path.insert(0, str(ROOT / "docs" / "reference"))
from api_pages import PAGES, api_page  # noqa: E402, they lie there
from field_docs import describe_fields  # noqa: E402

project = "kinfolk"
author = "The kinfolk authors"
copyright = author
version = release = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["**/*.py"]
nitpicky = True
# Annotations name types of numpy, torch and Python, whose inventories would need the network, and
# types of kinfolk that are not public.
nitpick_ignore_regex = [("py:.*", r".*")]
default_role = "code"  # docstrings write code between single backticks
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist"]

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the signature of a public function is in its Args
autodoc_preserve_defaults = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False

html_theme = "furo"
html_title = "kinfolk"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#2f6f4f", "color-brand-content": "#2f6f4f"},
    "dark_css_variables": {"color-brand-primary": "#7fc8a0", "color-brand-content": "#7fc8a0"},
}
PROJECT_PAGES = ("ARCHITECTURE", "CHANGELOG", "CONTRIBUTING", "CREDITS", "SECURITY")


def read_project_page(app: Any, docname: str, source: list[str]) -> None:
    """Put the text of a page of the root, or directives of a reference, into its page of the site.

    Args:
        app: The running Sphinx.
        docname: Name of the page that is being read.
        source: Its text, which is replaced.
    """
    folder, _, name = docname.rpartition("/")
    if folder == "project" and name.upper() in PROJECT_PAGES:
        path = ROOT / f"{name.upper()}.md"
        app.env.note_dependency(str(path))
        source[0] = re.sub(r"\]\(docs/", "](/", path.read_text())
    # In the repository these pages hold the docstrings; here autodoc adds links and an index.
    if folder == "reference/python" and name in PAGES:
        source[0] = api_page(name)
    # From a page of docs, and from a page of the root.
    for page in PROJECT_PAGES:
        source[0] = re.sub(rf"\]\((?:\.\./)*{page}\.md", f"](/project/{page.lower()}.md", source[0])


def complete_docstring(
    _app: Any, what: str, _name: str, value: Any, _options: Any, lines: list[str]
) -> None:
    """Mark code in a docstring, and add the fields of a class that has no Attributes.

    Indented lines are code if a colon and an empty line stand before them.

    Args:
        what: Kind of the object: class, function and so on.
        value: The object.
        lines: Its docstring, which is changed.
    """
    for i in range(len(lines) - 2):
        before, empty, after = lines[i : i + 3]
        indent = len(before) - len(before.lstrip())
        if before.endswith(":") and not empty.strip() and after.startswith(" " * (indent + 4)):
            lines[i] += ":"
    if what == "class" and "Attributes:" not in lines:
        fields = describe_fields(value)
        heading = ["", "Attributes:"] if fields else []
        lines += [*heading, *(f"    {name}: {text}" for name, text in fields.items()), ""]


def setup(app: Any) -> None:
    """Register what this file adds to Sphinx."""
    app.connect("autodoc-process-docstring", complete_docstring, priority=400)  # before napoleon
    app.connect("source-read", read_project_page)
