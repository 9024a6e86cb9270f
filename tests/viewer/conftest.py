"""Runs of every kind, a server for them, and one browser for all tests of the viewer."""

import json
import os
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest

from kinfolk.core.settings import validate_settings
from kinfolk.engines import make_engine
from kinfolk.jobs.compare import Compare, compare_policies
from kinfolk.jobs.evaluate import Evaluate, evaluate
from kinfolk.store.run import create_run
from kinfolk.store.run_job import run_and_store

ROOT = Path(__file__).resolve().parents[2]
SCREENSHOTS = ROOT / ".screenshots"  # kept after the tests, to be looked at
BROWSER_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SAVANNA = {
    "world": "savanna",
    "slots": {"hunters": "kin://hunter", "herd": "kin://grazer"},
    "agent_slot_map": {"type_1_predator": "hunters", "type_1_prey": "herd"},
    "world_settings": {"max_steps": 300},
    "episodes": 1,
    "replays": 1,
}
COGSGUARD = {
    "world": "cogsguard",
    "preset": "head_to_head",
    "world_settings": {"max_steps": 400},
    "slots": {"smart": "kin://smart", "chance": "kin://random"},
    "agent_slot_map": {"cogs_0": "smart", "cogs_1": "chance"},
    "episodes": 2,
    "replays": 2,
}
EXPLAINING = {
    "world": "probe",
    "slots": {"all": "kin://probe-explaining"},
    "episodes": 1,
    "replays": 1,
}


def make_run(folder, **values):
    settings = validate_settings(Evaluate, values)
    run = create_run(folder, "evaluate", settings.model_dump())
    list(run_and_store(run, lambda snapshot: evaluate(settings, make_engine("local", 1), snapshot)))
    return run


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """Runs of both worlds, one whose policy explains its actions, one with a role history."""
    root = tmp_path_factory.mktemp("viewer") / "runs"
    make_run(root / "savanna", **SAVANNA)
    make_run(root / "cogs", **COGSGUARD)
    make_run(root / "reasons", **EXPLAINING)
    roles = make_run(root / "roles", **EXPLAINING)
    shutil.copy(Path(__file__).parent / "role_history.json", roles.folder)
    return root


@pytest.fixture(scope="session")
def comparison(tmp_path_factory):
    """A run that compares two policies and has a replay of each."""
    folder = tmp_path_factory.mktemp("comparison") / "rivals"
    policies = ["kin://random", "kin://noop"]
    settings = validate_settings(
        Compare, {"world": "probe", "policies": policies, "episodes": 3, "replays": 1,
                  "agent_slot_map": {"grazer": "candidate", "hunter": "candidate"}}
    )  # fmt: skip
    run = create_run(folder, "compare", settings.model_dump())
    engine = make_engine("local", 1)
    list(run_and_store(run, lambda snapshot: compare_policies(settings, engine, snapshot)))
    return folder


@contextmanager
def serving(root, port=0, **options):
    """Run a server in a thread of this process and yield its address."""
    from kinfolk.viewer.run_index import RunIndex
    from kinfolk.viewer.server import make_app, serve_in_thread

    with serve_in_thread(make_app(RunIndex(root), **options), port) as address:
        yield address


@pytest.fixture(scope="session")
def serve():
    """Return a context manager that serves another folder."""
    return serving


@pytest.fixture(scope="session")
def address(runs):
    with serving(runs) as url:
        yield url


@pytest.fixture(scope="session")
def browser():
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next((path for name in names if (path := shutil.which(name))), None)
    if path is None:
        if os.environ.get("KINFOLK_NEED_BROWSER"):
            pytest.fail("Chromium is not installed, and here no browser test may be skipped.")
        pytest.skip("Chromium is not installed; as root on Debian, ./kin test installs it.")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=BROWSER_FLAGS)
        yield chromium
        chromium.close()


class Screen:
    """A page of the viewer in the browser, with what is written on its console."""

    def __init__(self, page, address):
        self.page, self.address = page, address
        self.problems = []
        page.on(
            "console",
            lambda message: (
                message.type in ("error", "warning") and self.problems.append(message.text)
            ),
        )
        page.on("pageerror", lambda error: self.problems.append(str(error)))

    def open(self, fragment=""):
        self.page.goto("about:blank")  # another fragment alone would not reload the page
        self.page.goto(self.address + fragment)
        self.page.wait_for_selector("body[data-ready]")

    def seek(self, tick):
        self.page.evaluate(
            "tick => kinfolk.player.seek(kinfolk.player.main.replay.frameOf(tick))", tick
        )
        self.wait_for_tick(tick)

    def wait_for_tick(self, tick):
        """Wait until a tick is drawn."""
        self.page.wait_for_function(
            "tick => { const p = kinfolk.player; const v = p.main;"
            " return v?.chunk && v.replay.ticks[v.frame] === tick && p.tick === tick; }",
            arg=tick,
        )
        self.page.evaluate("() => new Promise(done => requestAnimationFrame(() => done()))")

    def save_screenshot(self, name, whole=False):
        """Save what the window shows, or with `whole` also what can be scrolled to."""
        path = SCREENSHOTS / f"{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=path, full_page=whole)

    def terrain_pixels(self, view=0):
        """Return the pixels of the terrain, row by row, as red, green, blue."""
        return self.page.evaluate(
            """view => { const c = document.querySelectorAll('canvas.terrain')[view];
            const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
            return Array.from({length: d.length / 4}, (_, i) => [d[4*i], d[4*i+1], d[4*i+2]]); }""",
            view,
        )


@pytest.fixture
def screen(browser, address):
    """Open a page of 1280 x 720; the test fails if its console has errors or warnings."""
    with open_page(browser, address) as opened:
        yield opened


@contextmanager
def open_page(browser, address, width=1280, height=720, scheme="light", **options):
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, **options
    )
    screen = Screen(context.new_page(), address)
    yield screen
    # The browser warns that reading pixels back is slow; only tests do that.
    problems = [text for text in screen.problems if "willReadFrequently" not in text]
    context.close()
    assert problems == []


@pytest.fixture
def open_screen(browser):
    """Return a context manager that opens a page of another size or address."""
    return lambda *arguments, **options: open_page(browser, *arguments, **options)


@pytest.fixture
def history():
    return json.loads((Path(__file__).parent / "role_history.json").read_text())
