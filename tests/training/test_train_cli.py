"""`kinfolk train` as its users meet it, in this process."""

import json
import re

import pytest

from kinfolk.cli.app import main
from kinfolk.core.errors import UsageError
from kinfolk.policies.resolve import resolve

pytestmark = pytest.mark.train
TINY = ["--world", "probe", "--worlds", "2", "--rollout-length", "8", "--slot", "main=kin://mlp?hidden=[16]",
        "--checkpoint-every", "1", "--ppo.minibatch-size", "64"]  # fmt: skip


@pytest.fixture
def kinfolk(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*words):
        with pytest.raises(SystemExit) as left:
            main([str(word) for word in words])
        out, err = capsys.readouterr()
        return left.value.code, out, err

    return call


def test_train_resume_and_play(kinfolk, tmp_path):
    code, out, err = kinfolk("train", *TINY, "--steps", "400", "--out", "one", "--json")
    assert code == 0, err
    document = json.loads(out)
    assert document["result"]["reason"] == "steps"
    assert document["result"]["step"] >= 400
    assert document["settings"]["ppo"]["minibatch_size"] == 64
    assert "Steps: 400 of 400" in err
    code, out, err = kinfolk("train", "--resume", "one")
    assert code == 0, err
    assert "stopped by steps" in out
    assert "play it as run:one@latest" in out, "no episode has ended, so there is no best score"
    code, out, err = kinfolk("eval", "--slot", "all=run:one@latest", "--episodes", "2", "--json")
    assert code == 0, err
    assert json.loads(out)["settings"]["slots"] == {"all": "run:one@latest"}


def test_settings_from_a_file_and_figures_for_tensorboard(kinfolk, tmp_path):
    pytest.importorskip("tensorboard", reason="TensorBoard is an optional sink.")
    (tmp_path / "mine.toml").write_text(
        'world = "probe"\nworlds = 2\nrollout_length = 8\nsteps = 100\n[slots]\n'
        'herd = "kin://mlp?hidden=[16]"\nnpc = { policy_uri = "kin://noop", trainable = false }\n'
        '[agent_slot_map]\nhunter = "npc"\n'
    )
    code, out, err = kinfolk("train", "mine.toml", "--out", "two", "--tensorboard")
    assert code == 0, err
    assert "herd" in out
    assert list((tmp_path / "two" / "tensorboard").glob("events*"))


def test_mistakes_are_reported_and_leave_no_folder(kinfolk, tmp_path):
    code, _, err = kinfolk("train", "--world", "probe", "--slot", "a=kin://random", "--out", "x")
    assert (code, err) == (
        2,
        "Slot 'a' is trainable, and kin://random is not a net that can be trained. Use kin://mlp, "
        "kin://conv, kin://gru or kin://net, or set trainable = false.\n",
    )
    assert not (tmp_path / "x").exists()
    code, _, err = kinfolk("train", "--resume", "one", "--steps", "3")
    assert (code, err) == (
        2,
        "--resume continues with the run's own settings; give no others with it.\n",
    )


def test_a_damaged_checkpoint_says_what_can_be_done(kinfolk, tmp_path):
    assert kinfolk("train", *TINY, "--steps", "600", "--out", "one")[0] == 0
    folder = tmp_path / "one"
    packed = folder / "events.jsonl.gz"
    import gzip

    (folder / "events.jsonl").write_bytes(gzip.decompress(packed.read_bytes()))
    packed.unlink()
    last = sorted((folder / "checkpoints").iterdir())[-1]
    last.write_bytes(last.read_bytes()[:500])
    code, _, err = kinfolk("train", "--resume", "one")
    assert code == 1
    older = sorted((folder / "checkpoints").iterdir())[-2].name
    removed = f"one/checkpoints/{last.name}"
    assert err.endswith(f"To resume from the intact {older}, remove {removed}.\n")
    code, _, err = kinfolk("train", "--resume", "one", "--previous-checkpoint")
    assert code == 0, err
    assert f"The damaged checkpoint {last.name} was removed." in err


SIDES = """
world = "probe"
worlds = 2
rollout_length = 40
steps = 1200
checkpoint_every = 1
stats_window = 2
[slots]
herd = "kin://mlp?hidden=[16]"
pack = "kin://mlp?hidden=[16]"
[agent_slot_map]
hunter = "pack"
"""


def advised_uris(out):
    """Return the policies that the last line of a training tells to play, each of which must load."""
    uris = re.findall(r"run:[^,\s]+", out.rpartition("play it as ")[2])
    assert uris
    for uri in uris:
        assert resolve(uri).arrays
    return uris


def test_two_learners_have_no_best_score_and_the_latest_nets_are_advised(kinfolk, tmp_path):
    (tmp_path / "two.toml").write_text(SIDES)
    code, out, err = kinfolk("train", "two.toml", "--out", "two")
    assert code == 0, err
    assert advised_uris(out) == ["run:two/herd@latest", "run:two/pack@latest"]
    with pytest.raises(UsageError, match=r"has no version '@best'\. It has: @latest, @"):
        resolve("run:two/herd@best")
    measured = SIDES + "[evaluation]\nevery = 1\nepisodes = 2\n"
    for name, extra in {
        "script": 'slots = { pack = "kin://noop" }\n',
        "metric": 'metric = "births"\n',
    }.items():
        (tmp_path / f"{name}.toml").write_text(measured + extra)
        code, out, err = kinfolk("train", f"{name}.toml", "--out", name)
        assert code == 0, err
        assert advised_uris(out) == [f"run:{name}/herd@best", f"run:{name}/pack@best"]


def test_a_shared_net_is_advised_under_the_slot_that_owns_it(kinfolk, tmp_path):
    shared = SIDES.replace('pack = "kin://mlp?hidden=[16]"', 'pack = "slot:herd"')
    (tmp_path / "shared.toml").write_text(shared)
    code, out, err = kinfolk("train", "shared.toml", "--out", "shared")
    assert code == 0, err
    assert advised_uris(out) == ["run:shared@best"]


def test_every_row_of_the_evaluation_has_the_baselines_value(kinfolk, tmp_path):
    text = (
        SIDES
        + '[evaluation]\nevery = 1\nepisodes = 2\n[evaluation.baselines.idle]\nherd = "kin://noop"\n'
    )
    (tmp_path / "base.toml").write_text(text)
    code, out, err = kinfolk("train", "base.toml", "--out", "base")
    assert code == 0, err
    rows = [line for line in out.splitlines() if "return per life, " in line]
    assert len(rows) == 2, out
    for row in rows:
        assert len(re.findall(r"\d \(.*?\)", row)) == 2, row


def test_more_jobs_than_chunks_are_said_to_idle(kinfolk, tmp_path):
    code, _, err = kinfolk(
        "train", *TINY, "--steps", "50", "--out", "one", "--engine", "processes", "--jobs", "2"
    )
    assert code == 0, err
    assert "1 of 2 jobs collects rollouts, because n_chunks is 1. Set n_chunks = 2" in err
