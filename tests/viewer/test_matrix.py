"""Every page and tab of every kind of run, in three sizes and both themes: no error, nothing cut off."""

import pytest
from tests.viewer.every_kind import KINDS, make_runs
from tests.viewer.test_tabs import TABS, shown_tab, visible_tabs, wait_until_drawn

from kinfolk.viewer.export import export_page
from kinfolk.viewer.run_index import RunIndex

pytest.importorskip("torch")
pytest.importorskip("ribs")
pytestmark = [pytest.mark.xdist_group("viewer"), pytest.mark.more, pytest.mark.timeout(600)]

SIZES = {"1280": (1280, 720), "1920": (1920, 1080), "phone": (390, 844)}
RUNS = [*KINDS, "play"]
# The blocks without which the page of a kind would not be worth opening.
EXPECTED_BLOCKS = {
    "eval-savanna": ["Return of each slot", "Return of each group", "Metrics"],
    "eval-cogs": ["Return of each slot", "Metrics"],
    "scenarios": ["Mean score", "Score in each scenario", "Scenarios"],
    "compare-two": ["Verdict", "Differences", "return of each policy", "Policies"],
    "compare-three": ["Verdict", "Differences", "Every policy against every other"],
    "round-robin": ["Verdict", "Games won", "Score of row against column"],
    "tournament": ["Leaderboard, 95 % intervals", "Won", "Score of row against column"],
    "crossplay": ["Alpha-rank and Nash mixture", "Score of row against column"],
    "roles": ["The champion and other teams", "Fitness", "Fitness of roles"],
    "roles-archive": ["The champion and other teams", "Cells filled", "QD score"],
    "roles-coevolved": ["Fitness of population 1", "Hall of fame", "Exploitability"],
    "nets": ["Final evaluation", "Fitness", "Held-out evaluations"],
    "train": ["Return of each slot at the end", "return per life", "value loss"],
    "train-league": ["Win rates by which opponents are drawn", "Members that joined"],
    "exploit": ["Exploitability"],
    "sweep-eval": ["return over max_ticks", "return at each setting", "Settings"],
    "sweep-train": ["score at each setting", "score", "Settings"],
    "study": ["Verdicts", "Hypotheses", "earned"],
    "play": [],
}


@pytest.fixture(scope="module")
def every_kind(tmp_path_factory):
    root = tmp_path_factory.mktemp("kinds") / "runs"
    make_runs(root)
    return root


@pytest.fixture(scope="module")
def address(every_kind, serve):
    with serve(every_kind) as url:
        yield url


def go(screen, fragment):
    """Follow a link within the page."""
    screen.page.evaluate(
        """link => new Promise((done) => { if (location.hash === link) return done();
        addEventListener('hashchange', () => setTimeout(done), { once: true }); location.hash = link; })""",
        fragment,
    )
    screen.page.wait_for_function("() => !kinfolk.navigating")


def check_fits(screen, what):
    """Check that nothing is wider than the window, so that nobody has to scroll sideways."""
    wide = screen.page.evaluate(
        """() => [...document.querySelectorAll('body *')].filter((e) => {
          const box = e.getBoundingClientRect();
          const scrolls = e.closest('.scroll, .chips, .tree, .u-wrap, select, svg, .crumbs, dialog');
          const spills = e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== 'inline';
          return box.width && !scrolls && (box.right > innerWidth + 1 || spills && getComputedStyle(e).overflowX === 'visible');
        }).map((e) => e.tagName + '.' + e.className)"""
    )
    assert wide == [], what


def save_whole(screen, name):
    """Save a screenshot of a page from its first to its last line, in a window that is high enough."""
    page = screen.page
    size = page.viewport_size
    height = page.evaluate(
        "() => { const main = document.querySelector('.runs, .run-page'); main.scrollTop = 0; scrollTo(0, 0);"
        " return Math.ceil(main.getBoundingClientRect().top + main.scrollHeight); }"
    )
    page.set_viewport_size({"width": size["width"], "height": max(size["height"], height)})
    screen.save_screenshot(name)
    page.set_viewport_size(size)


def check_page(screen, run, name):
    """Open the page of a run and compare its headings."""
    go(screen, f"#run={run}&view=page")
    screen.page.wait_for_selector(f".run-head h1:has-text('{run}')")
    screen.page.wait_for_function("() => !document.querySelector('.plot:empty')")
    titles = screen.page.locator("[data-block]").evaluate_all(
        "all => all.map(b => b.dataset.block)"
    )
    assert [title for title in EXPECTED_BLOCKS[run] if title not in titles] == []
    check_fits(screen, run)
    save_whole(screen, f"matrix/{name}/{run}")
    return titles


