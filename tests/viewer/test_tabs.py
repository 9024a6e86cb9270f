"""Every tab opens and stays open while agents are selected, and is part of the browser's history."""

import pytest

pytestmark = pytest.mark.xdist_group("viewer")

PANELS = {
    "Agent": "inspector",
    "Charts": "charts",
    "Lineage": "lineage",
    "Roles": "roles",
    "Run": "run",
}
TABS = list(PANELS)


def shown_tab(screen):
    """Return the selected tab, after checking that its panel is the one shown."""
    [name] = screen.page.locator(".tabs [aria-selected=true]").all_inner_texts()
    panels = screen.page.locator(".panel > section").evaluate_all(
        "all => all.map(s => s.className)"
    )
    assert panels == [PANELS[name]]
    return name


def visible_tabs(screen):
    return screen.page.locator(".tabs button:visible").all_inner_texts()


def click_tab(screen, name):
    screen.page.locator(".tabs button", has_text=name).click()


def wait_until_drawn(screen):
    screen.page.wait_for_function("() => kinfolk.player.main?.chunk")
    screen.page.evaluate(
        "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )


def find_agents(screen):
    """Return uid and map position of two agents that are alone in their cells."""
    wait_until_drawn(screen)
    return screen.page.evaluate(
        """() => { const v = kinfolk.player.main, s = v.map, c = v.chunk, f = v.frame;
        const [uid, cell, state] = ['uid', 'cell', 'state'].map((name) => c.column(name, f));
        const found = [];
        for (let i = 0; i < uid.length; i++) {
          if (state[i] !== 1 || [...cell].filter((at, j) => at === cell[i] && uid[j] >= 0).length > 1) continue;
          found.push([uid[i], s.left + (cell[i] % s.width + .5) * s.scale,
                      s.top + (Math.floor(cell[i] / s.width) + .5) * s.scale]);
        } return found.slice(0, 2); }"""
    )


def check_tabs(screen, run):
    """Open every tab of a run's first replay by click and by link, with and without a selection."""
    screen.open(f"#run={run}&tick=1")
    (first, _, _), (second, x, y) = find_agents(screen)
    names = visible_tabs(screen)
    for agent in ("", f"&agent={first}"):
        screen.open(f"#run={run}&tick=1{agent}")
        wait_until_drawn(screen)
        for name in (*names, *reversed(names)):
            click_tab(screen, name)
            wait_until_drawn(screen)
            assert shown_tab(screen) == name, f"{run}: {name} by click, {agent}"
        for name in names:
            screen.open(f"#run={run}&tick=1{agent}&tab={TABS.index(name)}")
            wait_until_drawn(screen)
            assert shown_tab(screen) == name, f"{run}: {name} by link, {agent}"
    for name in names:
        check_tab_stays(screen, run, name, second, (x, y))
    return names


def check_tab_stays(screen, run, name, other, point):
    """Check that a tab stays open on selection, during playback and after a reload."""
    page = screen.page
    screen.open(f"#run={run}&tick=1&tab={TABS.index(name)}")
    wait_until_drawn(screen)
    page.locator(".overlay").click(position={"x": point[0], "y": point[1]})
    assert page.evaluate("kinfolk.player.selected") == other
    wait_until_drawn(screen)
    assert shown_tab(screen) == name
    page.keyboard.press("n")
    assert page.evaluate("kinfolk.player.selected") not in (None, other)
    wait_until_drawn(screen)
    assert shown_tab(screen) == name
    page.keyboard.press(" ")
    page.wait_for_function("() => Number(document.body.dataset.tick) > 3")
    assert shown_tab(screen) == name
    page.keyboard.press(" ")
    wait_until_drawn(screen)
    selected = page.evaluate("kinfolk.player.selected")
    page.reload()
    page.wait_for_selector("body[data-ready]")
    wait_until_drawn(screen)
    assert (shown_tab(screen), page.evaluate("kinfolk.player.selected")) == (name, selected)


def test_every_tab_opens_by_click_and_by_link_with_an_agent_selected(screen):
    screen.open("#run=roles&tick=1")
    uid = find_agents(screen)[0][0]
    screen.page.evaluate("uid => kinfolk.player.select(uid)", uid)
    for name in reversed(TABS):
        click_tab(screen, name)
        wait_until_drawn(screen)
        assert shown_tab(screen) == name
    for name in ("Roles", "Run"):
        screen.open(f"#run=roles&tick=1&agent={uid}&tab={TABS.index(name)}")
        wait_until_drawn(screen)
        assert shown_tab(screen) == name
        assert screen.page.evaluate("kinfolk.player.selected") == uid


WITHOUT_ROLES = ["Agent", "Charts", "Lineage", "Run"]


@pytest.mark.more
@pytest.mark.parametrize(
    ("run", "names"),
    [
        ("savanna", WITHOUT_ROLES),
        ("cogs", WITHOUT_ROLES),
        ("reasons", WITHOUT_ROLES),
        ("roles", TABS),
    ],
)
def test_every_tab_opens_and_stays_open(screen, run, names):
    assert check_tabs(screen, run) == names


def test_back_and_forward_go_through_runs_and_tabs(screen):
    page = screen.page
    screen.open()
    page.click("tr[data-run=roles] a.watch")
    wait_until_drawn(screen)
    uid = find_agents(screen)[0][0]
    page.evaluate("uid => kinfolk.player.select(uid)", uid)
    click_tab(screen, "Roles")
    click_tab(screen, "Run")
    wait_until_drawn(screen)

    def go(back, tab=None):
        (page.go_back if back else page.go_forward)()
        if tab is not None:  # the page hears of it a moment after the browser has moved
            page.wait_for_selector(f".tabs [aria-selected=true]:text-is('{tab}')")
        page.wait_for_function("() => !kinfolk.navigating")

    go(back=True, tab="Roles")
    assert shown_tab(screen) == "Roles"
    go(back=True, tab="Agent")
    assert (shown_tab(screen), page.evaluate("kinfolk.player.selected")) == ("Agent", uid)
    go(back=True)
    page.wait_for_selector("tr[data-run]")
    assert page.locator("tr[data-run]").count() == 4
    go(back=False, tab="Agent")
    wait_until_drawn(screen)
    assert (shown_tab(screen), page.evaluate("kinfolk.player.selected")) == ("Agent", uid)
    go(back=False, tab="Roles")
    go(back=False, tab="Run")
    assert (shown_tab(screen), page.evaluate("kinfolk.player.selected")) == ("Run", uid)
    page.click("a.brand")
    page.wait_for_selector("tr[data-run]")
    go(back=True, tab="Run")
    wait_until_drawn(screen)
    assert shown_tab(screen) == "Run"


@pytest.mark.parametrize("tab", ["3", "7", "-1", "1.5", "x", "1e99"])
def test_a_link_to_a_tab_that_is_not_there_opens_the_first(screen, tab):
    screen.open(f"#run=savanna&tab={tab}")
    wait_until_drawn(screen)
    assert shown_tab(screen) == "Agent"
    screen.page.keyboard.press("4")
    wait_until_drawn(screen)
    assert shown_tab(screen) == "Agent", "the savanna has no roles, so no key opens them"
