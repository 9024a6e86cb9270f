"""The list of runs: rows that are kept until a run changes, and the table that sorts and searches them."""

import os

import pytest

from kinfolk.core.events import Event
from kinfolk.store.run import create_run
from kinfolk.viewer import run_table
from kinfolk.viewer.run_table import RunTable

pytestmark = pytest.mark.xdist_group("viewer")


def store(root, name, seed, done=True):
    run = create_run(root / name, "other", {"world": "probe", "seed": seed})
    run.open_for_writing()
    run.append(Event(step=1))
    if done:
        run.finish()
    else:
        run.close()
    os.utime(run.folder / "settings.json", (seed, seed))
    return run.folder


@pytest.fixture
def folders(tmp_path):
    return [store(tmp_path, f"run-{i}", i) for i in range(3)]


@pytest.fixture
def opened(monkeypatch):
    """Names of the runs that were read, in order."""
    names = []
    read = run_table.open_listed_run
    monkeypatch.setattr(
        run_table, "open_listed_run", lambda folder: names.append(folder.name) or read(folder)
    )
    return names


def test_a_run_is_read_once_and_again_when_it_changes(tmp_path, folders, opened):
    table = RunTable(tmp_path)
    first = table.list_rows()
    assert [row["name"] for row in first] == ["run-2", "run-1", "run-0"], "the newest first"
    assert [row["seed"] for row in first] == [2, 1, 0]
    assert opened == ["run-2", "run-1", "run-0"]
    assert table.list_rows() == first
    assert len(opened) == 3
    (folders[1] / "tags.txt").write_text("good, fast good")
    assert [row["tags"] for row in table.list_rows()] == [[], ["good", "fast"], []]
    assert opened[3:] == ["run-1"]


def test_a_run_that_is_not_done_is_read_every_time(tmp_path, opened):
    store(tmp_path, "stopped", 7, done=False)
    table = RunTable(tmp_path)
    assert [row["status"] for row in (*table.list_rows(), *table.list_rows())] == 2 * ["stopped"]
    assert opened == 2 * ["stopped"]


def test_runs_for_which_there_was_no_time_are_pending(tmp_path, folders, opened):
    table = RunTable(tmp_path)
    pending = table.list_rows(seconds=-1.0)
    assert [(row["name"], row["pending"], row["job"]) for row in pending] == [
        ("run-2", True, ""), ("run-1", True, ""), ("run-0", True, ""),
    ]  # fmt: skip
    assert opened == []
    assert [row["date"] for row in pending] == [row["date"] for row in table.list_rows()]
    assert not any(row["pending"] for row in table.list_rows(seconds=-1.0)), "they are known now"


def test_stopped_and_damaged_runs_do_not_keep_others_from_being_read(tmp_path, opened):
    for i in range(4):
        folder = store(tmp_path, f"run-{i}", i, done=False)
        if i % 2:
            (folder / "settings.json").write_text("{}")
            os.utime(folder / "settings.json", (i, i))
    table = RunTable(tmp_path)
    counts = [sum(row["pending"] for row in table.list_rows(seconds=0.0)) for _ in range(4)]
    assert counts == [3, 2, 1, 0], "every call reads one that was not read"
    assert sorted(opened) == ["run-0", "run-1", "run-2", "run-3"]
    rows = table.list_rows()
    assert [row["status"] for row in rows] == ["damaged", "stopped", "damaged", "stopped"]
    assert opened[4:] == ["run-2", "run-0"], "a damaged one is read again only if it changes"


def test_a_removed_run_is_forgotten(tmp_path, folders):
    table = RunTable(tmp_path)
    table.list_rows()
    for path in folders[0].iterdir():
        path.unlink()
    folders[0].rmdir()
    assert [row["name"] for row in table.list_rows()] == ["run-2", "run-1"]


def shown(page):
    return page.locator("tr[data-run]").evaluate_all("all => all.map(tr => tr.dataset.run)")


@pytest.mark.more
def test_the_table_is_searched_sorted_and_filtered_by_tags(tmp_path, serve, open_screen):
    for i in range(200):
        folder = store(tmp_path / "runs", f"run-{i:03d}", i)
        if i % 50 == 0:
            (folder / "tags.txt").write_text("fifty")
    with serve(tmp_path / "runs") as address, open_screen(address) as screen:
        page = screen.page
        screen.open()
        page.wait_for_function("() => !document.body.textContent.includes('reading')")
        assert shown(page)[:2] == ["run-199", "run-198"]
        assert len(shown(page)) < 200, "rows below the window are not made yet"
        page.click("th.by-name button")
        assert shown(page)[:2] == ["run-000", "run-001"]
        page.click("th.by-name button")
        assert shown(page)[0] == "run-199"
        assert page.evaluate("document.activeElement.title") == "Sort by run"
        page.click("button.chip:has-text('#fifty')")
        assert shown(page) == ["run-150", "run-100", "run-050", "run-000"]
        assert page.evaluate("document.activeElement.textContent") == "#fifty4"
        page.keyboard.press("ArrowDown")
        assert page.evaluate("document.activeElement.textContent") == "run-150"
        assert page.url.endswith("#search=%23fifty&sort=-name")
        page.reload()
        page.wait_for_selector("tr[data-run=run-150]")
        assert shown(page) == ["run-150", "run-100", "run-050", "run-000"]
        page.keyboard.press("/")
        page.keyboard.type(" 100")
        assert shown(page) == ["run-100"]
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.wait_for_selector(".run-head h1:has-text('run-100')")
        page.go_back()
        page.wait_for_selector("tr[data-run=run-100]")
        page.keyboard.press("ArrowDown")
        assert page.evaluate("document.activeElement.textContent") == "run-100", "without a click"
        page.keyboard.press("/")
        page.keyboard.press("Escape")
        page.wait_for_selector("tr[data-run=run-199]")
