"""Explain a champion: what its roles do, how it differs from the seeded team, what each part gives.

The gain is split by putting one part back at a time: the numbers of agents per role type (mix), the
tiers (order), the parameters and the guards. What the champion loses is what that part gives. The
parts need not add up to the gain, since they work together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from kinfolk.jobs.evolve_roles.games import RoleGameResult, fit_team
from kinfolk.jobs.evolve_roles.seeded import assign_vibe_roles, seeded_team
from kinfolk.policies.role_domain import RoleDomain
from kinfolk.roles.catalog import RoleCatalog, map_role_to_vibe
from kinfolk.roles.model import RoleDef

PARTS = ("mix", "order", "parameters", "guards")


def ablate_team(
    domain: RoleDomain, catalog: RoleCatalog, team: Sequence[int], part: str
) -> tuple[int, ...]:
    """Return a team in which one part is put back to what the seeded team has.

    Args:
        domain: Role domain of the world, which lists the seeded roles.
        catalog: Catalog of the roles; changed roles are added to it.
        team: Role id of each agent.
        part: One of `PARTS`.
    """
    if part == "mix":
        return _restore_mix(domain, catalog, team)
    seeded = assign_vibe_roles(domain, catalog, team)
    changed = []
    for role_id, seeded_id in zip(team, seeded, strict=True):
        role = catalog.roles[role_id]
        if part == "order":
            changed.append(replace(role, tiers=catalog.roles[seeded_id].tiers))
        elif part == "parameters":
            changed.append(replace(role, parameters=()))
        else:
            changed.append(replace(role, tiers=tuple(replace(t, guard=None) for t in role.tiers)))
    return tuple(sorted(_find_or_add(catalog, role) for role in changed))


def _find_or_add(catalog: RoleCatalog, role: RoleDef) -> int:
    """Return the id of a role with this genome, which is added if there is none."""
    for known in catalog.roles:
        if known.genome == role.genome:
            return known.id
    return catalog.add_role(replace(role, id=-1, name=f"{role.name}*")).id


def _restore_mix(domain: RoleDomain, catalog: RoleCatalog, team: Sequence[int]) -> tuple[int, ...]:
    """Return a team with the seeded numbers per vibe, in which the team's own roles play them.

    A vibe that the team does not have keeps its seeded role.
    """
    by_vibe: dict[str, list[int]] = {}
    for role, _ in Counter(team).most_common():
        by_vibe.setdefault(map_role_to_vibe(catalog, catalog.roles[role]), []).append(role)
    restored: list[int] = []
    for role in seeded_team(domain, catalog, len(team)):
        candidates = by_vibe.get(map_role_to_vibe(catalog, catalog.roles[role]), [role])
        restored.append(candidates[len(restored) % len(candidates)])
    return tuple(sorted(restored))


def describe_changes(domain: RoleDomain, catalog: RoleCatalog, team: Sequence[int]) -> list[str]:
    """Return how a team differs from the seeded one, as the lines of a diff.

    Lines with `-` are roles of the seeded team only, lines with `+` of the given team only; roles
    that both have begin with a space. Each line has the number of agents, the vibe and the role.
    """
    seeded = seeded_team(domain, catalog, len(team))
    before, after = (
        {catalog.roles[i].genome: (n, catalog.roles[i]) for i, n in Counter(roles).items()}
        for roles in (seeded, team)
    )
    lines = []
    for genome in dict.fromkeys((*before, *after)):
        n_before, n_after = before.get(genome, (0, None))[0], after.get(genome, (0, None))[0]
        role = (before.get(genome) or after[genome])[1]
        sign = "-" if n_after == 0 else "+" if n_before == 0 else " "
        count = str(n_before or n_after) if n_before == n_after or sign != " " else ""
        vibe, text = map_role_to_vibe(catalog, role), catalog.format_role(role)
        lines.append((vibe, f"{sign} {count or f'{n_before} -> {n_after}'} {vibe}: {text}"))
    return [line for _, line in sorted(lines, key=lambda entry: entry[0])]


def measure_behavior_shares(
    catalog: RoleCatalog, team: Sequence[int], results: Sequence[RoleGameResult]
) -> dict[str, dict[str, float]]:
    """Return by role and behavior the share of ticks in which it acted, the largest first.

    Args:
        catalog: Catalog of the roles.
        team: Role id of each agent.
        results: Games of the team; without counts of ticks, the result is empty.
    """
    ticks: dict[int, Counter[int]] = {}
    for result in results:
        if result.acted is None:
            return {}
        for agent, role in enumerate(fit_team(team, result.n_agents)):
            acted = ticks.setdefault(role, Counter())
            acted.update(dict(enumerate(result.acted[agent].tolist())))
    shares = {}
    for role, acted in ticks.items():
        total = max(1, acted.total())
        shares[catalog.roles[role].name] = {
            catalog.behaviors[i].name: n / total for i, n in acted.most_common() if n > 0
        }
    return shares
