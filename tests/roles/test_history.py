import json
import re

import pytest
from role_helpers import evolve, make_catalog

from kinfolk.core.errors import DamagedRunError, UnknownNameError
from kinfolk.core.events import FileChunk
from kinfolk.lineage.family import to_csv
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.history import (
    HistoryWriter,
    extract_roles,
    format_history,
    origins_of,
    parse_history,
    restore_history,
    role_family,
    role_ids_by_name,
)
from kinfolk.roles.history_file import read_history
from kinfolk.roles.model import RoleDef, RoleTier, TierSelection
from kinfolk.roles.teams import TeamComposition
from kinfolk.store.backups import write_with_backups
from kinfolk.store.run import create_run


@pytest.fixture
def evolved():
    coordinator = evolve(make_catalog(), seed=3, generations=4)
    weighted = RoleTier((0, 2), (1.5, 2.0), TierSelection.WEIGHTED)
    coordinator.add_to_pool(RoleDef((weighted,)))
    return coordinator


@pytest.fixture
def text(evolved):
    return history_text(evolved, [TeamComposition((0, 0, 5), 0.25, 8)])


def history_text(coordinator, teams=()):
    return HistoryWriter().format(
        coordinator.catalog,
        generation=coordinator.generation,
        seed=coordinator.seed,
        games=coordinator.games,
        teams=teams,
    )


def test_a_history_is_restored_as_it_was_written(evolved, text):
    history = parse_history(text, "h.json")
    fresh = make_catalog()
    pool = restore_history(history, fresh, "h.json")
    assert fresh == evolved.catalog
    assert pool == evolved.pool
    assert (history.generation, history.seed, history.games) == (4, 3, 40)
    assert [TeamComposition(**dict(entry)) for entry in history.teams] == [
        TeamComposition((0, 0, 5), 0.25, 8)
    ]
    assert (
        history_text(evolved, [TeamComposition(**dict(entry)) for entry in history.teams]) == text
    )


def test_a_writer_with_cached_lines_writes_the_same_text(evolved):
    writer, facts = HistoryWriter(), {"generation": 0, "seed": 3, "games": 0}
    writer.format(make_catalog(), **facts)
    assert writer.format(evolved.catalog, **facts) == HistoryWriter().format(
        evolved.catalog, **facts
    )


def test_each_role_is_one_line_of_the_file(evolved, text):
    lines = text.splitlines()
    [miner] = [line for line in lines if '"BaseMiner"' in line]
    entry = json.loads(miner.strip().rstrip(","))
    assert entry["tiers"][0] == {
        "behaviors": ["deposit_resource"],
        "selection": "fixed",
        "weights": None,
        "guard": None,
    }
    assert (entry["origin"], entry["locked"], entry["parents"]) == ("manual", True, [])
    assert f'"nextNameId": {evolved.catalog.next_name_id},' in lines
    assert '"format": 3,' in lines
    assert len(lines) < len(evolved.catalog.roles) + 13 + 20


def test_behaviors_are_matched_by_name_whatever_their_order(text, evolved):
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


def test_unknown_behaviors_raise_an_error_and_change_nothing(text):
    small = RoleCatalog()
    for behavior in make_catalog().behaviors[2:]:
        small.add_behavior(
            name=behavior.name, source=behavior.source, can_start=len, act=len, should_terminate=len
        )
    with pytest.raises(
        UnknownNameError,
        match=r"^h\.json names behaviors that are not registered: 'explore', 'recharge'\. Known: ",
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
        (
            r'"games": \d+, "own',
            '"games": -7, "own',
            "RoleHistory.roles.0.games must be at least 0",
        ),
        (r'\["mine_resource"\]', '["explore"]', "role 'BaseMiner' contains 'explore' twice."),
        (
            r'\["mine_resource"\]',
            "[]",
            "RoleHistory.roles.0.tiers.1.behaviors needs at least 1 entries; ",
        ),
        (r'"parents": \[\]', '"parents": [4]', "role 'BaseMiner' has parents [4]; they must come"),
        (r'"id": 0', '"id": 1', "role 'BaseMiner' has the id 1; at this position it must be 0."),
        (r'"retired": \w+', '"retired": 99', "role 'BaseMiner' retired in generation 99, after"),
        (r'"locked": \w+, ', "", "RoleHistory.roles.0.locked is missing and has no default."),
        (r'"weights": null', '"weights": [1, 2]', "A tier of 1 behaviors must have as many"),
    ],
)
def test_a_damaged_entry_raises_an_error_with_its_line(text, old, new, reason):
    lines = text.splitlines()
    [number] = [i for i, line in enumerate(lines) if '"BaseMiner"' in line]
    lines[number], changes = re.subn(old, new, lines[number], count=1)
    assert changes == 1
    with pytest.raises(DamagedRunError) as error:
        parse_history("\n".join(lines), "h.json")
    assert str(error.value).startswith(f"h.json is damaged at line {number + 1}: {reason}")


