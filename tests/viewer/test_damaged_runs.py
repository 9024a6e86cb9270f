"""Damaged runs and unusual names are listed with their problem and hide no other run."""

import gzip
import json
import os
import shutil
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from tests.viewer.test_server import send_request

from kinfolk.core.events import Event
from kinfolk.store.integrity import seal
from kinfolk.store.run import create_run

pytestmark = pytest.mark.xdist_group("viewer")

ODD_NAMES = ["100%", "a b&c=d#e?f", "größe-Ω-猿", "[bold]x", 'it\'s "quoted"', "<b>x", "a\nb"]
LONG = "n" * 5000


def make_run(folder, **settings):
    run = create_run(folder, "count", settings)
    run.open_for_writing()
    run.append(Event(step=1))
    run.finish()
    return run


@pytest.fixture(scope="module")
def damaged(tmp_path_factory):
    """Make intact and damaged runs; return their folder and the problem of each damaged one."""
    root = tmp_path_factory.mktemp("damaged") / "runs"
    for name in ("good", *ODD_NAMES):
        make_run(root / name)
    for name in ("empty", "cut", "foreign", "bare", "list", "deep", "folder", "flipped"):
        make_run(root / name)
    path = root / "empty" / "settings.json"
    path.write_bytes(b"")
    (root / "cut" / "settings.json").write_text('{"format": 4, "jo')
    (root / "foreign" / "settings.json").write_text('{"format": 1}')
    bare = b'{"format": 4, "sha256": "%s"}' % (b"0" * 64)
    (root / "bare" / "settings.json").write_bytes(seal(bare))
    sound = (root / "flipped" / "settings.json").read_bytes()
    (root / "flipped" / "settings.json").write_bytes(sound.replace(b"count", b"bount"))
    (root / "list" / "settings.json").write_text("[1]")
    (root / "deep" / "settings.json").write_text("[" * 100_000)
    (root / "folder" / "settings.json").unlink()
    (root / "folder" / "settings.json").mkdir()
    make_run(root / "lost")
    (root / "lost" / "settings.json").unlink()
    locked = create_run(root / "locked", "count", {})
    (locked.folder / "lock").mkdir()
    (root / "not a run").mkdir()
    os.mkdir(os.fsencode(root) + b"/latin-\xe9")
    shutil.copy(root / "good" / "settings.json", os.fsencode(root) + b"/latin-\xe9/settings.json")
    make_run(root / "torn")
    packed = root / "torn" / "events.jsonl.gz"
    packed.write_bytes(packed.read_bytes()[:-5])
    make_run(root / "infinite", level=float("inf"))
    problems = {
        "empty": f"{path} is damaged: Expecting value: line 1 column 1 (char 0).",
        "foreign": f"{root}/foreign/settings.json has format 1; this kinfolk reads 4. Earlier formats hold "
        "games by former rules of their worlds; CHANGELOG.md says what changed.",
        "flipped": f"{root}/flipped/settings.json is damaged: its SHA-256 checksum is wrong.",
        "bare": f"{root}/bare/settings.json is damaged: it names no job with its settings.",
        "list": f"{root}/list/settings.json has format None; this kinfolk reads 4.",
        "deep": f"{root}/deep/settings.json is damaged: it is nested too deeply.",
        "folder": f"{root}/folder/settings.json could not be read: it is a folder.",
        "lost": f"{root}/lost is not a run: it has no settings.json.",
        "locked": f"{root}/locked/lock could not be read: it is a folder.",
        "latin-\\xe9": "Its name is not text in UTF-8. Rename the folder.",
    }
    for name in ("empty", "foreign", "flipped", "bare", "list", "deep"):
        problems[name] += " A run cannot be used without its settings: start it again."
    return root, problems


@pytest.fixture(scope="module")
def damaged_address(damaged, serve):
    with serve(damaged[0]) as address:
        yield address


