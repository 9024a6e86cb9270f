"""Laws: the contract for other settings than the default, threads, compiled equals un-compiled."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kinfolk.core.settings import validate_settings
from kinfolk.testing.contracts.world import WorldContract, random_actions
from kinfolk.worlds.cogsguard.settings import Cogsguard
from kinfolk.worlds.cogsguard.world import CogsguardWorld

KINDS = {
    "head_to_head": {"teams": 2, "agents": 3, "max_steps": 80},
    "edition_a": {
        "edition": "A",
        "map": "tutorial",
        "ships": True,
        "max_steps": 120,
        "clips_align_from": 20,
    },
    "temple": {"map": "tutorial", "temple": True, "max_steps": 80, "temple_cap": 12},
}
# Rules under which much happens even by chance: free moves, gear for nothing, hearts for all.
LIVELY = {
    "map": "tutorial",
    "agents": 6,
    "free_moves": True,
    "gear_price_main": 0,
    "gear_price_other": 0,
    "start_hp": 9,
    "extractor_stock": 3,
    "store_hearts": 50,
    "clips_seed_at": 2,
    "clips_reseed_from": 2,
    "clips_reseed_every": 3,
    "clips_align_from": 3,
    "clips_align_every": 2,
    "clips_scramble_from": 2,
    "clips_scramble_every": 5,
    "temple": True,
    "temple_cooldown": 3,
    "area_radius": 4,
}
LIVELY_A = LIVELY | {
    "edition": "A",
    "ships": True,
    "ships_reach": 20,
    "hub_strength": 4,
}
YARD = """
#########
#@@J!0cJ#
#@HACo..#
#@@RMT.X#
#########
"""


class TestOtherKinds(WorldContract):
    @pytest.fixture(params=list(KINDS))
    def make(self, request):
        return lambda worlds: CogsguardWorld(
            validate_settings(Cogsguard, KINDS[request.param]), worlds
        )


def play(rules, keys, ticks, threads=1):
    """A digest of everything after every tick, per world; actions follow from lives and ticks."""
    world = CogsguardWorld(validate_settings(Cogsguard, rules), len(keys), threads=threads)
    world.record_events(True)
    world.reset(np.array(keys))
    rows = world.spec.rows
    out = np.zeros((len(keys) * rows, world.spec.row_bytes), dtype=np.uint8)
    trail, kinds = [], set()
    for _ in range(ticks):
        world.step(random_actions(world, 5))
        world.observe(out)
        kinds |= {h.kind for h in world.events()}
        state = world.snapshot()
        for w in range(len(keys)):
            parts = [np.ascontiguousarray(a[w]).tobytes() for _, a in sorted(state.items())]
            parts.append(out[w * rows : (w + 1) * rows].tobytes())
            trail.append(hashlib.sha256(b"".join(parts)).hexdigest())
    return trail, kinds, {k: v.tolist() for k, v in world.counters().items()}


@pytest.mark.parametrize("rules", [LIVELY, LIVELY_A], ids=["F", "A"])
def test_any_number_of_threads_gives_the_same(rules):
    one, kinds, counted = play(rules, [3, 8, 11, 4, 9], 150)
    assert play(rules, [3, 8, 11, 4, 9], 150, threads=2) == (one, kinds, counted)
    assert {"clips_align", "mine", "gear", "exhausted"} <= kinds


SCRIPT = """
import sys
sys.path.insert(0, {folder!r})
from test_laws import LIVELY, LIVELY_A, YARD, play
small = dict(agents=5, temple_cap=8, window_radius=3, map_text=YARD)
for rules in (LIVELY, LIVELY_A):
    print(*play(dict(rules, **small), [4, 6], 25)[::2])
    print(*play(dict(rules, **dict(small, map_text=None)), [5], 3)[::2])
"""


def test_compiled_equals_uncompiled():
    script = SCRIPT.format(folder=str(Path(__file__).parent))
    outputs = []
    for disabled in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-c", script],
            env=os.environ | {"NUMBA_DISABLE_JIT": disabled},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1]
    assert len(outputs[0]) > 1000


def test_counters_add_up_over_teams_and_agents():
    world = CogsguardWorld(
        validate_settings(Cogsguard, {"teams": 2, "max_steps": 60, "agents": 4}), 3
    )
    world.reset(np.array([1, 2, 3]))
    for _ in range(60):
        world.step(random_actions(world, 1))
    counted, own = world.counters(), world.statistics()
    for name, values in own.items():
        assert (values.sum(axis=1) == counted[name]).all()
        assert (counted[f"{name}_team_0"] + counted[f"{name}_team_1"] == counted[name]).all()
    assert (counted["moves"] + counted["ticks_without_motion"] == 8 * 60).all()


def test_areas_and_junctions_held_agree_with_a_recount():
    world = CogsguardWorld(
        validate_settings(Cogsguard, LIVELY | {"temple": False, "start_hp": 100}), 2
    )
    world.reset(np.array([1, 2]))
    s, r = world._arrays, world._rules
    for _ in range(60):
        world.step(random_actions(world, 2))
    for w in range(2):
        for y in range(r.height):
            for x in range(r.width):
                cell = (y + r.pad) * r.stride + x + r.pad
                near = [
                    (
                        int(owner),
                        (at // r.stride - y - r.pad) ** 2 + (at % r.stride - x - r.pad) ** 2,
                    )
                    for at, owner, *_ in s.junction[w].tolist()
                    if at > 0 and owner >= 0
                ]
                hub = int(s.home_cell[w, 0])
                home = (hub // r.stride - y - r.pad) ** 2 + (hub % r.stride - x - r.pad) ** 2
                word = int(s.team_view[w, 0, cell])
                friendly = home <= 16 or any(o == 0 and d <= 16 for o, d in near)
                assert bool(word >> 12 & 1) == friendly
                assert bool(word >> 13 & 1) == any(o == 1 and d <= 16 for o, d in near)
        owners = s.junction[w][s.junction[w, :, 0] > 0, 1].tolist()
        assert s.teams[w, :, 4].tolist() == [owners.count(0), owners.count(1)]


def test_metrics_have_junctions_held_and_are_nan_for_short_episodes():
    world = CogsguardWorld(validate_settings(Cogsguard, {"map": "tutorial", "max_steps": 20}), 2)
    world.reset(np.array([1, 2]))
    for _ in range(20):
        world.step(random_actions(world, 2))
    values = {name: np.asarray(value) for name, value in world.counters().items()}
    found = CogsguardWorld.compute_metrics(np.array([True, False]), values)
    assert found["junction_ticks_held"].tolist()[0] == values["junction_ticks_team_0"][0]
    assert np.isnan(found["junction_ticks_held"][1])
    assert found["junction_ticks_held_clips"][0] == 11.0  # seeded at tick 10
