"""Very many agents are drawn as densities when the map is zoomed out."""

import numpy as np
import pytest
from tests.viewer.conftest import make_run
from tests.viewer.replays import read_frame, read_replay

pytestmark = [pytest.mark.xdist_group("viewer")]

SIZE, BIN = 600, 3  # cells per side of the map; pixels per side of a square of the screen
VERMILLION, BLUE = (213, 94, 0), (0, 114, 178)
CROWD = {  # nobody dies and nobody is born
    "world": "savanna",
    "world_settings": {
        "grid_size": SIZE, "max_steps": 2, "max_rows": 24_000, "observation": "compact",
        "n_initial_active_type_1_predator": 4_000, "n_initial_active_type_1_prey": 20_000,
        "prey_creation_energy_threshold": 500.0, "predator_creation_energy_threshold": 500.0,
        "team_capture_margin": 1000.0,
    },
    "episodes": 1, "replays": 1,
}  # fmt: skip

MILLION = {
    "world": "savanna",
    "world_settings": {
        "grid_size": 3000, "max_steps": 2, "max_rows": 1_200_000, "observation": "compact",
        "n_initial_active_type_1_predator": 100_000, "n_initial_active_type_1_prey": 1_000_000,
        "initial_num_grass": 1_000_000, "prey_creation_energy_threshold": 4.5,
        "manual_wall_positions": [],
    },
    "episodes": 1, "replays": 1,
}  # fmt: skip
WAIT_MS = 300_000  # for a machine that is busy with other work


def count_in_squares(frame, group, camera):
    """Return how many agents of a group each square of the screen holds, by row and column."""
    cells = frame["cell"][(frame["state"] == 1) & (frame["group"] == group)].astype(np.int64)
    rows, columns = divmod(cells, SIZE)
    x = np.floor((camera["left"] + (columns + 0.5) * camera["scale"]) / BIN).astype(int)
    y = np.floor((camera["top"] + (rows + 0.5) * camera["scale"]) / BIN).astype(int)
    counts = np.zeros((camera["boxHeight"] // BIN + 1, camera["boxWidth"] // BIN + 1))
    np.add.at(counts, (y, x), 1)
    return counts


@pytest.mark.more
def test_each_square_of_the_screen_mixes_the_colours_of_its_agents(serve, open_screen, tmp_path):
    make_run(tmp_path / "runs" / "crowd", **CROWD)
    frame = read_frame(read_replay(tmp_path / "runs", "crowd"), 1)
    with serve(tmp_path / "runs") as address, open_screen(address) as screen:
        screen.open("#run=crowd")
        screen.seek(1)
        screen.page.wait_for_function(
            "() => document.querySelector('canvas.overlay').dataset.agents === 'density'"
        )
        screen.save_screenshot("density")
        camera = screen.page.evaluate(
            "() => (({left, top, scale, boxWidth, boxHeight}) =>"
            " ({left, top, scale, boxWidth, boxHeight}))(kinfolk.player.main.map)"
        )
        assert camera["scale"] * SIZE < min(camera["boxWidth"], camera["boxHeight"])
        predators, prey = (count_in_squares(frame, group, camera) for group in (0, 1))
        assert predators.sum() == 4_000
        assert prey.sum() == 20_000
        mixed = np.argwhere((predators > 0) & (prey > 0))[:20]
        empty = np.argwhere((predators == 0) & (prey == 0))[:5]
        for row, column in [*mixed.tolist(), *empty.tolist()]:
            point = [BIN * column + 1, BIN * row + 1]
            *colour, opacity = screen.page.evaluate(
                "([x, y]) => [...kinfolk.player.main.map.overlay.getContext('2d')"
                ".getImageData(x, y, 1, 1).data]",
                point,
            )
            weights = predators[row, column], prey[row, column]
            if sum(weights) == 0:
                assert opacity == 0
                continue
            expected = np.average([VERMILLION, BLUE], axis=0, weights=weights)
            assert opacity > 80
            assert np.abs(np.array(colour) - expected).max() < 4  # colours of a partly opaque pixel
        screen.page.evaluate("() => kinfolk.player.main.map.zoom(12)")
        screen.page.wait_for_function(
            "() => document.querySelector('canvas.overlay').dataset.agents === 'each'"
        )
        screen.page.evaluate("() => kinfolk.player.main.map.zoom(1e-3)")  # not below the whole map
        scale = screen.page.evaluate("() => kinfolk.player.main.map.scale")
        assert scale == pytest.approx(camera["scale"])


@pytest.mark.slow
def test_a_million_living_agents_and_their_lineage_are_shown(serve, open_screen, tmp_path):
    make_run(tmp_path / "runs" / "million", **MILLION)
    frame = read_frame(read_replay(tmp_path / "runs", "million"), 2)
    living, newest = int((frame["state"] == 1).sum()), int(frame["uid"].max())
    assert living >= 1_000_000
    assert newest > 1_100_000  # some were born
    with serve(tmp_path / "runs") as address, open_screen(address) as screen:
        screen.page.set_default_timeout(WAIT_MS)
        screen.open("#run=million")
        screen.seek(2)
        screen.page.wait_for_function(
            "() => document.querySelector('canvas.overlay').dataset.agents === 'density'"
        )
        screen.save_screenshot("million")
        drawn = "() => kinfolk.player.main.map.density.weights.reduce((a, b) => a + b, 0)"
        assert screen.page.evaluate(drawn) == living
        screen.page.get_by_role("tab", name="Lineage").click()
        screen.page.wait_for_selector("section.lineage svg")
        founders = screen.page.locator("section.lineage select option")
        assert founders.count() == 1 + 500 + 1
        assert founders.last.text_content() == "and 1099500 others: select an agent on the map"
        founder = screen.page.evaluate(
            "uid => { kinfolk.player.select(uid);"
            " return kinfolk.player.main.replay.agents.founderOf(uid); }",
            newest,
        )
        chosen = screen.page.locator("section.lineage select")
        assert chosen.input_value() == str(founder)
        assert screen.page.locator(f"section.lineage g[data-uid='{newest}']").count() == 1
