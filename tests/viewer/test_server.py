"""The server answers the requests of its own page, and no others."""

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
from kinfolk.replay.record import record_replay
from kinfolk.store.run import create_run
from kinfolk.store.settings_file import write_run_settings
from kinfolk.viewer.server import open_socket

pytestmark = pytest.mark.xdist_group("viewer")


def run_in_thread(coroutine):
    """Run a coroutine in another thread: the browser's event loop may be running in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


def send_request(address, path, method="GET", **headers):
    """Send a request whose path no client library normalises; return status, body and headers."""
    host = urlsplit(address).netloc
    connection = http.client.HTTPConnection(host, timeout=10)
    connection.putrequest(method, path, skip_host="host" in headers, skip_accept_encoding=True)
    for name, value in headers.items():
        connection.putheader(name.replace("_", "-"), value)
    connection.endheaders()
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response.status, body, dict(response.getheaders())


def test_runs_are_listed_with_their_replays_and_roles(address, runs):
    status, body, _ = send_request(address, "/api/runs")
    listed = {run["name"]: run for run in json.loads(body)}
    assert status == 200
    assert set(listed) == {"savanna", "cogs", "reasons", "roles"}
    assert (listed["cogs"]["world"], listed["cogs"]["status"]) == ("cogsguard", "done")
    assert [replay["name"] for replay in listed["cogs"]["replays"]] == ["game-00000", "game-00001"]
    size = (runs / "savanna" / "replays" / "game-00000.replay").stat().st_size
    assert listed["savanna"]["replays"] == [{"name": "game-00000", "bytes": size}]
    assert [name for name, run in listed.items() if run["roles"]] == ["roles"]


def test_a_replay_is_served_record_by_record(address, runs):
    replay = Replay(runs / "savanna" / "replays" / "game-00000.replay")
    base = "/api/runs/savanna/replays/game-00000"
    info = json.loads(send_request(address, base)[1])
    assert info["head"] == replay.head()
    assert info["result"] == json.loads(json.dumps(replay.result()))
    assert (info["live"], sum(chunk["count"] for chunk in info["chunks"])) == (False, replay.frames)
    _, series, _ = send_request(address, f"{base}/series?from=1")
    (length,) = struct.unpack_from("<I", series)
    assert series[4 : 4 + length] == replay.read_compressed(replay.records[b"SERI"][1])
    _, frames, _ = send_request(address, f"{base}/frames/1")
    assert zlib.decompress(frames) == zlib.decompress(
        replay.read_compressed(replay.records[b"FRAM"][1])
    )


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("/api/runs/none/metrics", 404, "There is no run"),
        ("/api/runs/savanna/replays/none", 404, "There is no replay"),
        ("/api/runs/savanna/replays/game-00000/frames/999", 404, "chunks of frames, not 1000."),
        ("/api/runs/savanna/replays/game-00000/series?from=x", 400, "not 'x'."),
        ("/api/runs/savanna/roles", 404, "There is no file"),
        ("/nothing", 404, "There is nothing at /nothing."),
    ],
)
def test_a_missing_resource_is_a_404_with_a_message(address, path, status, message):
    actual, body, _ = send_request(address, path)
    assert actual == status
    assert message in json.loads(body)["error"]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_the_api_is_read_only(address, method):
    assert send_request(address, "/api/runs", method)[0] == 405


ESCAPING_PATHS = [
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
    "/api/runs/roles/roles",
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
    for name in ("holder", "roles", "savanna"):
        write_run_settings(root / name, "evaluate", {"world": "probe"})
    (root / "link").symlink_to(secret.folder)
    (root / "holder" / "replays" / "link.replay").symlink_to(
        secret.folder / "replays" / "game-00000.replay"
    )
    (root / "roles" / "role_history.json").symlink_to(outside / "role_history.json")
    (root / "folded").mkdir()
    (root / "folded" / "settings.json").write_text((root / "holder" / "settings.json").read_text())
    (root / "folded" / "replays").symlink_to(secret.folder / "replays")
    with serve(root) as address:
        yield address


@pytest.mark.parametrize("path", ESCAPING_PATHS)
def test_no_path_leads_out_of_the_runs_folder(exposed, path):
    status, body, _ = send_request(exposed, path)
    error = json.loads(body)["error"]
    assert status == (422 if "' in it is a link" in error else 404)
    assert status == 422 or error.startswith(("There is no", "There is nothing at "))


def test_a_run_behind_a_link_is_not_listed(exposed):
    listed = [run["name"] for run in json.loads(send_request(exposed, "/api/runs")[1])]
    assert sorted(listed) == ["folded", "holder", "roles", "savanna"]


def test_foreign_origins_and_hosts_are_refused(address):
    port = urlsplit(address).port
    own = f"http://127.0.0.1:{port}"
    assert send_request(address, "/api/runs", origin=own)[0] == 200
    for origin in (
        "http://evil.example",
        f"http://127.0.0.1:{port + 1}",
        "null",
        f"{own}.evil.example",
    ):
        status, body, _ = send_request(address, "/api/runs", origin=origin)
        assert (status, json.loads(body)["error"]) == (
            403, f"The viewer refuses requests from pages of '{origin}'.",
        )  # fmt: skip
    status, body, _ = send_request(address, "/api/runs", host=f"evil.example:{port}")
    assert (status, json.loads(body)["error"]) == (
        403,
        "The viewer does not serve the host 'evil.example'.",
    )
    assert send_request(address, "/", host=f"localhost:{port}")[0] == 200


def test_responses_carry_security_headers(address):
    _, _, headers = send_request(address, "/")
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert "server" not in {name.lower() for name in headers}


async def _receive_updates(address, run="reasons", replay="game-00000", **options):
    url = f"{address.replace('http', 'ws')}api/updates?run={run}&replay={replay}"
    async with websockets.connect(url, **options) as socket_:
        return [json.loads(message) async for message in socket_]


def test_a_run_that_is_done_sends_one_update(address):
    origin = address.rstrip("/")
    [update] = run_in_thread(_receive_updates(address, origin=origin))
    assert (update["status"], update["has_new_frames"]) == ("done", True)
    assert [replay["name"] for replay in update["replays"]] == ["game-00000"]


@pytest.mark.parametrize("origin", [None, "http://evil.example", "null"])
def test_a_websocket_from_elsewhere_is_refused(address, origin):
    with pytest.raises(websockets.InvalidStatus) as caught:
        run_in_thread(_receive_updates(address, origin=origin))
    assert caught.value.response.status_code == 403


@pytest.mark.parametrize(
    ("run", "replay"), [("..%2fx", "a"), ("none", ""), ("reasons", "..%2f..%2fx")]
)
def test_a_websocket_reaches_no_other_run(address, run, replay):
    assert run_in_thread(_receive_updates(address, run, replay, origin=address.rstrip("/"))) == []


def test_a_token_is_required_and_then_kept_in_a_cookie(runs, serve):
    with serve(runs, token="a-long-token") as address:
        status, body, _ = send_request(address, "/api/runs")
        assert status == 403
        assert "needs its token: open the address that `kinfolk view` printed" in body.decode()
        assert send_request(address, "/?token=another")[0] == 403
        status, _, headers = send_request(address, "/?token=a-long-token")
        assert (status, headers["location"]) == (303, "/")
        cookie = headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert send_request(address, "/api/runs", cookie=cookie.partition(";")[0])[0] == 200
        with pytest.raises(websockets.InvalidStatus):
            run_in_thread(_receive_updates(address, origin=address.rstrip("/")))


def test_a_port_in_use_is_reported():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(UsageError) as caught:
            open_socket("127.0.0.1", port)
    assert str(caught.value) == (
        f"Port {port} of 127.0.0.1 is in use. Choose another with --port, or any with --port 0."
    )


def test_updates_are_sent_for_every_chunk_of_a_live_run_and_its_end(tmp_path, serve):
    settings = Evaluate(
        world_settings={"max_ticks": 300, "growth": 1.0, "max_age": 1000, "hunters": 0}
    )
    chunks = list(record_replay(next(evaluation_tasks(settings)), 0))
    run = create_run(tmp_path / "runs" / "live", "evaluate", settings.model_dump())
    run.open_for_writing()
    name = "replays/game-00000.replay"
    run.write_file_chunk(FileChunk(path=name, data=chunks[0]))

    async def watch(address):
        url = f"{address.replace('http', 'ws')}api/updates?run=live&replay=game-00000"
        async with websockets.connect(url, origin=address.rstrip("/")) as socket_:
            updates = [json.loads(await socket_.recv())]
            for chunk in chunks[1:]:
                run.write_file_chunk(FileChunk(path=name, data=chunk, append=True))
                updates.append(json.loads(await asyncio.wait_for(socket_.recv(), 10)))
            run.append(Event(step=1))
            updates.append(json.loads(await asyncio.wait_for(socket_.recv(), 10)))
            run.finish()
            updates += [json.loads(message) async for message in socket_]
            return updates

    with serve(tmp_path / "runs") as address:
        updates = run_in_thread(watch(address))
        info = json.loads(send_request(address, "/api/runs/live/replays/game-00000")[1])
    assert [update["status"] for update in updates] == ["running"] * (len(updates) - 1) + ["done"]
    assert updates[-2]["events_size"] > 0
    assert info["chunks"][-1] == {"first": 256, "count": 45}


def test_the_command_prints_its_address_and_ends_on_interrupt(runs):
    command = [sys.executable, "-m", "kinfolk", "view", "savanna", "--port", "0", "--no-browser"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=runs
    )
    line = process.stdout.readline()
    address = line.split()[-1]
    assert address.endswith("#run=savanna")
    assert send_request(address.partition("#")[0], "/api/runs")[0] == 200
    process.send_signal(2)
    assert process.wait(10) in (0, 130)
    assert "Traceback" not in process.stderr.read()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["view", "none"], "There is no run none. Known: cogs, reasons, roles, savanna."),
        (["view", "--episode", "3"], "Say which run: kinfolk view RUN."),
        (["view", "savanna", "--root", "x"], "--root is for all runs of a folder; savanna is one run."),
        (["view", "savanna", "--episode", "1", "--replay", "x"],
         "--episode records the game to show, and --replay names one: give one of them."),
        (["view", "savanna", "--export", "x.html", "--port", "99"],
         "--export writes a file, without a server: leave out --host, --port, --browser."),
        (["view", "savanna", "--replay", "x", "--export", "x.html"],
         "The run savanna has no replay 'x'. Known: game-00000."),
        (["view", "savanna", "--episode", "7"], "savanna has the episodes 0 to 0, not 7."),
        (["view", "--root", "nowhere"], "There is no folder nowhere, so there are no runs to view. Name another folder with --root, or make a "
         "run: kinfolk play --world savanna --record"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_explained(runs, arguments, message):
    process = subprocess.run(
        [sys.executable, "-m", "kinfolk", *arguments], cwd=runs, capture_output=True, text=True,
        env=os.environ | {"COLUMNS": "200"},
    )  # fmt: skip
    assert (process.returncode, process.stdout) == (2, "")
    assert process.stderr.strip() == message


def test_a_missing_library_is_reported_with_the_command_to_install_it(monkeypatch):
    from kinfolk.cli.commands.view import need_viewer

    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(UsageError) as caught:
        need_viewer()
    assert str(caught.value) == (
        "The viewer needs the library uvicorn, which is not installed: pip install 'kinfolk[viewer]'"
    )
