"""What `kinfolk train` prints of a finished league of two sides."""

import pytest

from kinfolk.cli.app import main

# On one worker, or each would train the league again.
pytestmark = pytest.mark.xdist_group("league")


@pytest.fixture
def said(league, capsys):
    with pytest.raises(SystemExit) as left:
        main(["train", "--resume", str(league)])
    assert left.value.code == 0
    return capsys.readouterr().out


def test_the_sides_of_a_league_are_not_compared_by_their_returns(said):
    headings = next(line for line in said.splitlines() if "return per life" in line)
    assert headings.split("   ")[0].strip() == "slot"
    assert "wins" not in headings
    assert "score" not in said.split("Mean score of herd against pack")[0]


def test_mixtures_stand_beside_their_games_and_what_they_mean(said):
    lines = said.splitlines()
    named = [line.partition(":")[0] for line in lines if line.startswith(("Nash", "Alpha"))]
    assert named == [
        "Nash mixture of herd", "Alpha-rank of herd", "Nash mixture of pack", "Alpha-rank of pack",
    ]  # fmt: skip
    place = next(i for i, line in enumerate(lines) if line.startswith("In a Nash mixture no side"))
    assert lines[place + 1] == (
        "Both rest on 2 games of each two members. So few games make them unsteady: other games may give "
        "the weight to other members."
    )


def test_the_report_says_how_many_rows_whole_rollouts_had_and_how_to_measure_the_last_nets(
    said, league
):
    rows = said.partition(" steps in ")[0].rpartition(" ")[2]
    assert f"Rollouts are whole: {rows} rows were used, where --steps asks for 8." in said
    assert f"measure their mixture: kinfolk exploit {league}\n" in said
    assert (
        f"Measure the last nets: kinfolk exploit herd/last=run:{league}/herd pack/last=run:{league}/pack\n"
        in said
    )
