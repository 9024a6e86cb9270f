"""Write the sections of a report as Markdown, and as one HTML page that needs no other file."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; color: #1b1b1b; }
h1, h2, h3 { line-height: 1.2; }
table { border-collapse: collapse; margin: 0.5rem 0 1rem; font-size: 0.9rem; }
th, td { border-bottom: 1px solid #ddd; padding: 0.25rem 0.6rem; text-align: left; vertical-align: top; }
td { font-variant-numeric: tabular-nums; }
img { max-width: 100%; }
pre { background: #f6f6f6; padding: 0.8rem; white-space: pre-wrap; overflow-wrap: anywhere; font-size: 0.85rem; }
code { overflow-wrap: anywhere; }
figure { margin: 1rem 0; }
figcaption { font-size: 0.9rem; color: #444; }
.notice { border-left: 4px solid #D55E00; padding: 0.3rem 0.8rem; background: #fff4ec; }
""".strip()
_CODE, _STRONG = re.compile(r"`([^`]+)`"), re.compile(r"\*\*([^*]+)\*\*")
_EMPHASIS = re.compile(r"(?<![\\\w*])\*(?=\S)([^*<>]*[^*<>\s\\])\*(?![\w*])")
_CODE_ELEMENT = re.compile(r"(<code>.*?</code>)")


class TextPart(NamedTuple):
    """A paragraph; `code`, **strong** and *emphasised* words are marked as in Markdown."""

    text: str
    is_notice: bool = False  # whether it is set off, as what a reader must not miss


class ListPart(NamedTuple):
    """A list of sentences, marked up like paragraphs."""

    items: Sequence[str]


class TablePart(NamedTuple):
    """A table of texts, marked up like paragraphs."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]


class FigurePart(NamedTuple):
    """A figure that lies beside the report as a file."""

    file: str
    caption: str


class CodePart(NamedTuple):
    """A text that is shown as it is, such as a command or a file."""

    text: str
    language: str


ReportPart: TypeAlias = TextPart | ListPart | TablePart | FigurePart | CodePart


class ReportSection(NamedTuple):
    """A section of a report."""

    title: str  # "" for what stands below the title of the report
    parts: Sequence[ReportPart]
    level: int = 2


def render_markdown(title: str, sections: Sequence[ReportSection]) -> str:
    """Return a report as Markdown; figures are links to their files."""
    lines = [f"# {title}"]
    for section in sections:
        lines += [f"{'#' * section.level} {section.title}"] if section.title else []
        lines += [_to_markdown(part) for part in section.parts]
    return "\n\n".join(lines) + "\n"


def _to_markdown(part: ReportPart) -> str:
    """Return a part of a report as Markdown."""
    if isinstance(part, TextPart):
        return f"> {part.text}" if part.is_notice else part.text
    if isinstance(part, ListPart):
        return "\n".join(f"* {item}" for item in part.items)
    if isinstance(part, FigurePart):
        return f"![{part.caption}]({part.file})\n\n*{part.caption}*"
    if isinstance(part, CodePart):
        return f"```{part.language}\n{part.text.rstrip()}\n```"
    rows = [part.headings, ["---"] * len(part.headings), *part.rows]
    return "\n".join(f"| {' | '.join(_escape_cell(cell) for cell in row)} |" for row in rows)


def _escape_cell(text: str) -> str:
    """Return a text that can stand in a cell of a Markdown table."""
    return " ".join(text.replace("|", "\\|").split())


def render_html(
    title: str, sections: Sequence[ReportSection], pictures: Mapping[str, bytes]
) -> str:
    """Return a report as one HTML page, which holds its figures.

    Args:
        title: Title of the report.
        sections: Its sections.
        pictures: SVG files of the figures, by name.
    """
    body = [f"<h1>{html.escape(title)}</h1>"]
    for section in sections:
        tag = f"h{section.level}"
        body += [f"<{tag}>{html.escape(section.title)}</{tag}>"] if section.title else []
        body += [_to_html(part, pictures) for part in section.parts]
    head = f'<meta charset="utf-8"><title>{html.escape(title)}</title><style>{_STYLE}</style>'
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body>\n{chr(10).join(body)}\n</body></html>\n'


def _to_html(part: ReportPart, pictures: Mapping[str, bytes]) -> str:
    """Return a part of a report as HTML."""
    if isinstance(part, TextPart):
        return f"<p{' class=notice' if part.is_notice else ''}>{_mark_up(part.text)}</p>"
    if isinstance(part, ListPart):
        return f"<ul>{''.join(f'<li>{_mark_up(item)}</li>' for item in part.items)}</ul>"
    if isinstance(part, FigurePart):
        data = base64.b64encode(pictures[part.file]).decode()
        caption = html.escape(part.caption)
        image = f'<img alt="{caption}" src="data:image/svg+xml;base64,{data}">'
        return f"<figure>{image}<figcaption>{caption}</figcaption></figure>"
    if isinstance(part, CodePart):
        return f"<pre>{html.escape(part.text.rstrip())}</pre>"
    lines = [_make_row("th", part.headings), *(_make_row("td", row) for row in part.rows)]
    return f"<table>\n{chr(10).join(lines)}\n</table>"


def _make_row(tag: str, cells: Sequence[str]) -> str:
    """Return a row of a table."""
    return f"<tr>{''.join(f'<{tag}>{_mark_up(cell)}</{tag}>' for cell in cells)}</tr>"


def _mark_up(text: str) -> str:
    r"""Return a text as HTML, with `code`, **strong** and *emphasised* words.

    >>> _mark_up(r"**no** *yes*: `a < b*c*d`, 3\*, 4\* and 5 * 6")
    '<strong>no</strong> <em>yes</em>: <code>a &lt; b*c*d</code>, 3*, 4* and 5 * 6'
    """
    coded = _CODE.sub(r"<code>\1</code>", html.escape(text, quote=False))
    parts = _CODE_ELEMENT.split(coded)
    for i in range(0, len(parts), 2):  # those between are code
        strong = _STRONG.sub(r"<strong>\1</strong>", parts[i])
        parts[i] = _EMPHASIS.sub(r"<em>\1</em>", strong).replace("\\*", "*")
    return "".join(parts)
