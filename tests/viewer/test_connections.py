"""Connections of clients that say nothing, or not enough, are closed; others are left alone."""

import asyncio
import contextlib
import socket
from urllib.parse import urlsplit

import pytest
import websockets
from tests.viewer.test_server import run_in_thread, send_request

from kinfolk.core.events import Event
from kinfolk.store.run import create_run
from kinfolk.viewer import connections, live

pytestmark = pytest.mark.xdist_group("viewer")
PATIENCE = 20  # seconds until a test gives up


def connect(address):
    url = urlsplit(address)
    return socket.create_connection((url.hostname, url.port), timeout=PATIENCE)


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: 127"])
def test_a_connection_without_a_whole_request_is_closed(runs, serve, monkeypatch, sent):
    monkeypatch.setattr(connections, "REQUEST_TIMEOUT", 0.1)
    with serve(runs) as address, connect(address) as client:
        client.sendall(sent)
        with contextlib.suppress(ConnectionResetError):  # the other way to be told
            assert client.recv(100) == b""
        assert send_request(address, "/api/runs")[0] == 200


def test_a_second_request_that_is_never_finished_is_not_waited_for(runs, serve, monkeypatch):
    monkeypatch.setattr(connections, "REQUEST_TIMEOUT", 0.3)
    with serve(runs) as address, connect(address) as client:
        request = f"GET /app.css HTTP/1.1\r\nHost: {urlsplit(address).netloc}\r\n"
        client.sendall(request.encode() + b"\r\n")
        assert client.recv(12) == b"HTTP/1.1 200"
        client.sendall(request.encode())
        with contextlib.suppress(ConnectionResetError):
            while client.recv(65536):
                pass  # the rest of the first answer


def test_a_page_that_gives_no_sign_of_life_is_dropped(serve, tmp_path, monkeypatch):
    monkeypatch.setattr(live, "MAX_SILENCE", 0.3)
    monkeypatch.setattr(live, "POLL_INTERVAL", 0.05)
    run = create_run(tmp_path / "runs" / "endless", "other", {})
    run.open_for_writing()
    run.append(Event(step=1))

    async def listen(address, beats):
        url = address.replace("http", "ws") + "api/updates?run=endless"
        async with websockets.connect(url, origin=address.rstrip("/")) as client:
            await client.recv()
            for _ in range(beats):
                await asyncio.sleep(0.1)
                await client.send("alive")
            with pytest.raises(websockets.ConnectionClosed):
                await asyncio.wait_for(client.recv(), PATIENCE)
            return client.close_code

    with serve(tmp_path / "runs") as address:
        assert run_in_thread(listen(address, 0)) == 1001
        assert run_in_thread(listen(address, 6)) == 1001, "six beats later, and not before"
    run.close()
