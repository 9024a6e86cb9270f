"""Commands that list worlds, presets, policies, behaviors and settings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kinfolk.cli.completion import complete_world, filter_by_prefix, list_entries
from kinfolk.cli.output import JsonOption, echo, print_json, print_list
from kinfolk.core.errors import UnknownNameError, UsageError, format_suggestion
from kinfolk.jobs import JOB_SETTINGS

if TYPE_CHECKING:
    from kinfolk.core.settings import SettingField, Settings
    from kinfolk.roles.catalog import RoleCatalog

PLAN = "study"  # whose settings are a file, the plan, and no flags


def worlds(json: JsonOption = False) -> None:
    """List the worlds that can be played."""
    from kinfolk.worlds import WORLDS

    if json:
        print_json([{"name": name, "about": about} for name, about in list_entries(WORLDS)])
    else:
        print_list("Worlds", list_entries(WORLDS))


def presets(
    of_world: Annotated[
        str | None,
        typer.Argument(
            metavar="[WORLD]", help="Only those of this world.", autocompletion=complete_world
        ),
    ] = None,
    world: Annotated[
        str | None, typer.Option(help="The same, as an option.", autocompletion=complete_world)
    ] = None,
    json: JsonOption = False,
) -> None:
    """List the named sets of rules of each world."""
    from kinfolk.worlds import WORLDS, get_preset_descriptions, get_presets

    if of_world and world and of_world != world:
        raise UsageError(f"kinfolk presets lists one world or all, not '{of_world}' and '{world}'.")
    world = of_world or world
    entries = []
    for name in [world] if world else WORLDS:
        about = get_preset_descriptions(name)
        entries += [
            {"world": name, "preset": preset, "about": about.get(preset, ""), "settings": rules}
            for preset, rules in get_presets(name).items()
        ]
    if json:
        print_json(entries)
    else:
        print_list("Presets", [(f"{p['world']} {p['preset']}", str(p["about"])) for p in entries])


def metrics(
    world: Annotated[str, typer.Argument(help="World.", autocompletion=complete_world)],
    text: Annotated[
        list[str] | None, typer.Argument(help="Only those with these words in name or definition.")
    ] = None,
    preset: Annotated[str | None, typer.Option(help="Rules of this preset.")] = None,
    json: JsonOption = False,
) -> None:
    """List the metrics of a world with their units, for --metric of compare, sweep and train."""
    from kinfolk.evaluation.metrics import describe_metrics
    from kinfolk.play.task import WorldRef

    listed = describe_metrics(WorldRef(world, preset, {}))
    described = [m for m in listed if _has_words(text, m.name, m.unit, m.definition)]
    _check_any_found(described, f"metric of {world}", text)
    if json:
        print_json([metric._asdict() for metric in described])
    else:
        rows = [(m.name, f"[{m.unit}] {m.definition}" if m.unit else "") for m in described]
        print_list(f"Metrics of {world}, one value per episode", rows)


def _has_words(words: Sequence[str] | None, *texts: str) -> bool:
    """Return whether all words are somewhere in the texts, in capitals or not."""
    whole = " ".join(texts).lower()
    return all(word.lower() in whole for word in words or ())


def _check_any_found(entries: Sequence[object], what: str, words: Sequence[str] | None) -> None:
    """Check that a list that was filtered by words is not empty.

    Args:
        entries: What is left.
        what: What is listed, in the singular.
        words: The words by which it was filtered.

    Raises:
        UsageError: Nothing is left.
    """
    if not entries and words:
        raise UsageError(f"No {what} has '{' '.join(words)}' in its name or meaning.")


def policies(json: JsonOption = False) -> None:
    """List the policies that have a name, as kin://NAME."""
    from kinfolk.policies.resolve import POLICIES

    rows = [(f"kin://{name}", about) for name, about in list_entries(POLICIES)]
    if json:
        print_json([{"uri": uri, "about": about} for uri, about in rows])
    else:
        rows.append(("class:package.module.Class?key=value", "a class of your own"))
        print_list("Policies", rows)


