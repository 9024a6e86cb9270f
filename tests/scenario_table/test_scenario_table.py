"""The table of scenarios as data: numbers, digests, what is held out, and messages about wrong tables."""

import csv
import tomllib
from pathlib import Path
from statistics import fmean

import pytest

from kinfolk.core.errors import SettingsError, UnknownNameError, UsageError
from kinfolk.policies.resolve import resolve
from kinfolk.scenario_table.read import (
    TABLE_FILE,
    assign_scenario_rows,
    find_focal_policy,
    read_scenarios,
)

ROOT = Path(__file__).resolve().parents[2]
OWN = """
[scenarios.mine]
about = "a hunter among random hunters"
world = "probe"
mode = "visitor"
players = { grazer = { idle = 5 }, hunter = { focal = 1, random = 2 } }
seed = 7
floor = 1.0
ceiling = 3.0
"""


@pytest.fixture
def write(tmp_path):
    """A function that writes a table, with texts of `OWN` replaced, and returns its path."""

    def write(*changes):
        text = OWN
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / "own.toml"
        path.write_text(text)
        return path

    return write


def assign_all(path):
    for name, scenario in read_scenarios(path).scenarios.items():
        assign_scenario_rows(name, scenario)


def test_there_are_forty_scenarios_or_more_over_both_worlds_and_a_third_is_held_out():
    table = read_scenarios()
    worlds = [scenario.world for scenario in table.scenarios.values()]
    assert worlds.count("savanna") >= 20
    assert worlds.count("cogsguard") >= 20
    for entries in (table.scenarios, table.backgrounds):
        held_out = [name for name, entry in entries.items() if entry.held_out]
        assert 0.33 <= len(held_out) / len(entries) <= 0.4
    modes = {scenario.mode for scenario in table.scenarios.values()}
    assert modes == {"resident", "visitor"}


def test_every_seed_and_every_name_is_used_once_and_every_background_somewhere():
    table = read_scenarios()
    seeds = [scenario.seed for scenario in table.scenarios.values()]
    assert len(set(seeds)) == len(seeds)
    used = {name for scenario in table.scenarios.values() for name in scenario.backgrounds}
    assert set(table.backgrounds) - used == set()


def test_backgrounds_are_made_in_all_four_ways_and_are_the_policies_of_their_digests():
    table = read_scenarios()
    for name, background in table.backgrounds.items():
        assert len(background.sha256) == 64, name
        assert table.resolve_background(name).sha256 == background.sha256
        assert (background.source == "script") == (background.made_by == "")
    sources = {background.source for background in table.backgrounds.values()}
    assert sources == {"script", "evolved roles", "evolved net", "trained net"}


def test_policies_are_small_and_each_is_named_by_the_table():
    files = {path.name: path.stat().st_size for path in (TABLE_FILE.parent / "policies").iterdir()}
    assert max(files.values()) < 100_000
    uris = [background.policy for background in read_scenarios().backgrounds.values()]
    assert {Path(uri).name for uri in uris if uri.startswith("file:")} == set(files)


def list_configurations():
    """Yield all tables of settings for training and tuning that the repository has."""
    for folder in (ROOT / "examples", TABLE_FILE.parent / "runs"):
        for path in sorted(folder.rglob("*.toml")):
            yield path.name, tomllib.loads(path.read_text())


def list_uris(value):
    if isinstance(value, str):
        yield from [value] if value.startswith(("kin://", "file:", "class:kinfolk")) else []
    elif isinstance(value, dict):
        yield from (uri for inner in value.values() for uri in list_uris(inner))
    elif isinstance(value, list):
        yield from (uri for inner in value for uri in list_uris(inner))


def test_no_configuration_of_the_repository_uses_a_held_out_background_or_seed():
    table = read_scenarios()
    seeds = {s.seed for s in table.scenarios.values() if s.held_out}
    digests = {b.sha256: name for name, b in table.backgrounds.items() if b.held_out}
    configurations = dict(list_configurations())
    assert len(configurations) >= 10
    for name, settings in configurations.items():
        assert settings.get("seed") not in seeds, name
        for uri in list_uris(settings):
            assert resolve(uri).sha256 not in digests, f"{name} uses {uri}"


@pytest.mark.more
@pytest.mark.parametrize("name", read_scenarios().scenarios)
def test_every_world_has_room_for_its_players(name):
    scenario = read_scenarios().scenarios[name]
    slots = assign_scenario_rows(name, scenario)
    for background in scenario.backgrounds:
        assert background in slots


def test_scenarios_of_your_own_may_use_the_backgrounds_of_the_package(write):
    table = read_scenarios(write())
    assert list(table.scenarios) == ["mine"]
    assert table.backgrounds["random"].policy == "kin://random"
    assert assign_scenario_rows("mine", table.scenarios["mine"])[:8] == [
        *["idle"] * 5, "focal", "random", "random",
    ]  # fmt: skip
    assert table.scenarios["mine"].normalize(2.5) == 0.75


