"""A tiny plan, and how tests change it."""

from importlib.resources import files
from string import Template

import pytest

TINY = Template((files("kinfolk.cli") / "templates/study/plan.toml.txt").read_text()).substitute(
    title="tiny"
)


@pytest.fixture(scope="session")
def tiny():
    """The plan that `kinfolk new study` writes, as text."""
    return TINY


@pytest.fixture
def change():
    """A function that replaces one part of the tiny plan, which must be there once."""

    def replace(before, after):
        assert TINY.count(before) == 1
        return TINY.replace(before, after)

    return replace
