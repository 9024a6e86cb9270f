"""Slots and slot maps as they are written on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kinfolk.cli.formatting import note
from kinfolk.core.errors import UsageError


def warn_of_idle_slots(slots: Sequence[str], table: Any) -> None:
    """Note slots that play no agent; that is allowed, and hardly ever meant."""
    for index, name in enumerate(slots):
        if not (table == index).any():
            note(f"Slot '{name}' plays nobody: no --map GROUP={name} was given.")


def pairs(option: str, words: Sequence[str]) -> dict[str, str]:
    """Parse `A=B` arguments into a table; a name may be given once.

    >>> pairs("--slot", ["all=class:mine.Policy?depth=2"])
    {'all': 'class:mine.Policy?depth=2'}

    Raises:
        UsageError: An argument is not written NAME=VALUE, or a name is given twice.
    """
    table: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not name or not equals or not value:
            raise UsageError(f"{option} is written NAME=VALUE, not '{word}'.{_meant(option, word)}")
        if name in table:
            raise UsageError(f"{option} gives '{name}' twice.")
        table[name] = value
    return table


def _meant(option: str, word: str) -> str:
    """Suggest what was meant: `--slot hunter` is `--slot all=kin://hunter`."""
    if option != "--slot":
        return ""
    word = word.removeprefix("=")
    from kinfolk.policies.resolve import POLICIES

    if word in POLICIES:
        return f" Did you mean: --slot all=kin://{word}"
    is_policy = ":" in word or word.endswith((".py", ".safetensors"))
    return f" Did you mean: --slot all={word}" if is_policy else ""


def slot_map(words: Sequence[str], option: str = "--map") -> dict[str, str] | list[str]:
    """Parse a slot per group, or one word with a slot for each agent.

    >>> slot_map(["type_1_prey=herd"]), slot_map(["miner,miner,scout"])
    ({'type_1_prey': 'herd'}, ['miner', 'miner', 'scout'])
    """
    if len(words) == 1 and "=" not in words[0]:
        return words[0].split(",")
    return pairs(option, words)
