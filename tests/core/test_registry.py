import pytest

from kinfolk.core.errors import UnknownNameError, UsageError
from kinfolk.core.imports import Registry, RegistryEntry, import_object
from kinfolk.engines import ENGINES
from kinfolk.policies.resolve import POLICIES
from kinfolk.worlds import WORLDS


@pytest.mark.parametrize("registry", [WORLDS, POLICIES, ENGINES], ids=lambda r: r.kind)
def test_every_registry_entry_can_be_loaded_and_has_a_description(registry):
    for name in registry:
        assert callable(registry.load(name))
        assert 10 <= len(registry.get_entry(name).description) <= 72


def test_an_unknown_name_suggests_the_most_similar_one():
    with pytest.raises(UnknownNameError) as refused:
        Registry(
            "world",
            "worlds",
            {"forage": RegistryEntry("a:b", ""), "ecology": RegistryEntry("c:d", "")},
        ).get_entry("forrage")
    assert str(refused.value) == (
        "No world is named 'forrage'. Did you mean 'forage'? Known: forage, ecology."
    )
    assert isinstance(refused.value, LookupError)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nowhere", "'nowhere' is not an import path. Write package.module.Class."),
        ("no_such_module.Thing", "'no_such_module.Thing' cannot be imported: there is no module no_such_module."),
        ("kinfolk.core.imports.Registri", "The module kinfolk.core.imports has no Registri. "
         "Did you mean 'Registry'? "),
    ],
)  # fmt: skip
def test_an_import_path_that_does_not_exist_raises_an_error(path, message):
    with pytest.raises(UsageError) as refused:
        import_object(path)
    start, _, names = str(refused.value).partition("Known: ")
    assert start == message
    assert not names or "RegistryEntry, Registry, import_object, " in names


def test_other_packages_register_worlds_by_entry_point(monkeypatch):
    class Point:
        name, value, dist = "pond", "ponds.world:Pond", None

    monkeypatch.setattr(
        "importlib.metadata.entry_points",
        lambda group: [Point] if group == "kinfolk.worlds" else [],
    )
    registry = Registry("world", "worlds", {"forage": RegistryEntry("a:b", "")})
    assert list(registry) == ["forage", "pond"]
    assert registry.get_entry("pond").import_path == "ponds.world:Pond"
    assert "pond" in registry


def test_a_class_that_is_looked_for_in_a_folder_gets_the_module_in_it(tmp_path, monkeypatch):
    folder = tmp_path / "wandering_folder"
    folder.mkdir()
    for name in ("wanderer.py", "test_wanderer.py", "README.md"):
        (folder / name).write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UsageError) as refused:
        import_object("wandering_folder.Wanderer")
    assert str(refused.value) == (
        "wandering_folder is a folder, and has no Wanderer itself. Name a module in it: write "
        "wandering_folder.wanderer.Wanderer, or change into the folder first. Modules in it: wanderer."
    )
