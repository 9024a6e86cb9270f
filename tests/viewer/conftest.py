"""A folder of runs, a server over it, and one browser for all tests of the viewer."""

import json
import os
import shutil
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from kinfolk.core.settings import validate_settings
from kinfolk.engines import make_engine
from kinfolk.jobs.evaluate import Evaluate, evaluate
from kinfolk.store.run import create_run
from kinfolk.store.run_job import run_and_store

ROOT = Path(__file__).resolve().parents[2]
SHOTS = ROOT / ".screenshots"  # kept after the tests, to be looked at
FLAGS = [
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
REASONING = {
    "world": "probe",
    "slots": {"all": "kin://probe-explaining"},
    "episodes": 1,
    "replays": 1,
}


def make_run(folder, **settings):
    asked = validate_settings(Evaluate, settings)
    run = create_run(folder, "evaluate", asked.model_dump())
    list(run_and_store(run, lambda snapshot: evaluate(asked, make_engine("local", 1), snapshot)))
    return run


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """Runs of both worlds, one whose policy tells its reasons, one with roles."""
    root = tmp_path_factory.mktemp("viewer") / "runs"
    make_run(root / "savanna", **SAVANNA)
    make_run(root / "cogs", **COGSGUARD)
    make_run(root / "reasons", **REASONING)
    roles = make_run(root / "roles", **REASONING)
    shutil.copy(Path(__file__).parent / "role_history.json", roles.folder)
    return root


@contextmanager
def served(root, port=0, **options):
    """A server in a thread of this process; gives its address."""
    import uvicorn

    from kinfolk.viewer.run_index import RunIndex
    from kinfolk.viewer.run_server import make_uvicorn_config, open_socket
    from kinfolk.viewer.server import make_app

    waiting = open_socket("127.0.0.1", port)
    server = uvicorn.Server(make_uvicorn_config(make_app(RunIndex(root), **options)))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [waiting]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{waiting.getsockname()[1]}/"
    finally:
        server.should_exit = True
        thread.join(10)


@pytest.fixture(scope="session")
def serve():
    """How to serve another folder."""
    return served


@pytest.fixture(scope="session")
def address(runs):
    with served(runs) as found:
        yield found


@pytest.fixture(scope="session")
def browser():
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next((found for name in names if (found := shutil.which(name))), None)
    if path is None:
        if os.environ.get("KINFOLK_NEED_BROWSER"):
            pytest.fail("Chromium is not installed, and here no browser test may be skipped.")
        pytest.skip("Chromium is not installed; as root on Debian, ./kin test installs it.")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield found
        found.close()


class Screen:
    """A page of the viewer, and what its tests ask of it again and again."""

    def __init__(self, page, address):
        self.page, self.address = page, address
        self.problems = []
        page.on(
            "console", lambda m: m.type in ("error", "warning") and self.problems.append(m.text)
        )
        page.on("pageerror", lambda error: self.problems.append(str(error)))

    def open(self, hash_=""):
        self.page.goto("about:blank")  # another hash alone would not load the page anew
        self.page.goto(self.address + hash_)
        self.page.wait_for_selector("body[data-ready]")

    def seek(self, tick):
        self.page.evaluate(
            "tick => kinfolk.player.seek(kinfolk.player.main.replay.frameOf(tick))", tick
        )
        self.at(tick)

    def at(self, tick):
        """Wait until this tick is drawn."""
        self.page.wait_for_function(
            "tick => { const p = kinfolk.player; const v = p.main;"
            " return v.chunk && v.replay.ticks[v.frame] === tick && p.tick === tick; }",
            arg=tick,
        )
        self.page.evaluate("() => new Promise(done => requestAnimationFrame(() => done()))")

    def shoot(self, name):
        SHOTS.mkdir(exist_ok=True)
        self.page.screenshot(path=SHOTS / f"{name}.png")

    def ground(self, view=0):
        """The pixels of the ground, row by row, as red, green, blue."""
        return self.page.evaluate(
            """view => { const c = document.querySelectorAll('canvas.ground')[view];
            const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
            return Array.from({length: d.length / 4}, (_, i) => [d[4*i], d[4*i+1], d[4*i+2]]); }""",
            view,
        )


@pytest.fixture
def screen(browser, address):
    """A fresh page at 1280 x 720; the test fails if anything is said on its console."""
    with opened(browser, address) as found:
        yield found


@contextmanager
def opened(browser, address, width=1280, height=720, scheme="light", **options):
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, **options
    )
    screen = Screen(context.new_page(), address)
    yield screen
    # Reading pixels back is slow, says the browser; only tests do.
    problems = [said for said in screen.problems if "willReadFrequently" not in said]
    context.close()
    assert problems == []


@pytest.fixture
def open_screen(browser):
    """How to open a page of another size or address."""
    return lambda *words, **options: opened(browser, *words, **options)


@pytest.fixture
def history():
    return json.loads((Path(__file__).parent / "role_history.json").read_text())
