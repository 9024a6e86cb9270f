"""The map in a real browser shows what was recorded, and its controls work."""

import math
import re
import shutil

import pytest
from tests.viewer.replays import read_frame, read_replay

from kinfolk.replay.reader import Replay

pytestmark = pytest.mark.xdist_group("viewer")

# Colours of the light theme, repeated here: a test that asked the page would find no mistake.
GROUND, WALL, BARE, GRASS = (243, 240, 232), (141, 134, 122), (228, 224, 206), (104, 168, 96)
BLUE, PURPLE, VERMILLION = (0, 114, 178), (204, 121, 167), (213, 94, 0)
GREY, ELEMENTS = (120, 118, 112), {"carbon": (138, 143, 152), "oxygen": (86, 180, 233),
                                   "germanium": (0, 158, 115), "silicon": (230, 159, 0)}  # fmt: skip


def mix(a, b, share):
    """Mix two colours and round as the page does: halves up."""
    return tuple(math.floor(x + (y - x) * share + 0.5) for x, y in zip(a, b, strict=True))


def savanna_pixel(kind, amount):
    return {0: GROUND, 1: WALL}.get(kind) or mix(BARE, GRASS, amount / 15)


def cogsguard_pixel(names, kind, owner, area, amount):
    ground = GROUND
    for bit, colour in enumerate((BLUE, PURPLE, VERMILLION)):
        if area >> bit & 1:
            ground = mix(ground, colour, 0.17)
    name = names[kind]
    if name in ("empty", "wall"):
        return WALL if name == "wall" else ground
    object_colour = GREY
    if owner:
        object_colour = (BLUE, PURPLE, VERMILLION)[owner - 1]
    elif name.endswith("_extractor"):
        object_colour = ELEMENTS[name.split("_")[0]]
    share = (
        0.15 + 0.45 * amount / 15
        if name.endswith("_extractor")
        else 0.3
        if name == "junction"
        else 0.55
    )
    return mix(ground, object_colour, share)


@pytest.mark.parametrize("tick", [0, 127, 128, 200])
def test_savanna_terrain_is_drawn_cell_by_cell(screen, runs, tick):
    screen.open("#run=savanna")
    screen.seek(tick)
    cells = read_frame(read_replay(runs, "savanna"), tick)["cells"].reshape(2, -1)
    expected = [savanna_pixel(int(kind), int(amount)) for kind, amount in cells.T]
    assert [tuple(p) for p in screen.terrain_pixels()] == expected
    assert len(set(expected)) > (4 if tick else 2)


@pytest.mark.parametrize("tick", [0, 260, 399])
def test_cogsguard_terrain_is_drawn_cell_by_cell(screen, runs, tick):
    screen.open("#run=cogs")
    screen.seek(tick)
    replay = read_replay(runs, "cogs")
    cells = read_frame(replay, tick)["cells"].reshape(4, -1)
    names = replay.head()["render_spec"]["layers"][0]["labels"]
    expected = [cogsguard_pixel(names, *(int(code) for code in codes)) for codes in cells.T]
    assert [tuple(p) for p in screen.terrain_pixels()] == expected
    assert len(set(expected)) > 8


def test_seeking_backwards_shows_the_same_as_forwards(screen, runs):
    screen.open("#run=savanna")
    seen = {}
    for tick in (250, 10, 140, 9, 250, 140):
        screen.seek(tick)
        pixels = screen.terrain_pixels()
        assert seen.setdefault(tick, pixels) == pixels


