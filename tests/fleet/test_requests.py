"""Rows over HTTP: a body is logged as a whole before it is answered, or refused with what is allowed."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from auroral.edge.durable import StorageFull
from auroral.node.fleet.inputs import bodies, requests
from auroral.node.fleet.inputs.requests import HttpInput
from auroral.node.source import Source
from fleet.inputs import LOCAL, a_source, ledger, numbers, until

NDJSON = "application/x-ndjson"
ROW = b'{"ts": 1, "n": %d, "name": "x"}'


class Client:
    def __init__(self, source: Source):
        self.source, self.given = source, HttpInput(source, LOCAL, lambda: 7, lambda: None)
        self.given.start()

    def connected(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.given.endpoint.host, self.given.endpoint.port, timeout=20)

    def ask(
        self, method: str, body: bytes | None = None, kind: str | None = None, path: str = "/", **headers: str
    ) -> tuple[int, Any, str | None]:
        connection = self.connected()
        try:
            connection.request(method, path, body, {**({"Content-Type": kind} if kind else {}), **headers})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read()), answer.headers["Retry-After"]
        finally:
            connection.close()


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    source = a_source(tmp_path)
    found = Client(source)
    yield found
    found.given.stop()
    source.close()


def test_bodies_of_each_type_are_logged_and_counted(client: Client) -> None:
    assert client.ask("GET") == (200, {"rows": 0}, None)
    lines = b"\n".join(ROW % n for n in (1, 2))
    assert client.ask("POST", lines, NDJSON) == (200, {"logged": 2, "rows": 2}, None)
    array = b"[" + b",\n".join(ROW % n for n in (3, 4)) + b"]"
    assert client.ask("POST", array, "application/json; charset=utf-8") == (200, {"logged": 2, "rows": 4}, None)
    assert client.ask("POST", lines, "application/json")[1] == {"logged": 2, "rows": 6}
    assert client.ask("POST", b'name,n,ts\n"a\nb",5,1\nc,6,1', "text/csv")[1] == {"logged": 2, "rows": 8}
    assert client.ask("POST", b"", NDJSON)[1] == {"logged": 0, "rows": 8}
    assert client.ask("GET")[1] == {"rows": 8}
    assert numbers(client.source) == [1, 2, 3, 4, 1, 2, 5, 6]


def test_rows_that_are_wrong_are_counted_and_the_others_logged(client: Client) -> None:
    body = b"\n".join([ROW % 1, b"\xff\x00rubbish", b'{"ts": 1, "n": "many", "name": "x"}', ROW % 2])
    status, said, _ = client.ask("POST", body, NDJSON)
    assert (status, said["logged"], said["rows"], said["left_out"]) == (200, 2, 4, {"refused": 2})
    assert "rubbish" in said["first"]
    assert numbers(client.source) == [1, 2] and ledger(client.source) == {"refused": 2}


@pytest.mark.parametrize(
    ("status", "body", "kind", "complaint"),
    [
        (400, b"ts,nn,name\n1,2,x\n", "text/csv", "no column 'n'"),
        (400, b"", "text/csv", "is empty"),
        (400, b'[{"ts": 1, "n": 2, "name": "x"}, {"ts"', "application/json", "is broken in line 1"),
        (400, b"[\xff]", "application/json", "is not UTF-8"),
        (415, ROW % 1, "text/plain", "allowed: application/x-ndjson, application/jsonl"),
        (415, ROW % 1, None, "say what it is, as with curl"),
        (413, bytes(requests.MOST_BODY + 1), NDJSON, f"allowed: {requests.MOST_BODY} bytes"),
    ],
)
def test_what_cannot_be_taken_is_said_and_nothing_of_it_is_logged(
    client: Client, status: int, body: bytes, kind: str | None, complaint: str
) -> None:
    found, said, _ = client.ask("POST", body, kind)
    assert found == status and complaint in said["error"]
    assert client.ask("GET") == (200, {"rows": 0}, None)


def test_other_requests_are_refused(client: Client) -> None:
    assert client.ask("POST", ROW % 1, NDJSON, "/rows")[0] == 404
    assert client.ask("POST", ROW % 1, NDJSON, **{"Content-Encoding": "gzip"})[0] == 415
    connection = client.connected()
    connection.request("POST", "/", iter([ROW % 1]), {"Content-Type": NDJSON}, encode_chunked=True)
    assert connection.getresponse().status == 411
    connection.close()
    connection = client.connected()
    connection.request("DELETE", "/")
    assert connection.getresponse().status == 501
    connection.close()
    with socket.create_connection((client.given.endpoint.host, client.given.endpoint.port), 20) as rubbish:
        rubbish.sendall(bytes(range(256)) * 4 + b"\r\n\r\n")
        assert b"400" in rubbish.recv(1000)
    assert client.ask("GET")[1] == {"rows": 0}


def test_who_asks_first_is_told_before_it_sends_much(client: Client) -> None:
    with socket.create_connection((client.given.endpoint.host, client.given.endpoint.port), 20) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 99999999\r\n\r\n")
        assert connection.recv(1000).startswith(b"HTTP/1.1 413 ")


def test_no_room_is_said_with_when_to_come_back(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    client.source.room.clear()
    status, said, again = client.ask("POST", ROW % 1, NDJSON)
    assert (status, again) == (503, "1") and "behind" in said["error"]
    client.source.room.set()

    def full(*_: object) -> None:
        raise StorageFull("the disk is full")

    with monkeypatch.context() as broken:
        broken.setattr(Source, "take_in", full)
        status, said, again = client.ask("POST", ROW % 1, NDJSON)
    assert (status, said["error"], again) == (503, "the disk is full", "1")
    assert client.ask("POST", ROW % 1, NDJSON)[0] == 200
    assert numbers(client.source) == [1]


def test_the_position_counts_what_came_before(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sender that gave up waiting asks while its rows are still being taken."""
    may, begun = threading.Event(), threading.Event()
    take_in = Source.take_in

    def slowly(*given: Any) -> Any:
        begun.set()
        may.wait(20)
        return take_in(*given)

    monkeypatch.setattr(Source, "take_in", slowly)
    sender = client.connected()
    sender.request("POST", "/", ROW % 1, {"Content-Type": NDJSON})
    begun.wait(20)
    sender.close()
    monkeypatch.setattr(requests, "SETTLE_WITHIN", 0.2)
    assert client.ask("GET")[0] == 503
    monkeypatch.setattr(requests, "SETTLE_WITHIN", 20.0)
    threading.Timer(0.3, may.set).start()
    assert client.ask("GET") == (200, {"rows": 1}, None)


