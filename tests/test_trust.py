"""No command and no function of `kf` imports code because a file says so, unless it is trusted."""

import inspect
import os
import re
import sys
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import hostile_files
import pytest
import typer

import kinfolk as kf
from kinfolk.cli.app import app, main
from kinfolk.core.errors import KinfolkError
from kinfolk.core.trust import UntrustedCodeError, get_untrusted_source, trust_files, untrusted
from kinfolk.engines.processes import ProcessEngine
from kinfolk.isolation.sandbox.support import require_sandbox
from kinfolk.jobs.capsules import pack_capsule
from kinfolk.jobs.train.workers import ChunkWorkers
from kinfolk.play.task import WorldRef
from kinfolk.store.arrays import PolicyFile, write_policy
from kinfolk.store.run import open_run
from kinfolk.store.settings_file import write_run_settings

# Which words of each command name a file; {x} stands for every file of that kind. Commands without
# words read no file of anybody else: what they act on is typed.
EVAL = "--set max_ticks=3 --episodes 1"
COMMANDS = {
    "play": ["--slot all={policy}", "--slot all=run:{evaluate-done}"],
    "eval": [f"{EVAL} --slot all={{policy}}", f"{EVAL} --slot all={{policy}} --isolate slot",
             f"{EVAL} --slot all=run:{{evaluate-done}}", "--resume {evaluate-stopped}",
             "--resume {evaluate-done}", "--resume {scenarios-stopped}",
             f"{EVAL} --slot all={{policy}} --engine processes --jobs 1",
             "--scenario mine --scenario-file {scenario} --slot all=kin://noop --episodes 2"],
    "compare": [f"{EVAL} kin://noop {{policy}} --map grazer=candidate --map hunter=candidate",
                "--resume {compare-stopped}", "--resume {round_robin-stopped}",
                "--resume {compare-done}"],
    "tournament": ["kin://noop {policy} --isolate none --no-sandbox --games 1 --set max_ticks=3 --world probe --engine local",
                   "kin://noop {policy} --isolate slot --no-sandbox --games 1 --set max_ticks=3 --world probe --engine local",
                   "--resume {tournament-stopped}", "--resume {tournament-done}"],
    "crossplay": ["kin://noop {policy} --isolate none --no-sandbox --games 1 --set max_ticks=3 --world probe --engine local",
                  "--resume {crossplay-stopped}"],
    "train": ["--steps 100 --slot all={policy}", "--resume {train-stopped}", "--resume {train-done}"],
    "exploit": ["{train-done} --steps 100", "{evolve_nets-done} --steps 100",
                "a={policy} --steps 100 --set max_ticks=3", "run:{train-done} --steps 100",
                "a=run:{train-done}/all --steps 100", "--resume {exploit-stopped}"],
    "worlds": [], "policies": [], "behaviors": [], "metrics": [], "settings": [], "presets": [],
    "bench": [], "doctor": [], "compile": [],
    "new policy": [], "new world": [], "new behavior": [], "new study": [],
    "scenarios": ["--scenario-file {scenario}"],
    "explain": ["--world probe --slot all={policy}"],
    "runs": ["--root {folder}", "--root {folder} --json"],
    "plot": ["{any-done}", "{any-done} --kind populations", "{any-done} --kind curves",
             "{any-done} --kind estimates", "{any-done} --kind archive"],
    "rerun": ["{any-done}", "{any-done} --engine processes --jobs 1"],
    "capsule": ["{any-done} --out {new}.zip"],
    "verify": ["{capsule}"],
    "replay-trace": ["{replay}"],
    "view": ["{any-done} --export {new}.html", "{any-done} --episode 0 --export {new}.html",
             ],
    "study": ["{plan} --check", "{plan} --quick --engine local", "{plan} --quick --engine processes --jobs 1",
              "{plan} --show", "--resume {study-stopped} --engine local", "--resume {study-done}"],
    "export html": ["{any-done} --out {new}.html"],
    # They show the page of `export html` in a browser, which tests of the viewer start.
    "export png": [], "export gif": [], "export mp4": [],
    "export metrics": ["{any-done}", "{any-done} --table agents", "{any-done} --table failures"],
    "export events": ["{any-done} --out {new}"],
    "export role": ["{any-done}"],
    "export policy": ["{any-done} --out {new} --format torchscript", "{any-done} --out {new} --format onnx",
                      "{any-done} --out {new} --format safetensors"],
    "export phylogeny": ["{any-done}"],
    "evolve roles": ["--history {history} --generations 1 --engine local --population 4",
                     "--resume {evolve_roles-stopped}"],
    "evolve nets": ["--task probe --fixed grazer={policy} --generations 1", "--resume {evolve_nets-stopped}",
                    "--task probe --imitate {policy} --fixed hunter=kin://noop --generations 1"],
    "sweep eval": [f"{EVAL} --slot all={{policy}} --vary world_settings.growth=0.1", "--resume {sweep-stopped}"],
    "sweep train": ["--slot all={policy} --steps 100 --vary world_settings.growth=0.1"],
    "sweep evolve roles": ["--resume {sweep-stopped}"],
    "sweep evolve nets": ["--task probe --fixed grazer={policy} --vary world_settings.growth=0.1"],
}  # fmt: skip

