"""Slots and maps as they are written on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from kinfolk.cli.completion import complete_slot
from kinfolk.cli.show import note
from kinfolk.core.errors import UsageError

SlotOption = Annotated[
    list[str],
    typer.Option(
        "--slot", help="ID=URI: a policy that plays, under a name.", autocompletion=complete_slot
    ),
]
MapOption = Annotated[
    list[str],
    typer.Option("--map", help="GROUP=ID: which slot plays which group; or ID,ID,...: by agent."),
]
SetOption = Annotated[
    list[str], typer.Option("--set", help="KEY=VALUE: a rule of the world to change.")
]


def warn_of_idle_slots(slots: Sequence[str], table: Any) -> None:
    """Say which slots play nobody; that is allowed, and hardly ever meant."""
    for index, name in enumerate(slots):
        if not (table == index).any():
            note(f"Slot '{name}' plays nobody: no --map GROUP={name} was given.")


def pairs(option: str, words: Sequence[str]) -> dict[str, str]:
    """`A=B` words as a table; a name may stand once.

    >>> pairs("--slot", ["all=class:mine.Policy?depth=2"])
    {'all': 'class:mine.Policy?depth=2'}
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
    """`--slot hunter` is `--slot all=kin://hunter`."""
    if option != "--slot":
        return ""
    word = word.removeprefix("=")
    from kinfolk.policies.resolve import POLICIES

    if word in POLICIES:
        return f" Did you mean: --slot all=kin://{word}"
    is_policy = ":" in word or word.endswith((".py", ".safetensors"))
    return f" Did you mean: --slot all={word}" if is_policy else ""


def slot_map(words: Sequence[str]) -> dict[str, str] | list[str] | None:
    """`--map`: a slot per group, or one word with a slot for each agent; None if there is none.

    >>> slot_map(["type_1_prey=herd"]), slot_map(["miner,miner,scout"])
    ({'type_1_prey': 'herd'}, ['miner', 'miner', 'scout'])
    """
    if len(words) == 1 and "=" not in words[0]:
        return words[0].split(",")
    return pairs("--map", words) or None
