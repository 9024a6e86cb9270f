"""The archive of a role evolution is drawn as a map in the tab of the roles."""

import json
import shutil

import pytest

from kinfolk.viewer.export import export_page

pytestmark = [pytest.mark.xdist_group("viewer"), pytest.mark.more]

AXES = [
    {"name": "miner", "low": 0.0, "high": 1.0, "cells": 3},
    {"name": "scrambled", "low": 0.0, "high": 0.5, "cells": 2},
    {"name": "moves", "low": 0.0, "high": 1.0, "cells": 2},
]


def make_elite(cell, score, believed):
    return {
        "cell": cell,
        "score": score + 10,
        "games": 8,
        "fresh_score": score,
        "fresh_measures": [0.25, 0.125, 0.5],
        "believed": believed,
        "team": {"BaseMiner": 3},
        "programs": {"BaseMiner": "deposit_resource / mine_resource"},
    }


def test_cells_of_the_archive_can_be_selected(open_screen, runs, tmp_path):
    shutil.copytree(runs / "roles", tmp_path / "diverse")
    teams = [make_elite("0-1-0", 100.0, True), make_elite("2-0-1", 300.0, False)]
    archive = {"metric": "junction-ticks", "games": 32, "axes": AXES, "teams": teams}
    archive["roles"] = [make_elite("1-1-1", 7.0, True)]
    (tmp_path / "diverse" / "archive.json").write_text(json.dumps(archive))
    path = tmp_path / "page.html"
    path.write_bytes(export_page([(tmp_path / "diverse", None)]))
    with open_screen(path.as_uri()) as screen:
        screen.open()
        screen.page.keyboard.press("4")
        archive_map = screen.page.locator(".archive")
        assert archive_map.locator("svg").count() == 2, "a slice for each place of the third axis"
        assert archive_map.locator("rect").count() == 12
        assert archive_map.locator("circle").count() == 1, "a ring marks the one not believed"
        assert archive_map.locator("h3").inner_text() == "Cell 2-0-1", "the best is selected first"
        archive_map.locator("[data-cell='0-1-0']").click()
        assert archive_map.locator("h3").inner_text() == "Cell 0-1-0"
        assert "run:RUN@archive/0-1-0" in archive_map.inner_text()
        assert "BaseMiner: deposit_resource / mine_resource" in archive_map.inner_text()
        archive_map.locator("button", has_text="roles").click()
        assert "run:RUN@role-archive/1-1-1" in archive_map.inner_text()
        screen.save_screenshot("archive")
