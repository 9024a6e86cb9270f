"""The family tree of evolved nets: what the server answers, and what the page draws of it."""

import pytest

import kinfolk as kf
from kinfolk.core.errors import DamagedRunError
from kinfolk.viewer.results import build_family
from kinfolk.viewer.run_index import RunIndex

pytestmark = pytest.mark.xdist_group("viewer")
NETS = {
    "inherit": ("env", "fit"), "steps": 3, "population": 6, "generations": 4, "zero_init": True,
    "held_out_episodes": 0, "crossover": 0.5, "hidden": (),
}  # fmt: skip


def scored(step, uid, parents, **values):
    event = {"kind": "generation_scored", "step": step, "population": "agent", "center_uid": None}
    return event | {"uid": uid, "parents": parents, "fitness": [1.5 * u for u in uid]} | values


def test_only_the_last_generation_and_its_ancestors_are_told():
    events = [
        scored(0, [0, 1, 2], [-1, -1, -1], inherited=[0, 0, 0]),
        scored(1, [3, 4, 5], [1, 1, 2], inherited=[2, 2, 3]),
        scored(2, [4, 6, 7], [1, 3, 3], inherited=[2, 5, 5], mates=[-1, 4, -1]),
    ]
    family = build_family({"inherit": ["fit"]}, events)
    assert (family["total"], family["generations"]) == (8, 3)
    assert [member["uid"] for member in family["members"]] == [1, 3, 4, 6, 7]
    assert family["members"][0] == {
        "uid": 1, "number": 1, "parents": (), "group": "agent", "born": 0, "died": 1, "fitness": "1.5",
        "inherited_fitness": "0",
    }  # fmt: skip
    assert family["members"][3] == {
        "uid": 6, "number": 6, "parents": (3, 4), "group": "agent", "born": 2, "died": None, "fitness": "9",
        "inherited": "net fit", "inherited_fitness": "5",
    }  # fmt: skip


def test_the_nets_of_every_population_are_numbered_from_zero():
    start = 1_000_000_000
    events = [
        scored(0, [0, 1], [-1, -1]),
        scored(0, [start, start + 176], [-1, -1], population="prey"),
    ]
    members = build_family({}, events)["members"]
    assert [(member["group"], member["number"]) for member in members] == [
        ("agent", 0), ("agent", 1), ("prey", 0), ("prey", 176),
    ]  # fmt: skip


def test_the_centre_of_a_strategy_has_its_own_number_in_the_population():
    start = 1_000_000_000
    drawn = [start + 5, start + 6]
    event = scored(0, drawn, [start + 4] * 2, population="prey", center_uid=start + 4)
    assert [member["number"] for member in build_family({}, [event])["members"]] == [4, 5, 6]


def test_damaged_events_are_named():
    with pytest.raises(DamagedRunError) as caught:
        build_family({}, [{"kind": "generation_scored", "step": 0}])
    assert str(caught.value) == "The events of this run are damaged (KeyError: 'population')."
    with pytest.raises(DamagedRunError, match="parent 9, which is missing"):
        build_family({}, [scored(0, [0], [9])])


def test_other_runs_have_no_family_of_nets(runs):
    assert RunIndex(runs).get_report("savanna")["family"] is None


@pytest.mark.more
def test_the_page_draws_the_tree_and_tells_what_a_net_inherited(
    tmp_path, serve, open_screen, browser
):
    kf.evolve_nets("gym:CartPole-v1", out=tmp_path / "nets", **NETS)
    kf.evolve_nets(
        "gym:CartPole-v1", algorithm="snes", population=4, generations=2, held_out_episodes=0,
        out=tmp_path / "snes",
    )  # fmt: skip
    members = RunIndex(tmp_path).get_report("nets")["family"]["members"]
    last = max(member["uid"] for member in members)
    with serve(tmp_path) as address, open_screen(address) as screen:
        page = screen.page
        screen.open("#run=nets")
        page.wait_for_selector(".nets svg")
        assert page.locator(".nets [data-uid]").count() == len(members)
        page.locator(f".nets [data-uid='{last}'] .target").click()
        text = page.inner_text(".net-detail")
        assert text.startswith(
            f"net {last} of agent, generation 3 to the last, fitness 3, inherited net, env, fit, "
            "fitness of its ancestors 9, from net "
        )
        parent = int(text.split("from net ")[1].split(" ")[0])
        assert page.get_attribute(f".nets [data-uid='{parent}']", "class") == "agent marked"
        page.locator(".net-detail button").first.click()
        assert page.inner_text(".net-detail").startswith(f"net {parent} of agent, generation ")
        screen.save_screenshot("net_family")
        screen.open("#run=snes")
        page.wait_for_selector(".nets svg")
        center = page.locator(".nets [data-uid='4'] title").text_content()
        assert center == "net 4 of agent, generation 0, centre of a strategy"
