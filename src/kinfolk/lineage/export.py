"""A family as text: the ALife data standard for phylogenies, and Newick.

Standard: https://alife-data-standards.github.io/alife-data-standards/phylogeny
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping

from kinfolk.core.errors import ContractError
from kinfolk.lineage.family import Family, FamilyMember

COLUMNS = ("id", "ancestor_list", "origin_time", "destruction_time", "taxon_label", "cause")


def to_csv(family: Family, extra_columns: Mapping[str, Mapping[int, str]] | None = None) -> str:
    """The ALife standard's CSV: `[NONE]` is the ancestor of founders, `inf` the end of the living.

    `extra_columns` are further columns by name, each with a text per uid; the standard allows any.
    """
    text, further = io.StringIO(), extra_columns or {}
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*COLUMNS, *further])
    for one in family:
        ancestors = ",".join(str(parent) for parent in one.parents) or "NONE"
        ended = "inf" if one.destruction_time is None else str(one.destruction_time)
        facts = [one.uid, f"[{ancestors}]", one.origin_time, ended, one.group, one.cause or ""]
        writer.writerow([*facts, *(column.get(one.uid, "") for column in further.values())])
    return text.getvalue()


def to_newick(family: Family, end_time: int) -> str:
    """One Newick tree per founder, a line each; the living end at `end_time`.

    Inner nodes are lives too: a name is group and uid. A parent's length is the time from its own
    parent's birth to its birth, and a leaf `_end` hangs below it at its death; whoever has no
    children is a leaf at its own death. So no life and no lifetime is lost.

    Raises:
        ContractError: Somebody has two parents; Newick knows trees only.
    """
    children = family.children()
    stops = {
        one.uid: end_time if one.destruction_time is None else one.destruction_time
        for one in family
    }
    for one in family:
        if len(one.parents) > 1:
            raise ContractError(f"Life {one.uid} has two parents, and Newick can tell of one only.")
    text: dict[int, str] = {}
    for one in reversed(list(family)):  # children before parents: deep trees need no recursion
        inside = []
        for child in children[one.uid]:
            at = family.members[child].origin_time if children[child] else stops[child]
            inside.append(f"{text.pop(child)}:{at - one.origin_time}")
        name = _node_name(one)
        if inside:
            inside.append(f"{name}_end:{stops[one.uid] - one.origin_time}")
            text[one.uid] = f"({','.join(inside)}){name}"
        else:
            text[one.uid] = name
    return "".join(f"{text[founder.uid]};\n" for founder in family.founders())


def _node_name(member: FamilyMember) -> str:
    return f"{member.group}_{member.uid}"
