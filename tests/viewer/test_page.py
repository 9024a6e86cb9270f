"""The page in a real browser: what it shows is what was recorded."""

import json
import math
import re

import numpy as np
import pytest

from kinfolk.replay.reader import Replay

pytestmark = pytest.mark.xdist_group("viewer")

# The light scheme of the page, written down once more: a test that asked the page would see nothing.
GROUND, WALL, BARE, GRASS = (243, 240, 232), (141, 134, 122), (228, 224, 206), (104, 168, 96)
BLUE, PURPLE, VERMILLION = (0, 114, 178), (204, 121, 167), (213, 94, 0)
GREY, ELEMENTS = (120, 118, 112), {"carbon": (138, 143, 152), "oxygen": (86, 180, 233),
                                   "germanium": (0, 158, 115), "silicon": (230, 159, 0)}  # fmt: skip


def mixed(a, b, share):
    """As the page rounds: halves up."""
    return tuple(math.floor(x + (y - x) * share + 0.5) for x, y in zip(a, b, strict=True))


def replay_of(runs, run, name="game-00000"):
    return Replay(runs / run / "replays" / f"{name}.replay")


def frame_of(replay, tick):
    """The columns of the frame that shows a tick."""
    for i, part in enumerate(replay.records[b"FRAM"]):
        if part.header.first <= tick < part.header.first + part.header.frames:
            return {
                name: values[tick - part.header.first] for name, values in replay.columns(i).items()
            }
    raise AssertionError(f"no frame shows tick {tick}")


def savanna_pixel(kind, amount):
    return {0: GROUND, 1: WALL}.get(kind) or mixed(BARE, GRASS, amount / 15)


def cogs_pixel(names, kind, owner, area, amount):
    ground = GROUND
    for bit, colour in enumerate((BLUE, PURPLE, VERMILLION)):
        if area >> bit & 1:
            ground = mixed(ground, colour, 0.17)
    name = names[kind]
    if name in ("empty", "wall"):
        return WALL if name == "wall" else ground
    own = GREY
    if owner:
        own = (BLUE, PURPLE, VERMILLION)[owner - 1]
    elif name.endswith("_extractor"):
        own = ELEMENTS[name.split("_")[0]]
    share = (
        0.15 + 0.45 * amount / 15
        if name.endswith("_extractor")
        else 0.3
        if name == "junction"
        else 0.55
    )
    return mixed(ground, own, share)


@pytest.mark.parametrize("tick", [0, 127, 128, 200])
def test_a_savanna_is_shown_cell_by_cell(screen, runs, tick):
    screen.open("#run=savanna")
    screen.seek(tick)
    cells = frame_of(replay_of(runs, "savanna"), tick)["cells"].reshape(2, -1)
    expected = [savanna_pixel(int(kind), int(amount)) for kind, amount in cells.T]
    assert [tuple(p) for p in screen.environment()] == expected
    assert len(set(expected)) > (4 if tick else 2)


@pytest.mark.parametrize("tick", [0, 260, 399])
def test_a_game_of_cogsguard_is_shown_cell_by_cell(screen, runs, tick):
    screen.open("#run=cogs")
    screen.seek(tick)
    replay = replay_of(runs, "cogs")
    cells = frame_of(replay, tick)["cells"].reshape(4, -1)
    names = replay.head()["render_spec"]["layers"][0]["labels"]
    expected = [cogs_pixel(names, *(int(code) for code in codes)) for codes in cells.T]
    assert [tuple(p) for p in screen.environment()] == expected
    assert len(set(expected)) > 8


def test_going_back_shows_what_going_forth_showed(screen, runs):
    screen.open("#run=savanna")
    seen = {}
    for tick in (250, 10, 140, 9, 250, 140):
        screen.seek(tick)
        pixels = screen.environment()
        assert seen.setdefault(tick, pixels) == pixels


