"""The server gives what the page asks for, and nothing else to nobody else."""

import asyncio
import http.client
import json
import os
import socket
import struct
import subprocess
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest
import websockets

from kinfolk.core.errors import UsageError
from kinfolk.core.events import Event, FileChunk
from kinfolk.jobs.evaluate import Evaluate, evaluation_tasks
from kinfolk.replay.reader import Replay
from kinfolk.replay.record import replay_of
from kinfolk.store.run import create_run
from kinfolk.viewer.run_server import open_socket

pytestmark = pytest.mark.xdist_group("viewer")


def run_apart(job):
    """Run a coroutine in a thread of its own: the browser's loop may be running in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, job).result()


def ask(address, path, method="GET", **headers):
    """A request as bytes on the wire: no client tidies up the path."""
    host = urlsplit(address).netloc
    connection = http.client.HTTPConnection(host, timeout=10)
    connection.putrequest(method, path, skip_host="host" in headers, skip_accept_encoding=True)
    for name, value in headers.items():
        connection.putheader(name.replace("_", "-"), value)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, body, dict(answer.getheaders())


def test_runs_are_listed_with_what_can_be_shown(address, runs):
    status, body, _ = ask(address, "/api/runs")
    found = {run["name"]: run for run in json.loads(body)}
    assert status == 200
    assert set(found) == {"savanna", "cogs", "reasons", "roles"}
    assert (found["cogs"]["world"], found["cogs"]["status"]) == ("cogsguard", "done")
    assert [one["name"] for one in found["cogs"]["replays"]] == ["game-00000", "game-00001"]
    size = (runs / "savanna" / "replays" / "game-00000.replay").stat().st_size
    assert found["savanna"]["replays"] == [{"name": "game-00000", "bytes": size}]
    assert [name for name, run in found.items() if run["roles"]] == ["roles"]


def test_a_replay_comes_in_the_pieces_that_were_written(address, runs):
    replay = Replay(runs / "savanna" / "replays" / "game-00000.replay")
    base = "/api/runs/savanna/replays/game-00000"
    about = json.loads(ask(address, base)[1])
    assert about["head"] == replay.head()
    assert about["result"] == json.loads(json.dumps(replay.result()))
    assert (about["live"], sum(c["count"] for c in about["chunks"])) == (False, replay.frames)
    _, numbers, _ = ask(address, f"{base}/numbers?from=1")
    (length,) = struct.unpack_from("<I", numbers)
    assert numbers[4 : 4 + length] == replay.read_compressed(replay.records[b"NUMB"][1])
    _, frames, _ = ask(address, f"{base}/frames/1")
    assert zlib.decompress(frames) == zlib.decompress(
        replay.read_compressed(replay.records[b"FRAM"][1])
    )


@pytest.mark.parametrize(
    ("path", "status", "sentence"),
    [
        ("/api/runs/none/metrics", 404, "There is no run"),
        ("/api/runs/savanna/replays/none", 404, "There is no replay"),
        ("/api/runs/savanna/replays/game-00000/frames/999", 404, "chunks of frames, not 1000."),
        ("/api/runs/savanna/replays/game-00000/numbers?from=x", 404, "not from 'x'."),
        ("/api/runs/savanna/roles", 404, "There is no file"),
        ("/nothing", 404, "There is nothing at /nothing."),
    ],
)
def test_what_is_not_there_is_a_sentence(address, path, status, sentence):
    answered, body, _ = ask(address, path)
    assert answered == status
    assert sentence in json.loads(body)["error"]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_nothing_can_be_changed(address, method):
    assert ask(address, "/api/runs", method)[0] == 405


WAYS_OUT = [
    "/api/runs/../metrics",
    "/api/runs/..%2fsecret/metrics",
    "/api/runs/%2e%2e%2fsecret/metrics",
    "/api/runs/%2e%2e/metrics",
    "/api/runs/..%5csecret/metrics",
    "/api/runs/%252e%252e%252fsecret/metrics",
    "/api/runs/.%00./metrics",
    "/api/runs/savanna/replays/..%2f..%2f..%2fsecret%2freplays%2fgame-00000",
    "/api/runs/savanna/replays/%2fetc%2fpasswd",
    "/api/runs/link/metrics",
    "/api/runs/link/replays/game-00000",
    "/api/runs/holder/replays/link",
    "/api/runs/folded/replays/game-00000",
    "/api/runs/holder/roles",
    "/page/../server.py",
    "/..%2fserver.py",
    "//etc/passwd",
]


@pytest.fixture(scope="module")
def exposed(runs, serve, tmp_path_factory):
    """A folder of runs with links that lead out of it, and a run outside."""
    outside = tmp_path_factory.mktemp("outside")
    secret = create_run(outside / "secret", "evaluate", {"world": "secret"})
    data = (runs / "reasons" / "replays" / "game-00000.replay").read_bytes()
    for folder in ("secret", "runs/holder", "runs/savanna"):
        (outside / folder / "replays").mkdir(parents=True)
    (secret.folder / "replays" / "game-00000.replay").write_bytes(data)
    (outside / "role_history.json").write_text('{"secret": true}')
    root = outside / "runs"
    for name in ("holder", "savanna"):
        about = {"format": 1, "job": "evaluate", "settings": {"world": "probe"}}
        (root / name / "settings.json").write_text(json.dumps(about))
    (root / "link").symlink_to(secret.folder)
    (root / "holder" / "replays" / "link.replay").symlink_to(
        secret.folder / "replays" / "game-00000.replay"
    )
    (root / "holder" / "role_history.json").symlink_to(outside / "role_history.json")
    (root / "folded").mkdir()
    (root / "folded" / "settings.json").write_text((root / "holder" / "settings.json").read_text())
    (root / "folded" / "replays").symlink_to(secret.folder / "replays")
    with serve(root) as found:
        yield found


@pytest.mark.parametrize("path", WAYS_OUT)
def test_no_path_leads_out_of_the_folder_of_runs(exposed, path):
    status, body, _ = ask(exposed, path)
    assert status == 404
    assert json.loads(body)["error"].startswith(("There is no", "There is nothing at "))


def test_a_run_behind_a_link_is_not_listed(exposed):
    listed = [run["name"] for run in json.loads(ask(exposed, "/api/runs")[1])]
    assert sorted(listed) == ["folded", "holder", "savanna"]


def test_foreign_origins_and_hosts_are_refused(address):
    port = urlsplit(address).port
    own = f"http://127.0.0.1:{port}"
    assert ask(address, "/api/runs", origin=own)[0] == 200
    for origin in (
        "http://evil.example",
        f"http://127.0.0.1:{port + 1}",
        "null",
        f"{own}.evil.example",
    ):
        status, body, _ = ask(address, "/api/runs", origin=origin)
        assert (status, json.loads(body)["error"]) == (
            403, f"The viewer does not answer to pages of '{origin}'.",
        )  # fmt: skip
    status, body, _ = ask(address, "/api/runs", host=f"evil.example:{port}")
    assert (status, json.loads(body)["error"]) == (
        403,
        "The viewer is not called 'evil.example' here.",
    )
    assert ask(address, "/", host=f"localhost:{port}")[0] == 200


def test_answers_tell_the_browser_to_keep_out_the_rest(address):
    _, _, headers = ask(address, "/")
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert "server" not in {name.lower() for name in headers}


async def _follow(address, run="reasons", replay="game-00000", **options):
    url = f"{address.replace('http', 'ws')}api/follow?run={run}&replay={replay}"
    async with websockets.connect(url, **options) as socket_:
        return [json.loads(message) async for message in socket_]


def test_a_run_that_is_done_is_told_once(address):
    origin = address.rstrip("/")
    [news] = run_apart(_follow(address, origin=origin))
    assert (news["status"], news["has_new_frames"]) == ("done", True)
    assert [one["name"] for one in news["replays"]] == ["game-00000"]


@pytest.mark.parametrize("origin", [None, "http://evil.example", "null"])
def test_a_websocket_from_elsewhere_is_refused(address, origin):
    with pytest.raises(websockets.InvalidStatus) as caught:
        run_apart(_follow(address, origin=origin))
    assert caught.value.response.status_code == 403


@pytest.mark.parametrize(
    ("run", "replay"), [("..%2fx", "a"), ("none", ""), ("reasons", "..%2f..%2fx")]
)
def test_a_websocket_leads_nowhere_else(address, run, replay):
    assert run_apart(_follow(address, run, replay, origin=address.rstrip("/"))) == []


def test_a_token_is_asked_for_and_then_kept(runs, serve):
    with serve(runs, token="a-long-token") as address:
        status, body, _ = ask(address, "/api/runs")
        assert status == 403
        assert "needs its token: open the address that `kinfolk view` printed" in body.decode()
        assert ask(address, "/?token=another")[0] == 403
        status, _, headers = ask(address, "/?token=a-long-token")
        assert (status, headers["location"]) == (303, "/")
        cookie = headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert ask(address, "/api/runs", cookie=cookie.partition(";")[0])[0] == 200
        with pytest.raises(websockets.InvalidStatus):
            run_apart(_follow(address, origin=address.rstrip("/")))


def test_a_port_in_use_is_a_sentence():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(UsageError) as caught:
            open_socket("127.0.0.1", port)
    assert str(caught.value) == (
        f"Port {port} of 127.0.0.1 is in use. Choose another with --port, or any with --port 0."
    )


def test_a_live_run_is_told_as_it_grows(tmp_path, serve):
    """The run writes as it did; the follower hears of every piece and of the end."""
    settings = Evaluate(
        world_settings={"max_ticks": 300, "growth": 1.0, "max_age": 1000, "hunters": 0}
    )
    pieces = list(replay_of(next(evaluation_tasks(settings)), 0))
    run = create_run(tmp_path / "runs" / "live", "evaluate", settings.model_dump())
    run.open_for_writing()
    name = "replays/game-00000.replay"
    run.write_file_chunk(FileChunk(path=name, data=pieces[0]))

    async def watch(address):
        url = f"{address.replace('http', 'ws')}api/follow?run=live&replay=game-00000"
        async with websockets.connect(url, origin=address.rstrip("/")) as socket_:
            told = [json.loads(await socket_.recv())]
            for piece in pieces[1:]:
                run.write_file_chunk(FileChunk(path=name, data=piece, append=True))
                told.append(json.loads(await asyncio.wait_for(socket_.recv(), 10)))
            run.append(Event(step=1))
            told.append(json.loads(await asyncio.wait_for(socket_.recv(), 10)))
            run.finish()
            told += [json.loads(message) async for message in socket_]
            return told

    with serve(tmp_path / "runs") as address:
        told = run_apart(watch(address))
        about = json.loads(ask(address, "/api/runs/live/replays/game-00000")[1])
    assert [news["status"] for news in told] == ["running"] * (len(told) - 1) + ["done"]
    assert told[-2]["events_size"] > 0
    assert about["chunks"][-1] == {"first": 256, "count": 45}


def test_the_command_says_where_to_look_and_ends_when_it_is_told(runs):
    words = [sys.executable, "-m", "kinfolk", "view", "savanna", "--port", "0", "--no-browser"]
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=runs
    )
    line = process.stdout.readline()
    address = line.split()[-1]
    assert address.endswith("#run=savanna")
    assert ask(address.partition("#")[0], "/api/runs")[0] == 200
    process.send_signal(2)
    assert process.wait(10) in (0, 130)
    assert "Traceback" not in process.stderr.read()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["view", "none"], "There is no run none. Known: cogs, reasons, roles, savanna."),
        (["view", "--episode", "3"], "Say which run: kinfolk view RUN."),
        (["view", "savanna", "--replay", "x", "--export", "x.html"],
         "The run savanna has no replay 'x'. Known: game-00000."),
        (["view", "savanna", "--episode", "7"], "savanna has the episodes 0 to 0, not 7."),
        (["view", "--root", "nowhere"], "There is no folder nowhere. Name another with --root."),
    ],
)  # fmt: skip
def test_wrong_use_is_a_sentence(runs, words, sentence):
    done = subprocess.run(
        [sys.executable, "-m", "kinfolk", *words], cwd=runs, capture_output=True, text=True,
        env=os.environ | {"COLUMNS": "200"},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.strip() == sentence


def test_without_its_libraries_the_viewer_says_what_to_install(monkeypatch):
    from kinfolk.cli.commands.view import need_viewer

    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(UsageError) as caught:
        need_viewer()
    assert str(caught.value) == (
        "The viewer needs the library uvicorn, which is not installed: pip install 'kinfolk[viewer]'"
    )
