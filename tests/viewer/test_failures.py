"""Failures of policies in the viewer: which policy, where; hostile messages are shown as text."""

import sys

import pytest

from kinfolk.core.errors import DamagedRunError
from kinfolk.core.settings import validate_settings
from kinfolk.engines.base import LocalEngine
from kinfolk.jobs.compare import Compare, compare_policies
from kinfolk.jobs.evaluate import Evaluate, evaluate
from kinfolk.jobs.round_robin import RoundRobin, round_robin
from kinfolk.store.run import create_run
from kinfolk.store.run_job import run_and_store
from kinfolk.viewer.export import export_page
from kinfolk.viewer.results import build_failures

pytestmark = pytest.mark.xdist_group("viewer")

MODULE = "failing_in_the_viewer"
POLICY = """
from kinfolk.policies.base import NoopPolicy

HTML = "<img src=x onerror=\\"document.title='broken into'\\"><script>document.title='broken into'</script>"


class Broken(NoopPolicy):
    def act_async(self, observations, rows, memory, keys):
        raise ValueError(HTML + "\\x1b[31m[red]\\n\\u202e" + 1_000_000 * "x")
"""
URI = f"class:{MODULE}.Broken"
COMMON = {"world_settings": {"max_ticks": 4}, "episodes": 2, "replays": 1}


def store(folder, job_name, job, model, **values):
    settings = validate_settings(model, {**COMMON, **values})
    run = create_run(folder, job_name, settings.model_dump())
    list(run_and_store(run, lambda snapshot: job(settings, LocalEngine(), snapshot)))


@pytest.fixture(scope="module")
def failed(tmp_path_factory):
    """Runs of the three jobs in which a policy fails."""
    root = tmp_path_factory.mktemp("failed") / "runs"
    root.mkdir()
    (root.parent / f"{MODULE}.py").write_text(POLICY)
    sys.path.insert(0, str(root.parent))
    seats = {"grazer": "candidate", "hunter": "others"}
    slots = {"candidate": "kin://noop", "others": URI}
    store(root / "one", "evaluate", evaluate, Evaluate, slots=slots, agent_slot_map=seats)
    store(
        root / "compared", "compare", compare_policies, Compare, policies=["kin://noop", URI],
        slots={"others": "kin://noop"}, agent_slot_map=seats,
    )  # fmt: skip
    store(root / "met", "round_robin", round_robin, RoundRobin, policies=["kin://noop", URI])
    sys.path.remove(str(root.parent))
    return root


def read_failures(screen):
    """Return the texts of each failure on the page: policy, place, what happened, and where."""
    entries = screen.page.locator(".failures li")
    entries.first.wait_for(timeout=10_000)
    return entries.evaluate_all("all => all.map(e => [...e.children].map(c => c.textContent))")


@pytest.mark.parametrize(
    ("run", "replay", "policy", "place"),
    [
        ("one", "game-00000", f"{MODULE}.Broken", "slot others"),
        (
            "compared", "game-00000-1-failing_in_the_viewer.Broken", URI,
            f"playing for {URI}, slot candidate",
        ),
        (
            "met", "game-00000-1-failing_in_the_viewer.Broken-vs-0-noop", URI,
            "against kin://noop, slot second",
        ),
    ],
)  # fmt: skip
def test_the_page_of_a_run_lists_who_failed_where(
    failed, serve, open_screen, run, replay, policy, place
):
    with serve(failed) as address, open_screen(address) as screen:
        screen.open(f"#run={run}&replay={replay}&tab=4")
        screen.page.wait_for_function("() => kinfolk.player.main?.chunk")
        found = read_failures(screen)
        assert len(found) == 1, "failures that are alike are one entry"
        assert found[0][:2] == [policy, f"{place}, agent all, episode 0, tick 0"]
        message, where, more = found[0][2:]
        others = 3 if run == "met" else 1
        assert more.startswith(f"{others} more like it{place}, agent all")
        assert more.count(", agent all, episode ") == others
        assert where == (
            f'{MODULE}.py:9 in act_async: raise ValueError(HTML + "\\x1b[31m[red]\\n\\u202e" + '
            f'1_000_000 * "x")'
        )
        assert message.startswith("act_async raised ValueError: <img src=x onerror=")
        assert "\\x1b[31m[red]\\n\\u202exxx" in message
        assert len(message) == 300
        assert screen.page.title() != "broken into"
        assert screen.page.locator(".failures img, .failures script").count() == 0
        screen.save_screenshot(f"failures-{run}")


def test_a_replay_says_who_plays_in_which_slot(failed, serve, open_screen):
    with serve(failed) as address, open_screen(address) as screen:
        screen.open("#run=met&replay=game-00000-0-noop-vs-1-failing_in_the_viewer.Broken")
        players = screen.page.locator("figcaption .player")
        assert players.all_inner_texts() == ["first: kin://noop", f"second: class:{MODULE}.Broken"]


def test_an_exported_page_has_the_results_and_the_failures(failed, tmp_path, open_screen):
    page = tmp_path / "page.html"
    page.write_bytes(export_page([(failed / "compared", None)]))
    with open_screen(page.as_uri()) as screen:
        screen.open("#tab=4")
        assert len(read_failures(screen)) == 1
        assert screen.page.locator("table.results tbody tr").count() == 2
        assert screen.page.title() != "broken into"


def failure(**more):
    record = {"slot": "a", "policy": "m.P", "agent": 7, "tick": 3, "cause": "raised"}
    record |= {"message": "Slot 'a', agent 7, tick 3: boom.", "traceback": "", "restarted": False}
    return record | more


def test_the_first_failures_are_listed_and_all_are_counted():
    settings = {"slots": {"a": "kin://x"}}
    events = [{"kind": "episode_played", "step": i, "failures": [failure()]} for i in range(300)]
    found = build_failures("evaluate", settings, events)
    assert (found["total"], len(found["rows"])) == (300, 200)
    assert found["rows"][1] == ["kin://x", "a", "7", "1", "3", "boom", ""]
    assert build_failures("train", {}, [{"kind": "update", "step": 0}])["total"] == 0


@pytest.mark.parametrize(
    ("job", "event"),
    [
        ("evaluate", {"kind": "episode_played", "failures": [failure()]}),
        ("evaluate", {"kind": "episode_played", "step": 0, "failures": ["?"]}),
        ("compare", {"kind": "candidate_played", "step": 0, "policy": 9, "failures": [failure()]}),
        ("round_robin", {"kind": "pair_played", "step": 0, "first": 0, "second": 1, "failures": [failure()]}),
    ],
)  # fmt: skip
def test_damaged_events_are_refused(job, event):
    with pytest.raises(DamagedRunError, match=r"^The events of this run are damaged \("):
        build_failures(job, {"policies": ["a", "b"], "slots": {}}, [event])
