import io
import json
from contextlib import chdir, redirect_stderr, redirect_stdout
from typing import NamedTuple

import pytest

from kinfolk.cli.app import main
from kinfolk.nets import load_nets

QUICK = ["--population", "6", "--generations", "2", "--hidden", "4", "--held-out-episodes", "2"]


class Ran(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def kinfolk(folder, *words):
    """Run a command here: a process of its own would import for longer than it works."""
    out, err = io.StringIO(), io.StringIO()
    with chdir(folder), redirect_stdout(out), redirect_stderr(err):
        try:
            main(list(words))
        except SystemExit as left:
            return Ran(int(left.code), out.getvalue(), err.getvalue())


# On one worker, or each would evolve the nets again.
pytestmark = pytest.mark.xdist_group("evolve nets")


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nets")
    ran = kinfolk(folder, "evolve", "nets", *QUICK, "--out", "run", "--archive",
                  "mean:0=-1..1x6,ticks=0..60x5")  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    return folder, ran


def test_it_prints_a_table_and_a_map(done):
    folder, ran = done
    assert "gym:CartPole-v1: feedforward nets by ga, 2 generations of 6" in ran.stdout
    assert "MAP-Elites archive, fitness from" in ran.stdout
    assert ran.stdout.endswith("The run lies in run; its nets play as run:run\n")
    assert "agent elite scores" in ran.stderr
    assert (folder / "run" / "map.svg").read_text().startswith("<svg")


def test_a_finished_run_is_shown_again_and_its_family_exported(done):
    folder, _ = done
    shown = kinfolk(folder, "evolve", "nets", "--resume", "run", "--json")
    assert json.loads(shown.stdout)["summary"]["kind"] == "nets_evolved"
    tree = kinfolk(folder, "export", "phylogeny", "run")
    assert tree.stdout.splitlines()[0].startswith("id,ancestor_list,origin_time,destruction_time")
    assert len(tree.stdout.splitlines()) == 1 + 12


def test_what_evolved_nets_cannot_do_is_said(done):
    folder, _ = done
    exported = kinfolk(folder, "export", "policy", "run", "--out", "net.pt")
    assert (exported.returncode, exported.stderr) == (
        2,
        "run was made by evolve_nets. Only nets of kinfolk train are exported as torchscript; export it "
        "as safetensors, which kinfolk.nets.load_nets reads if it is an evolved net.\n",
    )
    kinfolk(
        folder, "export", "policy", "run", "--format", "safetensors", "--out", "net.safetensors"
    )
    assert load_nets(folder / "net.safetensors").num_nets == 1
    words = ["--world", "gym:CartPole-v1", "--slot", "all=run:run@archive/5", "--episodes", "1"]
    played = kinfolk(folder, "eval", *words)
    assert (played.returncode, played.stderr) == (
        2, "The run run stores no elite of its archive as a policy. It plays as run:run.\n"
    )  # fmt: skip


def test_the_report_of_a_hall_of_fame_says_how_its_last_champions_play(tmp_path):
    ran = kinfolk(tmp_path, "evolve", "nets", "--task", "probe", "--population", "2", "--steps", "2",
                  "--generations", "3", "--hidden", "4", "--held-out-episodes", "0", "--hall-every", "2",
                  "--out", "run")  # fmt: skip
    assert ran.stdout.endswith(
        "The hall of fame plays too: its last champions are run:run@hall/grazer-2, run:run@hall/hunter-2\n"
    )
    assert (tmp_path / "run" / "hall" / "hunter-2.safetensors").is_file()


def test_a_goal_that_is_missed_leaves_with_1_and_bad_words_with_2(tmp_path):
    missed = kinfolk(tmp_path, "evolve", "nets", *QUICK, "--goal", "1e9", "--goal-of", "mean")
    assert missed.returncode == 1
    assert "The goal, mean of 1e+09, was not reached." in missed.stdout
    for words, sentence in (
        (["--archive", "mean:0=1"], "An archive is written NAME=LOW..HIGH[xCELLS][,...], not 'mean:0=1'.\n"),
        (["--hidden", "big"], "EvolveNets.hidden.0 must be a whole number, not 'big'.\n"),
        (["--net", "dynamic", "--algorithm", "cma"],
         "Dynamic nets have no fixed set of parameters, which cma needs. "
         "Use the algorithm ga, or feedforward or recurrent nets.\n"),
    ):  # fmt: skip
        refused = kinfolk(tmp_path, "evolve", "nets", *words)
        assert (refused.returncode, refused.stderr) == (2, sentence)
