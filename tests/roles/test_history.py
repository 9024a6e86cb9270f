import json
import re

import pytest
from role_scenes import evolve, make_catalog

from kinfolk.core.errors import DamagedRunError, UnknownNameError
from kinfolk.core.events import FileChunk
from kinfolk.lineage.export import to_csv
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.history import (
    extract_roles,
    origins_of,
    restore_history,
    role_family,
    role_ids_by_name,
)
from kinfolk.roles.history_text import HistoryWriter, format_history, parse_history
from kinfolk.roles.model import RoleDef, RoleTier, TierSelection
from kinfolk.roles.teams import TeamComposition
from kinfolk.store.json_files import write_with_backups
from kinfolk.store.run import create_run


@pytest.fixture
def evolved():
    coordinator = evolve(make_catalog(), seed=3, generations=4)
    weighted = RoleTier((0, 2), (1.5, 2.0), TierSelection.WEIGHTED)
    coordinator.add_to_pool(RoleDef((weighted,)))
    return coordinator


@pytest.fixture
def text(evolved):
    return written_out(evolved, [TeamComposition((0, 0, 5), 0.25, 8.0, 8.0)])


def written_out(coordinator, lineups=()):
    return HistoryWriter().format(
        coordinator.catalog,
        generation=coordinator.generation,
        seed=coordinator.seed,
        games=coordinator.games,
        teams=lineups,
    )


def test_a_history_comes_back_as_it_was(evolved, text):
    history = parse_history(text, "h.json")
    fresh = make_catalog()
    pool = restore_history(history, fresh, "h.json")
    assert fresh == evolved.catalog
    assert pool == evolved.pool
    assert (history.generation, history.seed, history.games) == (4, 3, 40)
    assert [TeamComposition(**dict(entry)) for entry in history.teams] == [
        TeamComposition((0, 0, 5), 0.25, 8.0, 8.0)
    ]
    assert written_out(evolved, [TeamComposition(**dict(entry)) for entry in history.teams]) == text


def test_a_writer_that_has_seen_earlier_generations_writes_the_same(evolved):
    writer, facts = HistoryWriter(), {"generation": 0, "seed": 3, "games": 0}
    writer.format(make_catalog(), **facts)
    assert writer.format(evolved.catalog, **facts) == HistoryWriter().format(
        evolved.catalog, **facts
    )


def test_the_file_names_what_people_look_for_and_a_line_holds_a_role(evolved, text):
    lines = text.splitlines()
    [miner] = [line for line in lines if '"BaseMiner"' in line]
    entry = json.loads(miner.strip().rstrip(","))
    assert entry["tiers"][0] == {
        "behaviors": ["deposit_resource"],
        "selection": "fixed",
        "weights": None,
    }
    assert (entry["origin"], entry["locked"], entry["parents"]) == ("manual", True, [])
    assert f'"nextNameId": {evolved.catalog.next_name_id},' in lines
    assert '"format": 1,' in lines
    assert len(lines) < len(evolved.catalog.roles) + 13 + 20


def test_behaviours_are_matched_by_name_whatever_their_order(text, evolved):
    turned = RoleCatalog()
    for behavior in make_catalog().behaviors[::-1]:
        turned.add_behavior(
            name=behavior.name, source=behavior.source, can_start=len, act=len, should_terminate=len
        )
    restore_history(parse_history(text, "h.json"), turned, "h.json")
    names = [turned.behaviors[i].name for i in turned.roles[0].behavior_ids]
    assert names == ["deposit_resource", "mine_resource", "find_extractor", "explore"]
    assert turned.behaviors[0].name == "find_enemy_junction"
    assert turned.behaviors[0].games == evolved.catalog.behaviors[12].games


def test_unknown_behaviours_are_named_and_nothing_is_entered(text):
    small = RoleCatalog()
    for behavior in make_catalog().behaviors[2:]:
        small.add_behavior(
            name=behavior.name, source=behavior.source, can_start=len, act=len, should_terminate=len
        )
    with pytest.raises(
        UnknownNameError,
        match=r"^h\.json names behaviours that are not registered: 'explore', 'recharge'\. Known: ",
    ):
        restore_history(parse_history(text, "h.json"), small, "h.json")
    assert small.roles == []


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (r'"origin": "manual"', '"origin": "me"', "RoleHistory.roles.0.origin must be 'manual', "),
        (r'"wins": \d+', '"wins": -2', "RoleHistory.roles.0.wins must be at least 0, not -2."),
        (r'"wins": \d+', '"wins": 900', "role 'BaseMiner' has 900 wins in "),
        (r'"games": \d+', '"games": "x"', "RoleHistory.roles.0.games must be a whole number, "),
        (r'"fitness": [\d.]+', '"fitness": 7', "RoleHistory.roles.0.fitness must be at most 1.0"),
        (r'\["mine_resource"\]', '["explore"]', "role 'BaseMiner' holds 'explore' twice."),
        (
            r'\["mine_resource"\]',
            "[]",
            "RoleHistory.roles.0.tiers.1.behaviors needs at least 1 entries; ",
        ),
        (r'"parents": \[\]', '"parents": [4]', "role 'BaseMiner' has parents [4]; they must come"),
        (r'"id": 0', '"id": 1', "role 'BaseMiner' has the id 1; in this place it must be 0."),
        (r'"retired": \w+', '"retired": 99', "role 'BaseMiner' retired in generation 99, which"),
        (r'"locked": \w+, ', "", "RoleHistory.roles.0.locked is missing and has no default."),
        (r'"weights": null', '"weights": [1, 2]', "A tier of 1 behaviours must have as many"),
    ],
)
def test_hand_made_damage_is_told_with_its_line(text, old, new, reason):
    lines = text.splitlines()
    [at] = [i for i, line in enumerate(lines) if '"BaseMiner"' in line]
    lines[at], changes = re.subn(old, new, lines[at], count=1)
    assert changes == 1
    with pytest.raises(DamagedRunError) as error:
        parse_history("\n".join(lines), "h.json")
    assert str(error.value).startswith(f"h.json is damaged at line {at + 1}: {reason}")


