"""Requests that a page never sends: a message each, and no traceback."""

import json
import logging
import socket
import struct
import time
from urllib.parse import quote, urlsplit

import pytest
from tests.viewer.test_server import send_request

pytestmark = pytest.mark.xdist_group("viewer")
REPLAY = "/api/runs/savanna/replays/game-00000"
HOSTILE_NUMBERS = ["9" * 5000, "1" * 30, "٣" * 30, "-1", "x", "1e3", ""]


@pytest.mark.parametrize("number", HOSTILE_NUMBERS)
def test_a_number_that_is_none_of_a_chunk_is_a_bad_request(runs, serve, number):
    with serve(runs) as address:
        places = [f"{REPLAY}/series?from={quote(number)}"]
        if number:
            places.append(f"{REPLAY}/frames/{quote(number)}")
        for place in places:
            status, body, _ = send_request(address, place)
            assert (place, status) == (place, 400)
            assert len(json.loads(body)["error"]) < 200


def hang_up(address, path, wait):
    """Ask for a WebSocket, and reset the connection after some seconds."""
    url = urlsplit(address)
    with socket.create_connection((url.hostname, url.port), timeout=20) as client:
        client.sendall(
            f"GET {path} HTTP/1.1\r\nHost: {url.netloc}\r\nOrigin: http://{url.netloc}\r\n"
            "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
        )
        time.sleep(wait)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@pytest.mark.parametrize("run", ["savanna", "none", "é" * 90])
def test_a_socket_that_is_closed_early_leaves_no_traceback(runs, serve, caplog, capfd, run):
    with caplog.at_level(logging.WARNING), serve(runs) as address:
        for wait in (0, 0, 0, 0, 0, 0.002, 0.005, 0.01, 0.02, 0.05):
            hang_up(address, f"/api/updates?run={quote(run)}", wait)
        assert send_request(address, "/api/runs")[0] == 200
        time.sleep(0.5)
    assert [record.getMessage() for record in caplog.records] == []
    assert "Traceback" not in capfd.readouterr().err
