"""Every control of every page works without an error on the console."""

import pytest
from playwright.sync_api import Error

from kinfolk.core.settings import validate_settings
from kinfolk.engines.base import LocalEngine
from kinfolk.jobs.compare import Compare, compare_policies
from kinfolk.jobs.round_robin import RoundRobin, round_robin
from kinfolk.store.run import create_run, open_run
from kinfolk.store.run_job import run_and_store

pytestmark = [pytest.mark.xdist_group("viewer"), pytest.mark.more]

POLICIES = ["kin://probe-python", "kin://random"]
CONTROLS = "button:visible, input:visible, select:visible, a:visible, [tabindex='0']:visible"


def make_run(folder, job, function, settings_type, **values):
    settings = validate_settings(settings_type, {"world": "probe", "policies": POLICIES, **values})
    run = create_run(folder, job, settings.model_dump())
    for _ in run_and_store(run, lambda snapshot: function(settings, LocalEngine(), snapshot)):
        pass
    return run


@pytest.fixture(scope="session")
def compared(runs, tmp_path_factory):
    """Make a run of each kind of comparison."""
    root = tmp_path_factory.mktemp("compared") / "runs"
    all_groups = {"grazer": "candidate", "hunter": "candidate"}
    make_run(root / "compare", "compare", compare_policies, Compare, episodes=6,
         agent_slot_map=all_groups)  # fmt: skip
    make_run(root / "round-robin", "round_robin", round_robin, RoundRobin, episodes=3)
    return root


def click(control):
    """Click as a person does: again, if the page drew the control anew under the pointer."""
    try:
        control.click(force=True)
    except Error as error:
        if "Element is not visible" not in str(error):
            raise
        control.wait_for(state="visible")
        control.click(force=True)


def use_all_controls(screen, fragment):
    """Use each control of a page, which is reloaded for each, and toggle the theme afterwards."""
    page = screen.page
    screen.open(fragment)
    count = page.locator(CONTROLS).count()
    for i in range(count):
        screen.open(fragment)
        page.wait_for_timeout(20)
        control = page.locator(CONTROLS).nth(i)
        tag = control.evaluate("e => e.tagName + (e.type ? ' ' + e.type : '')")
        if tag.startswith("SELECT"):
            values = control.locator("option").evaluate_all("all => all.map(o => o.value)")
            control.select_option(values[-1])
        elif control.is_enabled():
            click(control)
        page.wait_for_timeout(20)
        if page.locator("dialog[open]").count():
            page.keyboard.press("Escape")
        page.keyboard.press("t")
        assert screen.problems == [], f"{fragment}: control {i}, {tag}"
    return count


def test_every_control_of_the_run_list_works(screen):
    # The bar, search and comparison, a filter for each world, columns to sort by, and rows.
    assert use_all_controls(screen, "") == 3 + 2 + 3 + 6 + 3 * 4


def test_the_theme_changes_on_every_page(screen):
    for fragment in ("", "#run=savanna", "#run=roles&tab=3", "#run=cogs&tab=4", "#run=none"):
        screen.open(fragment)
        for change in (
            lambda: screen.page.click("button[aria-label='Light or dark']"),
            lambda: screen.page.keyboard.press("t"),
        ):
            before = screen.page.get_attribute("html", "data-theme")
            change()
            assert screen.page.get_attribute("html", "data-theme") != before
        assert [p for p in screen.problems if "404" not in p] == []
    screen.problems = []


@pytest.mark.parametrize(
    "fragment",
    ["#run=savanna&tick=20&agent=3", "#run=savanna&tab=1", "#run=cogs&tab=2&tick=9",
     "#run=roles&tab=3&agent=2", "#run=cogs&tab=4", "#run=cogs&with=cogs&withReplay=game-00001"],
)  # fmt: skip
def test_every_control_of_a_replay_works(screen, fragment):
    assert use_all_controls(screen, fragment) > 15


def result_rows(screen):
    return screen.page.locator("table.results tbody tr").evaluate_all(
        "all => all.map(tr => [...tr.cells].map(td => td.textContent))"
    )


def test_a_comparison_is_shown_as_a_table_with_its_verdict(compared, serve, open_screen):
    from kinfolk.evaluation.formatting import describe_comparison

    events = list(open_run(compared / "compare").events())
    values = [[e["value"] for e in events if e.get("policy") == i] for i in (0, 1)]
    wins = [sum((a > b) + 0.5 * (a == b) for a, b in zip(*pair, strict=True))
            for pair in (values, values[::-1])]  # fmt: skip
    with serve(compared) as address, open_screen(address) as screen:
        screen.open("#run=compare")
        screen.page.wait_for_selector("table.results")
        heads = screen.page.locator("table.results th").all_inner_texts()
        assert heads == [
            "policy",
            "mean return",
            "95 % confidence interval",
            "n",
            "wins",
            "failures",
        ]
        rows = result_rows(screen)
        assert [row[0] for row in rows] == POLICIES
        assert [float(row[1].replace(",", "")) for row in rows] == pytest.approx(
            [sum(v) / 6 for v in values], rel=0.01
        )
        assert [row[3:] for row in rows] == [["6", f"{won:g}", "0"] for won in wins]
        assert not screen.page.is_visible("section.roles"), "a comparison has none"
        expected = list(describe_comparison(events[-1]))
        assert screen.page.locator("p.verdict").all_inner_texts()[: len(expected)] == expected
        assert screen.page.locator("figure.chart").count() == 0, (
            "a comparison has no lines over steps"
        )
        screen.save_screenshot("comparison")
        use_all_controls(screen, "#run=compare")


def test_a_round_robin_is_shown_as_a_table_of_ratings(compared, serve, open_screen):
    rated = list(open_run(compared / "round-robin").events())[-1]
    with serve(compared) as address, open_screen(address) as screen:
        screen.open("#run=round-robin")
        screen.page.wait_for_selector("table.results")
        rows = result_rows(screen)
        expected = {
            uri: [f"{rating:.1f}", f"{uncertainty:.1f}", str(games)]
            for uri, (rating, uncertainty, _, games, *_) in zip(
                POLICIES, rated["ratings"], strict=True
            )
        }
        assert {row[0]: row[1:4] for row in rows} == expected
        assert sum(float(row[4]) for row in rows) == 3
        [verdict] = screen.page.locator("p.verdict").all_inner_texts()
        assert verdict.startswith(f"{rows[0][0]} is rated highest, ")
        assert screen.page.locator("figure.chart").count() == 0
        screen.save_screenshot("round-robin")