def behaviors(
    facts: Annotated[
        bool, typer.Option("--facts", help="List what behaviors may ask, instead.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """List the behaviors of CogsGuard, and the roles made of them."""
    from kinfolk.policies.scripted.cogsguard.catalog import BEHAVIORS, cogs_catalog

    catalog = cogs_catalog()
    if facts:
        _list_facts(catalog, json)
        return
    entries = [
        {"name": b.name, "source": str(b.source), "about": BEHAVIORS[b.name].description}
        for b in catalog.behaviors
    ]
    roles = {
        role.name: [[catalog.behaviors[i].name for i in tier.behavior_ids] for tier in role.tiers]
        for role in catalog.roles
    }
    if json:
        print_json({"behaviors": entries, "roles": roles})
        return
    print_list("Behaviors", [(f"{b['name']} ({b['source']})", b["about"]) for b in entries])
    tiers = {name: " / ".join(" + ".join(tier) for tier in role) for name, role in roles.items()}
    print_list("Roles", list(tiers.items()))


def _list_facts(catalog: RoleCatalog, json: bool) -> None:
    """List the facts of behaviors in plain Python, the facts of guards, and the parameters."""
    from kinfolk.policies.scripted.cogsguard.behaviors.python_behaviors import FACT_DESCRIPTIONS

    guards = {fact.name: f"{fact.description}, {fact.low} to {fact.high}" for fact in catalog.facts}
    parameters = {
        p.name: f"{p.default}, evolves in {p.low} to {p.high}" for p in catalog.parameters
    }
    if json:
        print_json({"facts": FACT_DESCRIPTIONS, "guards": guards, "parameters": parameters})
        return
    rows = [(f'agent["{name}"]', about) for name, about in FACT_DESCRIPTIONS.items()]
    print_list("Facts that a behavior in plain Python may ask", rows)
    print_list("Facts that guards of tiers compare, and the range of thresholds", guards.items())
    print_list("Parameters of behaviors, and their defaults", parameters.items())


def _list_jobs() -> list[tuple[str, str]]:
    """Return the jobs with settings, and what each of them is."""
    return [*list_entries(JOB_SETTINGS), (PLAN, "keys of the plan of a study")]


def complete_settings(incomplete: str) -> list[tuple[str, str]]:
    """Complete the name of a job or a world, with a description of each."""
    jobs = filter_by_prefix(incomplete, _list_jobs())
    return [*jobs, *complete_world(incomplete)]


def settings(
    name: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WORLD|JOB [TEXT]",
            help="A world, a job such as eval or evolve-roles, or study for the keys of a plan; without it, a list of both. Words "
            "behind it: only settings with these words in name or meaning.",
            autocompletion=complete_settings,
        ),
    ] = None,
    from_file: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="A PredPreyGrass configuration (Python, JSON or TOML, whole or in part); prints it as settings of the savanna.",
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """List every setting of a world or job: type, default, bounds and meaning."""
    if from_file is not None:
        _convert_settings("-".join(name or ()), from_file)
        return
    if not name:
        _list_settings(json)
        return
    words, text = _split_name(name)
    listed = _iterate_settings(words)
    fields = [field for field in listed if _has_words(text, field.name, field.description)]
    _check_any_found(fields, f"setting of {words}", text)
    if json:
        print_json({"name": words, "settings": [field.to_dict() for field in fields]})
        return
    echo(words)
    for field in fields:
        default = "" if field.required else "default "
        facts = [field.type_name, default + field.default_text if field.default_text else ""]
        echo(f"  {field.name}: {'; '.join(fact for fact in (*facts, field.bounds) if fact)}")
        echo(f"      {field.description}")


def _iterate_settings(name: str) -> Iterator[SettingField]:
    """Yield the settings of a job or a world, or the keys of the plan of a study.

    Raises:
        UnknownNameError: There is neither a job nor a world of that name.
    """
    from kinfolk.core.settings import fields_of

    if name == PLAN:
        from kinfolk.jobs.studies.settings import iterate_plan_keys

        return iterate_plan_keys()
    return fields_of(_load_settings(name))


def _split_name(words: Sequence[str]) -> tuple[str, list[str]]:
    """Return the name of a world or job that words begin with, and the words behind it.

    `evolve roles`, `evolve_roles` and `evolve-roles` are alike. Where no words are a name, all are.
    """
    from kinfolk.worlds import WORLDS

    if words[0] in WORLDS:  # as it is: class:my_module.World
        return words[0], list(words[1:])
    names = {end: "-".join(words[:end]).replace("_", "-") for end in range(len(words), 0, -1)}
    for end, name in names.items():
        if name in JOB_SETTINGS or name == PLAN:
            return name, list(words[end:])
    return names[len(words)], []


def _convert_settings(name: str, path: Path) -> None:
    """Print a configuration of PredPreyGrass as JSON settings, and what was ignored on stderr.

    Raises:
        UsageError: The world is not the savanna, or the file is missing or no table.
        SettingsError: The configuration is not known, or a value is invalid.
    """
    import tomllib

    from kinfolk.store.files import parse_json, read_bytes
    from kinfolk.worlds.savanna import from_upstream
    from kinfolk.worlds.savanna.io.from_upstream import read_python_config

    if name != "savanna":
        raise UsageError(f"--from converts settings of the savanna, not of '{name}'.")
    if not path.exists():
        raise UsageError(f"There is no file {path}.")
    data = read_bytes(path)
    try:
        if path.suffix == ".py":
            config = read_python_config(data.decode(), str(path))
        elif path.suffix == ".toml":
            config = tomllib.loads(data.decode())
        else:
            config = parse_json(data)
    except ValueError as error:
        raise UsageError(f"{path} is not valid JSON or TOML: {error}.") from None
    if not isinstance(config, dict):
        raise UsageError(f"{path} holds no table of settings.")
    converted = from_upstream(config)
    print_json(converted.settings.model_dump(mode="json", exclude_defaults=True))
    for key, reason in converted.ignored.items():
        echo(f"Ignored: {key} ({reason}).", err=True)


def _load_settings(name: str) -> type[Settings]:
    """Return the settings class of a job or a world.

    Raises:
        UnknownNameError: There is neither a job nor a world of that name.
    """
    from kinfolk.worlds import WORLDS

    if name not in JOB_SETTINGS and name not in WORLDS:
        known = format_suggestion(name, [*JOB_SETTINGS, PLAN, *WORLDS])
        raise UnknownNameError(f"No world or job is named '{name}'.{known}")
    is_job = name in JOB_SETTINGS
    model: type[Settings] = JOB_SETTINGS.load(name) if is_job else WORLDS.load(name).settings_type
    return model


def _list_settings(json: bool) -> None:
    """List the jobs and worlds that have settings."""
    from kinfolk.worlds import WORLDS

    tables = {"jobs": _list_jobs(), "worlds": list_entries(WORLDS)}
    if json:
        print_json({title: dict(rows) for title, rows in tables.items()})
        return
    for title, rows in tables.items():
        print_list(f"Settings of {title}", rows)
