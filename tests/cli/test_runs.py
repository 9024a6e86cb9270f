"""`kinfolk runs`, `rerun`, `capsule` and `verify`: stored results, and whether they repeat."""

import gzip
import hashlib
import json
import shutil
import zipfile

import pytest

import kinfolk as kf
from kinfolk.cli.app import main
from kinfolk.evaluation.formatting import format_number
from kinfolk.jobs import capsules, outside_policies
from kinfolk.store.integrity import seal_line

EVALUATION = ["eval", "--set", "max_ticks=5", "--episodes", "3", "--slot", "all=kin://random"]
JOBS = {
    "evaluation": EVALUATION,
    "roles": ["evolve", "roles", "--engine", "local", "--generations", "1", "--population", "4",
              "--games-per-generation", "4", "--eval-games", "2", "--finalist-games", "2"],
    "nets": ["evolve", "nets", "--task", "probe", "--population", "4", "--generations", "1",
             "--held-out-episodes", "2"],
    "training": ["train", "--world", "probe", "--steps", "600"],
}  # fmt: skip


def run(capsys, *words):
    with pytest.raises(SystemExit) as left:
        main(list(words))
    return left.value.code, capsys.readouterr()


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def stored(capsys):
    assert run(capsys, *EVALUATION, "--out", "runs/one")[0] == 0


def test_runs_are_a_table_with_date_seed_headline_and_state(capsys, stored):
    assert run(capsys, *EVALUATION, "--seed", "7", "--out", "runs/two")[0] == 0
    code, said = run(capsys, "runs")
    assert code == 0
    rows = [line.split() for line in said.out.splitlines()]
    assert ["name", "date", "job", "world", "seed", "headline", "state"] in rows
    [newest] = [row for row in rows if row[:1] == ["two"]]
    assert newest[3:6] == ["evaluate", "probe", "7"]
    assert newest[-1] == "done"
    entries = json.loads(run(capsys, "runs", "--json")[1].out)
    assert [entry["name"] for entry in entries] == ["two", "one"]
    assert entries[0]["headline"].startswith("return all ")
    assert entries[0]["headline"].endswith(", n = 3")


def test_runs_are_filtered_and_sorted(capsys, stored):
    assert run(capsys, *EVALUATION, "--seed", "7", "--out", "runs/two")[0] == 0
    words = ["sweep", "eval", "--vary", "max_ticks=4", "--episodes", "1", "--out", "runs/swept"]
    assert run(capsys, *words)[0] == 0
    listed = {
        words: [entry["name"] for entry in json.loads(run(capsys, *words, "--json")[1].out)]
        for words in (("runs", "--job", "sweep"), ("runs", "--sort", "seed"))
    }
    assert list(listed.values()) == [["swept"], ["one", "two", "swept"]]
    assert run(capsys, "runs", "--world", "savanna")[1].out == "There are no such runs in runs.\n"
    assert run(capsys, "runs", "--state", "ended")[1].err == (
        "A run's state is done, running, stopped, damaged, not 'ended'.\n"
    )
    assert run(capsys, "runs", "--sort", "size")[1].err.startswith(
        "Runs cannot be sorted by 'size'."
    )
    assert [run.name for run in kf.runs(sort="name")] == ["one", "swept", "two"]
    total = format_number(kf.load_run("runs/swept").table("rows")["return"][0])
    assert kf.runs(job="sweep").table()["headline"] == [f"return {total}, 1 setting, 1 seed"]
    assert ">swept</td>" in kf.runs()._repr_html_()


def test_a_rerun_says_whether_it_is_the_same(capsys, stored):
    code, said = run(capsys, "rerun", "runs/one", "--out", "again")
    same = "runs/one is equal: the run again gave the same events and files, byte for byte.\n"
    assert (code, said.out) == (0, same)
    assert kf.load_run("again").status == "done"


def change_event(folder, number, change):
    """Change one event of a run and make all checksums right, as a forger would."""
    events = list(kf.load_run(folder).events())
    change(events[number])
    checksum, data = "", b""
    for event in events:
        line, checksum = seal_line(json.dumps(event, sort_keys=True), checksum)
        data += line
    (folder / "events.jsonl.gz").write_bytes(gzip.compress(data, mtime=0))


