"""Screenshots and videos that a headless browser takes of the page."""

import io
import shutil
import subprocess
import sys

import pytest

from kinfolk.cli.app import main
from kinfolk.core.errors import KinfolkError, UsageError
from kinfolk.viewer import browser
from kinfolk.viewer.screenshots import (
    TAB_NAMES,
    Screenshot,
    capture,
    encode_gif,
    encode_mp4,
    open_page,
    parse_tab,
)

pytestmark = [pytest.mark.xdist_group("viewer"), pytest.mark.more]
BLUE, VERMILLION = (0, 114, 178), (213, 94, 0)


@pytest.fixture(scope="module")
def frames(browser, runs):
    """Three screenshots of a savanna; the fixture `browser` skips where there is no Chromium."""
    screenshot = Screenshot(part="map", width=500, height=520)
    with open_page([(runs / "savanna", None)], screenshot) as page:
        return [capture(page, screenshot, tick) for tick in (0, 60, 120)]


def test_screenshots_show_the_agents_and_differ_from_tick_to_tick(frames):
    from PIL import Image

    images = [Image.open(io.BytesIO(frame)).convert("RGB") for frame in frames]
    assert {image.size for image in images} == {(500, 520)}
    for image in images:
        colours = {colour for _, colour in image.getcolors(1 << 20)}
        assert {BLUE, VERMILLION} <= colours
    assert len(set(frames)) == 3


def test_a_gif_has_all_frames_at_the_requested_rate(frames):
    from PIL import Image

    video = Image.open(io.BytesIO(encode_gif(frames, 10)))
    assert (video.n_frames, video.size, video.info["duration"]) == (3, (500, 520), 100)