def test_half_a_body_is_none(client: Client) -> None:
    with socket.create_connection((client.given.endpoint.host, client.given.endpoint.port), 20) as connection:
        connection.sendall(
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-ndjson\r\nContent-Length: 99\r\n\r\n"
        )
        connection.sendall(ROW % 1 + b"\n")
        connection.shutdown(socket.SHUT_WR)
        assert b" 408 " in connection.recv(1000)
    assert client.ask("GET") == (200, {"rows": 0}, None)


def test_connections_are_bounded_and_kept_for_several_requests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "MOST_CONNECTIONS", 1)
    source = a_source(tmp_path)
    client = Client(source)
    first = client.connected()
    for n in (1, 2, 3):
        first.request("POST", "/", ROW % n, {"Content-Type": NDJSON})
        assert json.loads(first.getresponse().read()) == {"logged": 1, "rows": n}
    second = client.connected()
    second.request("GET", "/")
    answer = second.getresponse()
    assert answer.status == 503 and answer.headers["Retry-After"] == "1"
    second.close()
    first.close()
    until(lambda: not client.given.guests.here())
    assert client.ask("GET")[1] == {"rows": 3}
    client.given.stop()
    until(lambda: not [t for t in threading.enumerate() if t.name.startswith("guest")])
    source.close()


POST = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-ndjson\r\nContent-Length: %d\r\n\r\n"
HIDDEN = POST % len(ROW % 1) + ROW % 1


@pytest.mark.parametrize(
    ("headers", "complaint"),
    [
        (b"GET / HTTP/1.1\r\nContent-Length: %d" % len(HIDDEN), b"a GET has no body"),
        (b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked", b"a GET has no body"),
        (b"POST / HTTP/1.1\r\nContent-Length: 0\r\nContent-Length: %d" % len(HIDDEN), b"several lengths"),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 0", b"is in chunks"),
    ],
)
def test_what_stands_behind_a_request_of_unclear_length_is_no_other_request(
    client: Client, headers: bytes, complaint: bytes
) -> None:
    with socket.create_connection((client.given.endpoint.host, client.given.endpoint.port), 20) as connection:
        connection.sendall(headers + b"\r\nHost: x\r\nContent-Type: application/x-ndjson\r\n\r\n" + HIDDEN)
        connection.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: connection.recv(4096), b""))
    assert answer.startswith(b"HTTP/1.1 400 ") and answer.count(b"HTTP/1.1") == 1 and complaint in answer
    assert client.ask("GET") == (200, {"rows": 0}, None)


def test_a_request_that_comes_drop_by_drop_is_given_up(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "REQUEST_WITHIN", 0.5)
    with socket.create_connection((client.given.endpoint.host, client.given.endpoint.port), 20) as connection:
        connection.settimeout(0.05)
        for drop in range(2000):
            try:
                connection.sendall(POST[:1] if drop else b"POST /")
                if not connection.recv(1):
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        else:
            raise AssertionError("it was waited for")


def test_who_is_turned_away_in_the_middle_of_a_body_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "MOST_CONNECTIONS", 1)
    source = a_source(tmp_path)
    client, size = Client(source), 4 << 20
    first = client.connected()
    first.request("GET", "/")
    first.getresponse().read()
    with socket.create_connection((client.given.endpoint.host, client.given.endpoint.port), 20) as connection:
        connection.sendall(POST % size + bytes(size))
        assert connection.recv(1000).startswith(b"HTTP/1.1 503 ")
    first.close()
    client.given.stop()
    source.close()


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"x\n" * 20, NDJSON),
        (b"[" + b"1," * 19 + b"1]", "application/json"),
        (b"ts,n,name\n" + b"x\n" * 20, "text/csv"),
    ],
)
def test_a_body_of_rubbish_is_not_taken(
    client: Client, monkeypatch: pytest.MonkeyPatch, body: bytes, kind: str
) -> None:
    monkeypatch.setattr(bodies, "MOST_REFUSED", 19)
    status, said, _ = client.ask("POST", body, kind)
    assert status == 400 and "more than 19 rows of the body are none" in said["error"]
    monkeypatch.setattr(bodies, "MOST_REFUSED", 20)
    assert client.ask("POST", body, kind)[1]["left_out"] == {"refused": 20}