def test_a_run_whose_numbers_were_forged_is_not_equal_and_the_number_is_named(capsys, stored):
    events = list(kf.load_run("runs/one").events())
    true = events[1]["returns"]["all"]
    change_event(kf.load_run("runs/one").folder, 1, lambda e: e["returns"].update(all=true + 1))
    code, said = run(capsys, "rerun", "runs/one")
    assert code == 1
    assert said.out == (
        "runs/one is NOT equal. The first differences:\n"
        f"  event 1 (episode_played, step 1), returns.all: expected {true + 1}, got {true}\n"
    )


def test_a_run_that_is_stopped_or_cannot_be_repeated_is_refused(capsys, stored, folder):
    shutil.copytree(folder / "runs" / "one", folder / "runs" / "stopped")
    (folder / "runs" / "stopped" / "events.jsonl.gz").unlink()
    for words in (["rerun", "runs/stopped"], ["capsule", "runs/stopped"]):
        code, said = run(capsys, *words)
        message = "runs/stopped is stopped, so there is nothing to compare with yet.\n"
        assert (code, said.err) == (2, message)
    code, said = run(capsys, "rerun", "runs/on")
    assert (code, said.err) == (
        2,
        "There is no run runs/on. Did you mean 'one'? Known: one, stopped.\n",
    )


def rewrite(path, change):
    """Write a capsule again with changed contents, its manifest unchanged unless `change` does it."""
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    change(contents)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in contents.items():
            archive.writestr(name, data)


def test_a_capsule_is_verified_on_this_machine_and_its_bytes_are_always_the_same(
    capsys, stored, folder
):
    for name in ("a.zip", "b.zip"):
        code, said = run(capsys, "capsule", "runs/one", "--out", name)
        assert code == 0, said.err
    assert (folder / "a.zip").read_bytes() == (folder / "b.zip").read_bytes()
    code, said = run(capsys, "verify", "a.zip")
    assert code == 0
    assert said.out == (
        f"Equality that this machine can promise: {capsules.EXACT}.\n"
        "a.zip is equal: the run again gave the same events and files, byte for byte.\n"
    )


@pytest.mark.parametrize("name", ["settings.json", "events.jsonl.gz"])
def test_a_capsule_with_a_changed_file_is_refused_with_its_name(capsys, stored, folder, name):
    assert run(capsys, "capsule", "runs/one", "--out", "a.zip")[0] == 0
    rewrite(folder / "a.zip", lambda contents: contents.update({name: contents[name] + b" "}))
    code, said = run(capsys, "verify", "a.zip")
    assert code == 1
    assert said.err.startswith(f"a.zip is refused: {name} was changed. Its SHA-256 should be ")


def test_a_capsule_that_leads_out_or_is_none_is_refused(capsys, stored, folder):
    assert run(capsys, "capsule", "runs/one", "--out", "a.zip")[0] == 0

    def escape(contents):
        manifest = json.loads(contents["manifest.json"])
        contents["../evil"] = b"x"
        manifest["sha256"]["../evil"] = hashlib.sha256(b"x").hexdigest()
        contents["manifest.json"] = json.dumps(manifest).encode()

    rewrite(folder / "a.zip", escape)
    code, said = run(capsys, "verify", "a.zip")
    assert (code, said.err) == (
        1,
        "a.zip is not a capsule, or it is damaged: manifest.json: '../evil' is no file of a run or of its "
        "policies.\n",
    )
    (folder / "b.zip").write_bytes(b"no zip")
    code, said = run(capsys, "verify", "b.zip")
    assert code == 1
    assert said.err.startswith("b.zip is not a capsule, or it is damaged: ")
    assert run(capsys, "verify", "c.zip")[1].err == "There is no capsule c.zip.\n"


