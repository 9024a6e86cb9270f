"""The site builds without network or warnings, its links lead somewhere, its tutorials are current."""

import html
import importlib
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import nbformat
import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
FENCE = re.compile(r"^(`{3,}).*?^\1`*$", re.S | re.M)
LINK = re.compile(r"\]\(([^)\s]+)\)")
NOWHERE = "http://127.0.0.1:9"  # nothing listens there


def reads_site(test):
    """Mark a test of the built site; whichever comes first builds it."""
    for mark in (pytest.mark.more, pytest.mark.train, pytest.mark.timeout(1800)):
        test = mark(test)
    return pytest.mark.xdist_group("site")(test)


def relative(path):
    return path.relative_to(ROOT).as_posix()


def anchors(text):
    """Return the anchors of a page's headings, as GitHub and MyST make them."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", text), re.M)
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)|[`*]", r"\1", heading) for heading in headings]
    return {re.sub(r"[^\w\- ]", "", name.lower()).strip().replace(" ", "-") for name in plain}


def dead_links(page, text):
    """Return the links of a page that lead to no file of the repository, or to no heading of it."""
    dead = []
    for link in LINK.findall(FENCE.sub("", text)):
        path, _, anchor = link.partition("#")
        if re.match(r"[a-z]+:", path):  # elsewhere, which no test visits
            continue
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target.read_text())):
            dead.append(link)
    return dead


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_links_between_pages_lead_to_files_and_headings(page):
    assert dead_links(page, page.read_text()) == []


def test_the_check_of_links_finds_dead_ones():
    text = "[a](../README.md) [b](nowhere.md) [c](roles.md#what-a-role-is) [d](roles.md#nothing)"
    assert dead_links(DOCS / "index.md", text) == ["nowhere.md", "roles.md#nothing"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_tutorial_shows_the_code_of_its_notebook(path):
    cells = nbformat.read(path, as_version=4).cells
    page = (DOCS / "tutorials" / f"{path.stem}.md").read_text()
    code = [cell.source for cell in cells if cell.cell_type == "code"]
    assert re.findall(r"```python\n(.*?)\n```", page, re.S) == code, (
        "run docs/tutorials/generate.py"
    )
    for cell in cells:
        if cell.cell_type == "markdown":
            assert cell.source.replace("](../../docs/", "](../") in page


def test_every_tutorial_is_in_the_list():
    index = (DOCS / "tutorials" / "index.md").read_text()
    assert [path.stem for path in NOTEBOOKS if f"]({path.stem}.md)" not in index] == []


PUBLIC = ("kinfolk", "kinfolk.jobs", "kinfolk.stats", "kinfolk.nets", "kinfolk.evolution")
PUBLIC += ("kinfolk.worlds.adapters",)


def reference():
    """The names of the reference, with their objects, by path, and the module that lists them."""
    sys.path.insert(0, str(DOCS / "reference"))
    try:
        pages = importlib.import_module("api_pages")
    finally:
        sys.path.pop(0)
    entries = [entry for page in pages.PAGES for entry in pages.page_names(page)]
    return {f"{module}.{name}": value for module, name, value in entries}, pages


@pytest.mark.more  # it imports everything
@pytest.mark.train
def test_the_reference_has_every_public_name_and_each_has_a_docstring():
    listed, pages = reference()
    missing = []
    for module in map(pages.load_module, PUBLIC):
        for name in module.__all__:
            value = getattr(module, name)
            is_listed = any(value is other for other in listed.values())
            if not is_listed and not inspect.ismodule(value):
                missing.append(f"{module.__name__}.{name}")
    assert missing == []
    undocumented = [path for path, value in listed.items() if not inspect.getdoc(value)]
    assert undocumented == []


@pytest.mark.more
@pytest.mark.train
def test_the_reference_can_be_read_in_the_repository():
    text = "".join(path.read_text() for path in (DOCS / "reference" / "python").glob("*.md"))
    assert "eval-rst" not in text
    for path, value in reference()[0].items():
        summary = inspect.getdoc(value).partition("\n\n")[0]
        assert f"## `{path}`\n" in text
        assert summary in text.partition(f"## `{path}`\n")[2].partition("\n## ")[0], path


@reads_site
def test_the_built_reference_has_an_entry_with_text_for_every_name(site):
    text = "".join(path.read_text() for path in site.glob("reference/python/*.html"))
    for path in reference()[0]:
        entry = text.partition(f'id="{path}"')[2].partition('<dt class="sig')[0]
        assert "<p>" in entry, f"{path} has no entry, or one without text"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built site, made with proxies that lead nowhere."""
    folder = tmp_path_factory.mktemp("site")
    proxies = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), NOWHERE)
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-d", folder / "cache"]
    done = subprocess.run(
        [*command, DOCS, folder / "html"],
        capture_output=True,
        text=True,
        env={**os.environ, **proxies, **{name.upper(): url for name, url in proxies.items()}},
    )
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "html"


@reads_site
def test_the_site_builds_without_network_or_warnings_and_its_links_lead_somewhere(site):
    texts = {path: path.read_text() for path in site.rglob("*.html")}
    assert len(texts) >= len(list(DOCS.rglob("*.md")))
    ids = {path: set(re.findall(r'\bid="([^"]*)"', text)) for path, text in texts.items()}
    dead = []
    for page, text in texts.items():
        for link in re.findall(r'\b(?:href|src)="([^"]*)"', text):
            path, _, anchor = unquote(html.unescape(link)).partition("#")
            if re.match(r"[a-z]+:|//", path):
                continue
            target = (page.parent / path.partition("?")[0]).resolve() if path else page
            if not target.exists() or (anchor and target in ids and anchor not in ids[target]):
                dead.append(f"{page.relative_to(site)}: {link}")
    assert dead == []


@reads_site
def test_pages_of_the_site_load_nothing_from_elsewhere(site):
    for page in site.rglob("*.html"):
        loaded = re.findall(r'<(?:script|img|iframe)[^>]*\bsrc="([^"]*)"', page.read_text())
        loaded += re.findall(r'<link[^>]*rel="stylesheet"[^>]*href="([^"]*)"', page.read_text())
        assert [url for url in loaded if re.match(r"(https?:)?//", url)] == [], page