SMALL = {"world_settings": {"max_ticks": 3}, "episodes": 1}
# What is called with each file of a kind; functions that take no file are not listed.
FUNCTIONS = {
    "evaluate": [("policy", lambda file: kf.evaluate("probe", slots={"all": file}, **SMALL))],
    "compare": [("policy", lambda file: kf.compare(
        "kin://noop", file, agent_slot_map={"grazer": "candidate", "hunter": "candidate"}, **SMALL))],
    "round_robin": [("policy", lambda file: kf.round_robin("kin://noop", file, **SMALL))],
    "tournament": [("policy", lambda file: kf.tournament(
        {"a": "kin://noop", "b": file}, world="probe", world_settings={"max_ticks": 3}, games=1,
        isolate="none", sandbox=False))],
    "crossplay": [("policy", lambda file: kf.crossplay(
        {"a": "kin://noop", "b": file}, world="probe", world_settings={"max_ticks": 3}, games=1,
        isolate="none", sandbox=False))],
    "train": [("policy", lambda file: kf.train("probe", slots={"all": file}, steps=100))],
    "exploit": [("policy", lambda file: kf.exploit({"a": file}, steps=100)),
                ("train-done", lambda file: kf.exploit(file, steps=100)),
                ("evolve_nets-done", lambda file: kf.exploit(file, steps=100))],
    "evolve_nets": [("policy", lambda file: kf.evolve_nets("probe", fixed={"grazer": file}, generations=1))],
    "evolve_roles": [("history", lambda file: kf.evolve_roles(
        history=Path(file).read_text(), generations=1, population=4))],
    "evaluate_scenarios": [("scenario", lambda file: kf.evaluate_scenarios(
        "kin://noop", scenarios=["mine"], scenario_file=file, episodes=2))],
    "scenarios": [("scenario", lambda file: kf.scenarios(file))],
    "sweep": [("policy", lambda file: kf.sweep(
        "eval", vary={"world_settings.growth": [0.1]}, slots={"all": file}, **SMALL))],
    "load_policy": [("policy", lambda file: kf.load_policy(file, "probe"))],
    "initialize_or_load_policy": [("policy", lambda file: kf.initialize_or_load_policy(
        kf.make("probe").spec, kf.PolicySpec(file)))],
    "study": [("plan", lambda file: kf.study(file, quick=True))],
    "export_policy": [("any-done", lambda file: kf.export_policy(file, f"{file}.pt"))],
    "load_run": [("any-done", lambda file: kf.load_run(file).frame()),
                 ("any-done", lambda file: kf.load_run(file).frame("agents")),
                 ("any-done", lambda file: kf.load_run(file).plot()),
                 ("any-done", lambda file: kf.load_run(file).plot("populations")),
                 ("any-done", lambda file: kf.load_run(file).show()),
                 ("any-done", lambda file: kf.load_run(file)._repr_html_())],
    "runs": [("folder", lambda file: kf.runs(file).frame()),
             ("folder", lambda file: kf.runs(file, job="evaluate").plot("populations"))],
}  # fmt: skip
WITHOUT_FILES = {
    "build_cogsguard_behavior_hooks", "inject_behavior", "lock_role_name_if_fit", "make", "make_engine",
    "map_role_to_vibe", "materialize_role_behaviors", "metrics", "mutate_role", "pettingzoo",
    "pick_role_id_weighted", "recombine_roles", "record_behavior_score", "record_role_score", "register_env", "register_loss",
    "register_policy", "resolve_tier_order", "sample_role", "trust_files",
    "wrap_agent_policy_in_subprocess",
}  # fmt: skip


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A folder with files of a stranger for each field that can name code, importable from there."""
    with hostile_folder(tmp_path_factory.mktemp("hostile"), is_short=True) as folder:
        yield folder


@pytest.fixture(scope="module")
def hostile_more(tmp_path_factory):
    """The same with all ways of naming code."""
    with hostile_folder(tmp_path_factory.mktemp("hostile"), is_short=False) as folder:
        yield folder


@contextmanager
def hostile_folder(folder, is_short):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(sys, "path", [*sys.path, str(folder)])
        with pytest.MonkeyPatch.context() as without_disk:
            without_disk.setattr(os, "fsync", lambda _: None)
            hostile_files.write_hostile_files(folder, is_short)
            if is_short:
                (folder / "short").touch()
            pack_runs(folder)
        yield folder


def pack_runs(folder):
    """Pack runs of a stranger into capsules, as far as their policies can be found."""
    for path in sorted(folder.glob("*-done")):
        with suppress(KinfolkError):
            pack_capsule(open_run(path), folder / f"{path.name}.zip")


_numbers = count()


def take_marker(folder):
    """Return whether the stranger's code was imported, and forget it."""
    loaded = [name for name in sys.modules if name.startswith(hostile_files.MODULE)]
    for name in loaded:
        del sys.modules[name]
    was_there = (folder / "marker").exists()
    (folder / "marker").unlink(missing_ok=True)
    return was_there or bool(loaded)