def test_the_tier_of_equality_depends_on_versions_and_processor():
    here = capsules.describe_machine()
    assert capsules.describe_equality(here) == capsules.EXACT
    assert capsules.describe_equality(here.model_copy(update={"processor": "riscv"})).startswith(
        "exact for scripted policies and worlds; networks may differ in their last digits, because the "
    )
    older = here.model_copy(update={"versions": {**here.versions, "kinfolk": "0.0.1"}})
    assert capsules.describe_equality(older).startswith("none: kinfolk is ")
    released, _, code = here.versions["kinfolk"].partition(" (code ")
    assert len(code) == 12 + 1
    versions = {**here.versions, "kinfolk": f"{released} (code 0)"}
    edited = here.model_copy(update={"versions": versions})
    assert capsules.describe_equality(edited) == (
        f"none: kinfolk is {released} (code {code} here and {released} (code 0) there, and another "
        "version may compute other numbers"
    )


def test_policies_outside_of_the_run_are_found_in_slots_teams_and_class_paths():
    settings = {
        "slots": {"a": "file:x.safetensors", "b": "kin://noop", "c": {"class_path": "mine.Own"}},
        "policies": ["m=run:one;n=class:mine:Other?depth=2"],
    }
    expected = ["file:x.safetensors", "class:mine.Own", "run:one", "class:mine:Other"]
    assert outside_policies.find_outside_policies(settings) == expected
    moved = outside_policies.replace_uris(settings, {"run:one": "file:/tmp/0.safetensors"})
    assert moved["policies"] == ["m=file:/tmp/0.safetensors;n=class:mine:Other?depth=2"]
    assert moved["slots"] == settings["slots"]


NETS = ["evolve", "nets", "--task", "probe", "--population", "4", "--generations", "1",
        "--held-out-episodes", "2", "--out", "nets"]  # fmt: skip


def test_a_capsule_holds_the_policies_of_other_runs_and_is_verified_without_them(capsys, folder):
    assert run(capsys, *NETS)[0] == 0
    words = ["compare", "run:nets/grazer", "kin://noop", "--episodes", "2", "--map",
             "grazer=candidate", "--map", "hunter=others", "--slot", "others=run:nets/hunter"]  # fmt: skip
    assert run(capsys, *words, "--out", "one")[0] == 0
    code, said = run(capsys, "capsule", "one", "--out", "one.zip", "--json")
    manifest = json.loads(said.out)
    assert sorted(manifest["policies"]) == ["run:nets/grazer", "run:nets/hunter"]
    assert manifest["sources"] == {}
    shutil.rmtree(folder / "nets")
    code, said = run(capsys, "verify", "one.zip", "--json")
    report = json.loads(said.out)
    assert (code, report["equal"], report["differences"]) == (0, True, [])
    name = manifest["policies"]["run:nets/grazer"]
    rewrite(folder / "one.zip", lambda c: c.update({name: c[name][:-1] + b"\x01"}))
    code, said = run(capsys, "verify", "one.zip")
    assert code == 1
    assert said.err.startswith(f"one.zip is refused: {name} was changed. Its SHA-256 should be ")


POLICY = """
import kinfolk as kf

class Still(kf.AgentPolicy):
    def reset(self):
        pass
    def step(self, observation):
        return [{action}, 0]

class Team(kf.MultiAgentPolicy):
    def agent_policy(self, agent_id):
        return Still()
"""


def test_a_capsule_is_refused_if_the_class_of_a_policy_was_changed(capsys, folder, monkeypatch):
    monkeypatch.syspath_prepend(str(folder))
    (folder / "my_capsule_team.py").write_text(POLICY.format(action=0))
    words = [*EVALUATION[:-1], "all=class:my_capsule_team.Team", "--out", "one"]
    assert run(capsys, *words)[0] == 0
    code, said = run(capsys, "capsule", "one", "--out", "one.zip")
    message = "Not in it, but needed to verify it: the file of class:my_capsule_team.Team\n"
    assert said.out.endswith(message)
    code, said = run(capsys, "verify", "one.zip")
    assert code == 2
    assert "names the code 'my_capsule_team.Team'" in said.err
    assert run(capsys, "verify", "one.zip", "--trust")[0] == 0
    (folder / "my_capsule_team.py").write_text(POLICY.format(action=1))
    code, said = run(capsys, "verify", "one.zip")
    assert code == 1
    assert (
        "one.zip is refused: the file of the policy class:my_capsule_team.Team is not the one that "
        "played. Its SHA-256 should be "
    ) in said.err


