"""`kinfolk new` writes packages that work: their own tests pass, and every command takes them."""

import subprocess
import sys

import pytest


def run(folder, *words):
    command = [sys.executable, "-m", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=280)


@pytest.mark.more
@pytest.mark.parametrize("kind", ["policy", "world", "behavior"])
def test_the_tests_of_a_new_package_pass(kind, tmp_path):
    made = run(tmp_path, "kinfolk", "new", kind, "my_thing")
    assert made.returncode == 0, made.stderr
    assert "Wrote my_thing.py, test_my_thing.py, README.md into my_thing. Try:" in made.stderr
    tested = run(tmp_path / "my_thing", "pytest", "-q", "-p", "no:cacheprovider")
    assert tested.returncode == 0, tested.stdout
    assert "passed" in tested.stdout


@pytest.mark.more
def test_the_tests_of_a_new_study_pass(tmp_path):
    made = run(tmp_path, "kinfolk", "new", "study", "my_study")
    assert made.returncode == 0, made.stderr
    assert "Wrote my_study.toml, test_my_study.py, README.md into my_study. Try:" in made.stderr
    tested = run(tmp_path / "my_study", "pytest", "-q", "-p", "no:cacheprovider")
    assert tested.returncode == 0, tested.stdout
    assert "2 passed" in tested.stdout


@pytest.mark.more
def test_a_new_world_is_played_evaluated_on_processes_and_recorded(tmp_path):
    run(tmp_path, "kinfolk", "new", "world", "orchard")
    words = ["kinfolk", "eval", "--world", "class:orchard.Orchard", "--slot", "all=kin://random",
             "--episodes", "4", "--replay", "1"]  # fmt: skip
    local = run(tmp_path / "orchard", *words, "--out", "a")
    assert local.returncode == 0, local.stderr
    assert "picked" in local.stdout
    spread = run(tmp_path / "orchard", *words, "--out", "b", "--engine", "processes", "--jobs", "2")
    assert spread.returncode == 0, spread.stderr
    first, second = (tmp_path / "orchard" / name / "events.jsonl.gz" for name in "ab")
    assert first.exists()
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("name", ["My-Thing", "class", "1st", "Upper"])
def test_a_name_that_is_no_module_is_refused(name, tmp_path, monkeypatch):
    from kinfolk.cli.new import policy
    from kinfolk.core.errors import SettingsError

    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingsError) as caught:
        policy(name)
    assert str(caught.value) == (
        f"'{name}' cannot be the name of a module. Use lower-case letters, digits and _, "
        "such as my_policy."
    )
    assert list(tmp_path.iterdir()) == []


def test_files_that_exist_are_kept(tmp_path, monkeypatch):
    from kinfolk.cli.new import world
    from kinfolk.core.errors import UsageError

    monkeypatch.chdir(tmp_path)
    (tmp_path / "farm").mkdir()
    (tmp_path / "farm" / "README.md").write_text("mine")
    with pytest.raises(UsageError, match=r"^farm/README\.md exists already; nothing was written\."):
        world("farm")
    assert [path.name for path in (tmp_path / "farm").iterdir()] == ["README.md"]


def test_a_class_that_is_no_world_is_refused():
    import kinfolk as kf
    from kinfolk.core.errors import UsageError

    with pytest.raises(UsageError) as caught:
        kf.make("class:random.Random")
    assert str(caught.value) == (
        "class:random.Random is no world: a world's class has settings_type, as `kinfolk new world` shows."
    )
