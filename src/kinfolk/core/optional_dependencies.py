"""Libraries that may be missing, and the command that installs each."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager

from kinfolk.core.errors import UsageError

# What pip installs for a library, by the name it is imported by. Those of the base are not listed.
_INSTALLED_BY = {
    "torch": "'kinfolk[train]'",
    "ribs": "'kinfolk[qd]'",
    "ray": "'kinfolk[ray]'",
    "starlette": "'kinfolk[viewer]'",
    "uvicorn": "'kinfolk[viewer]'",
    "websockets": "'kinfolk[viewer]'",
    "PIL": "'kinfolk[plots]'",
    "pyarrow": "'kinfolk[parquet]'",
    "tensorboard": "tensorboard",
    "tensordict": "tensordict",
    "wandb": "wandb",
    "stable_baselines3": "stable-baselines3",
}


class MissingLibraryError(UsageError, ModuleNotFoundError):
    """A library that is needed is not installed: exit code 2, like any wrong use.

    It is an ImportError too, for code that asks whether a part of kinfolk can be imported.
    """


def get_install_command(module: str) -> str | None:
    """Return the command that installs a library; None if kinfolk does not know it.

    >>> [get_install_command(name) for name in ("torch.nn", "PIL", "my_package")]
    ["pip install 'kinfolk[train]'", "pip install 'kinfolk[plots]'", None]
    """
    installed_by = _INSTALLED_BY.get(module.partition(".")[0])
    return None if installed_by is None else f"pip install {installed_by}"


def make_missing_library_error(feature: str, module: str) -> MissingLibraryError:
    """Return the error that says who needs a library and how to install it.

    Args:
        feature: What needs it, as the beginning of a sentence: "The viewer".
        module: A module of the library, by the name it is imported by.
    """
    name = module.partition(".")[0]
    return MissingLibraryError(
        f"{feature} needs the library {name}, which is not installed: {get_install_command(name)}",
        name=name,
    )


@contextmanager
def optional_import(user: str) -> Iterator[None]:
    """Import libraries of an extra within this context, or say how to install them.

    Args:
        user: What needs them, as the beginning of a sentence.

    Raises:
        MissingLibraryError: One that kinfolk knows is not installed.
    """
    try:
        yield
    except MissingLibraryError:
        raise
    except ModuleNotFoundError as error:
        if error.name is None or get_install_command(error.name) is None:
            raise
        raise make_missing_library_error(user, error.name) from None


def import_libraries(feature: str, *modules: str) -> None:
    """Import libraries, before anything is begun that needs them.

    Args:
        feature: What needs them, as the beginning of a sentence.
        modules: The names they are imported by.

    Raises:
        MissingLibraryError: One is not installed.
    """
    for module in modules:
        with optional_import(feature):
            importlib.import_module(module)