def reseal(contents):
    """Make the hashes of a capsule right again, as a forger would."""
    manifest = json.loads(contents["manifest.json"])
    for name in manifest["sha256"]:
        manifest["sha256"][name] = hashlib.sha256(contents[name]).hexdigest()
    contents["manifest.json"] = json.dumps(manifest).encode()


def test_a_forged_setting_or_number_does_not_repeat_and_is_named(capsys, stored, folder):
    true = list(kf.load_run("runs/one").events())[1]["returns"]["all"]
    change_event(folder / "runs" / "one", 1, lambda e: e["returns"].update(all=true + 1))
    assert run(capsys, "capsule", "runs/one", "--out", "a.zip")[0] == 0
    code, said = run(capsys, "verify", "a.zip")
    difference = f"event 1 (episode_played, step 1), returns.all: expected {true + 1}, got {true}"
    assert (code, difference in said.out) == (1, True)

    assert run(capsys, *EVALUATION, "--out", "runs/two")[0] == 0
    assert run(capsys, "capsule", "runs/two", "--out", "b.zip")[0] == 0
    other = [*EVALUATION[:2], "max_ticks=6", *EVALUATION[3:], "--out", "runs/other"]
    assert run(capsys, *other)[0] == 0
    settings = (folder / "runs" / "other" / "settings.json").read_bytes()

    def forge(contents):
        contents["settings.json"] = settings
        reseal(contents)

    rewrite(folder / "b.zip", forge)
    code, said = run(capsys, "verify", "b.zip")
    assert code == 1
    assert said.out.splitlines()[1] == "b.zip is NOT equal. The first differences:"
    assert "event 0 (episode_played, step 0), counters.grown: expected 11, got 16" in said.out


def test_a_sample_of_a_run_is_compared_as_far_as_it_goes(capsys, stored):
    assert run(capsys, "capsule", "runs/one", "--out", "a.zip")[0] == 0
    code, said = run(capsys, "verify", "a.zip", "--sample", "2")
    assert code == 0
    assert said.out.endswith(
        "a.zip is equal as far as it was run again: the first 2 of 4 events.\n"
    )
    code, said = run(capsys, "rerun", "runs/one", "--sample", "99")
    same = "runs/one is equal: the run again gave the same events and files, byte for byte.\n"
    assert (code, said.out) == (0, same)


def test_a_capsule_knows_the_command_that_made_the_run(capsys, folder, monkeypatch):
    monkeypatch.setattr("sys.argv", ["kinfolk", *EVALUATION, "--out", "one"])
    assert run(capsys, *EVALUATION, "--out", "one")[0] == 0
    document = run(capsys, "capsule", "one", "--out", "one.zip", "--json")[1].out
    assert json.loads(document)["command"] == (
        "kinfolk eval --set max_ticks=5 --episodes 3 --slot all=kin://random --out one"
    )


@pytest.mark.more
@pytest.mark.train
@pytest.mark.parametrize("job", list(JOBS))
def test_capsules_of_every_job_are_equal_on_this_machine(capsys, folder, job):
    assert run(capsys, *JOBS[job], "--out", "one")[0] == 0
    assert run(capsys, "capsule", "one", "--out", "one.zip")[0] == 0
    code, said = run(capsys, "verify", "one.zip", "--json")
    report = json.loads(said.out)
    assert (code, report["equal"], report["differences"]) == (0, True, [])


@pytest.mark.more
@pytest.mark.train
def test_a_capsule_with_a_changed_policy_is_refused_with_its_name(capsys, folder):
    assert run(capsys, *JOBS["training"], "--out", "one")[0] == 0
    assert run(capsys, "capsule", "one", "--out", "one.zip")[0] == 0
    with zipfile.ZipFile("one.zip") as archive:
        name = next(n for n in archive.namelist() if n.endswith(".safetensors"))
    rewrite(folder / "one.zip", lambda c: c.update({name: c[name][:-1] + b"\x01"}))
    assert run(capsys, "verify", "one.zip")[1].err.startswith(
        f"one.zip is refused: {name} was changed."
    )
