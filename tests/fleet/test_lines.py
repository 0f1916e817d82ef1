"""Lines over TCP: what is answered is durable, who comes back is told of all that it had sent, and rubbish holds nobody up."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from auroral.edge.batches import InputError
from auroral.edge.durable import StorageFull
from auroral.edge.intake import Format
from auroral.model.deployment import Endpoint
from auroral.node.fleet.inputs import guests, lines
from auroral.node.fleet.inputs.lines import LineInput
from auroral.node.source import Source
from fleet.inputs import BUCKET, HOUR, Talk, a_source, ledger, lines_of, numbers, until


def row(n: int) -> bytes:
    return b'{"ts": 1, "n": %d, "name": "x"}\n' % n


def test_lines_are_answered_when_they_are_durable_and_counted_over_connections(tmp_path: Path) -> None:
    source = a_source(tmp_path)
    with lines_of(source) as given:
        with Talk(given.endpoint) as talk:
            assert talk.hear() == {"rows": 0}
            assert talk.say(row(2) + row(3)) == {"rows": 2}
        with Talk(given.endpoint) as talk:
            assert talk.hear() == {"rows": 2}
            # A line that is none is counted, kept for inspection, and holds nothing up; half a line is none.
            said = talk.say(b"junk\n")
            assert (said["rows"], said["left_out"]) == (3, {"refused": 1}) and "'junk' is no JSON object" in said[
                "first"
            ]
            said = talk.say(b'{"ts": 2, "n": "x", "name": "y"}\n')
            assert said["rows"] == 4 and "field 'n': 'x' is no int" in said["first"]
            talk.connection.sendall(b'{"ts": 3')
        with Talk(given.endpoint) as talk:
            assert talk.hear() == {"rows": 4, "left_out_in_all": {"refused": 2}}
    assert ledger(source) == {"refused": 2} and numbers(source) == [2, 3]
    source.close()


def test_csv_has_a_header_in_each_connection(tmp_path: Path) -> None:
    source = a_source(tmp_path)
    with lines_of(source, Format.CSV) as given:
        with Talk(given.endpoint) as talk:
            assert talk.hear() == {"rows": 0}
            assert talk.say(b'n,ts,name\n1,1,a\n2,1,"b, and\nso on"\n') == {"rows": 2}
            said = talk.say(b"x,1,c\n3,1\n4,1,d\n")
            assert said["rows"] == 5 and said["left_out"] == {"refused": 2}
            # A row of which only a part has come is none.
            talk.connection.sendall(b'5,1,"cut\noff')
            talk.connection.shutdown(socket.SHUT_WR)
            assert "ended within a row: '5,1,\"cut\\noff' (12 bytes) is not taken" in talk.hear()["error"]
        with Talk(given.endpoint) as talk:
            assert talk.hear() == {"rows": 5, "left_out_in_all": {"refused": 2}}
            assert talk.say(b"ts,name,n\n1,e,5\n") == {"rows": 6}
    assert numbers(source) == [1, 2, 4, 5]
    assert source.log.read().column("name").to_pylist() == ["a", "b, and\nso on", "d", "e"]
    source.close()


@pytest.mark.parametrize(
    ("form", "sent", "complaint"),
    [
        (Format.CSV, b"ts,nn,name\n1,2,x\n", "no column 'n'\n    allowed: columns of the file are ts, nn, name"),
        (Format.CSV, b"\xff\xfe\x00\x01\n", "the header is not UTF-8"),
        (Format.CSV, bytes(2 << 20), "a line of more than 1048576 bytes"),
        (Format.JSON, bytes(2 << 20), "a line of more than 1048576 bytes"),
    ],
)
def test_what_cannot_be_taken_is_said_and_nothing_of_it_is_logged(
    form: Format, sent: bytes, complaint: str, tmp_path: Path
) -> None:
    source = a_source(tmp_path)
    with lines_of(source, form) as given:
        with Talk(given.endpoint) as talk:
            talk.hear()
            said = talk.say(sent)
            assert complaint in said["error"] and "retry" not in said
            assert talk.hear() is None
        with Talk(given.endpoint) as talk:
            assert talk.hear() == {"rows": 0}
    source.close()


def test_binary_rubbish_is_refused_line_by_line(tmp_path: Path) -> None:
    source = a_source(tmp_path)
    with lines_of(source) as given, Talk(given.endpoint) as talk:
        talk.hear()
        said = talk.say(b"\x00\xff\x89PNG\n\x1f\x8b\x08\n" + row(7))
        assert (said["rows"], said["left_out"]) == (3, {"refused": 2})
    assert numbers(source) == [7]
    source.close()


def test_who_comes_back_is_told_of_all_that_had_reached_the_source(tmp_path: Path) -> None:
    """Also of what the source has not read yet, since those who read the input are behind."""
    source = a_source(tmp_path)
    source.room.clear()
    with lines_of(source) as given:
        with Talk(given.endpoint) as talk:
            talk.hear()
            talk.connection.sendall(row(1))
            until(lambda: not given.guests.here()[0].unread)
            # The first line is being taken, and these wait behind it.
            talk.connection.sendall(row(2) + row(3))
        with Talk(given.endpoint) as again:
            again.connection.settimeout(0.3)
            with pytest.raises(TimeoutError):
                again.connection.recv(1)
            again.connection.settimeout(10)
            source.room.set()
            assert again.hear() == {"rows": 3}
    assert numbers(source) == [1, 2, 3]
    source.close()


def test_two_senders_do_not_hold_one_another_up(tmp_path: Path) -> None:
    source = a_source(tmp_path)

    def send(to: Endpoint, first: int) -> None:
        with Talk(to) as talk:
            talk.hear()
            for n in range(first, first + 200):
                talk.say(row(n))

    with lines_of(source) as given:
        threads = [threading.Thread(target=send, args=(given.endpoint, first)) for first in (1000, 2000, 3000)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        with Talk(given.endpoint) as talk:
            assert talk.hear() == {"rows": 600}
    found = numbers(source)
    for first in (1000, 2000, 3000):
        assert [n for n in found if first <= n < first + 200] == list(range(first, first + 200))
    source.close()


def test_those_who_send_at_once_do_not_wait_for_one_another(tmp_path: Path) -> None:
    """They were accepted while the source was not serving yet, all with lines on the way."""
    source = a_source(tmp_path)
    given = LineInput(source, Endpoint("127.0.0.1", 0), lambda: 0, lambda: None)
    talks = [Talk(given.endpoint) for _ in range(5)]
    for n, talk in enumerate(talks):
        talk.connection.sendall(row(n + 1))
    given.start()
    try:
        until(lambda: source.state.rows_read == 5)
    finally:
        given.stop()
        for talk in talks:
            talk.__exit__()
    source.close()


def test_there_are_only_so_many_and_one_that_is_silent_gives_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "MOST_SENDERS", 2)
    source = a_source(tmp_path)
    with lines_of(source) as given, Talk(given.endpoint) as first, Talk(given.endpoint) as second:
        assert first.hear() == second.hear() == {"rows": 0}
        with Talk(given.endpoint) as third:
            assert third.hear()["retry"] is True
        monkeypatch.setattr(guests, "IDLE_AFTER", 0.0)
        assert second.say(row(1)) == {"rows": 1}
        with Talk(given.endpoint) as third:
            assert third.hear() == {"rows": 1}
            # The one that was silent for longest.
            assert first.hear() is None
            assert second.say(row(2)) == {"rows": 2}
    # No thread is left behind.
    until(lambda: not [t for t in threading.enumerate() if t.name.startswith("guest")])
    source.close()


def test_one_that_never_reads_its_answers_holds_nothing_up(tmp_path: Path) -> None:
    source = a_source(tmp_path)
    with lines_of(source) as given, Talk(given.endpoint) as talk:
        talk.connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        (guest,) = until(given.guests.here)
        guest.connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2048)
        for n in range(3000):
            talk.connection.sendall(row(n % 9 + 1))
            if n % 50 == 0:
                until(lambda n=n: source.state.rows_read == n + 1)
        until(lambda: source.state.rows_read == 3000)
        # The last answer comes, when it reads.
        while talk.hear() != {"rows": 3000}:
            pass
    source.close()


def test_a_full_disk_is_said_and_may_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = a_source(tmp_path)

    def full(*_: object) -> None:
        raise StorageFull("the disk is full")

    with lines_of(source) as given:
        with monkeypatch.context() as broken, Talk(given.endpoint) as talk:
            broken.setattr(Source, "take_in", full)
            talk.hear()
            assert talk.say(row(1)) == {"error": "the disk is full", "retry": True}
        with Talk(given.endpoint) as talk:
            assert talk.hear() == {"rows": 0}
            assert talk.say(row(1)) == {"rows": 1}
    source.close()


def test_a_row_far_in_the_future_is_refused_and_closes_nothing(tmp_path: Path) -> None:
    source, now = a_source(tmp_path, "ts", HOUR), 10**15
    source.begin(now)
    with lines_of(source, now=now) as given, Talk(given.endpoint) as talk:
        talk.hear()
        near, far = now + HOUR, now + HOUR + 1
        said = talk.say(b'{"ts": %d, "n": 1, "name": "x"}\n{"ts": %d, "n": 2, "name": "x"}\n' % (now + 5, far))
        assert said == {"rows": 2, "left_out": {"in the future": 1}}
        assert source.state.boundary == now
        assert talk.say(b'{"ts": %d, "n": 3, "name": "x"}\n' % near) == {"rows": 3}
    assert source.state.boundary == near // BUCKET * BUCKET
    assert numbers(source) == [1, 3] and ledger(source) == {"in the future": 1}
    assert source.log.rejected == [{"ts": far, "n": 2, "name": "x", "__reason": "in the future"}]
    source.close()


def test_an_address_that_is_taken_is_said(tmp_path: Path) -> None:
    source = a_source(tmp_path)
    taken = r"input 's' cannot take rows at 127.0.0.1:\d+: Address already in use"
    with socket.create_server(("127.0.0.1", 0)) as other, pytest.raises(InputError, match=taken):
        LineInput(source, Endpoint("127.0.0.1", other.getsockname()[1]), lambda: 0, lambda: None)
    source.close()


def test_a_last_line_without_an_end_is_taken_where_it_is_whole_and_told_of_where_it_is_not(tmp_path: Path) -> None:
    source, told = a_source(tmp_path), list[str]()
    given = LineInput(source, Endpoint("127.0.0.1", 0), lambda: 0, lambda: None, Format.JSON, told.append)
    given.start()
    try:
        with Talk(given.endpoint) as talk:
            assert talk.hear() == {"rows": 0}
            talk.connection.sendall(row(1).rstrip())
            talk.connection.shutdown(socket.SHUT_WR)
            assert talk.hear() == {"rows": 1} and talk.hear() is None
        with Talk(given.endpoint) as talk:
            talk.hear()
            talk.connection.sendall(row(2) + row(3)[:9])
            talk.connection.shutdown(socket.SHUT_WR)
            assert talk.hear() == {"rows": 2}
            assert "(9 bytes) is not taken" in talk.hear()["error"] and talk.hear() is None
    finally:
        given.stop()
    assert len(told) == 1 and "(9 bytes) is not taken" in told[0]
    assert numbers(source) == [1, 2]
    source.close()