def test_damaged_runs_are_listed_with_their_problem(damaged, damaged_address):
    _, expected = damaged
    status, body, _ = send_request(damaged_address, "/api/runs")
    assert status == 200
    listed = {run["name"]: run for run in json.loads(body)}
    assert set(listed) == {"good", "torn", "infinite", "cut", *ODD_NAMES, *expected}
    problems = {name: run["problem"] for name, run in listed.items() if run["problem"]}
    assert problems.pop("cut").startswith(
        f"{damaged[0]}/cut/settings.json is damaged: Unterminated"
    )
    assert problems == expected
    assert {listed[name]["status"] for name in expected} == {"damaged"}
    info = json.loads(send_request(damaged_address, "/api/runs/infinite")[1])
    assert info["settings"] == {"level": None}, "JSON has no infinity"


@pytest.mark.parametrize("name", ["good", *ODD_NAMES])
def test_a_run_of_any_name_is_found(damaged_address, name):
    status, body, _ = send_request(damaged_address, f"/api/runs/{quote(name, safe='')}/metrics")
    assert (status, json.loads(body)) == (200, {"event": {"step": [1], "fields": {}}})


@pytest.mark.parametrize(
    "name", ["empty", "foreign", "flipped", "bare", "list", "deep", "folder", "lost"]
)
@pytest.mark.parametrize("path", ["metrics", "report", "roles", "replays/game-00000"])
def test_a_damaged_run_is_answered_with_its_problem(damaged, damaged_address, name, path):
    status, body, _ = send_request(damaged_address, f"/api/runs/{name}/{path}")
    assert (status, json.loads(body)["error"]) == (422, damaged[1][name])


def test_events_that_are_cut_short_are_reported(damaged, damaged_address):
    status, body, _ = send_request(damaged_address, "/api/runs/torn/metrics")
    assert status == 422
    assert json.loads(body)["error"] == (
        f"{damaged[0]}/torn/events.jsonl.gz is cut short or damaged: "
        "Compressed file ended before the end-of-stream marker was reached."
    )


@pytest.mark.parametrize(
    "name",
    [LONG, "n" * 256, "Ω" * 128, "%00", "a%00b", "..", "%2e%2e", "%", "%zz", "%ff%fe", "%ed%a0%80",
     "%5c", "a%2fb", "none", "%20", "...", "%F0%9F%A6%8A"],
)  # fmt: skip
@pytest.mark.parametrize("path", ["metrics", "report", "roles", "replays/x", "replays/x/frames/0"])
def test_a_name_that_is_no_run_is_not_found(damaged_address, name, path):
    status, body, _ = send_request(
        damaged_address, f"/api/runs/{name.replace('Ω', '%CE%A9')}/{path}"
    )
    assert status == 404
    message = json.loads(body)["error"]
    assert message.startswith("There is no")
    assert len(message) < 700


@pytest.mark.parametrize("name", [LONG, "%00", "..%2f..", "%ff", "none"])
def test_a_replay_of_no_such_name_is_not_found(damaged_address, name):
    for path in ("", "/series", "/frames/0"):
        status, body, _ = send_request(damaged_address, f"/api/runs/good/replays/{name}{path}")
        assert status == 404
        assert json.loads(body)["error"].startswith("There is no")


