"""What every command has: a version, quiet, shell completion; and what `doctor` finds out."""

import json
import subprocess
import sys
from importlib.metadata import version

import pytest

from kinfolk.cli.app import main
from kinfolk.cli.commands import doctor as doctor_module
from kinfolk.isolation.sandbox import bubblewrap, landlock


def test_the_version_is_told_without_loading_anything_heavy():
    script = (
        "import sys\nfrom kinfolk.cli.app import main\n"
        "try:\n    main(['--version'])\nexcept SystemExit as left:\n    assert left.code == 0\n"
        "print(sorted({'torch', 'numba', 'numpy', 'ray', 'pydantic', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == f"kinfolk {version('kinfolk')}\n[]\n", done.stderr


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


@pytest.mark.parametrize("place", ["first", "last", "short"])
def test_quiet_leaves_results_and_errors_only(run, place):
    words = ["eval", "--slot", "all=kin://noop", "--slot", "idle=kin://noop"]
    words += ["--episodes", "4", "--replay", "1", "--out", "kept"]
    quiet = {"first": ["--quiet", *words], "last": [*words, "--quiet"], "short": ["-q", *words]}
    code, out, err = run(*quiet[place])
    assert (code, err) == (0, "")
    assert "probe: 4 episodes of seed 0" in out
    assert "The run lies in kept" in out, "where results are is a result"
    assert "Watch it" not in out
    code, out, err = run("-q", "eval", "--world", "prob")
    assert (code, out) == (2, "")
    assert err.startswith("No world is named 'prob'. Did you mean 'probe'?")


def test_without_quiet_there_is_progress_and_a_hint_and_quiet_does_not_last(run):
    run("-q", "worlds")
    words = ["eval", "--slot", "all=kin://noop", "--slot", "idle=kin://noop"]
    code, out, err = run(*words, "--episodes", "4", "--replay", "1", "--out", "kept")
    assert code == 0
    assert "Slot 'idle' plays nobody: no --map GROUP=idle was given." in err
    assert "Episodes: 4 of 4" in err
    assert "Watch it: kinfolk view kept" in out


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("eval --world sa", ["savanna"]),
        ("eval --world cogsguard --preset ed", ["edition_a", "edition_a_machina_1"]),
        ("eval --slot pack=kin://hu", ["pack=kin://hunter"]),
        ("compare kin://gr", ["kin://grazer", "kin://gru"]),
        ("eval --engine p", ["processes"]),
        ("view ru", ["runs/first"]),
        ("evolve ro", ["roles"]),
    ],
)  # fmt: skip
def test_a_shell_completes_names(line, offered, run, tmp_path, monkeypatch):
    (tmp_path / "runs" / "first").mkdir(parents=True)
    about = {"format": 1, "job": "play", "settings": {}}
    (tmp_path / "runs" / "first" / "settings.json").write_text(json.dumps(about))
    monkeypatch.setenv("_KINFOLK_COMPLETE", "complete_fish")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", f"kinfolk {line}")
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    code, out, err = run()
    assert (code, err) == (0, "")
    assert [one.partition("\t")[0] for one in out.splitlines()] == offered


def test_the_script_for_a_shell_is_shown(run, monkeypatch):
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    code, out, _ = run("--show-completion", "bash")
    assert code == 0
    assert "_KINFOLK_COMPLETE=complete_bash" in out


def test_doctor_knows_sandbox_and_helper_programs(run):
    found = json.loads(run("doctor", "--json")[1])
    assert {"bubblewrap", "landlock", "seccomp", "ffmpeg", "browser"} <= set(found)
    assert set(found["missing"]) <= set(found)
    assert all(found[name] in (None, False, 0) for name in found["missing"])


def test_doctor_says_what_is_lost_without_a_program_and_how_to_get_it(run, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.setattr(landlock, "landlock_abi_version", lambda: 0)
    bubblewrap.explain_unusable.cache_clear()
    monkeypatch.setattr(doctor_module, "_seccomp_works", lambda: False)
    monkeypatch.setattr(
        doctor_module, "_find_version", lambda name: None if name == "ray" else "1.0"
    )
    lines = [line.strip() for line in run("doctor")[1].splitlines()]
    bubblewrap.explain_unusable.cache_clear()
    told = {line.split("  ")[0]: line.split("  ")[-1].strip() for line in lines if "  " in line}
    assert told["ffmpeg"] == "not installed: no mp4 export (gif works). Debian: apt install ffmpeg"
    assert told["browser"] == (
        "not installed: no png, gif or mp4 of runs. Debian: apt install chromium"
    )
    assert told["bubblewrap"] == (
        "no --sandbox: bubblewrap is not installed (its package is called bubblewrap). "
        "Debian: apt install bubblewrap"
    )
    assert told["landlock"] == (
        "not in this kernel: --sandbox lacks one of its layers, and --strict refuses it. "
        "Linux 5.13 or newer has it"
    )
    assert told["seccomp"] == (
        "does not work here: no --sandbox. "
        "It needs Linux on x86_64 or aarch64, outside a container that forbids filters"
    )
    assert told["ray"] == "not installed: no --engine ray. pip install 'kinfolk[ray]'"


@pytest.mark.parametrize(
    ("code", "reason"),
    [(0, ""), (1, "bubblewrap does not work here: No permissions to create namespace")],
)
def test_bubblewrap_is_really_tried(code, reason, monkeypatch):
    tried = []

    def run(words, **options):
        tried.append(words)
        error = "bwrap: version\nNo permissions to create namespace\n"
        return subprocess.CompletedProcess(words, code, "", error)

    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr("subprocess.run", run)
    bubblewrap.explain_unusable.cache_clear()
    assert bubblewrap.explain_unusable() == reason
    bubblewrap.explain_unusable.cache_clear()
    [words] = tried
    assert (words[0], words[-5:]) == ("/usr/bin/bwrap", ["--ro-bind", "/", "/", "--", "true"])
    assert {"--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"} <= set(words)