@pytest.mark.parametrize("share", [0.05, 0.3, 0.7, 0.99])
def test_a_history_that_was_cut_short_is_refused_with_the_line(text, share):
    cut = text[: int(len(text) * share)]
    with pytest.raises(DamagedRunError, match=r"^h\.json is damaged at line \d+: ") as error:
        parse_history(cut, "h.json")
    lines = cut.count("\n") + 1
    assert f"at line {lines}:" in str(error.value)


def test_other_versions_and_other_files_are_refused():
    with pytest.raises(DamagedRunError, match=r"^h has format 2; this kinfolk reads 1\.$"):
        parse_history('{"format": 2}', "h")
    with pytest.raises(DamagedRunError, match=r"^h is damaged at line 1: it must hold a table\.$"):
        parse_history("[]", "h")
    with pytest.raises(DamagedRunError, match=r"^h is damaged at line 2: NaN is not a number\.$"):
        parse_history('{"format":\n NaN}', "h")


def test_the_last_versions_are_kept(tmp_path):
    path = tmp_path / "role_history.json"
    for number in range(6):
        write_with_backups(path, f"version {number}\n".encode(), n_backups=3)
    kept = {p.name: p.read_text() for p in tmp_path.iterdir()}
    assert kept == {
        "role_history.json": "version 5\n",
        "role_history.1.json": "version 4\n",
        "role_history.2.json": "version 3\n",
        "role_history.3.json": "version 2\n",
    }
    write_with_backups(path, b"version 5\n", n_backups=3)
    assert (tmp_path / "role_history.1.json").read_text() == "version 4\n", "nothing new"


def test_a_run_keeps_earlier_versions_of_an_artefact(tmp_path):
    run = create_run(tmp_path / "run", "evolve_roles", {})
    run.open_for_writing()
    for text in (b"one", b"two"):
        run.write_file_chunk(FileChunk(path="role_history.json", data=text, n_backups=3))
    run.close()
    assert (tmp_path / "run" / "role_history.json").read_bytes() == b"two"
    assert (tmp_path / "run" / "role_history.1.json").read_bytes() == b"one"


def test_the_family_tree_leads_from_the_seeded_roles_to_todays(evolved, text):
    history = parse_history(text, "h.json")
    family, operators = role_family(history), origins_of(history)
    assert len(family) == len(evolved.catalog.roles)
    assert family.members[0].group == "BaseMiner"
    bred = [m for m in family if m.parents]
    assert bred
    assert all(operators[m.uid] in ("recombined", "mutated") for m in bred)
    assert all((m.destruction_time is None) == (m.uid in evolved.pool) for m in family)
    table = to_csv(family, {"operator": operators}).splitlines()
    assert table[0].endswith("taxon_label,cause,operator")
    ended = (
        "inf" if family.members[0].destruction_time is None else family.members[0].destruction_time
    )
    cause = "" if family.members[0].destruction_time is None else "retired"
    assert table[1] == f"0,[NONE],0,{ended},BaseMiner,{cause},manual"


def test_roles_taken_out_of_a_history_make_one_of_their_own(text):
    history = parse_history(text, "h.json")
    taken = extract_roles(history, role_ids_by_name(history, [history.roles[5].name, "BaseMiner"]))
    again = parse_history(format_history(taken), "taken")
    assert [role.name for role in again.roles] == [history.roles[5].name, "BaseMiner"]
    assert [lineup.roles for lineup in again.teams] == [(0, 1, 1)]
    assert again.roles[1].tiers == history.roles[0].tiers
    assert restore_history(again, make_catalog(), "taken") == [0, 1]
    with pytest.raises(UnknownNameError, match=r"^No role is named 'BaseMinor'\. Did you mean"):
        role_ids_by_name(history, ["BaseMinor"])


def test_both_ways_of_writing_give_the_same_text(text):
    assert format_history(parse_history(text, "h.json")) == text
