"""Flags, files and lists of settings come from the settings models."""

import importlib.util
import json
from pathlib import Path

import pytest
import typer

from kinfolk.cli.app import app, main
from kinfolk.cli.flags import flag_name, parse_flag
from kinfolk.core.settings import Flag, SettingField, fields_of
from kinfolk.jobs import JOB_SETTINGS
from kinfolk.jobs.studies.settings import iterate_plan_keys
from kinfolk.worlds import WORLDS

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = ["play", "explain", "eval", "compare", "tournament", "crossplay", "train", "exploit",
            "evolve-roles", "evolve-nets"]  # fmt: skip


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """A command in an empty folder: its exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def play(*words):
        with pytest.raises(SystemExit) as left:
            main(list(words))
        said = capsys.readouterr()
        return left.value.code, said.out, said.err

    return play


def options_of(command):
    group = typer.main.get_command(app)
    for word in command.split("-"):
        group = group.commands[word]
    found = group.get_params(typer.Context(group))
    return {name: one for one in found for name in (*one.opts, *one.secondary_opts)}


def models():
    worlds = {name: WORLDS.load(name).settings_type for name in WORLDS}
    return {name: JOB_SETTINGS.load(name) for name in JOB_SETTINGS} | worlds


def test_every_job_with_settings_is_a_command():
    assert sorted(JOB_SETTINGS) == sorted([*COMMANDS, "scenarios"])  # by eval --scenario


@pytest.mark.parametrize("command", COMMANDS)
def test_every_setting_of_a_job_is_a_flag_described_by_its_model(command):
    options = options_of(command)
    own = "history" if command == "evolve-roles" else "policies"  # parameters of their own
    for field in fields_of(JOB_SETTINGS.load(command)):
        if field.table is None and field.name != own:
            assert options[flag_name(field)].help.startswith(field.description)


@pytest.mark.parametrize("command", COMMANDS[2:])
def test_every_job_has_the_common_options(command):
    common = {"--config", "--out", "--engine", "--jobs", "--address", "--json"}
    assert common <= set(options_of(command))


def test_the_flags_that_users_know_are_there():
    known = {
        "eval": "--world --preset --slot --map --set --episodes --seed --isolate --parallel-policy "
        "--step-timeout --on-failure --max-restarts --max-processes --memory-limit --cpu-limit "
        "--strict --sandbox --inherit-slot --replay --resume --plot",
        "evolve-roles": "--world --generations --games-per-generation --population --trigger --seed "
        "--resume --history --n-teams --role-counts --control --catalog --eval-games --replay-every",
        "evolve-nets": "--task --net --algorithm --population --generations --inherit --adversarial "
        "--matches --archive --hidden --fixed --rival --fitness --goal --goal-of --zero-init",
        "train": "--world --slot --map --steps --seed --worlds --rollout-length --target-score",
        "compare": "--world --slot --map --set --metric --round-robin --episodes --isolate",
    }
    for command, flags in known.items():
        assert set(flags.split()) <= set(options_of(command)), command


@pytest.mark.parametrize("name", [*JOB_SETTINGS, *WORLDS])
def test_every_setting_has_a_line_of_meaning(name):
    for field in fields_of(models()[name]):
        assert field.description.endswith("."), field.name
        assert "\n" not in field.description
        assert len(field.description) <= 100, field.name


def test_the_keys_of_a_plan_are_listed_with_type_default_and_meaning(run):
    code, out, _ = run("settings", "study")
    assert code == 0
    for lines in (
        "  stopping_rule: text; required\n      When the study ends, whatever the results.\n",
        "  hypotheses.contrast: list of table; default []\n      Weighted means of conditions, added up: a list of "
        "tables with weight and when.\n",
        "  metrics.NAME.divided_by: text or none; default none\n      Column by which the column, or the "
        "difference, is divided.\n",
        "  quick.seeds: integer; default 2; at least 2\n      Number of seeds, 0 to this minus 1.\n",
    ):
        assert lines in out
    code, out, _ = run("settings", "study", "seed", "offset")
    assert out == (
        "study\n  stages.NAME.seed_offset: integer; default 0; at least 0\n      Added to the seed of the study, "
        "for episodes not trained on.\n"
    )
    for key in iterate_plan_keys():
        assert key.description.endswith("."), key.name
        assert len(key.description) <= 100, key.name


def test_help_shows_meaning_default_and_bounds(run):
    code, out, _ = run("eval", "--help")
    text = " ".join(out.split())
    assert code == 0
    assert "--episodes INTEGER Number of episodes to play. [100; at least 1]" in text
    assert "--isolate none|slot|agent Processes for policies:" in text
    assert "--slot ID=URI " in text
    assert "--strict / --no-strict " in text


def field(annotation, optional=False, **flag):
    return SettingField(("size",), annotation, optional, False, None, "", "", Flag(**flag))


@pytest.mark.parametrize(
    ("setting", "given", "value"),
    [
        (field(int), "4", 4),
        (field(int), "many", "many"),  # the model says what is wrong with it
        (field(float), "1e-3", 0.001),
        (field(str), "4", "4"),
        (field(bool), False, False),
        (field(int, optional=True), "none", None),
        (field(tuple[int, ...]), "32,16", [32, 16]),
        (field(tuple[int, ...]), "none", []),
        (field(tuple[str, ...]), "env,mem", ["env", "mem"]),
        (field(dict[str, str]), ["a=kin://x?y=1"], {"a": "kin://x?y=1"}),
        (field(dict[str, dict]), ["a.b=1", "c=[2]"], {"a": {"b": 1}, "c": [2]}),
        (field(dict[str, object] | tuple[object, ...]), ["prey=herd"], {"prey": "herd"}),
        (field(dict[str, object] | tuple[object, ...]), ["a,a,b"], ["a", "a", "b"]),
        (field(tuple[object, ...], metavar="A..B"), "1..2", "1..2"),  # the model reads it
    ],
)
def test_flags_become_plain_values(setting, given, value):
    assert parse_flag(setting, given) == value


def test_a_file_holds_settings_of_any_job_and_flags_override_it(run, tmp_path):
    (tmp_path / "mine.toml").write_text(
        'episodes = 3\nseed = 5\nstrict = true\n[slots]\nall = "kin://noop"\n'
    )
    words = ["eval", "--config", "mine.toml", "--episodes", "2", "--no-strict", "--json"]
    code, out, _ = run(*words)
    kept = json.loads(out)["settings"]
    assert code == 0
    assert [kept[name] for name in ("episodes", "seed", "strict", "slots")] == [
        2, 5, False, {"all": "kin://noop"}
    ]  # fmt: skip


def test_a_file_holds_a_comparison(run, tmp_path):
    (tmp_path / "pair.toml").write_text(
        'policies = ["kin://noop", "kin://noop"]\nepisodes = 2\n'
        'agent_slot_map = {grazer = "candidate", hunter = "candidate"}\n'
    )
    code, out, _ = run("compare", "--config", "pair.toml", "--json")
    assert code == 0
    assert json.loads(out)["policies"] == ["kin://noop", "kin://noop"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["eval", "--episodes", "many"], "Evaluate.episodes must be a whole number, not 'many'."),
        pytest.param(["train", "--ppo.clip-range", "-1"],
                     "Train.ppo.clip_range must be greater than 0.0, not -1.",
                     marks=pytest.mark.train),
        (["settings", "savana"],
         "No world or job is named 'savana'. Did you mean 'savanna'? Known: play, explain, eval, "
         "scenarios, compare, tournament, crossplay, train, exploit, evolve-roles, evolve-nets, study, savanna, cogsguard, gym:CartPole-v1, probe."),
    ],
)  # fmt: skip
def test_wrong_settings_are_refused_in_a_sentence(words, sentence, run):
    assert run(*words) == (2, "", sentence + "\n")


def test_settings_lists_type_default_bounds_and_meaning(run):
    code, out, _ = run("settings", "probe")
    assert code == 0
    assert "  cells: integer; default 12; at least 3\n      Cells of the ring.\n" in out
    code, out, _ = run("settings", "evolve", "roles", "--json")
    [trigger] = [s for s in json.loads(out)["settings"] if s["name"] == "trigger"]
    assert trigger == {
        "name": "trigger",
        "type": "cadence | temple",
        "default": "cadence",
        "required": False,
        "bounds": "",
        "choices": ["cadence", "temple"],
        "description": "When roles evolve: between games (cadence), or at births in the temple.",
    }


def test_words_behind_the_name_choose_settings_by_name_or_meaning(run):
    code, out, _ = run("settings", "evolve", "roles", "temple", "BIRTHS")
    assert code == 0
    assert [line.split(":")[0] for line in out.splitlines()[1::2]] == ["  trigger"]
    code, out, _ = run("settings", "probe", "ring", "--json")
    assert [s["name"] for s in json.loads(out)["settings"]] == ["cells"]
    assert run("settings", "probe", "wolves") == (
        2, "", "No setting of probe has 'wolves' in its name or meaning.\n"
    )  # fmt: skip


def test_words_behind_a_world_choose_metrics(run):
    code, out, _ = run("metrics", "savanna", "lifetime", "prey", "--json")
    assert code == 0
    assert json.loads(out) == [
        {
            "name": "mean_lifetime_prey",
            "unit": "ticks",
            "definition": "ticks that an agent of the species prey lived, mean over the lives of an "
            "episode; a life that its end cut off counts as long as it lasted",
        }
    ]
    assert run("metrics", "probe", "wolves") == (
        2, "", "No metric of probe has 'wolves' in its name or meaning.\n"
    )  # fmt: skip


def test_a_table_takes_its_defaults_from_the_job(run):
    settings = json.loads(run("settings", "evolve-roles", "--json")[1])["settings"]
    [rate] = [s for s in settings if s["name"] == "evolution.parameter_rate"]
    assert rate["default"] == 0.4, "not the 0 of EvolutionConfig itself"


def test_settings_without_a_name_lists_names(run):
    found = json.loads(run("settings", "--json")[1])
    assert list(found) == ["jobs", "worlds"]
    assert list(found["jobs"]) == sorted([*COMMANDS, "scenarios", "study"])


def test_generated_files_are_current():
    place = ROOT / "docs" / "reference" / "generate.py"
    spec = importlib.util.spec_from_file_location("generate", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for path, text in module.generated().items():
        assert (ROOT / path).read_text() == text, f"run python {place.relative_to(ROOT)}: {path}"
