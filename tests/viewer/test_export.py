"""Exported pages open from disk without a network and show the same as the server."""

from base64 import b64encode

import pytest

from kinfolk.cli.app import main
from kinfolk.replay.codec import (
    HEADER_BYTES,
    MAGIC,
    MAX_PAYLOAD_BYTES,
    encode_json_record,
    encode_record,
)
from kinfolk.replay.reader import Replay
from kinfolk.viewer.export import export_page

pytestmark = [pytest.mark.xdist_group("viewer"), pytest.mark.more]


@pytest.fixture(scope="module")
def page_file(runs, tmp_path_factory):
    path = tmp_path_factory.mktemp("export") / "savanna.html"
    path.write_bytes(export_page([(runs / "savanna", None)]))
    return path


def test_the_exported_page_shows_the_same_without_a_network(open_screen, screen, page_file):
    screen.open("#run=savanna&tick=140&agent=5")
    screen.wait_for_tick(140)
    served, text = screen.terrain_pixels(), screen.page.inner_text(".inspector")
    with open_screen(page_file.as_uri()) as exported:
        exported.page.context.set_offline(True)
        requests = []
        exported.page.on("request", lambda request: requests.append(request.url))
        exported.open("#tick=140&agent=5")
        exported.wait_for_tick(140)
        assert exported.terrain_pixels() == served
        assert exported.page.inner_text(".inspector") == text
        exported.page.keyboard.press("2")
        assert exported.page.locator("figure.chart").count() == 4
        exported.save_screenshot("export")
        assert [
            url for url in requests if not url.startswith(("file:", "data:", "blob:", "about:"))
        ] == []


def test_two_runs_and_their_roles_are_exported_into_one_page(open_screen, runs, tmp_path):
    path = tmp_path / "both.html"
    path.write_bytes(export_page([(runs / "roles", None), (runs / "reasons", None)]))
    with open_screen(path.as_uri()) as screen:
        screen.open()
        assert screen.page.locator(".map").count() == 2
        screen.page.keyboard.press("4")
        assert screen.page.inner_text(".role-detail h2") == "Get_hearts-2"


def test_an_exported_comparison_opens_on_its_verdict_and_leads_to_its_game(
    open_screen, comparison, tmp_path
):
    path = tmp_path / "rivals.html"
    path.write_bytes(export_page([(comparison, None)]))
    with open_screen(path.as_uri()) as screen:
        screen.open()
        blocks = screen.page.locator("[data-block]").evaluate_all(
            "all => all.map(b => b.dataset.block)"
        )
        assert blocks[:2] == ["Verdict", "Differences"]
        assert screen.page.locator("[data-block=Differences] svg").count() > 0
        screen.page.click("a.button:has-text('game-00000-0-random')")
        screen.wait_for_tick(0)


def test_two_games_of_a_comparison_open_side_by_side(open_screen, comparison, tmp_path):
    path = tmp_path / "rivals.html"
    games = [(comparison, "game-00000-0-random"), (comparison, "game-00000-1-noop")]
    path.write_bytes(export_page(games))
    with open_screen(path.as_uri()) as screen:
        screen.open()
        assert screen.page.locator(".map").count() == 2
        captions = screen.page.locator("figcaption b").all_inner_texts()
        assert [text.strip() for text in captions] == [
            f"A {comparison.name} / game-00000-0-random",
            f"B {comparison.name} / game-00000-1-noop",
        ]
        label = screen.page.inner_text(".inspector .game")
        assert label == f"Game A: {comparison.name} / game-00000-0-random"
        assert screen.page.locator(".ended:visible").count() == 0
        screen.page.keyboard.press("End")
        screen.wait_for_tick(60)
        assert screen.page.inner_text("figure:nth-child(2) .ended") == "over at tick 40"
        assert screen.page.locator(".ended:visible").count() == 1
        screen.page.keyboard.press("?")
        keys = "panels: 1 Agent, 2 Charts, 3 Lineage, 4 Roles, 5 Run"
        assert keys in screen.page.locator("dialog.help dd").all_inner_texts()
        screen.page.keyboard.press("Escape")
        screen.page.click("a.run-name")
        screen.page.locator("[data-block=Verdict]").wait_for()


def test_the_second_game_goes_on_when_the_first_is_over(open_screen, comparison, tmp_path):
    path = tmp_path / "rivals.html"
    games = [(comparison, "game-00000-1-noop"), (comparison, "game-00000-0-random")]
    path.write_bytes(export_page(games))
    with open_screen(path.as_uri()) as screen:
        screen.open()
        screen.page.keyboard.press("End")
        screen.page.locator("body[data-tick='60']").wait_for()
        assert screen.page.inner_text(".clock") == "tick 60 of 60"
        assert screen.page.locator(".ended:visible").all_inner_texts() == ["over at tick 40"]
        assert screen.page.locator("figure:nth-child(1) .ended:visible").count() == 1


def test_the_help_says_that_any_run_can_be_exported(capsys):
    with pytest.raises(SystemExit) as exited:
        main(["export", "html", "--help"])
    assert exited.value.code == 0
    assert "Any run, with or without a replay." in capsys.readouterr().out


def test_a_run_name_with_a_tag_cannot_close_the_script_element(runs, tmp_path):
    import shutil

    shutil.copytree(runs / "reasons", tmp_path / "x<script>")
    page = export_page([(tmp_path / "x<script>", None)]).decode()
    assert "x<script>" not in page.replace('id="replay:x&lt;script&gt;/game-00000"', "")


def with_frame_count(path, count):
    """Return a replay whose first FRAM record claims another number of frames than it has."""
    data = bytearray(path.read_bytes())
    record = Replay(path).records[b"FRAM"][0]
    header = record.header._replace(frames=count)
    data[record.offset - HEADER_BYTES : record.offset] = header.to_bytes()
    return bytes(data)


FRAMES = encode_record(b"FRAM", b"", 0, 1)


def make_head(**render_spec):
    head = {"render_spec": {"width": 4, "height": 4, "layers": [{}]} | render_spec, "groups": [], "series": [],
            "slots": []}  # fmt: skip
    return MAGIC + encode_json_record(b"HEAD", head)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: with_frame_count(path, 2**32 - 1), "This replay is damaged: the frames at byte "),
        (lambda path: with_frame_count(path, 0), "This replay is damaged: the frames at byte "),
        (lambda path: make_head() + encode_record(b"SERI", bytes(MAX_PAYLOAD_BYTES + 1), 0, 1) + FRAMES,
         "This replay is damaged: a record is larger than a record may be."),
        (lambda path: make_head(width=10**6, height=10**6), "This replay is damaged: it has no map, or one that is too large."),
        (lambda path: make_head() + encode_record(b"SERI", b"\xff" * 40, 0, 1) + FRAMES,
         "This replay is damaged: a table of contents is longer than its record."),
        (lambda path: MAGIC, "This replay is cut short: it has no head."),
        (lambda path: b"nonsense", "This is not a replay of kinfolk."),
    ],
)  # fmt: skip
def test_the_page_refuses_a_damaged_replay(open_screen, runs, tmp_path, damage, message):
    path = runs / "reasons" / "replays" / "game-00000.replay"
    intact, damaged = path.read_bytes(), damage(path)
    page = export_page([(runs / "reasons", None)]).decode()
    assert b64encode(intact).decode() in page
    file = tmp_path / "page.html"
    file.write_text(page.replace(b64encode(intact).decode(), b64encode(damaged).decode()))
    with open_screen(file.as_uri()) as screen:
        screen.open()
        screen.page.wait_for_selector(".problem:visible")
        assert screen.page.inner_text(".problem").startswith(message)
