"""Export a family tree to the ALife phylogeny standard (CSV) and to Newick.

Standard: https://alife-data-standards.github.io/alife-data-standards/phylogeny
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping

from kinfolk.core.errors import ContractError
from kinfolk.lineage.family import Family

COLUMNS = ("id", "ancestor_list", "origin_time", "destruction_time", "taxon_label", "cause")


def to_csv(family: Family, extra_columns: Mapping[str, Mapping[int, str]] | None = None) -> str:
    """Format a family as a CSV table of the ALife data standard for phylogenies.

    Founders have the ancestor `[NONE]`, members that are alive the destruction time `inf`.

    Args:
        family: The family, one row per member.
        extra_columns: Further columns by name, each with a text by uid; the standard allows any.
    """
    text, extra = io.StringIO(), extra_columns or {}
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*COLUMNS, *extra])
    for member in family:
        ancestors = ",".join(str(parent) for parent in member.parents) or "NONE"
        end = "inf" if member.destruction_time is None else str(member.destruction_time)
        row = [member.uid, f"[{ancestors}]", member.origin_time, end, member.group]
        values = [column.get(member.uid, "") for column in extra.values()]
        writer.writerow([*row, member.cause or "", *values])
    return text.getvalue()


def to_newick(family: Family, end_time: int) -> str:
    """Format a family as Newick trees, one line per founder.

    Every member is a node named `GROUP_UID`. The branch of a member with children ends at its
    birth, and a leaf `GROUP_UID_end` below it marks its death; a member without children is a leaf
    at its death. So every lifetime can be read from the tree.

    Args:
        family: The family.
        end_time: Time of death given to members that are alive.

    Raises:
        ContractError: A member has two parents, which a tree cannot represent.
    """
    children = family.children()
    deaths = {
        member.uid: end_time if member.destruction_time is None else member.destruction_time
        for member in family
    }
    subtrees: dict[int, str] = {}
    for member in reversed(list(family)):  # children before parents: deep trees need no recursion
        if len(member.parents) > 1:
            raise ContractError(f"Member {member.uid} has two parents; Newick allows only one.")
        name, nodes = f"{member.group}_{member.uid}", []
        for child in children[member.uid]:
            end = family.members[child].origin_time if children[child] else deaths[child]
            nodes.append(f"{subtrees.pop(child)}:{end - member.origin_time}")
        if nodes:
            nodes.append(f"{name}_end:{deaths[member.uid] - member.origin_time}")
            name = f"({','.join(nodes)}){name}"
        subtrees[member.uid] = name
    return "".join(f"{subtrees[founder.uid]};\n" for founder in family.founders())
