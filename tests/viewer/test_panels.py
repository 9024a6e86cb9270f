"""The panels in a real browser: the agent, charts, lineage, roles and the run."""

import shutil

import numpy as np
import pytest
from tests.viewer.replays import read_frame, read_replay

from kinfolk.core.settings import validate_settings
from kinfolk.evaluation.explain import explain_tick
from kinfolk.jobs.evaluate import Evaluate, evaluation_tasks
from kinfolk.roles.catalog import RoleCatalog
from kinfolk.roles.history import HistoryWriter
from kinfolk.store.run import open_run

pytestmark = pytest.mark.xdist_group("viewer")


def find_parent(replay):
    """Return uid, birth and death of an agent that was born, had children and died while recorded."""
    born, died = (np.concatenate([replay.series(i)[0][n] for i in range(len(replay.records[b"SERI"]))])
                  for n in ("born", "died"))  # fmt: skip
    deaths = {int(row[0]): int(row[1]) for row in died}
    parents = {int(p) for row in born for p in row[3:] if p >= 0}
    agents = [
        (int(r[0]), int(r[1]), deaths[int(r[0])]) for r in born if r[1] > 0 and int(r[0]) in deaths
    ]
    return next((uid, b, d) for uid, b, d in agents if uid in parents and d - b > 5)


@pytest.mark.more
def test_an_agent_is_followed_through_birth_and_death(screen, runs):
    replay = read_replay(runs, "savanna")
    uid, born, died = find_parent(replay)
    page = screen.page
    screen.open(f"#run=savanna&tick={born}&agent={uid}")
    screen.wait_for_tick(born)
    page.wait_for_selector(".state[data-state=present]")
    assert page.inner_text(".state") == "alive, 0 ticks old"
    page.click("button:has-text('follow')")
    for tick in range(born, died, 3):
        screen.seek(tick)
        frame = read_frame(replay, tick)
        row = frame["uid"].tolist().index(uid)
        energy = page.inner_text("[data-fact=energy] dd")
        assert float(energy) == pytest.approx(frame["attribute/energy"][row] / 100, abs=0.006)
        cell = int(frame["cell"][row])
        assert page.inner_text("[data-fact=position] dd") == f"row {cell // 30}, column {cell % 30}"
        middle = page.evaluate(
            "cell => { const s = kinfolk.player.main.map; const b = s.box;"
            " return [(s.left + (cell % 30 + .5) * s.scale) / b.clientWidth,"
            " (s.top + (Math.floor(cell / 30) + .5) * s.scale) / b.clientHeight]; }",
            cell,
        )
        assert all(0.2 < share < 0.8 for share in middle), "a followed agent stays near the middle"
    screen.seek(died)
    assert page.inner_text(".state").startswith(f"died at tick {died} (")
    screen.seek(died + 1)
    page.wait_for_selector(".state[data-state=absent]")
    screen.seek(born - 1)
    assert page.inner_text(".state") == f"born at tick {born}"
    screen.save_screenshot("follow")