def test_agents_are_drawn_in_their_recorded_cells(screen, runs):
    screen.open("#run=savanna")
    screen.seek(150)
    frame = read_frame(read_replay(runs, "savanna"), 150)
    size = 30
    shown = screen.page.evaluate(
        """() => { const v = kinfolk.player.main, s = v.map, pen = s.overlay.getContext('2d');
        const out = [];
        for (let y = 0; y < 30; y++) for (let x = 0; x < 30; x++) {
          const px = s.left + (x + .5) * s.scale, py = s.top + (y + .5) * s.scale;
          const d = pen.getImageData(Math.round(px), Math.round(py), 1, 1).data;
          if (d[3] > 200) out.push([y * 30 + x, d[0], d[1], d[2]]);
        } return out; }"""
    )
    alive = (frame["state"] == 1) & (frame["attribute/body"] == 0)
    colours = {0: VERMILLION, 1: BLUE}
    expected = {
        int(c): colours[int(g)]
        for c, g in zip(frame["cell"][alive], frame["group"][alive], strict=True)
    }
    crosses = {int(c) for c in frame["cell"][(frame["state"] > 0) & ~alive]}
    drawn = {cell: (r, g, b) for cell, r, g, b in shown}
    assert len(expected) > 10
    assert {c: v for c, v in drawn.items() if c not in crosses} == {
        c: v for c, v in expected.items() if c not in crosses
    }
    assert max(expected) < size * size


def test_it_plays_pauses_and_steps(screen):
    page = screen.page
    screen.open("#run=savanna&tick=20")
    screen.wait_for_tick(20)
    page.keyboard.press("ArrowRight")
    screen.wait_for_tick(21)
    page.keyboard.press("Shift+ArrowLeft")
    screen.wait_for_tick(11)
    page.select_option("select[aria-label=Speed]", "50")
    page.click("button.play")
    page.wait_for_function("() => Number(document.body.dataset.tick) > 40")
    page.keyboard.press(" ")
    tick = int(page.get_attribute("body", "data-tick"))
    page.wait_for_timeout(150)
    assert page.get_attribute("body", "data-tick") == str(tick)
    assert page.inner_text(".clock") == f"tick {tick} of 300"
    page.keyboard.press("End")
    screen.wait_for_tick(300)
    page.keyboard.press("Home")
    screen.wait_for_tick(0)
    assert re.search(r"#run=savanna&replay=game-00000", page.url)


def test_the_slider_seeks_to_the_tick_under_the_pointer(screen):
    screen.open("#run=savanna")
    box = screen.page.locator(".scrub").bounding_box()
    screen.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    screen.page.wait_for_function("() => Math.abs(Number(document.body.dataset.tick) - 150) <= 1")


def test_jumping_goes_from_event_to_event(screen, runs):
    replay = read_replay(runs, "savanna")
    events = [e for i in range(len(replay.records[b"FRAM"])) for e in replay.events(i)]
    births = sorted({e["tick"] for e in events if e["kind"] == "birth"})
    screen.open("#run=savanna")
    screen.page.select_option("select[aria-label='Kind of event']", "birth")
    for tick in births[:3]:
        screen.page.keyboard.press("]")
        screen.wait_for_tick(tick)
    screen.page.keyboard.press("[")
    screen.wait_for_tick(births[1])
    listed = screen.page.locator("select[aria-label='Kind of event'] option").all_inner_texts()
    assert {"birth", "death", "capture"} <= set(listed)


def test_a_click_on_the_map_selects_the_agent_in_that_cell(screen, runs):
    screen.open("#run=savanna&tick=60")
    screen.wait_for_tick(60)
    frame = read_frame(read_replay(runs, "savanna"), 60)
    cells = frame["cell"][frame["state"] == 1].tolist()
    alone = next(i for i, c in enumerate(cells) if cells.count(c) == 1)
    uid = int(frame["uid"][frame["state"] == 1][alone])
    x, y = screen.page.evaluate(
        "cell => { const s = kinfolk.player.main.map;"
        " return [s.left + (cell % 30 + .5) * s.scale, s.top + (Math.floor(cell / 30) + .5) * s.scale]; }",
        cells[alone],
    )
    screen.page.locator(".overlay").click(position={"x": x, "y": y})
    screen.page.wait_for_selector(f".inspector h2:has-text('#{uid}')")
    assert screen.page.evaluate("kinfolk.player.selected") == uid


