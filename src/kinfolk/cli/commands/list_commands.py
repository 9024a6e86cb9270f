"""Commands that list worlds, presets, policies, behaviors and runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from kinfolk.cli.completion import complete_world
from kinfolk.cli.formatting import JsonOption, print_json, print_list, print_table


def worlds(json: JsonOption = False) -> None:
    """List the worlds that can be played."""
    from kinfolk.worlds import WORLDS

    rows = [(name, WORLDS.get_entry(name).description) for name in WORLDS]
    if json:
        print_json([{"name": name, "about": about} for name, about in rows])
    else:
        print_list("Worlds", rows)


def presets(
    world: Annotated[
        str | None, typer.Option(help="Only those of this world.", autocompletion=complete_world)
    ] = None,
    json: JsonOption = False,
) -> None:
    """List the named sets of rules of each world."""
    from kinfolk.worlds import WORLDS, get_preset_descriptions, get_presets

    entries = [
        {
            "world": name,
            "preset": preset,
            "about": get_preset_descriptions(name).get(preset, ""),
            "settings": rules,
        }
        for name in ([world] if world else WORLDS)
        for preset, rules in get_presets(name).items()
    ]
    if json:
        print_json(entries)
    else:
        print_list("Presets", [(f"{p['world']} {p['preset']}", str(p["about"])) for p in entries])


def policies(json: JsonOption = False) -> None:
    """List the policies that have a name, as kin://NAME."""
    from kinfolk.policies.resolve import POLICIES

    rows = [(f"kin://{name}", POLICIES.get_entry(name).description) for name in POLICIES]
    if json:
        print_json([{"uri": uri, "about": about} for uri, about in rows])
    else:
        rows.append(("class:package.module.Class?key=value", "a class of your own"))
        print_list("Policies", rows)


def behaviors(json: JsonOption = False) -> None:
    """List the behaviors of CogsGuard, and the roles made of them."""
    from kinfolk.policies.scripted.cogsguard.catalog import BEHAVIORS, cogs_catalog

    catalog = cogs_catalog()
    entries = [
        {
            "name": behavior.name,
            "source": str(behavior.source),
            "about": BEHAVIORS[behavior.name].description,
        }
        for behavior in catalog.behaviors
    ]
    roles = {
        role.name: [[catalog.behaviors[i].name for i in tier.behavior_ids] for tier in role.tiers]
        for role in catalog.roles
    }
    if json:
        print_json({"behaviors": entries, "roles": roles})
        return
    print_list(
        "Behaviors",
        [(f"{behavior['name']} ({behavior['source']})", behavior["about"]) for behavior in entries],
    )
    tiers = {name: " / ".join(" + ".join(tier) for tier in role) for name, role in roles.items()}
    print_list("Roles", list(tiers.items()))


def runs(
    root: Annotated[Path, typer.Option(help="Folder that holds runs.")] = Path("runs"),
    json: JsonOption = False,
) -> None:
    """List the runs of a folder, newest first."""
    from kinfolk.store.run_list import DamagedRun, list_runs

    entries = list(list_runs(root))
    damaged = [run for run in entries if isinstance(run, DamagedRun)]
    if json:
        print_json(
            [
                {"name": r.name, "status": "damaged", "problem": r.problem}
                if isinstance(r, DamagedRun)
                else {"name": r.name, "status": r.status, **r.config}
                for r in entries
            ]
        )
    elif not entries:
        print(f"There are no runs in {root}.")
    else:
        rows = [
            (r.name, "", "damaged", "")
            if isinstance(r, DamagedRun)
            else (r.name, r.config["job"], r.status, len(r.checkpoints()))
            for r in entries
        ]
        print_table("Runs", ("name", "job", "status", "checkpoints"), rows)
    for run in damaged:
        print(f"{run.name} is damaged. {run.problem}", file=sys.stderr)
