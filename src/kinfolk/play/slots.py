"""Who plays whom: slots, and the table from agents to slots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from kinfolk.core.arrays import Ints
from kinfolk.core.errors import SettingsError, suggestion
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import Policy


class Slot(NamedTuple):
    """A policy that plays, under the name its results go by."""

    id: str
    policy: Policy


def slot_table(
    spec: WorldSpec, slots: Sequence[str], mapping: Mapping[str, str] | Sequence[str] | None = None
) -> Ints:
    """`[groups, rows]`: which slot plays a life of a group in a row.

    `mapping` names a slot per group (`{"grazer": "herd"}`), or one per row; without it the first
    slot plays everybody. Groups left out are played by the first slot.

    Raises:
        SettingsError: Two slots share a name, or the mapping names no slot or has a wrong length.
        UnknownNameError: The mapping names a group that the world does not have.
    """
    if len(set(slots)) != len(slots):
        twice = next(name for name in slots if list(slots).count(name) > 1)
        raise SettingsError(f"Two slots are called '{twice}'. Give each a name of its own.")
    table = np.zeros((len(spec.groups), spec.rows), dtype=np.int64)
    if mapping is None:
        return table
    if isinstance(mapping, Mapping):
        for group, slot in mapping.items():
            table[spec.group_index(group)] = _index(slots, slot)
        return table
    if len(mapping) != spec.rows:
        raise SettingsError(
            f"The slot map has {len(mapping)} entries; world {spec.world} has {spec.rows} rows."
        )
    table[:] = [_index(slots, slot) for slot in mapping]
    return table


def _index(slots: Sequence[str], name: str) -> int:
    if name not in slots:
        raise SettingsError(f"The slot map names no known slot '{name}'.{suggestion(name, slots)}")
    return list(slots).index(name)
