"""`kinfolk compare` takes the isolation, limit, replay and resume options of `kinfolk eval`."""

import gzip
import json

import pytest

from kinfolk.cli.app import main
from kinfolk.core.settings import fields_of
from kinfolk.isolation.sandbox import support as sandbox
from kinfolk.jobs import Compare, Evaluate, RoundRobin

RULES = ["--set", "max_ticks=4", "--episodes", "3", "--chunk-size", "1"]
EVERYBODY = ["--map", "grazer=candidate", "--map", "hunter=candidate"]
MODES = {"compare": EVERYBODY, "round_robin": ["--round-robin"]}


def run(capsys, *words):
    with pytest.raises(SystemExit) as left:
        main(list(words))
    return left.value.code, capsys.readouterr()


def test_every_setting_of_an_evaluation_is_one_of_a_comparison():
    asked = {field.name for field in fields_of(Evaluate)}
    assert asked <= {field.name for field in fields_of(Compare)}
    assert asked <= {field.name for field in fields_of(RoundRobin)}


def test_every_flag_of_eval_but_plots_and_scenarios_is_one_of_compare(capsys):
    helps = [run(capsys, command, "--help")[1].out.split() for command in ("eval", "compare")]
    flags = [{word.rstrip(".,") for word in text if word.startswith("--")} for text in helps]
    assert flags[0] - flags[1] == {"--plot", "--scenario", "--scenario-file"}
    assert {"--sandbox", "--memory-limit", "--replay", "--resume", "--parallel-policy"} <= flags[1]


@pytest.mark.parametrize("mode", list(MODES))
def test_a_stopped_comparison_is_resumed_to_the_same_bytes(capsys, tmp_path, monkeypatch, mode):
    monkeypatch.chdir(tmp_path)
    words = ["compare", "kin://random", "kin://noop", *RULES, *MODES[mode]]
    whole = run(capsys, *words, "--out", "whole")[1].out
    assert run(capsys, *words, "--out", "stopped")[0] == 0
    # As if it had been killed after its first checkpoint: the log goes on behind it.
    folder = tmp_path / "stopped"
    packed = folder / "events.jsonl.gz"
    (folder / "events.jsonl").write_bytes(gzip.decompress(packed.read_bytes())[:-7])
    packed.unlink()
    for checkpoint in sorted((folder / "checkpoints").iterdir())[1:]:
        checkpoint.unlink()
    code, said = run(capsys, "compare", "--resume", "stopped")
    assert (code, said.out.replace("stopped", "whole")) == (0, whole)
    assert packed.read_bytes() == (tmp_path / "whole" / packed.name).read_bytes()
    code, said = run(capsys, "compare", "--resume", "stopped", "--json")
    assert (code, json.loads(said.out)["run"]) == (0, "stopped"), "a finished run is shown again"


