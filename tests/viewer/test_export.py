"""Pages that open from disk: no network, and the same to be seen."""

import pytest

from kinfolk.viewer.export import one_page

pytestmark = pytest.mark.xdist_group("viewer")


@pytest.fixture(scope="module")
def page_file(runs, tmp_path_factory):
    path = tmp_path_factory.mktemp("export") / "savanna.html"
    path.write_bytes(one_page([(runs / "savanna", None)]))
    return path


def test_the_page_from_disk_shows_the_same(open_screen, screen, page_file):
    screen.open("#run=savanna&tick=140&agent=5")
    screen.at(140)
    served, told = screen.ground(), screen.page.inner_text(".inspector")
    with open_screen(page_file.as_uri()) as own:
        own.page.context.set_offline(True)
        asked = []
        own.page.on("request", lambda request: asked.append(request.url))
        own.open("#tick=140&agent=5")
        own.at(140)
        assert own.ground() == served
        assert own.page.inner_text(".inspector") == told
        own.page.keyboard.press("2")
        assert own.page.locator("figure.chart").count() == 4
        own.shoot("export")
        assert [
            url for url in asked if not url.startswith(("file:", "data:", "blob:", "about:"))
        ] == []


def test_two_runs_and_their_roles_fit_in_one_page(open_screen, runs, tmp_path):
    path = tmp_path / "both.html"
    path.write_bytes(one_page([(runs / "roles", None), (runs / "reasons", None)]))
    with open_screen(path.as_uri()) as screen:
        screen.open()
        assert screen.page.locator(".stage").count() == 2
        screen.page.keyboard.press("4")
        assert screen.page.inner_text(".role-detail h2") == "Get_hearts-2"


def test_nothing_in_the_data_can_end_the_script(runs, tmp_path):
    """A name with a tag in it stays text."""
    import shutil

    shutil.copytree(runs / "reasons", tmp_path / "x<script>")
    page = one_page([(tmp_path / "x<script>", None)]).decode()
    assert "x<script>" not in page.replace('id="replay:x&lt;script&gt;/game-00000"', "")