_numbers = count()


def list_files(folder, kind, command=""):
    """Return the files of a kind; without `more`, commands that do not play get some of the runs."""
    if kind == "any-done" and (folder / "short").exists() and command != "rerun":
        return sorted(map(str, {*folder.glob("evaluate-*-done"), *folder.glob("*-0-done")}))
    if kind == "policy":
        return [f"file:{path}" for path in hostile_files.list_policy_files(folder)]
    patterns = {"plan": "plan-*", "history": "history*", "scenario": "scenario-*", "capsule": "*.zip",
                "any-done": "*-done", "replay": "play-0-done/replays/*", "folder": "../" + folder.name}  # fmt: skip
    name = kind.replace("-done", "-[0-9]*-done").replace("-stopped", "-[0-9]*-stopped")
    files = sorted(map(str, folder.glob(patterns.get(kind, name))))
    assert files, kind
    return files


def run(capsys, *words):
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    return ended.value.code, capsys.readouterr().err


def run_command(capsys, folder, command, words, *options):
    """Run a command with every file of the kind that its words name; yield what it said of each."""
    kinds = [kind for kind in re.findall(r"{([\w-]+)}", words) if kind != "new"]
    assert len(kinds) == 1
    for file in list_files(folder, kinds[0], command):
        new = str(folder / f"new-{next(_numbers)}")
        filled = [
            word.replace("{new}", new).replace(f"{{{kinds[0]}}}", file) for word in words.split()
        ]
        if command in JOB_COMMANDS and "--resume" not in filled:
            filled += ["--out", new]
        yield filled, *run(capsys, *command.split(), *filled, *options)