def test_a_changed_history_is_refused_unless_its_checksum_is_null(text):
    changed = text.replace('"seed": 3', '"seed": 4')
    with pytest.raises(DamagedRunError) as error:
        parse_history(changed, "h.json")
    assert str(error.value) == (
        'h.json is damaged: its SHA-256 checksum is wrong. If you edited it, set its "sha256" to null.'
    )
    edited = re.sub('"sha256": "[0-9a-f]+"', '"sha256": null', changed)
    history = parse_history(edited, "h.json")
    assert history.seed == 4
    assert parse_history(format_history(history), "again").sha256 is not None
    for field, reason in (
        ("", "is damaged at line 1: RoleHistory.sha256 is missing and has no default."),
        ('"sha256": "abc",', "has no SHA-256 checksum: it is damaged, or of an earlier version"),
    ):
        with pytest.raises(DamagedRunError) as error:
            parse_history(re.sub('"sha256": "[0-9a-f]+",', field, text), "h.json")
        assert str(error.value).startswith(f"h.json {reason}")


def test_an_intact_backup_is_named_when_a_history_is_damaged(tmp_path, text):
    path = tmp_path / "role_history.json"
    path.write_text(text.replace('"seed": 3', '"seed": 4'))
    (tmp_path / "role_history.1.json").write_text("{")
    (tmp_path / "role_history.2.json").write_text(text)
    with pytest.raises(DamagedRunError) as error:
        read_history(path)
    assert str(error.value) == (
        f'{path} is damaged: its SHA-256 checksum is wrong. If you edited it, set its "sha256" to '
        f"null. The earlier version {tmp_path}/role_history.2.json is intact."
    )
    assert read_history(tmp_path / "role_history.2.json").seed == 3


@pytest.mark.parametrize("share", [0.05, 0.3, 0.7, 0.99])
def test_a_truncated_history_raises_an_error_with_the_last_line(text, share):
    cut = text[: int(len(text) * share)]
    with pytest.raises(DamagedRunError, match=r"^h\.json is damaged at line \d+: ") as error:
        parse_history(cut, "h.json")
    lines = cut.count("\n") + 1
    assert f"at line {lines}:" in str(error.value)


def test_other_format_versions_and_other_files_raise_errors():
    with pytest.raises(
        DamagedRunError, match=r"^h has format 1; this kinfolk reads 3, in which roles also have "
    ):
        parse_history('{"format": 1}', "h")
    with pytest.raises(DamagedRunError, match=r"^h is damaged at line 1: it must hold a table\.$"):
        parse_history("[]", "h")
    with pytest.raises(DamagedRunError, match=r"^h is damaged at line 2: NaN is not a number\.$"):
        parse_history('{"format":\n NaN}', "h")


def test_the_last_versions_of_a_file_are_kept_as_backups(tmp_path):
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


def test_a_run_keeps_earlier_versions_of_a_file(tmp_path):
    run = create_run(tmp_path / "run", "evolve_roles", {})
    run.open_for_writing()
    for text in (b"one", b"two"):
        run.write_file_chunk(FileChunk(path="role_history.json", data=text, n_backups=3))
    run.close()
    assert (tmp_path / "run" / "role_history.json").read_bytes() == b"two"
    assert (tmp_path / "run" / "role_history.1.json").read_bytes() == b"one"


def test_the_family_tree_has_all_roles_with_their_parents(evolved, text):
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


def test_extracted_roles_form_a_history(text):
    history = parse_history(text, "h.json")
    extracted = extract_roles(
        history, role_ids_by_name(history, [history.roles[5].name, "BaseMiner"])
    )
    again = parse_history(format_history(extracted), "extracted")
    assert [role.name for role in again.roles] == [history.roles[5].name, "BaseMiner"]
    assert [team.roles for team in again.teams] == [(0, 1, 1)]
    assert again.roles[1].tiers == history.roles[0].tiers
    assert restore_history(again, make_catalog(), "extracted") == [0, 1]
    with pytest.raises(UnknownNameError, match=r"^No role is named 'BaseMinor'\. Did you mean"):
        role_ids_by_name(history, ["BaseMinor"])


def test_both_writers_give_the_same_text(text):
    assert format_history(parse_history(text, "h.json")) == text