def check_tabs(screen, run, replay, name):
    """Open every tab by click, key and link, without and with a selected agent."""
    go(screen, f"#run={run}&replay={replay}&tick=1")
    wait_until_drawn(screen)
    names = visible_tabs(screen)
    uid = screen.page.evaluate("kinfolk.player.main.chunk.column('uid', kinfolk.player.frame)[0]")
    for agent in (None, uid):
        screen.page.evaluate("uid => kinfolk.player.select(uid)", agent)
        for tab in names:
            screen.page.locator(".tabs button", has_text=tab).click()
            wait_until_drawn(screen)
            assert shown_tab(screen) == tab, f"{run}, {tab} by click"
            check_fits(screen, f"{run}, {tab}")
            suffix = "" if agent is None else "-selected"
            screen.save_screenshot(f"matrix/{name}/{run}-{tab.lower()}{suffix}", whole=True)
        for tab in reversed(names):
            screen.page.keyboard.press(str(TABS.index(tab) + 1))
            assert shown_tab(screen) == tab, f"{run}, {tab} by key"
        for tab in names:
            selected = "" if agent is None else f"&agent={agent}"
            go(screen, f"#run={run}&replay={replay}&tick=1&tab={TABS.index(tab)}{selected}")
            assert shown_tab(screen) == tab, f"{run}, {tab} by link"
            assert screen.page.evaluate("kinfolk.player.selected") == agent
    return names


def expected_tabs(run):
    return [tab for tab in TABS if tab != "Roles" or "roles" in run]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", list(SIZES))
def test_every_page_and_tab_of_every_kind_opens(every_kind, address, open_screen, size, theme):
    width, height = SIZES[size]
    index, name = RunIndex(every_kind), f"{size}-{theme}"
    with open_screen(address, width=width, height=height, scheme=theme) as screen:
        screen.open()
        screen.page.wait_for_selector("tr[data-run=play]")
        assert screen.page.locator("tr[data-run]").count() == len(RUNS)
        check_fits(screen, "list")
        save_whole(screen, f"matrix/{name}/list")
        for run in RUNS:
            check_page(screen, run, name)
            replays = index.get_info(run)["replays"]
            if replays:
                names = check_tabs(screen, run, replays[0]["name"], name)
                assert names == expected_tabs(run)
        assert screen.page.get_attribute("html", "data-theme") == theme


@pytest.mark.parametrize(("size", "theme"), [("1280", "light"), ("phone", "dark")])
def test_the_exported_page_of_every_kind_shows_the_same(
    every_kind, open_screen, tmp_path, size, theme
):
    (width, height), index, name = SIZES[size], RunIndex(every_kind), f"exported-{size}-{theme}"
    for run in RUNS:
        file = tmp_path / f"{run}.html"
        file.write_bytes(export_page([(every_kind / run, None)]))
        with open_screen(file.as_uri(), width=width, height=height, scheme=theme) as screen:
            screen.open()
            shown = check_page(screen, run, name)
            assert shown == [block["title"] for block in index.get_report(run)["blocks"]]
            replays = [replay["name"] for replay in index.get_info(run)["replays"]]
            links = screen.page.locator("table.matrix a").evaluate_all(
                "all => all.map(a => a.hash)"
            )
            assert set(links) <= {f"#run={run}&replay={name}" for name in replays[:1]}
            if replays:
                assert check_tabs(screen, run, replays[0], name) == expected_tabs(run)


def test_a_selected_role_is_that_of_the_run_which_is_shown(address, open_screen):
    with open_screen(address) as screen:
        screen.open("#run=roles&view=page")
        screen.page.locator("g.role[data-role=BaseScout]").click()  # of both runs
        assert screen.page.inner_text(".role-columns .role-detail h2").startswith("BaseScout")
        go(screen, "#run=roles-archive&view=page")
        screen.page.wait_for_selector(".run-head h1:has-text('roles-archive')")
        screen.page.wait_for_function("() => !kinfolk.navigating")
        assert screen.page.locator("g.role.selected text").text_content().startswith("★")


def test_a_figure_without_any_value_says_so(address, open_screen):
    with open_screen(address) as screen:
        screen.open("#run=train-league")
        blocks = screen.page.locator("[data-block]")
        blocks.first.wait_for()
        texts = dict(blocks.evaluate_all("all => all.map(b => [b.dataset.block, b.textContent])"))
        title = "Return of each slot at the end"
        names = "herd, herd_exploiter, pack, pack_exploiter"
        assert texts[title] == f"{title}There is no value of {names}."
        title = "Win rates by which opponents are drawn"
        no_rate = "There is no win rate yet: no episode against a member of the league has ended."
        assert texts[title] == title + no_rate


def test_a_tournament_leads_to_its_games_page_and_failures(address, open_screen):
    with open_screen(address) as screen:
        page = screen.page
        screen.open("#run=tournament")
        page.wait_for_selector("table.matrix")
        where = page.locator(".failures .where").first.inner_text()
        assert "failing.py:" in where, "file and line of the author"
        with page.expect_popup() as opened:
            page.click("a.button:has-text('tournament page')")
        opened.value.wait_for_selector("h2:has-text('Leaderboard')")
        opened.value.locator("button.play").first.click()
        opened.value.frame_locator("#player").locator("body[data-ready]").wait_for()
        page.locator("table.matrix td a").first.click()
        page.wait_for_function("() => kinfolk.player.main?.chunk")
        page.click("a.run-name")
        page.wait_for_selector("table.matrix")