def test_what_does_not_go_with_resume_is_refused(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    uris = ["kin://random", "kin://noop"]
    assert run(capsys, "compare", *uris, *RULES, *EVERYBODY, "--out", "run")[0] == 0
    for words, message in (
        (uris, "--resume continues with the run's own settings; give no others with it.\n"),
        (["--round-robin"], "run is no round robin; resume it without --round-robin.\n"),
    ):
        code, said = run(capsys, "compare", *words, "--resume", "run")
        assert (code, said.err) == (2, message)
    code, said = run(capsys, "eval", "--resume", "run")
    assert (code, said.err) == (2, "run is a run of compare; its own command resumes it.\n")


@pytest.mark.parametrize("mode", list(MODES))
@pytest.mark.parametrize(
    "wrong",
    [
        ["kin://random", "kin://nop"],
        ["kin://random", "class:nix.Policy"],
        ["kin://random", "kin://noop", "--world", "prob"],
        ["kin://random", "kin://noop", "--sandbox", "--isolate", "none"],
    ],
)
def test_wrong_policies_worlds_and_options_leave_no_folder(
    capsys, tmp_path, monkeypatch, mode, wrong
):
    monkeypatch.chdir(tmp_path)
    code, said = run(capsys, "compare", *wrong, *MODES[mode], "--out", "run")
    assert (code, said.out) == (2, "")
    assert said.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_misspelt_metric_leaves_no_folder(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    uris = ["kin://random", "kin://noop"]
    code, said = run(capsys, "compare", *uris, *EVERYBODY, "--metric", "birth", "--out", "run")
    assert (code, said.err[:54]) == (2, "There is no metric 'birth'. Did you mean 'births'? Kno")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mode", list(MODES))
def test_the_sandbox_says_what_it_enforces_and_strict_refuses_less(
    capsys, tmp_path, monkeypatch, mode
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sandbox, "list_unsupported", lambda: ["no magic"])
    words = ["compare", "kin://random", "kin://noop", *RULES, *MODES[mode], "--isolate", "slot"]
    code, said = run(capsys, *words, "--sandbox", "--json", "--out", "run")
    assert code == 0
    assert "Sandbox: this machine CANNOT enforce: no magic.\n" in said.err
    assert json.loads(said.out)["sandbox"]["requested"] is True
    assert json.loads(said.out)["sandbox"]["not_enforced"] == ["no magic"]
    code, said = run(capsys, *words, "--sandbox", "--strict", "--out", "strict")
    assert code == 2
    assert said.err.endswith("This machine cannot enforce: no magic. --strict asks for it.\n")
    assert not (tmp_path / "strict").exists()


HANGING = """
import time

from kinfolk.policies.base import NoopPolicy


class Hanging(NoopPolicy):
    calls = 0  # the first one may take as long as the start

    def act_async(self, observations, rows, memory, keys):
        self.calls += 1
        time.sleep(60 * (self.calls > 1))
        super().act_async(observations, rows, memory, keys)
"""


@pytest.mark.parametrize("mode", list(MODES))
def test_limits_hold_and_the_policy_that_broke_them_is_named(capsys, own_module, mode):
    uri = f"class:{own_module(HANGING)}.Hanging"
    words = ["compare", "kin://noop", uri, *MODES[mode], "--set", "max_ticks=4", "--episodes", "1"]
    code, said = run(capsys, *words, "--isolate", "slot", "--step-timeout", "0.3", "--json")
    assert code == 1
    document = json.loads(said.out)
    assert {(r["uri"], r["cause"]) for r in document["failure_records"]} == {(uri, "timeout")}
    assert document["failures"][0] == 0
    assert f"{uri} " in said.err.splitlines()[-1]


MINE = "from kinfolk.policies.base import NoopPolicy\nclass Mine(NoopPolicy):\n    pass\n"


@pytest.mark.parametrize("command", ["eval", "compare", "round_robin"])
def test_a_run_is_not_resumed_with_a_policy_that_has_changed(
    capsys, tmp_path, monkeypatch, command
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    source = tmp_path / f"mine_{command}.py"
    source.write_text(MINE)
    uri = f"class:mine_{command}.Mine"
    words = {
        "eval": ["eval", "--slot", f"all={uri}"],
        "compare": ["compare", uri, "kin://noop", *EVERYBODY],
        "round_robin": ["compare", uri, "kin://noop", "--round-robin"],
    }[command]
    assert run(capsys, *words, *RULES, "--out", "run")[0] == 0
    packed = tmp_path / "run" / "events.jsonl.gz"
    (tmp_path / "run" / "events.jsonl").write_bytes(gzip.decompress(packed.read_bytes()))
    saved = packed.read_bytes()
    packed.unlink()  # as if it had been stopped
    source.write_text(MINE + "# edited\n")
    code, said = run(capsys, words[0], "--resume", "run")
    assert (code, said.err) == (
        2,
        f"run cannot be resumed: mine_{command}.Mine changed since it was started, so that its episodes would be of "
        "different policies. Restore the old files, or start a new run.\n",
    )
    source.write_text(MINE)
    assert run(capsys, words[0], "--resume", "run", "--trust")[0] == 0
    assert packed.read_bytes() == saved
    source.write_text(MINE + "# edited\n")
    assert run(capsys, words[0], "--resume", "run", "--trust")[0] == 0, (
        "a finished run is only shown"
    )


def test_sandbox_read_accumulates_and_names_slots_that_exist(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("one", "two", "three"):
        (tmp_path / name).write_text("")
    words = ["eval", "--slot", "all=kin://noop", *RULES, "--sandbox-read", "one,two"]
    code, said = run(capsys, *words, "--sandbox-read", "all=three", "--json", "--out", "run")
    assert code == 0
    assert json.loads(said.out)["settings"]["sandbox_read"] == ["one", "two", "all=three"]
    code, said = run(capsys, *words, "--sandbox-read", "al=three", "--out", "wrong")
    assert (code, said.err) == (
        2,
        "--sandbox-read al=three: there is no slot 'al'. Did you mean 'all'? Known: all. A path with '=' "
        "is written ./al=three\n",
    )
