"""Policies as Python files: which class is the policy, found and imported by its path."""

import sys

import pytest

from kinfolk.core.errors import UsageError
from kinfolk.core.imports import import_object
from kinfolk.policies.policy_code import find_policy_class
from kinfolk.policies.resolve import resolve

NOOP = "from kinfolk.policies.base import NoopPolicy\n\n\nclass {name}(NoopPolicy):\n    '''.'''\n"


def test_a_file_with_one_policy_needs_no_class_name(tmp_path):
    file = tmp_path / "my-policy v2.py"
    file.write_text("class Table:\n    x = 1\n" + NOOP.format(name="Mine"))
    resolved = resolve(f"file:{file}")
    assert resolved.class_path == f"{file}:Mine"
    assert import_object(resolved.class_path).__name__ == "Mine"


def test_a_file_named_like_a_library_hides_nothing(tmp_path):
    (tmp_path / "random.py").write_text(NOOP.format(name="Mine"))
    policy = import_object(resolve(f"file:{tmp_path / 'random.py'}").class_path)
    import random

    assert policy.__module__.startswith("random_")
    assert sys.modules["random"] is random
    assert hasattr(random, "randint")


def test_a_package_is_imported_with_its_own_modules(tmp_path):
    package = tmp_path / "alice"
    package.mkdir()
    (package / "parts.py").write_text("NUMBER = 3\n")
    (package / "__init__.py").write_text(
        "from .parts import NUMBER\n" + NOOP.format(name="Alice") + "    number = NUMBER\n"
    )
    assert import_object(find_policy_class(package)).number == 3


@pytest.mark.parametrize(
    ("source", "uri", "sentence"),
    [
        ("x = 1\n", "{file}", "{file} holds no class; a policy is a class."),
        (NOOP.format(name="A"), "{file}:B", "{file} has no class B. Known: A."),
        (
            NOOP.format(name="A") + NOOP.format(name="B"),
            "{file}",
            "{file} has several classes that could be the policy; write one of file:{file}:A, "
            "file:{file}:B.",
        ),
        (None, "{file}", "There is no file {file}."),
    ],
)
def test_a_file_without_one_policy_is_refused(tmp_path, source, uri, sentence):
    file = tmp_path / "mine.py"
    if source is not None:
        file.write_text(source)
    with pytest.raises(UsageError) as refused:
        resolve(f"file:{uri.format(file=file)}")
    assert str(refused.value) == sentence.format(file=file)


def test_nothing_of_a_file_is_run_to_find_its_policy(tmp_path):
    file = tmp_path / "hostile.py"
    file.write_text("raise SystemExit('run')\n" + "(" * 10_000 + NOOP.format(name="Mine"))
    assert resolve(f"file:{file}", trusted=False).class_path == f"{file}:Mine"


def test_a_file_that_raises_is_not_kept(tmp_path):
    file = tmp_path / "raises.py"
    file.write_text(NOOP.format(name="Mine") + "raise ValueError('boom')\n")
    for _ in range(2):
        with pytest.raises(UsageError, match="cannot be imported: ValueError: boom"):
            import_object(f"{file}:Mine")


@pytest.mark.parametrize("source", ["x = 1\0", "x = " + "-" * 100_000 + "1", "(" * 5000])
def test_a_file_that_the_parser_cannot_bear_is_not_valid_python(tmp_path, source):
    file = tmp_path / "hostile.py"
    file.write_text(source)
    with pytest.raises(UsageError, match="is not valid Python"):
        resolve(str(file))
