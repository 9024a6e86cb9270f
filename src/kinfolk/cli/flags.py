"""Command-line flags made from settings models: a setting is named, typed and described once."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Container, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

import typer
from typer.core import TyperCommand

from kinfolk.cli.completion import complete_policy, complete_preset, complete_slot, complete_world
from kinfolk.cli.output import note
from kinfolk.cli.run_lifecycle import JobCall, job_options
from kinfolk.core.errors import UsageError
from kinfolk.core.trust import untrusted
from kinfolk.jobs import JOB_SETTINGS

if TYPE_CHECKING:
    from kinfolk.core.settings import SettingField

_CALL = "kinfolk.job_call"  # key of the context under which the `JobCall` is kept
_COMPLETIONS: dict[str, Callable[..., Any]] = {
    "world": complete_world,
    "preset": complete_preset,
    "policy": complete_policy,
    "slot": complete_slot,
}
_METAVARS = {int: "INTEGER", float: "NUMBER", str: "TEXT", dict: "KEY=VALUE", tuple: "A,B,..."}


# Commands whose runs `kinfolk plot` draws with a panel for each of several metrics.
_WITH_PANELS = ("kinfolk sweep eval",)


class SingleValueCommand(TyperCommand):
    """Command that refuses an option with one value that was given twice; click keeps the last."""

    read_files: tuple[str, ...] = ("resume", "run", "runs", "file", "files", "plan", "root")

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments of the command, and check what was given twice.

        Raises:
            UsageError: An option that takes one value was given more than once.
        """
        if not ctx.resilient_parsing:  # which is completion
            _, _, parsed = self.make_parser(ctx).parse_args(args=list(args))
            if not any(parameter.is_eager for parameter in parsed):  # such as --help
                _check_given_once(ctx.command_path, parsed, args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; the files that it reads may name no code, unless they are trusted."""
        with untrusted(_find_read_file(ctx.params, self.read_files)):
            return super().invoke(ctx)


def _find_read_file(parameters: Mapping[str, Any], names: Sequence[str]) -> Any:
    """Return the first run, capsule or plan that was given under one of these names; None if none."""
    for name in names:
        value = parameters.get(name)
        if value:
            return value[0] if isinstance(value, Sequence) and not isinstance(value, str) else value
    return None


def refuse_repeated_options(app: typer.Typer) -> None:
    """Make every command refuse an option with one value that was given twice."""
    for command in app.registered_commands:
        if command.cls in (None, TyperCommand):
            command.cls = SingleValueCommand
    for group in app.registered_groups:
        if group.typer_instance is not None:
            refuse_repeated_options(group.typer_instance)


def _check_given_once(command: str, parsed: Sequence[Any], words: Sequence[str]) -> None:
    """Check that no option with one value was given more than once.

    Args:
        command: Name of the command, with `kinfolk` before it.
        parsed: Parameters in the order in which they were given.
        words: Arguments of the command.

    Raises:
        UsageError: An option was given more than once.
    """
    for option in parsed:
        is_single = option.param_type_name == "option" and not (option.multiple or option.is_flag)
        count = parsed.count(option)
        if not is_single or count == 1:
            continue
        name = max(option.opts, key=len)
        times = "twice" if count == 2 else f"{count} times"
        hint = ""
        if name == "--metric" and command in _WITH_PANELS:
            following = [*words[1:], ""]
            pairs = zip(words, following, strict=True)
            values = [
                w.partition("=")[2] or after for w, after in pairs if w.partition("=")[0] == name
            ]
            panels = shlex.join(word for value in values for word in (name, value))
            hint = f" Panels of several: kinfolk plot RUN {panels}."
        raise UsageError(f"{name} was given {times}; {command} takes one.{hint}")


def settings_command(job: str, *options: str, engine: str | None = None) -> type[TyperCommand]:
    """Return a class of commands that have a flag for every setting of a job.

    The settings model is loaded when the command runs, completes or shows its own help. A setting
    for which the command's function has a parameter of the same name gets no flag.

    Args:
        job: Name of the job in `JOB_SETTINGS`.
        options: Names of those of `job_options` that the command has; by default all.
        engine: Engine that runs the job's tasks if no other is asked for.
    """
    signature = inspect.signature(job_options, eval_str=True).parameters
    shared = {name: signature[name] for name in options or signature}
    if "engine" in shared:
        shared["engine"] = shared["engine"].replace(default=engine)

    class SettingsCommand(SingleValueCommand):
        """Command that adds the flags of the settings to its own options."""

        read_files = ()  # its settings are typed, or lie in a file that the user names as typed
        _flags: dict[str, SettingField] | None = None  # by the name of the parameter

        def get_params(self, ctx: Any) -> list[Any]:
            """Return all parameters; the settings model is loaded at the first call."""
            if self._flags is None:
                taken = {str(parameter.name) for parameter in self.params}
                fields = [field for field in _load_flag_fields(job) if field.name not in taken]
                self._flags = {"__".join(field.path): field for field in fields}
                made = _make_click_options(self._flags, shared)
                first = [p for p in self.params if p.param_type_name == "argument"]
                last = [p for p in self.params if p.param_type_name != "argument"]
                self.params = [*first, *made[: len(self._flags)], *last, *made[len(self._flags) :]]
            return super().get_params(ctx)

        def invoke(self, ctx: Any) -> Any:
            """Run the command, with its flags and job options as a `JobCall` in the context."""
            flags: dict[str, Any] = {}
            for name, field in (self._flags or {}).items():
                value = ctx.params.pop(name)
                if value not in (None, [], ()):
                    _set_nested(flags, field.path, parse_flag(field, value))
            common = {name: ctx.params.pop(name) for name in shared}
            paths = ("config", "out", "resume")
            common |= {name: Path(common[name]) for name in paths if common.get(name) is not None}
            ctx.meta[_CALL] = JobCall(flags, **common)
            with untrusted(common.get("resume"), may_sandbox=True):
                return super().invoke(ctx)

    return SettingsCommand


def job_call(context: typer.Context) -> JobCall:
    """Return the settings and options that were given on the command line of a job."""
    call: JobCall = context.meta[_CALL]
    return call


def flag_name(field: SettingField) -> str:
    """Return the flag of a setting, such as `--ppo.learning-rate`."""
    return field.flag.name or f"--{field.name.replace('_', '-')}"


def parse_flag(field: SettingField, value: Any) -> Any:
    """Convert the value of a flag to a plain value, which the settings model then checks.

    Args:
        field: The setting.
        value: A text, a list of texts for flags that may be repeated, or a boolean.

    Raises:
        UsageError: A repeated flag is not written NAME=VALUE, or names something twice.
    """
    from kinfolk.core.settings import parse_overrides, parse_value

    kind = field.annotation
    if isinstance(value, bool):
        return value
    if _is_word_list(field):
        texts = [value] if isinstance(value, str) else value
        return [word for text in texts for word in text.split(",") if text != "none"]
    if isinstance(value, Sequence) and not isinstance(value, str):
        if get_origin(kind) not in (dict, tuple):
            return parse_slot_map(value, flag_name(field))
        texts = field.flag.repeats or get_args(kind)[1] is str
        return parse_pairs(flag_name(field), value) if texts else parse_overrides(value)
    if field.optional and value == "none":
        return None
    if get_origin(kind) is tuple and field.flag.metavar is None:
        return [] if value == "none" else [parse_value(word) for word in value.split(",")]
    return parse_value(value) if kind in (int, float) else value


def _load_flag_fields(job: str) -> list[SettingField]:
    """Return the settings of a job that have a flag."""
    from kinfolk.core.settings import fields_of

    # Not by `load`, whose errors are about classes of users: here a library may be missing.
    module, _, model = JOB_SETTINGS.get_entry(job).import_path.partition(":")
    fields = fields_of(getattr(import_module(module), model))
    return [field for field in fields if field.table is None]


def _make_click_options(
    flags: dict[str, SettingField], shared: dict[str, inspect.Parameter]
) -> list[Any]:
    """Return the options that typer makes of flags of settings and of shared parameters."""

    def takes_options() -> None: ...

    parameters = [_make_parameter(name, field) for name, field in flags.items()]
    parameters += [option.replace(kind=option.KEYWORD_ONLY) for option in shared.values()]
    takes_options.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command()(takes_options)
    return list(typer.main.get_command(app).params)


def _make_parameter(name: str, field: SettingField) -> inspect.Parameter:
    """Return the function parameter from which typer makes the option of a setting."""
    flag, about, keyword = flag_name(field), _format_help(field), inspect.Parameter.KEYWORD_ONLY
    annotation: Any
    if field.annotation is bool:
        option = typer.Option(f"{flag}/{flag.replace('--', '--no-', 1)}", help=about)
        annotation = Annotated[bool | None, option]
    else:
        metavar, completion = _format_metavar(field), _find_completion(field)
        option = typer.Option(flag, help=about, metavar=metavar, autocompletion=completion)
        annotation = Annotated[list[str] if _is_repeated(field) else str | None, option]
    default: Any = [] if _is_repeated(field) else None
    return inspect.Parameter(name, keyword, default=default, annotation=annotation)


def _is_repeated(field: SettingField) -> bool:
    """Return whether a flag is repeated, once per entry of a table or a list."""
    origin = get_origin(field.annotation)
    return field.flag.repeats or _is_word_list(field) or origin not in (None, tuple, Literal)


def _is_word_list(field: SettingField) -> bool:
    """Return whether a setting is a list of words: A,B or the flag once per word."""
    is_words = get_origin(field.annotation) is tuple and get_args(field.annotation)[0] is str
    return is_words and field.flag.metavar is None


def _format_help(field: SettingField) -> str:
    """Return the help text of a setting: its meaning, its default and its bounds."""
    default = "" if field.default in (None, {}, (), "") else field.default_text
    facts = "; ".join(fact for fact in (default, field.bounds) if fact)
    return f"{field.description} [{facts}]" if facts else field.description


def _format_metavar(field: SettingField) -> str:
    """Return the placeholder of a value in help."""
    if field.flag.metavar is not None:
        return field.flag.metavar
    if field.choices:
        return "|".join(field.choices)
    return _METAVARS.get(get_origin(field.annotation) or field.annotation, "KEY=VALUE")


def _find_completion(field: SettingField) -> Callable[..., Any] | None:
    """Return the function that completes values of a flag, if there is one."""
    if field.flag.completes is not None:
        return _COMPLETIONS[field.flag.completes]
    if not field.choices:
        return None
    return lambda incomplete: [choice for choice in field.choices if choice.startswith(incomplete)]


def _set_nested(table: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    """Set a value in nested tables, which are made where they are missing.

    Args:
        table: The outermost table; changed in place.
        path: Names of the tables and, last, of the value.
        value: The value.
    """
    *tables, last = path
    for name in tables:
        table = table.setdefault(name, {})
    table[last] = value


def warn_of_idle_slots(
    slots: Sequence[str], assignment: Any, teachers: Container[str] = ()
) -> None:
    """Print a note about slots that play no agent, which is allowed but rarely intended.

    Args:
        slots: Names of the slots.
        assignment: Index of the slot that plays each row.
        teachers: Slots that may only teach, or watch a teacher, about which no note is printed.
    """
    for index, name in enumerate(slots):
        if name not in teachers and not (assignment == index).any():
            note(f"Slot '{name}' plays nobody: no --map GROUP={name} was given.")


def warn_of_unmapped_groups(settings: Any, spec: Any) -> None:
    """Print a note about groups that a map leaves out, which the first slot plays too.

    Args:
        settings: Slots and their map.
        spec: Spec of the world.
    """
    slot_map = settings.slot_map_for(settings.world)
    for group in spec.groups if isinstance(slot_map, Mapping) else ():
        if group.name not in slot_map:
            slot = settings.slot_ids[0]
            note(f"Slot '{slot}' plays {group.name} too: no --map {group.name}=SLOT was given.")


def parse_pairs(option: str, words: Sequence[str]) -> dict[str, str]:
    """Parse `A=B` arguments into a table; a name may be given once.

    >>> parse_pairs("--slot", ["all=class:mine.Policy?depth=2"])
    {'all': 'class:mine.Policy?depth=2'}

    Raises:
        UsageError: An argument is not written NAME=VALUE, or a name is given twice.
    """
    table: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not name or not equals or not value:
            hint = _suggest_slot(option, word)
            raise UsageError(f"{option} is written NAME=VALUE, not '{word}'.{hint}")
        if name in table:
            raise UsageError(f"{option} gives '{name}' twice.")
        table[name] = value
    return table


def _suggest_slot(option: str, word: str) -> str:
    """Return a hint at what was meant: `--slot hunter` is `--slot all=kin://hunter`."""
    if option != "--slot":
        return ""
    word = word.removeprefix("=")
    from kinfolk.policies.resolve import POLICIES

    if word in POLICIES:
        return f" Did you mean: --slot all=kin://{word}"
    is_policy = ":" in word or word.endswith((".py", ".safetensors"))
    return f" Did you mean: --slot all={word}" if is_policy else ""


def parse_slot_map(words: Sequence[str], option: str = "--map") -> dict[str, str] | list[str]:
    """Parse a slot map: GROUP=SLOT for each group, or one word with the slot of each agent.

    >>> parse_slot_map(["type_1_prey=herd"]), parse_slot_map(["miner,miner,scout"])
    ({'type_1_prey': 'herd'}, ['miner', 'miner', 'scout'])
    """
    if len(words) == 1 and "=" not in words[0]:
        return words[0].split(",")
    return parse_pairs(option, words)