def test_an_unknown_path_in_a_browser_gets_an_html_page(damaged_address):
    status, body, headers = send_request(damaged_address, f"/{LONG}<b>", accept="text/html")
    assert (status, headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert body.decode() == (
        f"<!doctype html><title>kinfolk</title><p>There is nothing at /{LONG[:99]}....</p>"
        '<p><a href="/">All runs</a></p>'
    )


def test_the_list_in_the_browser_shows_the_problems(damaged, damaged_address, open_screen):
    with open_screen(damaged_address) as screen:
        screen.open()
        rows = screen.page.locator("tr[data-run].damaged")
        shown = dict(
            zip(
                rows.evaluate_all("all => all.map(tr => tr.dataset.run)"),
                rows.locator(".reason").all_inner_texts(),
                strict=True,
            )
        )
        assert shown.pop("cut").startswith(f"{damaged[0]}/cut/settings.json is damaged")
        assert shown == damaged[1]
        screen.save_screenshot("damaged")
        screen.page.click("tr[data-run=good] a.name")
        screen.page.wait_for_selector("section.run")
        for name in ("empty", "lost", LONG, "none", "a/../b", "\0"):
            screen.open(f"#run={quote(name)}")
            screen.page.wait_for_selector(".problem:visible")
            problem = screen.page.inner_text(".problem")
            assert problem == damaged[1].get(name, problem)
            assert problem.startswith(("There is no", f"{damaged[0]}/"))
            screen.page.click("button:has-text('all runs')")
            screen.page.wait_for_selector("tr[data-run=good]")
        screen.open("#run=torn")
        screen.page.wait_for_selector(".problem:visible")
        assert screen.page.inner_text(".problem").startswith(
            f"{damaged[0]}/torn/events.jsonl.gz is cut"
        )
        assert screen.page.inner_text(".more summary >> nth=0") == "Settings"
        screen.problems = [p for p in screen.problems if " 404 " not in p and " 422 " not in p]


def test_the_command_lists_damaged_runs_too(damaged, capsys):
    from kinfolk.cli.app import main

    root, problems = damaged
    with pytest.raises(SystemExit) as exited:
        main(["runs", "--root", str(root), "--json"])
    output = capsys.readouterr()
    assert exited.value.code == 0
    listed = {run["name"]: run.get("problem", "") for run in json.loads(output.out)}
    assert {name: text for name, text in listed.items() if text and name != "cut"} == problems
    with pytest.raises(SystemExit) as exited:
        main(["runs", "--root", str(root)])
    output = capsys.readouterr()
    assert exited.value.code == 0
    assert f"lost is damaged. {problems['lost']}\n" in output.err
    assert "[bold]x" in output.out


def test_a_damaged_role_history_is_reported_and_hides_nothing(serve, open_screen, tmp_path):
    run = make_run(tmp_path / "runs" / "one")
    path = run.folder / "role_history.json"
    sound = (Path(__file__).parent / "role_history.json").read_text()
    with serve(tmp_path / "runs") as address, open_screen(address) as screen:
        for text, message in (
            ("{", f"{path} is damaged at line 1: the file ends too early."),
            (
                '{"roles": [{"tiers": 3}]}',
                f"{path} has format None; this kinfolk reads 3, in which roles",
            ),
            ("\x00", f"{path} is damaged at line 1: "),
            (
                sound.replace('"seed": 0', '"seed": 1'),
                f"{path} is damaged: its SHA-256 checksum is wrong.",
            ),
        ):
            path.write_text(text)
            screen.open("#run=one")
            screen.page.wait_for_selector(".problem:visible")
            assert screen.page.inner_text(".problem").startswith(message)
            assert screen.page.inner_text(".more summary >> nth=0") == "Settings"
        screen.problems = [p for p in screen.problems if " 422 " not in p]


def test_a_decompression_bomb_of_events_is_refused(serve, tmp_path):
    run = make_run(tmp_path / "runs" / "bomb")
    line = b'{"kind": "a", "step": 1}\n'
    packed = gzip.compress(line * (200 * 2**20 // len(line)), 9)
    (run.folder / "events.jsonl.gz").write_bytes(packed)
    with serve(tmp_path / "runs") as address:
        status, body, _ = send_request(address, "/api/runs/bomb/metrics")
    limit = max(64 * 2**20, 200 * len(packed))
    assert (status, json.loads(body)["error"]) == (
        422,
        f"{run.folder}/events.jsonl.gz is damaged: its {len(packed):,} bytes unpack to more than "
        f"{limit:,}.",
    )


def test_the_server_answers_on_the_same_connection_after_errors(damaged_address):
    import http.client

    connection = http.client.HTTPConnection(urlsplit(damaged_address).netloc, timeout=10)
    for path, status in ((f"/api/runs/{LONG}/metrics", 404), ("/api/runs/good/metrics", 200)):
        connection.request("GET", path)
        response = connection.getresponse()
        response.read()
        assert response.status == status
