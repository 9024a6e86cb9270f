"""Libraries that may be missing, and the command that installs each."""

from __future__ import annotations

import importlib

from kinfolk.core.errors import UsageError

# By the name they are imported by. What is not listed is no library of kinfolk's.
_EXTRAS = {
    "ray": "kinfolk[ray]",
    "starlette": "kinfolk[viewer]",
    "uvicorn": "kinfolk[viewer]",
    "websockets": "kinfolk[viewer]",
    "PIL": "kinfolk[pictures]",
    "pyarrow": "kinfolk[parquet]",
}
_PIP_NAMES = {
    "torch": "torch",
    "numba": "numba",
    "numpy": "numpy",
    "scipy": "scipy",
    "pydantic": "pydantic",
    "rich": "rich",
    "safetensors": "safetensors",
    "gymnasium": "gymnasium",
    "pettingzoo": "pettingzoo",
    "openskill": "openskill",
    "cmaes": "cmaes",
    "ribs": "ribs",
    "tensorboard": "tensorboard",
    "tensordict": "tensordict",
    "wandb": "wandb",
    "stable_baselines3": "stable-baselines3",
}


class MissingLibraryError(UsageError):
    """A library that is needed is not installed: exit code 2, like any wrong use."""


def get_install_command(module: str) -> str | None:
    """The command that installs a library; None if it is none that kinfolk knows.

    >>> [get_install_command(name) for name in ("torch.nn", "PIL", "my_package")]
    ['pip install torch', "pip install 'kinfolk[pictures]'", None]
    """
    name = module.partition(".")[0]
    if name in _EXTRAS:
        return f"pip install '{_EXTRAS[name]}'"
    return f"pip install {_PIP_NAMES[name]}" if name in _PIP_NAMES else None


def make_missing_library_error(feature: str, module: str) -> MissingLibraryError:
    """The error that says who needs a library and how to install it.

    Args:
        feature: What needs it, as the beginning of a sentence: "The viewer".
        module: A module of the library, by the name it is imported by.
    """
    name = module.partition(".")[0]
    return MissingLibraryError(
        f"{feature} needs the library {name}, which is not installed: {get_install_command(name)}"
    )


def import_libraries(feature: str, *modules: str) -> None:
    """Import libraries, before anything is begun that needs them.

    Args:
        feature: What needs them, as the beginning of a sentence.
        modules: The names they are imported by.

    Raises:
        MissingLibraryError: One is not installed.
    """
    for module in modules:
        try:
            importlib.import_module(module)
        except ModuleNotFoundError:
            raise make_missing_library_error(feature, module) from None