def test_a_click_in_the_lineage_tree_marks_the_descendants(screen, runs):
    replay = read_replay(runs, "savanna")
    born = np.concatenate(
        [replay.series(i)[0]["born"] for i in range(len(replay.records[b"SERI"]))]
    )
    uid, _, _ = find_parent(replay)
    expected, stack = set(), [uid]
    while stack:
        parent = stack.pop()
        children = {int(r[0]) for r in born if parent in r[3:].tolist()} - expected
        expected |= children
        stack += children
    screen.open(f"#run=savanna&tab=2&agent={uid}")
    screen.page.locator(f"g.agent[data-uid='{uid}'] .target").click()
    marked = screen.page.locator("g.agent.marked").evaluate_all(
        "all => all.map(g => Number(g.dataset.uid))"
    )
    assert set(marked) == expected
    assert len(expected) > 0
    child = next(r for r in born if int(r[0]) in expected)
    screen.seek(int(child[1]))
    frame = read_frame(replay, int(child[1]))
    row = frame["uid"].tolist().index(int(child[0]))
    ring, plain = screen.page.evaluate(
        """([cell, other]) => { const s = kinfolk.player.main.map, pen = s.overlay.getContext('2d');
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
    screen.save_screenshot("lineage")


def test_the_explanation_lists_behaviors_with_their_outcomes(screen, runs):
    replay = read_replay(runs, "reasons")
    frame = read_frame(replay, 9)
    outcomes = frame["why/outcome"].reshape(-1, 2)
    schema = replay.head()["explanations"]["0"]
    page = screen.page
    screen.open("#run=reasons&tick=9")
    kinds = set()
    for row in np.flatnonzero(frame["state"] == 1):
        page.evaluate("uid => kinfolk.player.select(uid)", int(frame["uid"][row]))
        page.wait_for_selector(f".inspector h2:has-text('#{frame['uid'][row]}')")
        shown = page.locator(".explanation li").evaluate_all(
            "all => all.map(li => [li.dataset.behavior, li.textContent, li.dataset.acts])"
        )
        expected = [
            [name, f"{name.replace('_', ' ')} {schema['outcomes'][v]}", str(v == 0).lower()]
            for name, v in zip(schema["behaviors"], outcomes[row], strict=True)
        ]
        assert shown == expected
        assert page.inner_text(".explanation .role") == f"lived {frame['why/0/lived'][row]}"
        kinds.add(tuple(outcomes[row]))
    assert (0, 2) in kinds or (1, 0) in kinds
    screen.save_screenshot("explanation")


def test_the_explanation_of_a_role_equals_that_of_explain_tick(screen, runs):
    """`explain_tick` plays the episode again up to the tick."""
    settings = validate_settings(Evaluate, open_run(runs / "cogs").config["settings"])
    explanations = explain_tick(next(evaluation_tasks(settings)), 150)
    by_uid = {e.uid: e for e in explanations if e.slot == "smart"}
    assert len(by_uid) == 8
    assert len({e.behavior for e in by_uid.values()}) > 1
    screen.open("#run=cogs&tick=150")
    screen.wait_for_tick(150)
    for uid, explanation in by_uid.items():
        screen.page.evaluate("uid => kinfolk.player.select(uid)", uid)
        screen.page.wait_for_selector(f".inspector h2:has-text('#{uid}')")
        lines = screen.page.locator(".explanation li").evaluate_all(
            "all => all.map(li => [li.dataset.behavior, li.dataset.acts, li.textContent])"
        )
        assert [b for b, acts, _ in lines if acts == "true"] == [explanation.behavior]
        rejected = [(b, text[len(b) + 1 :]) for b, acts, text in lines if acts == "false"]
        assert rejected == [(b, outcome.replace("_", " ")) for b, outcome in explanation.rejected]
        moved = screen.page.inner_text("[data-fact='move now'] dd")
        assert moved == explanation.action["move"]
    screen.save_screenshot("explanation-roles")


def test_charts_show_the_current_tick_and_seek_on_a_click(screen, runs):
    series = read_replay(runs, "savanna").series(0)[0]
    page = screen.page
    screen.open("#run=savanna&tab=1")
    screen.seek(100)
    population = page.locator("figure[data-chart=population] .legend b").all_inner_texts()
    assert [int(text) for text in population] == series["series"][:2, 100].astype(int).tolist()
    titles = page.locator("figure.chart").evaluate_all("all => all.map(f => f.dataset.chart)")
    assert titles == ["population", "grass energy", "mean energy", "return"]
    over = page.locator("figure[data-chart=population] .u-over")
    box = over.bounding_box()
    over.click(position={"x": box["width"] * 0.5, "y": 20})
    page.wait_for_function("() => Math.abs(Number(document.body.dataset.tick) - 150) <= 2")
    screen.save_screenshot("charts")


def test_cogsguard_has_charts_of_junctions_and_stores(screen, runs):
    screen.open("#run=cogs&tab=1")
    titles = screen.page.locator("figure.chart").evaluate_all(
        "all => all.map(f => f.dataset.chart)"
    )
    assert titles == [
        "population", "junctions held", "hearts in store", "elements in store", "mean energy", "return",
    ]  # fmt: skip
    screen.seek(399)
    held = screen.page.locator("figure[data-chart='junctions held'] .legend b").all_inner_texts()
    replay = read_replay(runs, "cogs")
    at = replay.head()["series"].index("junctions held/cogs_0")
    assert [int(v) for v in held] == replay.series(3)[0]["series"][at : at + 3, 399 - 384].astype(
        int
    ).tolist()
    screen.save_screenshot("cogsguard")


def test_two_replays_of_one_run_share_their_charts(screen, runs):
    screen.open("#run=cogs&with=cogs&withReplay=game-00001&tab=1")
    screen.seek(300)
    screen.page.wait_for_function(
        "() => kinfolk.player.views[1].chunk && kinfolk.player.views[1].frame === 300"
    )
    held = screen.page.locator("figure[data-chart='junctions held'] .legend b").all_inner_texts()
    at = read_replay(runs, "cogs").head()["series"].index("junctions held/cogs_0")
    expected = [
        [
            int(read_replay(runs, "cogs", name).series(2)[0]["series"][at + i, 300 - 256])
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
    changes = page.locator(".diff .behavior").evaluate_all(
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
        .locator(".behavior")
        .evaluate_all("all => all.map(b => b.dataset.change)")
    )
    assert against_miner == ["added", "added", "kept", "moved", "removed", "removed"]
    line = page.locator("path.descent.line").count()
    assert line == 2, "from the seeded aligner over its child to the champion"
    page.check("input[type=checkbox]")
    assert page.locator("g.role").count() == len(history["roles"])
    screen.save_screenshot("roles")


def test_a_run_without_replays_shows_its_metrics(open_screen, serve, tmp_path, runs):
    shutil.copytree(runs / "cogs", tmp_path / "runs" / "bare")
    shutil.rmtree(tmp_path / "runs" / "bare" / "replays")
    (tmp_path / "runs" / "bare" / "role_history.json").write_text(
        HistoryWriter().format(RoleCatalog(), generation=0, seed=0, games=0)
    )
    with serve(tmp_path / "runs") as address, open_screen(address) as screen:
        screen.open("#run=bare")
        screen.page.wait_for_selector(".forest")
        titles = screen.page.locator(".block h3").all_inner_texts()
        assert titles[:3] == ["Return of each slot", "Return of each group", "Lives"]
        points = screen.page.locator("[data-block='Return of each slot'] .forest .point")
        assert points.count() == 4, "two episodes of two slots, each a point and no line"
        assert screen.page.locator(".forest .interval").count() > 0
