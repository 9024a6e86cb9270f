"""Extras: the commands that messages name install what they say."""

import re
import tomllib
from pathlib import Path

import pytest

from kinfolk.core import imports
from kinfolk.core.errors import UsageError
from kinfolk.core.imports import MissingLibraryError, import_libraries, optional_import

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
EXTRAS = {
    extra: [re.match(r"[\w-]+", text).group() for text in needed]
    for extra, needed in PROJECT["optional-dependencies"].items()
}
IMPORTED_AS = {"pillow": "PIL", "box2d": "Box2D", "pygame-ce": "pygame"}
FOR_TESTS = ("dev", "slow")


@pytest.mark.parametrize("extra", [name for name in EXTRAS if name not in FOR_TESTS])
def test_libraries_of_an_extra_are_installed_by_it(extra):
    for package in EXTRAS[extra]:
        command = imports.get_install_command(IMPORTED_AS.get(package, package))
        assert command == f"pip install 'kinfolk[{extra}]'"


def test_libraries_of_the_base_are_in_no_extra():
    base = {re.match(r"[\w-]+", text).group() for text in PROJECT["dependencies"]}
    assert not base & {"torch", "ribs", *(name for names in EXTRAS.values() for name in names)}


def test_a_missing_library_is_named_with_its_user_and_its_command(monkeypatch):
    monkeypatch.setitem(imports._INSTALLED_BY, "no_such_library", "'kinfolk[train]'")
    with pytest.raises(MissingLibraryError) as caught:
        import_libraries("Training", "numpy", "no_such_library.part")
    assert str(caught.value) == (
        "Training needs the library no_such_library, which is not installed: "
        "pip install 'kinfolk[train]'"
    )
    assert isinstance(caught.value, ImportError)
    assert isinstance(caught.value, UsageError)
    assert caught.value.name == "no_such_library"


def test_a_module_that_kinfolk_does_not_know_is_missing_as_ever():
    with pytest.raises(ModuleNotFoundError) as caught, optional_import("Training"):
        import mine_that_is_not_there  # noqa: F401
    assert not isinstance(caught.value, MissingLibraryError)
