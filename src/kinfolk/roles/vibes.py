"""The vibe of a role: the signal shown to others. It decides no action.

Where the mix of crafts is held, it decides whose place a role may take in a line-up.
"""

from __future__ import annotations

from collections import Counter

from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.model import BehaviorSource, RoleDef

NO_CRAFT = "default"


def map_role_to_vibe(catalog: RoleCatalog, role: RoleDef) -> str:
    """The craft most of its behaviours come from; of equals the one that comes first in the role.

    A role of common behaviours alone shows `default`: every role has a vibe.
    """
    sources = [catalog.behaviors[i].source for i in role.behavior_ids]
    crafts = [source for source in sources if source != BehaviorSource.COMMON]
    # A Counter keeps the order of first sight, and `most_common` that of equals.
    return str(Counter(crafts).most_common(1)[0][0]) if crafts else NO_CRAFT


def same_vibe(catalog: RoleCatalog, one: int, other: int) -> bool:
    """Whether two roles, by their ids, show the same vibe."""
    roles = catalog.roles
    return map_role_to_vibe(catalog, roles[one]) == map_role_to_vibe(catalog, roles[other])
