"""Pages that open from disk: no network, and the same to be seen."""

from base64 import b64encode

import pytest

from kinfolk.replay.format import (
    MAGIC,
    MAX_PAYLOAD_BYTES,
    RECORD_HEADER,
    encode_json_record,
    encode_record,
)
from kinfolk.replay.reader import Replay
from kinfolk.viewer.export import export_page

pytestmark = [pytest.mark.xdist_group("viewer"), pytest.mark.more]


@pytest.fixture(scope="module")
def page_file(runs, tmp_path_factory):
    path = tmp_path_factory.mktemp("export") / "savanna.html"
    path.write_bytes(export_page([(runs / "savanna", None)]))
    return path


def test_the_page_from_disk_shows_the_same(open_screen, screen, page_file):
    screen.open("#run=savanna&tick=140&agent=5")
    screen.offset(140)
    served, told = screen.environment(), screen.page.inner_text(".inspector")
    with open_screen(page_file.as_uri()) as own:
        own.page.context.set_offline(True)
        asked = []
        own.page.on("request", lambda request: asked.append(request.url))
        own.open("#tick=140&agent=5")
        own.offset(140)
        assert own.environment() == served
        assert own.page.inner_text(".inspector") == told
        own.page.keyboard.press("2")
        assert own.page.locator("figure.chart").count() == 4
        own.shoot("export")
        assert [
            url for url in asked if not url.startswith(("file:", "data:", "blob:", "about:"))
        ] == []


def test_two_runs_and_their_roles_fit_in_one_page(open_screen, runs, tmp_path):
    path = tmp_path / "both.html"
    path.write_bytes(export_page([(runs / "roles", None), (runs / "reasons", None)]))
    with open_screen(path.as_uri()) as screen:
        screen.open()
        assert screen.page.locator(".stage").count() == 2
        screen.page.keyboard.press("4")
        assert screen.page.inner_text(".role-detail h2") == "Get_hearts-2"


def test_nothing_in_the_data_can_end_the_script(runs, tmp_path):
    """A name with a tag in it stays text."""
    import shutil

    shutil.copytree(runs / "reasons", tmp_path / "x<script>")
    page = export_page([(tmp_path / "x<script>", None)]).decode()
    assert "x<script>" not in page.replace('id="replay:x&lt;script&gt;/game-00000"', "")


def frames_claimed(path, count):
    """A replay whose first FRAM record claims other frames than it has."""
    data = bytearray(path.read_bytes())
    part = Replay(path).records[b"FRAM"][0]
    kind, length, checksum, first, _ = RECORD_HEADER.unpack_from(
        data, part.offset - RECORD_HEADER.size
    )
    RECORD_HEADER.pack_into(
        data, part.offset - RECORD_HEADER.size, kind, length, checksum, first, count
    )
    return bytes(data)


FRAMES = encode_record(b"FRAM", b"", 0, 1)


def head_of(**scene):
    head = {"render_spec": {"width": 4, "height": 4, "layers": [{}]} | scene, "groups": [], "series": [],
            "slots": []}  # fmt: skip
    return MAGIC + encode_json_record(b"HEAD", head)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda path: frames_claimed(path, 2**32 - 1), "This replay is damaged: its frames do not go on at byte "),
        (lambda path: frames_claimed(path, 0), "This replay is damaged: its frames do not go on at byte "),
        (lambda path: head_of() + encode_record(b"NUMB", bytes(MAX_PAYLOAD_BYTES + 1), 0, 1) + FRAMES,
         "This replay is damaged: a record unpacks to more than a record may have."),
        (lambda path: head_of(width=10**6, height=10**6), "This replay is damaged: it has no map, or one that is too large."),
        (lambda path: head_of() + encode_record(b"NUMB", b"\xff" * 40, 0, 1) + FRAMES,
         "This replay is damaged: a table of contents is longer than its record."),
        (lambda path: MAGIC, "This replay is cut short: it has no head."),
        (lambda path: b"nonsense", "This is not a replay of kinfolk."),
    ],
)  # fmt: skip
def test_the_page_refuses_a_replay_whose_sizes_do_not_fit(
    open_screen, runs, tmp_path, damage, said
):
    path = runs / "reasons" / "replays" / "game-00000.replay"
    sound, bad = path.read_bytes(), damage(path)
    page = export_page([(runs / "reasons", None)]).decode()
    assert b64encode(sound).decode() in page
    file = tmp_path / "page.html"
    file.write_text(page.replace(b64encode(sound).decode(), b64encode(bad).decode()))
    with open_screen(file.as_uri()) as screen:
        screen.open()
        screen.page.wait_for_selector(".problem:visible")
        assert screen.page.inner_text(".problem").startswith(said)