def list_commands(command, path=()):
    """Yield the names of all commands of the command line."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield " ".join(path)
        return
    for name, each in inner.items():
        yield from list_commands(each, (*path, name))


JOB_COMMANDS = ("play", "eval", "compare", "tournament", "crossplay", "train", "exploit", "evolve roles",
                "evolve nets", "sweep eval", "sweep train", "sweep evolve nets")  # fmt: skip
CASES = [(command, words) for command, cases in COMMANDS.items() for words in cases]
# Cases that play, and so import what a trusted file names.
PLAYING = {
    ("eval", COMMANDS["eval"][0]), ("eval", COMMANDS["eval"][1]), ("eval", "--resume {evaluate-stopped}"),
    ("eval", COMMANDS["eval"][-1]), ("play", COMMANDS["play"][0]), ("rerun", "{any-done}"),
    ("rerun", "{any-done} --engine processes --jobs 1"), ("verify", "{capsule}"),
    ("study", "{plan} --check"), ("plot", "{any-done} --kind populations"),
    ("view", "{any-done} --episode 0 --export {new}.html"), ("export phylogeny", "{any-done}"),
    ("export metrics", "{any-done} --table agents"), ("exploit", "{train-done} --steps 100"),
}  # fmt: skip
CALLS = [(name, *call) for name, calls in FUNCTIONS.items() for call in calls]


def test_every_command_and_every_function_is_walked():
    assert {*COMMANDS} == {*list_commands(typer.main.get_command(app))}
    functions = {name for name in dir(kf) if inspect.isfunction(getattr(kf, name))}
    assert {*FUNCTIONS} | WITHOUT_FILES == functions


@pytest.mark.parametrize(("command", "words"), CASES)
def test_no_command_imports_what_a_file_names(hostile, capsys, command, words):
    walk_command(capsys, hostile, command, words)


@pytest.mark.more
@pytest.mark.train
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("command", "words"), CASES)
def test_no_command_imports_code_however_it_is_named(hostile_more, capsys, command, words):
    walk_command(capsys, hostile_more, command, words)


def walk_command(capsys, folder, command, words):
    for filled, code, said in run_command(capsys, folder, command, words):
        assert not take_marker(folder), (command, filled, code, said)


@pytest.mark.parametrize(("name", "kind", "call"), CALLS)
def test_no_function_imports_what_a_file_names(hostile, name, kind, call):
    call_function(hostile, kind, call)


@pytest.mark.more
@pytest.mark.train
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("name", "kind", "call"), CALLS)
def test_no_function_imports_code_however_it_is_named(hostile_more, name, kind, call):
    call_function(hostile_more, kind, call)


def call_function(folder, kind, call):
    for file in list_files(folder, kind):
        with suppress(Exception):  # their events are those of another job
            call(file)
        assert not take_marker(folder), file


@pytest.mark.parametrize(
    ("command", "words"),
    [(command, words) for command, words in CASES if (command, words) in PLAYING],
)
def test_with_trust_the_same_files_name_code(hostile, capsys, command, words):
    for filled, _, said in run_command(capsys, hostile, command, words, "--trust"):
        if take_marker(hostile):
            return
        assert "names the code" not in said, filled
    pytest.fail("none of the files was followed")


def test_what_a_user_types_may_name_code(hostile, capsys):
    words = ["eval", "--set", "max_ticks=3", "--episodes", "1", "--out", hostile / "typed"]
    code, said = run(capsys, *words, "--slot", f"all=class:{hostile_files.MODULE}.Policy")
    assert (code, take_marker(hostile)) == (0, True), said


def test_the_message_names_the_file_the_code_and_what_would_be_right(hostile, capsys):
    file = hostile_files.list_policy_files(hostile)[0]
    code, said = run(capsys, "eval", "--slot", f"all=file:{file}", "--out", hostile / "refused")
    assert (code, (hostile / "refused").exists()) == (2, False)
    assert said.startswith(
        f"{file} names the code 'stranger_code.Policy', which is no policy or world of kinfolk and would run "
        "with your rights. If you trust it, add --trust (in Python: with kf.trust_files()). "
    )


def test_a_table_of_episodes_needs_no_code_and_one_of_agents_does(hostile, capsys):
    [run_of_world] = [
        path for path in hostile.glob("evaluate-*-done")
        if kf.load_run(path).settings["world"] == hostile_files.WORLDS[0]
    ]  # fmt: skip
    assert run(capsys, "export", "metrics", run_of_world)[0] == 0
    assert len(kf.load_run(run_of_world).table("episodes")["episode"]) == 2
    assert run(capsys, "export", "metrics", run_of_world, "--table", "agents")[0] == 2
    with pytest.raises(UntrustedCodeError, match=r"names the code 'stranger_code\.World'"):
        kf.load_run(run_of_world).table("agents")
    with kf.trust_files():
        assert len(kf.load_run(run_of_world).table("agents")["group"]) > 0
    assert take_marker(hostile)


def test_a_policy_file_runs_in_a_sandbox_that_the_user_asks_for(hostile, capsys):
    try:
        require_sandbox()
    except KinfolkError as error:
        pytest.skip(str(error))
    file = hostile_files.list_policy_files(hostile)[0]
    words = [*EVAL.split(), "--slot", f"all=file:{file}", "--sandbox", "--isolate", "slot"]
    readable = ["--sandbox-read", hostile / "stranger_code.py"]
    code, said = run(capsys, "eval", *words, *readable, "--out", hostile / "boxed")
    [event] = [e for e in kf.load_run(hostile / "boxed").events() if e["kind"] == "episode_played"]
    [failure] = event["failures"]  # it was imported there, and could not write its marker
    assert "marker" in failure["message"], (code, said)


def get_source(_):
    """Return the file whose words are followed, as a task of an engine."""
    return get_untrusted_source()


@pytest.mark.parametrize("name", ["local", "processes"])
def test_engines_tell_their_workers_whose_words_they_follow(name):
    engine = kf.make_engine(name, 1)
    try:
        with untrusted("a.run"):
            assert list(engine.map(get_source, [0])) == ["a.run"]
        assert list(engine.map(get_source, [0])) == [None]
    finally:
        engine.close()


def test_a_file_cannot_say_that_it_is_trusted():
    with untrusted("a.run"), trust_files():
        assert get_untrusted_source() == "a.run"
    with trust_files(), untrusted("a.run"):
        assert get_untrusted_source() is None
    assert get_untrusted_source() is None


LEARNING = "kin://roles?evolution=1"


def test_no_file_says_where_a_history_is_written(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    game = ["--world", "cogsguard", "--set", "max_steps=3", "--episodes", "1"]
    assert run(capsys, "eval", *game, "--slot", f"all={LEARNING}", "--out", "one")[0] == 0
    stored = open_run(tmp_path / "one").config
    settings = {**stored["settings"], "slots": {"all": f"{LEARNING}&history={tmp_path}/new.json"}}
    write_run_settings(tmp_path / "one", "evaluate", settings)
    pack_capsule(open_run(tmp_path / "one"), tmp_path / "one.zip")
    path = "kinfolk.policies.scripted.cogsguard.evolved_roles:EvolvingRolePolicy"
    policy = PolicyFile(path, {"history": f"{tmp_path}/new.json"}, {})
    write_policy(tmp_path / "policy.safetensors", policy)
    by_file = ["eval", *game, "--slot", "all=file:policy.safetensors", "--out", "two"]
    for words in (["rerun", "one"], ["verify", "one.zip"], by_file):
        code, said = run(capsys, *words)
        assert (code, (tmp_path / "new.json").exists()) == (2, False)
        assert f"names the file '{tmp_path}/new.json', which would be written" in said
    assert run(capsys, "rerun", "one", "--trust")[0] == 0
    assert (tmp_path / "new.json").exists()


def test_workers_that_keep_their_worlds_are_told_whose_words_they_follow():
    engine = kf.make_engine("processes", 2)
    workers = ChunkWorkers(engine, WorldRef("probe"), 2)
    workers._pinned = [ProcessEngine(1)]  # as for worlds that cannot be copied
    try:
        with untrusted("a.run"):
            assert list(workers.map(get_source, [0, 1])) == ["a.run", "a.run"]
    finally:
        workers.close()
        engine.close()
