"""The page of a tournament, opened from disk: leaderboard, matrix, failures, a game played in it."""

import re

import pytest

import kinfolk as kf
from kinfolk.core.errors import UsageError
from kinfolk.viewer.tournament_page import export_tournament_page

FAILING = """
from kinfolk.policies.base import NoopPolicy


class Failing(NoopPolicy):
    def act_async(self, observations, batch, memory, keys):
        raise ValueError("<b>boom</b>")
"""


@pytest.fixture(scope="module")
def cup(tmp_path_factory):
    root = tmp_path_factory.mktemp("cup")
    (root / "bad <i> policy.py").write_text(FAILING)
    kf.tournament(
        root, "kin://noop", "kin://random", world="cogsguard", preset="head_to_head",
        world_settings={"max_steps": 30}, games=1, sandbox=False, isolate="none", out=root / "run",
    )  # fmt: skip
    return root / "run"


def test_the_page_needs_nothing_from_outside_and_escapes_what_policies_say(cup):
    page = (cup / "tournament.html").read_text()
    assert not re.search(r"""(?:src|href)=["']?(?!data:)[^"'>]*//""", page)
    assert "<b>boom" not in page
    assert "<i>" not in page
    assert "bad &lt;i&gt; policy" in page
    assert str(cup.parent) not in page


@pytest.mark.more
def test_a_game_is_played_in_the_page_opened_from_disk(cup, browser):
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    problems = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda text: text.type == "error" and problems.append(text.text))
    page.goto((cup / "tournament.html").as_uri())
    assert page.locator("h2").all_inner_texts() == [
        "Leaderboard", "Score of row against column", "Games", "Failures",
    ]  # fmt: skip
    assert page.locator("table").first.locator("tbody tr").count() == 3
    page.locator("button.play").first.click()
    frame = page.frame_locator("#player")
    frame.locator("body[data-ready]").wait_for()
    assert frame.get_by_text("tick 0 of 30").count() == 1
    frame.get_by_text("▶", exact=True).click()
    frame.get_by_text("tick 30 of 30").wait_for()
    page.select_option("#game", index=2)
    frame.get_by_text("tick 0 of 30").wait_for()
    assert problems == []
    page.close()


def test_only_finished_tournaments_have_a_page(tmp_path):
    kf.evaluate("probe", slots={"all": "kin://noop"}, episodes=1, out=tmp_path / "eval")
    with pytest.raises(UsageError) as refused:
        export_tournament_page(tmp_path / "eval")
    assert str(refused.value) == (
        f"{tmp_path / 'eval'} is not a finished run of `kinfolk tournament` or `crossplay`."
    )


def test_a_result_saves_its_table_and_its_page(cup, tmp_path):
    result = kf.crossplay("kin://noop", "kin://random", games=2, replays=1, out=tmp_path / "cross")
    result.save(tmp_path / "page.html")
    result.save(tmp_path / "payoffs.csv")
    assert (tmp_path / "page.html").read_text().count('id="game:') == 4
    assert len((tmp_path / "payoffs.csv").read_text().splitlines()) == 1 + 2 * 4
    unsaved = kf.crossplay("kin://noop", "kin://random", games=1)
    with pytest.raises(UsageError) as refused:
        unsaved.save(tmp_path / "other.html")
    assert str(refused.value) == (
        "The page holds recorded games, and nothing was stored: give out=FOLDER."
    )
