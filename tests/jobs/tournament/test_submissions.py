"""Policies of a tournament from folders, files, URIs and classes; and what is refused."""

import pytest

from kinfolk.core.errors import SettingsError, UsageError
from kinfolk.jobs.tournament.players import list_players
from kinfolk.jobs.tournament.submissions import hash_submission, read_submissions
from kinfolk.play.sides import find_sides
from kinfolk.play.task import WorldRef
from kinfolk.policies.base import NoopPolicy
from kinfolk.policies.resolve import resolve

SOURCE = "from kinfolk.policies.base import NoopPolicy\n\n\nclass Mine(NoopPolicy):\n    x = 1\n"


def write(path, text=SOURCE):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def digest(uri):
    return hash_submission(resolve(uri, trusted=False))


def test_a_folder_holds_a_policy_per_file_and_package(tmp_path):
    alice = write(tmp_path / "alice-2.py")
    bob = write(tmp_path / "bob" / "__init__.py")
    write(tmp_path / "bob" / "parts.py")
    net = write(tmp_path / "net.safetensors", "weights")
    for ignored in ("README.md", ".hidden.py", "__pycache__/x.py", "notes/read.txt"):
        write(tmp_path / ignored)
    assert read_submissions([tmp_path]) == {
        "policies": {
            "alice-2": f"file:{alice}:Mine",
            "bob": f"file:{bob}:Mine",
            "net": f"file:{net}",
        }
    }


def test_folders_of_sides_hold_policies_for_them_only(tmp_path):
    wolf, both = write(tmp_path / "predator" / "wolf.py"), write(tmp_path / "both.py")
    policies = read_submissions([tmp_path])["policies"]
    assert policies == {"both": f"file:{both}:Mine", "predator": {"wolf": f"file:{wolf}:Mine"}}
    players = list_players(policies, find_sides(WorldRef("savanna").spec))
    assert [(player.side, player.name) for player in players] == [
        ("type_1_predator", "both"), ("type_1_predator", "wolf"), ("type_1_prey", "both"),
    ]  # fmt: skip


def test_a_settings_file_names_policies_beside_it_and_everything_else(tmp_path):
    wolf = write(tmp_path / "wolf.py")
    file = write(
        tmp_path / "cup.toml",
        'world = "savanna"\ngames = 3\n[policies.predator]\nwolf = "wolf.py?depth=2"\n'
        '[policies.prey]\ngrazer = "kin://grazer"\n',
    )
    assert read_submissions([file, "kin://random", "still=kin://noop"]) == {
        "world": "savanna",
        "games": 3,
        "policies": {
            "predator": {"wolf": f"file:{wolf}:Mine?depth=2"},
            "prey": {"grazer": "kin://grazer"},
            "random": "kin://random",
            "still": "kin://noop",
        },
    }


def test_classes_and_tables_are_policies_too():
    assert read_submissions([NoopPolicy, {"other": NoopPolicy, "uri": "kin://random"}]) == {
        "policies": {
            "NoopPolicy": "class:kinfolk.policies.base:NoopPolicy",
            "other": "class:kinfolk.policies.base:NoopPolicy",
            "uri": "kin://random",
        }
    }


def test_a_folder_without_policies_is_refused(tmp_path):
    write(tmp_path / "README.md")
    with pytest.raises(UsageError) as refused:
        read_submissions([tmp_path])
    assert str(refused.value) == (
        f"{tmp_path} holds no policy. A policy is a Python file, a package or a .safetensors file."
    )


def test_two_policies_of_one_name_are_refused_except_in_a_folder(tmp_path):
    first, second = write(tmp_path / "alice.py"), write(tmp_path / "alice.safetensors")
    write(tmp_path / "bob.py")
    write(tmp_path / "bob.md")
    assert read_submissions([tmp_path])["policies"] == {
        "alice.py": f"file:{first}:Mine",
        "alice.safetensors": f"file:{second}",
        "bob": f"file:{tmp_path}/bob.py:Mine",
    }
    with pytest.raises(UsageError, match="Two policies are called 'random': "):
        read_submissions(["kin://random", "random=kin://noop"])


def test_a_settings_file_without_policies_is_refused(tmp_path):
    file = write(tmp_path / "cup.toml", 'world = "probe"\n')
    with pytest.raises(UsageError) as refused:
        read_submissions([file])
    assert str(refused.value) == (
        f"{file} has no table [policies], with a policy URI or file by name."
    )


def test_a_side_without_a_policy_is_named():
    with pytest.raises(SettingsError) as refused:
        list_players({"prey": {"a": "kin://grazer"}}, find_sides(WorldRef("savanna").spec))
    assert str(refused.value) == (
        "Side type_1_predator has no policy. Give one, as type_1_predator/NAME=URI or in a folder or "
        "table named type_1_predator; the other sides are type_1_prey."
    )


def test_policies_of_one_side_are_refused_where_sides_are_exchanged():
    with pytest.raises(SettingsError) as refused:
        list_players(
            {"cogs_0": {"a": "kin://noop"}},
            find_sides(WorldRef("cogsguard", "head_to_head").spec),
        )
    assert str(refused.value) == (
        "'cogs_0' holds policies of a side, but every policy of this world plays every side. Put them "
        "beside the others."
    )


def test_the_hash_of_a_policy_is_that_of_its_files(tmp_path):
    here = write(tmp_path / "here" / "__init__.py")
    there = write(tmp_path / "there" / "__init__.py")
    assert digest(f"file:{here}:Mine") == digest(f"file:{there}:Mine")
    write(tmp_path / "there" / "parts.py", "x = 1\n")
    assert digest(f"file:{here}:Mine") != digest(f"file:{there}:Mine")
    assert digest("kin://noop") != digest("kin://random")


def test_a_list_of_policies_and_a_missing_folder_are_explained():
    with pytest.raises(UsageError) as refused:
        read_submissions([["kin://noop", "kin://random"]])
    assert str(refused.value) == (
        "Policies are given one by one, each a folder, a file, a URI, a class, or a table of these by name, not "
        "as list: ['kin://noop', 'kin://random']. Write tournament(a, b) or tournament(*policies)."
    )
    for source in ("nowhere/", "alice=sub/none.py:Alice?x=1", "none.safetensors"):
        with pytest.raises(UsageError, match="There is no folder or file "):
            read_submissions([source])