def test_two_runs_are_compared_side_by_side(screen, runs):
    page = screen.page
    screen.open()
    page.wait_for_selector("tr[data-run=cogs]")
    for name in ("savanna", "cogs"):
        page.check(f"tr[data-run={name}] input")
    page.click("button.compare")
    page.wait_for_selector(".maps[data-views='2']")
    # Opening ends with a seek to the first tick; its frames are loaded after that.
    page.wait_for_function("() => kinfolk.player.views.every(view => view.chunk)")
    screen.seek(120)
    page.wait_for_function(
        "() => kinfolk.player.views[1].chunk && kinfolk.player.views[1].frame === 120"
    )
    for view, run, layers in ((0, "savanna", 2), (1, "cogs", 4)):
        frame = read_frame(read_replay(runs, run), 120)
        cells = frame["cells"].reshape(layers, -1)
        walls = [tuple(p) == WALL for p in screen.terrain_pixels(view)]
        assert walls == (cells[0] == 1).tolist()
    captions = page.locator(".view figcaption b").all_inner_texts()
    assert [c.strip() for c in captions] == ["A savanna / game-00000", "B cogs / game-00000"]
    page.keyboard.press("2")
    values = page.locator("figure[data-chart=return] .legend b").first.inner_text()
    assert " | " in values
    screen.save_screenshot("compare")


def test_an_unknown_run_is_reported(screen):
    screen.open("#run=none&replay=game-00000")
    assert screen.page.inner_text(".problem").startswith("There is no run ")
    screen.problems = [p for p in screen.problems if "404" not in p]  # the browser's own line


def test_a_damaged_replay_is_reported(open_screen, runs, serve, tmp_path):
    shutil.copytree(runs / "savanna", tmp_path / "runs" / "broken")
    path = tmp_path / "runs" / "broken" / "replays" / "game-00000.replay"
    data = bytearray(path.read_bytes())
    data[Replay(path).records[b"FRAM"][1].offset + 9] ^= 255
    path.write_bytes(bytes(data))
    path.with_name("foreign.replay").write_bytes(b"something else")
    with serve(tmp_path / "runs") as address, open_screen(address) as screen:
        screen.open("#run=broken&replay=game-00000")
        screen.page.evaluate("kinfolk.player.seek(140)")
        screen.page.wait_for_selector(".problem:visible")
        problem = screen.page.inner_text(".problem")
        assert problem == (
            f"{path} is damaged: the FRAM record of frame 128 is not what was written. To record it "
            f"again, remove it and run: kinfolk view {tmp_path}/runs/broken --episode 0"
        )
        screen.open("#run=broken&replay=foreign")
        screen.page.wait_for_selector(".problem:visible")
        foreign = path.with_name("foreign.replay")
        assert screen.page.inner_text(".problem") == f"{foreign} is not a replay of kinfolk."
        screen.problems = [p for p in screen.problems if "422" not in p]


@pytest.mark.parametrize(("name", "width", "height"), [("phone", 390, 844), ("laptop", 1280, 720)])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_cut_off_on_any_screen(open_screen, address, name, width, height, scheme):
    with open_screen(address, width, height, scheme) as screen:
        for run in ("savanna", "cogs"):
            screen.open(f"#run={run}&tick=100&tab=1")
            screen.wait_for_tick(100)
            wide = screen.page.evaluate("document.documentElement.scrollWidth")
            assert wide <= width
            small = screen.page.locator("button:visible, select:visible").evaluate_all(
                "all => all.filter(e => e.getBoundingClientRect().height < 20 && !e.classList.contains('link')).length"
            )
            assert small == 0
            screen.save_screenshot(f"{run}-{name}-{scheme}")
        theme = screen.page.get_attribute("html", "data-theme")
        assert theme == scheme
        screen.page.keyboard.press("t")
        assert screen.page.get_attribute("html", "data-theme") != scheme


def test_every_control_has_an_accessible_name_and_keys_open_panels(screen):
    screen.open("#run=savanna&tick=10&agent=3")
    nameless = screen.page.locator("button:visible, select:visible, input:visible").evaluate_all(
        "all => all.filter(e => !(e.textContent.trim() || e.ariaLabel || e.closest('label'))).length"
    )
    assert nameless == 0
    screen.page.keyboard.press("?")
    assert screen.page.is_visible("dialog.help")
    screen.page.keyboard.press("2")
    assert not screen.page.is_visible("section.charts"), "keys do nothing behind the dialog"
    screen.page.keyboard.press("Escape")
    assert not screen.page.is_visible("dialog.help")
    screen.page.keyboard.press("3")
    assert screen.page.is_visible("section.lineage")
