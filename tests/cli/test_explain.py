"""`kinfolk explain` and `kinfolk behaviors`, run in this process: the kernels are warm."""

import json

import pytest

from kinfolk.cli.app import main

SMALL = [
    "--set", 'map_text="J..c....\\n.@@..H.C\\n.@@.A.M.\\n...o...J"', "--set", "agents=4",
    "--set", "max_steps=30", "--set", "area_radius=3", "--slot", "cogs=kin://roles?miner=2&aligner=1",
]  # fmt: skip


def run(capsys, *words):
    with pytest.raises(SystemExit) as left:
        main(list(words))
    return left.value.code, capsys.readouterr()


def test_explain_says_who_did_what_and_what_kept_the_others(capsys):
    code, said = run(capsys, "explain", *SMALL, "--tick", "4", "--json")
    assert code == 0
    found = json.loads(said.out)
    assert [one["uid"] for one in found] == [0, 1, 2, 3]
    assert [one["facts"]["role"] for one in found] == [
        "BaseMiner",
        "BaseMiner",
        "BaseAligner",
        "BaseScrambler",
    ]
    miner = found[0]
    assert miner["behavior"] == "mine_resource"
    assert miner["action"]["vibe"] == "miner"
    passed = dict(miner["rejected"])
    assert passed["deposit_resource"] == "cannot start: it carries nothing"
    assert passed["explore"] == "lower priority"


def test_one_agent_is_explained_line_by_line(capsys):
    code, said = run(capsys, "explain", *SMALL, "--tick", "4", "--agent", "0")
    assert code == 0
    first, second, *rest = said.out.splitlines()
    assert first == "Agent 0 in tick 4, role BaseMiner:"
    assert second.startswith("  mine_resource acts: ")
    assert "  find_extractor: lower priority" in rest


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--tick", "99"], "The episode has 30 ticks, counted from 0; there is no tick 99."),
        (["--agent", "9"], "No agent 9 acted in this tick. Known: 0, 1, 2, 3."),
        (
            ["--slot", "cogs=kin://noop"],
            "No policy of this episode explains its actions. Role policies do, such as kin://smart.",
        ),
    ],
)
def test_what_cannot_be_explained_is_said(capsys, words, sentence):
    given = [w for w in SMALL if not w.startswith("cogs=")] if "--slot" in words else SMALL
    given = given[:-1] if "--slot" in words else given
    code, said = run(capsys, "explain", *given, *words)
    assert (code, said.err.splitlines()[-1]) == (2, sentence)


def test_explaining_changes_nothing_and_is_off_by_default():
    from kinfolk.core.settings import validate_settings
    from kinfolk.policies.build import build_policy
    from kinfolk.policies.resolve import resolve
    from kinfolk.worlds.cogsguard.settings import Cogsguard
    from kinfolk.worlds.cogsguard.spec import make_spec

    policy = build_policy(resolve("kin://smart"), make_spec(validate_settings(Cogsguard, {})))
    assert policy.last_explanation().considered.shape == (0, 12)
    assert "cannot start: it has no heart" in policy.explanation_schema.outcomes
    assert policy.explanation_schema.facts["role"][-1] == "smart"


def test_behaviors_lists_thirteen_and_the_four_roles(capsys):
    code, said = run(capsys, "behaviors", "--json")
    found = json.loads(said.out)
    assert code == 0
    assert len(found["behaviors"]) == 13
    assert found["roles"]["BaseMiner"] == [
        ["deposit_resource"], ["mine_resource"], ["find_extractor"], ["explore"],
    ]  # fmt: skip
    code, said = run(capsys, "behaviors")
    assert "  BaseAligner    get_hearts + get_influence / align_junction / explore" in said.out
