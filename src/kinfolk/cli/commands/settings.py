"""`kinfolk settings`: every setting of a world or of a job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from kinfolk.cli.completion import complete_world
from kinfolk.cli.formatting import JsonOption, print_json, print_list
from kinfolk.core.errors import UnknownNameError, format_suggestion

if TYPE_CHECKING:
    from kinfolk.core.settings import Settings


def complete_settings(incomplete: str) -> list[tuple[str, str]]:
    """Complete the name of a job or a world, with a line about each."""
    from kinfolk.jobs import JOB_SETTINGS

    jobs = [(name, JOB_SETTINGS.get_entry(name).description) for name in JOB_SETTINGS]
    return [entry for entry in jobs if entry[0].startswith(incomplete)] + complete_world(incomplete)


def settings(
    name: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WORLD|JOB",
            help="A world, or a job such as eval or evolve-roles; without it, a list of both.",
            autocompletion=complete_settings,
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """List every setting of a world or job: type, default, bounds and meaning."""
    if not name:
        _list_names(json)
        return
    from kinfolk.core.setting_fields import fields_of

    words = "-".join(name).replace("_", "-")  # evolve roles, evolve_roles and evolve-roles alike
    fields = list(fields_of(settings_model(words)))
    if json:
        print_json({"name": words, "settings": [field.to_dict() for field in fields]})
        return
    print(words)
    for field in fields:
        facts = [field.type_name, f"default {field.default_text}" if field.default_text else ""]
        print(f"  {field.name}: {'; '.join(fact for fact in (*facts, field.bounds) if fact)}")
        print(f"      {field.description}")


def settings_model(name: str) -> type[Settings]:
    """Return the settings class of a job or a world.

    Raises:
        UnknownNameError: There is neither a job nor a world of that name.
    """
    from kinfolk.jobs import JOB_SETTINGS
    from kinfolk.worlds import WORLDS

    if name in JOB_SETTINGS:
        model: type[Settings] = JOB_SETTINGS.load(name)
    elif name in WORLDS:
        model = WORLDS.load(name).settings_type
    else:
        known = format_suggestion(name, [*JOB_SETTINGS, *WORLDS])
        raise UnknownNameError(f"No world or job is named '{name}'.{known}")
    return model


def _list_names(json: bool) -> None:
    from kinfolk.jobs import JOB_SETTINGS
    from kinfolk.worlds import WORLDS

    tables: dict[str, Any] = {"jobs": JOB_SETTINGS, "worlds": WORLDS}
    rows = {
        title: [(name, table.get_entry(name).description) for name in table]
        for title, table in tables.items()
    }
    if json:
        print_json({title: dict(names) for title, names in rows.items()})
        return
    for title, names in rows.items():
        print_list(f"Settings of {title}", names)
