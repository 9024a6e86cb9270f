"""The page follows a run while it is running, and catches up after a reload."""

import subprocess
import sys
import time
from urllib.parse import urlsplit

import pytest

from kinfolk.core.events import Event, FileChunk
from kinfolk.jobs.evaluate import Evaluate, evaluation_tasks
from kinfolk.replay.record import record_replay
from kinfolk.store.run import create_run

pytestmark = pytest.mark.xdist_group("viewer")

LONG = {"max_ticks": 500, "growth": 1.0, "max_age": 1000, "hunters": 0}
NAME = "replays/game-00000.replay"


@pytest.fixture
def live(tmp_path):
    """Return an unfinished run and the chunks of its replay that are still to be written."""
    settings = Evaluate(world_settings=LONG, slots={"all": "kin://probe-python"})
    chunks = list(record_replay(next(evaluation_tasks(settings)), 0))
    run = create_run(tmp_path / "runs" / "live", "evaluate", settings.model_dump())
    run.open_for_writing()
    run.write_file_chunk(FileChunk(path=NAME, data=chunks[0] + chunks[1]))
    yield run, chunks[2:]
    run.close()


def write(run, chunk):
    run.write_file_chunk(FileChunk(path=NAME, data=chunk, append=True))


def wait_for_frames(screen, count):
    screen.page.wait_for_function("n => kinfolk.player.views[0]?.replay.frames === n", arg=count)


def test_the_page_follows_a_run_and_catches_up_after_a_reload(live, serve, open_screen, tmp_path):
    run, chunks = live
    with serve(tmp_path / "runs") as address, open_screen(address) as screen:
        screen.open("#run=live")
        wait_for_frames(screen, 128)
        assert screen.page.inner_text("button.live") == "● live"
        screen.page.keyboard.press("End")
        screen.wait_for_tick(127)
        write(run, chunks[0])
        wait_for_frames(screen, 256)
        screen.wait_for_tick(255)  # a page at the end stays at the end
        assert screen.page.inner_text(".clock") == "tick 255 of 255"
        screen.page.keyboard.press("Home")
        screen.wait_for_tick(0)
        write(run, chunks[1])
        wait_for_frames(screen, 384)
        screen.wait_for_tick(0)  # a page at an earlier tick stays there
        screen.page.reload()
        screen.page.wait_for_selector("body[data-ready]")
        wait_for_frames(screen, 384)
        write(run, chunks[2])
        wait_for_frames(screen, 501)
        run.append(Event(step=0))
        run.finish()
        screen.page.wait_for_function("() => document.body.dataset.status === 'done'")
        screen.page.wait_for_function("() => !kinfolk.player.main.replay.live")
        assert screen.page.is_hidden("button.live")


def test_playing_at_the_end_of_a_live_run_waits_for_more(live, serve, open_screen, tmp_path):
    run, chunks = live
    with serve(tmp_path / "runs") as address, open_screen(address) as screen:
        screen.open("#run=live&tick=120")
        screen.page.evaluate("kinfolk.player.setSpeed(200)")
        screen.page.click("button.play")
        screen.page.wait_for_function("() => document.body.dataset.tick === '127'")
        assert screen.page.evaluate("kinfolk.player.playing")
        write(run, chunks[0])
        screen.page.wait_for_function("() => Number(document.body.dataset.tick) > 200")


def test_a_new_replay_of_the_run_can_be_selected_at_once(live, serve, open_screen, tmp_path):
    run, _ = live
    with serve(tmp_path / "runs") as address, open_screen(address) as screen:
        screen.open("#run=live")
        wait_for_frames(screen, 128)
        whole = b"".join(record_replay(next(evaluation_tasks(Evaluate())), 1))
        run.write_file_chunk(FileChunk(path="replays/showcase-00010.replay", data=whole))
        screen.page.wait_for_selector("select[aria-label=Replay]")
        listed = screen.page.locator("select[aria-label=Replay] option").all_inner_texts()
        assert listed == ["game-00000", "showcase-00010"]


def test_the_page_reconnects_to_a_restarted_server(live, serve, open_screen, tmp_path):
    run, chunks = live
    with open_screen("") as screen:
        with serve(tmp_path / "runs") as address:
            screen.address = address
            screen.open("#run=live")
            wait_for_frames(screen, 128)
        write(run, chunks[0])
        with serve(tmp_path / "runs", port=urlsplit(address).port):
            wait_for_frames(screen, 256)
        screen.problems = [p for p in screen.problems if "ERR_" not in p and "WebSocket" not in p]


@pytest.mark.more
def test_role_evolution_is_followed_from_replay_to_replay(serve, open_screen, tmp_path):
    arguments = (
        "evolve roles --preset tutorial --set max_steps=150 --generations 6 --n-teams 3 "
        "--games-per-generation 4 --population 4 --eval-games 2 --engine local "
        "--replay-every 1 --out runs/evolving"
    )
    (tmp_path / "runs").mkdir()
    with serve(tmp_path / "runs") as address, open_screen(address) as screen:
        process = subprocess.Popen(
            [sys.executable, "-m", "kinfolk", *arguments.split()], cwd=tmp_path,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            first = tmp_path / "runs" / "evolving" / "replays" / "generation-00001.replay"
            while not first.exists() or first.stat().st_size < 4000:
                assert process.poll() is None, process.stderr.read()
                time.sleep(0.02)
            screen.open("#run=evolving")
            screen.page.wait_for_function("() => document.body.dataset.status === 'running'")
            screen.page.wait_for_selector("select[aria-label=Replay]")
            screen.page.reload()
            screen.page.wait_for_selector("body[data-ready]")
            screen.page.wait_for_function(
                "() => document.body.dataset.status === 'done'", timeout=120_000
            )
            assert process.wait(60) == 0, process.stderr.read()
        finally:
            process.kill()
        listed = screen.page.locator("select[aria-label=Replay] option").all_inner_texts()
        assert listed == ["champion", *(f"generation-{n:05d}" for n in range(1, 7)), "seeded"]
        screen.page.keyboard.press("4")
        assert screen.page.locator("g.role").count() >= 4
        screen.page.keyboard.press("5")
        assert "Fitness" in screen.page.locator(".block h3").all_inner_texts()
        screen.page.wait_for_timeout(100)
        screen.save_screenshot("evolving")
