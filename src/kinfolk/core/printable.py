"""Text from a policy or another stranger, made safe to show in a terminal."""

from __future__ import annotations

LONGEST_LINE = 1000
LONGEST_TEXT = 40  # lines
_CUT = "..."


def printable(text: str, longest: int = LONGEST_LINE) -> str:
    r"""One line in which every control, format and bidirectional character is escaped.

    Escape codes could repaint the terminal, and U+202E could make a name read as another. Applying
    it twice changes nothing.

    Args:
        text: Anything.
        longest: Characters that are kept; a longer text ends in `...`.

    >>> printable("\x1b[31mred\x1b[0m, \u202eright to left\nsecond line")
    '\\x1b[31mred\\x1b[0m, \\u202eright to left\\nsecond line'
    """
    text = text[: longest + 1]
    if not text.isprintable():
        text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    return text if len(text) <= longest else text[: longest - len(_CUT)] + _CUT


def printable_lines(text: str, most: int = LONGEST_TEXT) -> str:
    """The same for a text whose line breaks are kept, with at most so many lines.

    Args:
        text: Anything.
        most: Lines that are kept: half of them from the start and half from the end.
    """
    lines = text.split("\n")
    if len(lines) > most:
        lines = [*lines[: most // 2 - 1], _CUT, *lines[len(lines) - most // 2 :]]
    return "\n".join(printable(line) for line in lines)