def test_agents_stand_where_they_stood(screen, runs):
    screen.open("#run=savanna")
    screen.seek(150)
    frame = frame_of(replay_of(runs, "savanna"), 150)
    size = 30
    shown = screen.page.evaluate(
        """() => { const v = kinfolk.player.main, s = v.stage, pen = s.overlay.getContext('2d');
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
    found = {cell: (r, g, b) for cell, r, g, b in shown}
    assert len(expected) > 10
    assert {c: v for c, v in found.items() if c not in crosses} == {
        c: v for c, v in expected.items() if c not in crosses
    }
    assert max(expected) < size * size


def test_it_plays_pauses_steps_and_keeps_time(screen):
    page = screen.page
    screen.open("#run=savanna&tick=20")
    screen.offset(20)
    page.keyboard.press("ArrowRight")
    screen.offset(21)
    page.keyboard.press("Shift+ArrowLeft")
    screen.offset(11)
    page.select_option("select[aria-label=Speed]", "50")
    page.click("button.play")
    page.wait_for_function("() => Number(document.body.dataset.tick) > 40")
    page.keyboard.press(" ")
    tick = int(page.get_attribute("body", "data-tick"))
    page.wait_for_timeout(150)
    assert page.get_attribute("body", "data-tick") == str(tick)
    assert page.inner_text(".clock") == f"tick {tick} of 300"
    page.keyboard.press("End")
    screen.offset(300)
    page.keyboard.press("Home")
    screen.offset(0)
    assert re.search(r"#run=savanna&replay=game-00000", page.url)


def test_scrubbing_goes_to_the_tick_under_the_hand(screen):
    screen.open("#run=savanna")
    box = screen.page.locator(".scrub").bounding_box()
    screen.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    screen.page.wait_for_function("() => Math.abs(Number(document.body.dataset.tick) - 150) <= 1")


def test_jumping_goes_from_event_to_event(screen, runs):
    replay = replay_of(runs, "savanna")
    events = [e for i in range(len(replay.records[b"FRAM"])) for e in replay.events(i)]
    births = sorted({e["tick"] for e in events if e["kind"] == "birth"})
    screen.open("#run=savanna")
    screen.page.select_option("select[aria-label='Kind of event']", "birth")
    for tick in births[:3]:
        screen.page.keyboard.press("]")
        screen.offset(tick)
    screen.page.keyboard.press("[")
    screen.offset(births[1])
    listed = screen.page.locator("select[aria-label='Kind of event'] option").all_inner_texts()
    assert {"birth", "death", "capture"} <= set(listed)


def short_life(replay):
    """Somebody born after the beginning who died before the end, and had children if possible."""
    born, died = (np.concatenate([replay.series(i)[0][n] for i in range(len(replay.records[b"NUMB"]))])
                  for n in ("born", "died"))  # fmt: skip
    deaths = {int(row[0]): int(row[1]) for row in died}
    parents = {int(p) for row in born for p in row[3:] if p >= 0}
    lives = [
        (int(r[0]), int(r[1]), deaths[int(r[0])]) for r in born if r[1] > 0 and int(r[0]) in deaths
    ]
    return next(life for life in lives if life[0] in parents and life[2] - life[1] > 5)


def test_an_agent_is_followed_through_birth_and_death(screen, runs):
    replay = replay_of(runs, "savanna")
    uid, born, died = short_life(replay)
    page = screen.page
    screen.open(f"#run=savanna&tick={born}&agent={uid}")
    screen.offset(born)
    page.wait_for_selector(".state[data-state=here]")
    assert page.inner_text(".state") == "alive, 0 ticks old"
    page.click("button:has-text('follow')")
    for tick in range(born, died, 3):
        screen.seek(tick)
        frame = frame_of(replay, tick)
        row = frame["uid"].tolist().index(uid)
        energy = page.inner_text("[data-fact=energy] dd")
        assert float(energy) == pytest.approx(frame["attribute/energy"][row] / 100, abs=0.006)
        cell = int(frame["cell"][row])
        assert page.inner_text("[data-fact=place] dd") == f"row {cell // 30}, column {cell % 30}"
        middle = page.evaluate(
            "cell => { const s = kinfolk.player.main.stage; const b = s.box;"
            " return [(s.left + (cell % 30 + .5) * s.scale) / b.clientWidth,"
            " (s.top + (Math.floor(cell / 30) + .5) * s.scale) / b.clientHeight]; }",
            cell,
        )
        assert all(0.2 < share < 0.8 for share in middle), "it is kept near the middle"
    screen.seek(died)
    assert page.inner_text(".state").startswith(f"died at tick {died} (")
    screen.seek(died + 1)
    page.wait_for_selector(".state[data-state=away]")
    screen.seek(born - 1)
    assert page.inner_text(".state") == f"is born at tick {born}"
    screen.shoot("follow")


def test_a_click_on_the_map_chooses_whoever_stands_there(screen, runs):
    screen.open("#run=savanna&tick=60")
    screen.offset(60)
    frame = frame_of(replay_of(runs, "savanna"), 60)
    cells = frame["cell"][frame["state"] == 1].tolist()
    alone = next(i for i, c in enumerate(cells) if cells.count(c) == 1)
    uid = int(frame["uid"][frame["state"] == 1][alone])
    x, y = screen.page.evaluate(
        "cell => { const s = kinfolk.player.main.stage;"
        " return [s.left + (cell % 30 + .5) * s.scale, s.top + (Math.floor(cell / 30) + .5) * s.scale]; }",
        cells[alone],
    )
    screen.page.locator(".overlay").click(position={"x": x, "y": y})
    screen.page.wait_for_selector(f".inspector h2:has-text('#{uid}')")
    assert screen.page.evaluate("kinfolk.player.selected") == uid


def test_a_click_on_a_life_marks_its_descendants(screen, runs):
    replay = replay_of(runs, "savanna")
    born = np.concatenate(
        [replay.series(i)[0]["born"] for i in range(len(replay.records[b"NUMB"]))]
    )
    uid, _, _ = short_life(replay)
    expected, open_ = set(), [uid]
    while open_:
        parent = open_.pop()
        children = {int(r[0]) for r in born if parent in r[3:].tolist()} - expected
        expected |= children
        open_ += children
    screen.open(f"#run=savanna&tab=2&agent={uid}")
    screen.page.locator(f"g.life[data-uid='{uid}'] .touch").click()
    marked = screen.page.locator("g.life.marked").evaluate_all(
        "all => all.map(g => Number(g.dataset.uid))"
    )
    assert set(marked) == expected
    assert len(expected) > 0
    child = next(r for r in born if int(r[0]) in expected)
    screen.seek(int(child[1]))
    frame = frame_of(replay, int(child[1]))
    row = frame["uid"].tolist().index(int(child[0]))
    ring, plain = screen.page.evaluate(
        """([cell, other]) => { const s = kinfolk.player.main.stage, pen = s.overlay.getContext('2d');
        const alpha = (cell, dx) => pen.getImageData(
          Math.round(s.left + (cell % 30 + .5 + dx) * s.scale),
          Math.round(s.top + (Math.floor(cell / 30) + .5) * s.scale), 1, 1).data;
        return [[...alpha(cell, .46)], [...alpha(other, 0)]]; }""",
        [int(frame["cell"][row]), int(frame["cell"][next(
            i for i, (u, s) in enumerate(zip(frame["uid"], frame["state"], strict=True))
            if s == 1 and int(u) not in expected and int(u) != uid)])],
    )  # fmt: skip
    assert ring[3] > 120, "a ring is drawn around the descendant"
    assert max(ring[:3]) < 90
    assert 30 < plain[3] < 90, "the others are faded"
    screen.shoot("family")


def test_the_why_panel_says_which_behaviour_acts(screen, runs):
    replay = replay_of(runs, "reasons")
    frame = frame_of(replay, 9)
    verdicts = frame["why/outcome"].reshape(-1, 2)
    names = replay.head()["explanations"]["0"]
    page = screen.page
    screen.open("#run=reasons&tick=9")
    kinds = set()
    for row in np.flatnonzero(frame["state"] == 1):
        page.evaluate("uid => kinfolk.player.select(uid)", int(frame["uid"][row]))
        page.wait_for_selector(f".inspector h2:has-text('#{frame['uid'][row]}')")
        told = page.locator(".why li").evaluate_all(
            "all => all.map(li => [li.dataset.behaviour, li.textContent, li.dataset.acts])"
        )
        expected = [
            [name, f"{name.replace('_', ' ')} {names['outcomes'][v]}", str(v == 0).lower()]
            for name, v in zip(names["behaviors"], verdicts[row], strict=True)
        ]
        assert told == expected
        assert page.inner_text(".why .role") == f"lived {frame['why/0/lived'][row]}"
        kinds.add(tuple(verdicts[row]))
    assert (0, 2) in kinds or (1, 0) in kinds
    screen.shoot("why")


def test_the_why_panel_reads_what_the_role_decided(screen, runs):
    """A game of roles, against another way to ask: the tick played again and explained."""
    from kinfolk.core.settings import validate_settings
    from kinfolk.evaluation.explain import explain_tick
    from kinfolk.jobs.evaluate import Evaluate, evaluation_tasks
    from kinfolk.store.run import open_run

    asked = validate_settings(Evaluate, open_run(runs / "cogs").config["settings"])
    found = explain_tick(next(evaluation_tasks(asked)), 150)
    told = {one.uid: one for one in found if one.slot == "smart"}
    assert len(told) == 8
    assert len({one.behavior for one in told.values()}) > 1
    screen.open("#run=cogs&tick=150")
    screen.offset(150)
    for uid, one in told.items():
        screen.page.evaluate("uid => kinfolk.player.select(uid)", uid)
        screen.page.wait_for_selector(f".inspector h2:has-text('#{uid}')")
        lines = screen.page.locator(".why li").evaluate_all(
            "all => all.map(li => [li.dataset.behaviour, li.dataset.acts, li.textContent])"
        )
        assert [b for b, acts, _ in lines if acts == "true"] == [one.behavior]
        passed = [(b, text[len(b) + 1 :]) for b, acts, text in lines if acts == "false"]
        assert passed == [(b, verdict.replace("_", " ")) for b, verdict in one.rejected]
        moved = screen.page.inner_text("[data-fact='move now'] dd")
        assert moved == one.action["move"]
    screen.shoot("why-roles")


def test_charts_move_with_the_cursor_and_lead_to_a_tick(screen, runs):
    numbers = replay_of(runs, "savanna").series(0)[0]
    page = screen.page
    screen.open("#run=savanna&tab=1")
    screen.seek(100)
    population = page.locator("figure[data-chart=population] .legend b").all_inner_texts()
    assert [int(text) for text in population] == numbers["series"][:2, 100].astype(int).tolist()
    titles = page.locator("figure.chart").evaluate_all("all => all.map(f => f.dataset.chart)")
    assert titles == ["population", "grass energy", "mean energy", "return"]
    over = page.locator("figure[data-chart=population] .u-over")
    box = over.bounding_box()
    over.click(position={"x": box["width"] * 0.5, "y": 20})
    page.wait_for_function("() => Math.abs(Number(document.body.dataset.tick) - 150) <= 2")
    screen.shoot("charts")


def test_junctions_and_stores_have_charts_in_cogsguard(screen, runs):
    screen.open("#run=cogs&tab=1")
    titles = screen.page.locator("figure.chart").evaluate_all(
        "all => all.map(f => f.dataset.chart)"
    )
    assert titles == [
        "population", "junctions held", "hearts in store", "elements in store", "mean energy", "return",
    ]  # fmt: skip
    screen.seek(399)
    held = screen.page.locator("figure[data-chart='junctions held'] .legend b").all_inner_texts()
    replay = replay_of(runs, "cogs")
    at = replay.head()["series"].index("junctions held/cogs_0")
    assert [int(v) for v in held] == replay.series(3)[0]["series"][at : at + 3, 399 - 384].astype(
        int
    ).tolist()
    screen.shoot("cogsguard")


def test_two_runs_are_compared_side_by_side(screen, runs):
    page = screen.page
    screen.open()
    page.wait_for_selector("li[data-run=cogs]")
    for name in ("savanna", "cogs"):
        page.check(f"li[data-run={name}] input")
    page.click("button.compare")
    page.wait_for_selector(".stages[data-views='2']")
    screen.seek(120)
    page.wait_for_function(
        "() => kinfolk.player.views[1].chunk && kinfolk.player.views[1].frame === 120"
    )
    for view, run, layers in ((0, "savanna", 2), (1, "cogs", 4)):
        frame = frame_of(replay_of(runs, run), 120)
        cells = frame["cells"].reshape(layers, -1)
        walls = [tuple(p) == WALL for p in screen.environment(view)]
        assert walls == (cells[0] == 1).tolist()
    captions = page.locator(".view figcaption b").all_inner_texts()
    assert [c.strip() for c in captions] == ["A savanna / game-00000", "B cogs / game-00000"]
    page.keyboard.press("2")
    values = page.locator("figure[data-chart=return] .legend b").first.inner_text()
    assert " | " in values
    screen.shoot("compare")


def test_games_of_one_run_are_compared_in_one_chart(screen, runs):
    screen.open("#run=cogs&with=cogs&withReplay=game-00001&tab=1")
    screen.seek(300)
    screen.page.wait_for_function(
        "() => kinfolk.player.views[1].chunk && kinfolk.player.views[1].frame === 300"
    )
    held = screen.page.locator("figure[data-chart='junctions held'] .legend b").all_inner_texts()
    at = replay_of(runs, "cogs").head()["series"].index("junctions held/cogs_0")
    expected = [
        [
            int(replay_of(runs, "cogs", name).series(2)[0]["series"][at + i, 300 - 256])
            for name in ("game-00000", "game-00001")
        ]
        for i in range(3)
    ]
    assert [[int(v) for v in text.split(" | ")] for text in held] == expected


def test_the_role_tree_shows_the_champion_and_what_changed(screen, history):
    page = screen.page
    screen.open("#run=roles&tab=3")
    shown = page.locator("g.role").evaluate_all("all => all.map(g => g.dataset.role)")
    assert {"BaseMiner", "BaseScout", "BaseAligner", "BaseScrambler"} <= set(shown)
    assert page.inner_text(".role-detail h2") == "Get_hearts-2"
    assert page.inner_text(".role-detail .state") == "mutated, fitness 0.81, 12 games, 10 won"
    changes = page.locator(".diff .behaviour").evaluate_all(
        "all => all.map(b => [b.dataset.change, b.textContent])"
    )
    assert changes == [["kept", "get hearts"], ["added", "+ align junction"], ["kept", "mine resource"],
                       ["kept", "explore"], ["removed", "\u2212 get influence"]]  # fmt: skip
    page.click(".role-detail .link:has-text('Get_hearts-1')")
    parents = page.locator(".diff").evaluate_all("all => all.map(d => d.dataset.parent)")
    assert parents == ["BaseAligner", "BaseMiner"]
    against_miner = (
        page.locator(".diff")
        .nth(1)
        .locator(".behaviour")
        .evaluate_all("all => all.map(b => b.dataset.change)")
    )
    assert against_miner == ["added", "added", "kept", "moved", "removed", "removed"]
    line = page.locator("path.descent.line").count()
    assert line == 2, "from the seeded aligner over its child to the champion"
    page.check("input[type=checkbox]")
    assert page.locator("g.role").count() == len(history["roles"])
    screen.shoot("roles")


def test_a_run_that_is_not_there_is_a_sentence(screen):
    screen.open("#run=none&replay=game-00000")
    said = screen.page.inner_text(".problem")
    assert said.startswith("There is no run ")
    screen.problems = [p for p in screen.problems if "404" not in p]  # the browser's own line


def test_a_damaged_replay_is_a_sentence(open_screen, runs, serve, tmp_path):
    import shutil

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
        said = screen.page.inner_text(".problem")
        assert said == f"{path} is damaged: the FRAM record of frame 128 is not what was written."
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
            screen.offset(100)
            wide = screen.page.evaluate("document.documentElement.scrollWidth")
            assert wide <= width
            small = screen.page.locator("button:visible, select:visible").evaluate_all(
                "all => all.filter(e => e.getBoundingClientRect().height < 20 && !e.classList.contains('link')).length"
            )
            assert small == 0
            screen.shoot(f"{run}-{name}-{scheme}")
        theme = screen.page.get_attribute("html", "data-theme")
        assert theme == scheme
        screen.page.keyboard.press("t")
        assert screen.page.get_attribute("html", "data-theme") != scheme


def test_every_control_has_a_name_and_can_be_reached(screen):
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
    assert screen.page.is_visible("section.family")


def test_metrics_of_a_run_without_replays(open_screen, serve, tmp_path, runs):
    import shutil

    shutil.copytree(runs / "cogs", tmp_path / "runs" / "bare")
    shutil.rmtree(tmp_path / "runs" / "bare" / "replays")
    (tmp_path / "runs" / "bare" / "role_history.json").write_text(json.dumps({"roles": []}))
    with serve(tmp_path / "runs") as address, open_screen(address) as screen:
        screen.open("#run=bare")
        screen.page.wait_for_selector("figure.chart canvas")
        titles = screen.page.locator("figure.chart").evaluate_all(
            "all => all.map(f => f.dataset.chart)"
        )
        assert "episode played: returns" in titles