def test_an_mp4_is_h264_with_all_frames(frames, tmp_path):
    if shutil.which("ffprobe") is None:
        pytest.skip("ffmpeg is not installed; as root on Debian, ./kin test installs it.")
    path = tmp_path / "video.mp4"
    path.write_bytes(encode_mp4(frames, 10))
    command = "ffprobe -v error -count_frames -select_streams v -of csv=p=0 -show_entries"
    process = subprocess.run(
        [*command.split(), "stream=codec_name,width,height,pix_fmt,nb_read_frames", str(path)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert process.stdout.strip() == "h264,500,520,yuv420p,3"


def test_the_command_writes_a_screenshot_of_the_charts(browser, runs, tmp_path):
    from PIL import Image

    out = tmp_path / "charts.png"
    arguments = ["export", "png", str(runs / "cogs"), "--part", "charts", "--theme", "dark"]
    process = subprocess.run(
        [sys.executable, "-m", "kinfolk", *arguments, "--size", "600x900", "--out", str(out)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert process.stdout == ""
    assert process.stderr.startswith(f"{out}: ")
    image = Image.open(out).convert("RGB")
    assert image.width > 500
    assert image.getpixel((2, 2)) == (0x1B, 0x1F, 0x24), "the dark card"


@pytest.mark.parametrize(("name", "number"), [(name, n) for n, name in enumerate(TAB_NAMES, 1)])
def test_a_panel_is_chosen_by_its_name_or_by_its_key(browser, runs, name, number):
    assert parse_tab(name) == parse_tab(name.upper()) == parse_tab(str(number)) == name
    with open_page([(runs / "roles", None)], Screenshot(part="page", tab=name)) as page:
        shown = page.evaluate("document.querySelector('.tabs [aria-selected=true]').textContent")
        assert shown == name.capitalize()


def test_all_of_a_part_that_is_taller_than_the_page_is_captured(browser, runs):
    from PIL import Image

    screenshot = Screenshot(part="lineage", width=600, height=200)
    with open_page([(runs / "savanna", None)], screenshot) as page:
        picture = Image.open(io.BytesIO(capture(page, screenshot, 100))).convert("RGB")
        tree = page.evaluate("document.querySelector('.tree').getBoundingClientRect().height")
    assert picture.height > tree > 250
    lowest = picture.crop((0, picture.height - 60, picture.width, picture.height))
    assert lowest.getpixel((0, 59)) == (255, 255, 255), "the card, not the page behind it"
    assert BLUE in {colour for _, colour in lowest.getcolors(1 << 20)}


def test_pictures_are_taken_of_replays_that_are_too_large_for_a_page(
    browser, runs, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr("kinfolk.viewer.export.MAX_EMBEDDED_BYTES", 1 << 10)
    out = tmp_path / "map.png"
    with pytest.raises(SystemExit) as exited:
        main(["export", "png", str(runs / "savanna"), "--part", "map", "--out", str(out)])
    assert exited.value.code == 0
    assert out.read_bytes().startswith(b"\x89PNG")
    capsys.readouterr()
    with pytest.raises(SystemExit) as exited:
        main(["export", "html", str(runs / "savanna"), "--out", str(tmp_path / "page.html")])
    assert exited.value.code == 2
    message = capsys.readouterr().err
    assert "browsers do not open a page with a replay of more than 0 MB in it." in message
    assert "kinfolk export png|gif|mp4" in message


def test_a_browser_that_does_not_answer_is_reported():
    class SilentSocket:
        def send(self, message):
            pass

        def recv(self, timeout):
            raise TimeoutError("timed out in 57.1s")

    with pytest.raises(KinfolkError) as caught:
        browser.BrowserPage(SilentSocket(), 640, 480, 1.0)
    assert str(caught.value) == (
        "Chromium did not draw the page within 60 s: the machine is busy, or the world has more agents "
        "than Chromium can draw. Try a smaller --size, or --part map."
    )


def test_the_game_of_a_comparison_can_be_captured(browser, comparison):
    screenshot = Screenshot(part="page")
    with open_page([(comparison, "game-00000-1-noop")], screenshot) as page:
        assert capture(page, screenshot, 2).startswith(b"\x89PNG")
        assert page.evaluate("kinfolk.player.main.replay.source.name") == "game-00000-1-noop"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gif", "{run}", "--from", "900"],
         "A video has 1 to 2000 pictures, not 0; choose --from, --to and --every "
         "(the game has the ticks 0 to 300)."),
        (["png", "{run}", "--size", "big"],
         "--size is written WIDTHxHEIGHT, such as 1280x720, not 'big'."),
        (["png", "{run}", "--part", "sky"],
         "Screenshot.part must be one of map, charts, page, lineage, not 'sky'."),
        (["png", "{run}", "--tab", "6"],
         "--tab is agent, charts, lineage, roles or run, or its number from 1 to 5, not '6'."),
        (["mp4", "{run}", "--tab", "4"],
         "The run {run} has no roles, so its page has no panel of roles. Choose --tab agent, charts, "
         "lineage or run."),
        (["png", "{run}", "--tick", "301"], "The game has the ticks 0 to 300, not 301."),
        (["png", "{run}", "--descendants"],
         "--descendants marks the kin of an agent: say which with --agent UID."),
        (["png", "{run}", "--part", "map", "--tab", "run"],
         "--tab chooses a panel of --part page; --part map has none."),
        (["gif", "{run}", "--out", "film.mp4"], "This command writes a gif, not a mp4: --out film.mp4"),
        (["png", "{run}", "--size", "20x20"], "Screenshot.width must be at least 200, not '20'."),
        (["png", "{run}", "--replay", "none"],
         "The run {run} has no replay 'none'. Known: game-00000."),
    ],
)  # fmt: skip
def test_wrong_arguments_are_explained(runs, arguments, message, capsys):
    filled = [argument.format(run=runs / "savanna") for argument in arguments]
    with pytest.raises(SystemExit) as exited:
        main(["export", *filled])
    assert exited.value.code == 2
    assert capsys.readouterr().err.strip() == message.format(run=runs / "savanna")


def test_an_agent_that_never_lived_is_refused(browser, runs):
    screenshot = Screenshot(selected_uid=99999)
    with (
        pytest.raises(UsageError, match=r"^The game has no agent 99999 among its \d+ agents\.$"),
        open_page([(runs / "savanna", None)], screenshot),
    ):
        pass


def test_a_missing_browser_is_reported(monkeypatch):
    monkeypatch.setattr(browser.shutil, "which", lambda name: None)
    with pytest.raises(UsageError) as caught:
        browser.find_chromium()
    assert str(caught.value) == (
        "Screenshots need Chromium, which is not installed. Install it, or write a page "
        "instead: kinfolk view RUN --export FILE.html"
    )


def test_a_missing_ffmpeg_is_reported(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(
        UsageError, match=r"^An mp4 needs ffmpeg, which is not installed; a gif does not\.$"
    ):
        encode_mp4([b""], 10)