def test_a_background_of_your_own_lies_beside_its_table(write, tmp_path):
    own = '[backgrounds.wolf]\nabout = "x"\npolicy = "file:{folder}/wolf.safetensors"\n'
    path = write(("\n[scenarios", f"{own}[scenarios"), ("random = 2", "wolf = 2"))
    uri = read_scenarios(path).backgrounds["wolf"].policy
    assert uri == f"file:{tmp_path}/wolf.safetensors"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "random = 2",
            "randm = 2",
            "Scenario 'mine' names no known background 'randm'. Did you mean 'random'?",
        ),
        (
            "idle = 5",
            "idle = 9",
            "Scenario 'mine' has 9 players in group grazer; its world has room for 5 at the start.",
        ),
        (
            "visitor",
            "resident",
            "1 of 3 agents in the focal groups are focal, which is mode = 'visitor', not 'resident'.",
        ),
        ("focal = 1", "idle = 1", "No group has focal agents."),
        ("floor = 1.0", "floor = 4.0", "floor must be below ceiling; they are 4.0 and 3.0."),
        ("ceiling = 3.0", "", "Give both floor and ceiling, or neither; they are 1.0 and None."),
        ("grazer = {", "grazr = {", "Scenario 'mine' does not say who plays the 5 agents"),
        ("scenarios.mine", "scenarios.all", "Scenario 'all' has a reserved name."),
        ("random = 2", "lazy_hunter = 2", "but its background 'lazy_hunter' is held out."),
        ('world = "probe"', 'world = "prob"', "Scenario 'mine': No world is named 'prob'."),
    ],
)
def test_a_wrong_table_is_an_error_that_names_the_scenario(write, old, new, message):
    with pytest.raises(SettingsError) as raised:
        assign_all(write((old, new)))
    text = str(raised.value)
    assert message in text
    assert "mine" in text or "all" in text


def test_a_changed_policy_is_refused(write):
    own = '[backgrounds.wolf]\nabout = "x"\npolicy = "kin://noop"\nsha256 = "00"\n'
    table = read_scenarios(write(("\n[scenarios", f"{own}[scenarios"), ("random = 2", "wolf = 2")))
    digest = resolve("kin://noop").sha256
    with pytest.raises(SettingsError) as raised:
        table.resolve_background("wolf")
    assert str(raised.value) == (
        f"Background 'wolf' is not the policy that its table names: its digest is {digest}, not 00."
    )


def test_a_file_without_scenarios_is_an_error(tmp_path):
    path = tmp_path / "empty.toml"
    path.write_text("")
    with pytest.raises(UsageError, match=r"has no scenario\. Write a table \[scenarios.NAME\]."):
        read_scenarios(path)


def test_several_scenarios_have_names_and_an_unknown_one_is_an_error():
    table = read_scenarios()
    parts = [set(table.select([name])) for name in ("development", "held-out")]
    assert parts[0] | parts[1] == set(table.select(["all"])) == set(table.scenarios)
    assert not parts[0] & parts[1]
    with pytest.raises(
        UnknownNameError, match=r"There is no scenario 'hunt_grazer'\. Did you mean"
    ):
        table.select(["hunt_grazer"])


def test_the_most_exact_name_decides_which_policy_is_focal():
    scenario = read_scenarios().scenarios["hunt_grazers"]
    keys = ["all", "savanna", "predator", "type_1_predator"]
    for n in range(4, 0, -1):
        assert find_focal_policy(scenario, keys[:n]) == keys[n - 1]
    assert find_focal_policy(scenario, ["prey", "cogsguard"]) is None


def test_every_scenario_ranks_the_baselines_otherwise_than_its_kind_or_says_why_it_is_kept():
    with (ROOT / "docs" / "pictures" / "scenarios.csv").open() as file:
        rows = list(csv.DictReader(file))
    scores = {row["name"]: {} for row in rows}
    for row in rows:
        scores[row["name"]][row["baseline"]] = float(row["score"])
    assert set(scores) == set(read_scenarios().scenarios)
    for kind in ("prey", "hunt", "cogs"):
        of_kind = {name: table for name, table in scores.items() if name.startswith(kind)}
        baselines = {baseline for table in of_kind.values() for baseline in table}
        means = {b: fmean(t[b] for t in of_kind.values() if b in t) for b in baselines}
        order = sorted(means, key=means.get, reverse=True)
        for name, table in of_kind.items():
            ranked = sorted(table, key=lambda b, table=table: (-table[b], order.index(b)))
            is_same = ranked == [baseline for baseline in order if baseline in table]
            assert is_same == bool(read_scenarios().scenarios[name].kept_for), name


def test_every_scenario_of_the_package_has_a_floor_and_a_ceiling():
    for name, scenario in read_scenarios().scenarios.items():
        assert scenario.floor is not None, name
        assert scenario.floor < scenario.ceiling, name
