"""Sides of a world: teams rotate, groups stay, rows of one group are shared."""

import pytest

from kinfolk.core.errors import SettingsError, UnknownNameError
from kinfolk.play.sides import find_sides, match_side
from kinfolk.play.task import WorldRef


def test_every_policy_plays_every_team_once():
    sides = find_sides(WorldRef("cogsguard", "head_to_head", {"teams": 3}).spec)
    assert (sides.kind, sides.names) == ("teams", ("cogs_0", "cogs_1", "cogs_2"))
    assert sides.slot_maps == (
        {"cogs_0": "first", "cogs_1": "second", "cogs_2": "third"},
        {"cogs_0": "third", "cogs_1": "first", "cogs_2": "second"},
        {"cogs_0": "second", "cogs_1": "third", "cogs_2": "first"},
    )


def test_predators_and_prey_stay_on_their_sides():
    sides = find_sides(WorldRef("savanna").spec)
    assert (sides.kind, sides.names) == ("groups", ("type_1_predator", "type_1_prey"))
    assert sides.slot_maps == ({"type_1_predator": "first", "type_1_prey": "second"},)
    assert not sides.are_interchangeable


def test_sides_with_equal_observations_can_be_exchanged_if_asked():
    sides = find_sides(WorldRef("savanna").spec, exchange=True)
    assert sides.slot_maps[1] == {"type_1_predator": "second", "type_1_prey": "first"}
    with pytest.raises(SettingsError) as refused:
        find_sides(WorldRef("probe").spec, exchange=True)
    assert str(refused.value) == (
        "The sides grazer, hunter have different observations or actions, so that policies cannot "
        "exchange them."
    )


def test_a_single_group_is_shared_row_by_row():
    sides = find_sides(WorldRef("cogsguard", "arena", {"agents": 4}).spec)
    assert sides.kind == "rows"
    assert sides.slot_maps[0][:3] == ["first", "second", "first"]
    assert sides.slot_maps[1][:3] == ["second", "first", "second"]


def test_a_side_may_have_several_groups():
    spec = WorldRef("cogsguard", "head_to_head", {"teams": 4}).spec
    table = {"north": ("cogs_0", "cogs_1"), "south": ("cogs_2", "cogs_3")}
    sides = find_sides(spec, groups=table)
    assert (sides.kind, sides.names, len(sides.slot_maps)) == ("teams", ("north", "south"), 2)
    assert sides.slot_maps[1] == {
        "cogs_0": "second", "cogs_1": "second", "cogs_2": "first", "cogs_3": "first",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"a": ("grazer",)}, "World probe has groups that no side names: hunter. Name each once."),
        (
            {"a": ("grazer", "hunter"), "b": ("grazer",)},
            "Group grazer is on two sides, a and b; leave out one.",
        ),
        (
            {"a": ("grazer", "hunter")},
            "World probe has one side, a; policies meet on two sides or more.",
        ),
    ],
)
def test_tables_of_sides_that_do_not_fit_the_world_are_refused(table, sentence):
    with pytest.raises(SettingsError) as refused:
        find_sides(WorldRef("probe").spec, groups=table)
    assert str(refused.value) == sentence


def test_a_group_that_the_world_does_not_have_is_refused():
    with pytest.raises(UnknownNameError, match="lion"):
        find_sides(WorldRef("probe").spec, groups={"a": ("lion",), "b": ("grazer", "hunter")})


def test_a_side_is_known_by_a_part_of_its_name():
    sides = find_sides(WorldRef("savanna").spec)
    assert match_side("prey", sides) == "type_1_prey"
    with pytest.raises(SettingsError) as refused:
        match_side("type_1", sides)
    assert str(refused.value) == (
        "There is no side 'type_1'. Did you mean 'type_1_prey'? Known: type_1_predator, type_1_prey."
    )
