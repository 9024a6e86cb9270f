"""`kinfolk new`: a small working package of one's own, with a test, to start from."""

from __future__ import annotations

import keyword
import pkgutil
from pathlib import Path
from string import Template
from typing import Annotated

import typer

from kinfolk.cli.output import note
from kinfolk.core.errors import SettingsError, UsageError

_FILES = {
    "module.py.txt": "{name}.py",
    "plan.toml.txt": "{name}.toml",
    "test.py.txt": "test_{name}.py",
    "README.md.txt": "README.md",
}
_MAIN_FILES = {"study": "plan.toml.txt"}  # of templates that are no module
_NEXT = {
    "policy": "kinfolk eval --world savanna --slot all=class:{name}.{class_name} --episodes 4",
    "world": "kinfolk play --world class:{name}.{class_name}",
    "behavior": 'kinfolk eval --world cogsguard --slot "cogs=kin://roles?catalog={name}.catalog&{class_name}=8"',
    "study": "kinfolk study {name}.toml --quick",
}

new = typer.Typer(
    help="Write a small working policy, world, behavior or study of your own, with a test.",
    rich_markup_mode=None,
)
NameArgument = Annotated[str, typer.Argument(help="Name of the module: lower case, digits and _.")]
FolderOption = Annotated[
    Path | None, typer.Option("--folder", help="Folder to write; by default the name.")
]


@new.command()
def policy(name: NameArgument, folder: FolderOption = None) -> None:
    """Write a policy that reads named arrays and remembers; for any world.

    Example: kinfolk new policy wanderer
    """
    _write_package("policy", name, folder)


@new.command()
def world(name: NameArgument, folder: FolderOption = None) -> None:
    """Write a world in numpy that every command can play, train on and show.

    Example: kinfolk new world orchard
    """
    _write_package("world", name, folder)


@new.command()
def behavior(name: NameArgument, folder: FolderOption = None) -> None:
    """Write a behavior for CogsGuard, with a parameter that evolves, and a role that uses it.

    Example: kinfolk new behavior sleep_at_night
    """
    _write_package("behavior", name, folder)


@new.command()
def study(name: NameArgument, folder: FolderOption = None) -> None:
    """Write the plan of a study: question, conditions, metrics and hypotheses, to be changed.

    Example: kinfolk new study grass_and_herds
    """
    _write_package("study", name, folder)


def _write_package(kind: str, name: str, folder: Path | None) -> None:
    """Write the files of a template, and say what to try.

    Args:
        kind: Folder of the template.
        name: Name of the module.
        folder: Where to write; None for a folder of that name.

    Raises:
        SettingsError: The name is no name of a module.
        UsageError: One of the files exists.
    """
    from kinfolk.store.files import write_atomic

    if not name.isidentifier() or keyword.iskeyword(name) or name != name.lower():
        raise SettingsError(
            f"'{name}' cannot be the name of a module. Use lower-case letters, digits and _, "
            "such as my_policy."
        )
    class_name = "".join(part.capitalize() for part in name.split("_"))
    values = {"module": name, "class_name": class_name, "title": name.replace("_", " ")}
    target = Path(name) if folder is None else folder
    files = (_MAIN_FILES.get(kind, "module.py.txt"), "test.py.txt", "README.md.txt")
    texts = {
        target / _FILES[source].format(name=name): _load_template(kind, source) for source in files
    }
    existing = [str(path) for path in texts if path.exists()]
    if existing:
        raise UsageError(
            f"{existing[0]} exists already; nothing was written. Choose another --folder."
        )
    for path, text in texts.items():
        write_atomic(path, text.substitute(values).encode())
    note(f"Wrote {', '.join(path.name for path in texts)} into {target}. Try:")
    note(f"  cd {target} && {_NEXT[kind].format(name=name, class_name=class_name)}")


def _load_template(kind: str, name: str) -> Template:
    """Return a template of the package."""
    data = pkgutil.get_data("kinfolk.cli", f"templates/{kind}/{name}")
    assert data is not None  # every loader of packages reads data
    return Template(data.decode())
