"""A sender goes on where it was when the source is killed, and says what the source leaves out."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
import threading
import time
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import auroral
from auroral.client import AnotherSender, NoSource, RowsRefused, Sender, SenderError
from auroral.edge.durable import StorageFull
from auroral.edge.intake import Format
from auroral.edge.refusals import Refused
from auroral.edge.sourcelog import SourceLog
from auroral.edge.stamping import SEQ
from auroral.model.deployment import Endpoint
from auroral.node.fleet.inputs.guests import Guest
from auroral.node.fleet.inputs.lines import LineInput
from auroral.node.fleet.processes import free_ports
from auroral.node.source import Source
from fleet import inputs
from fleet.inputs import LOCAL, Talk, a_source, ledger, lines_of, numbers


def rows(*values: int) -> list[dict[str, Any]]:
    return [{"ts": 1, "n": n, "name": "x"} for n in values]


def test_rows_and_tables_are_durable_when_it_returns(tmp_path: Path) -> None:
    source = a_source(tmp_path)
    with lines_of(source) as given, Sender(str(given.endpoint)) as sender:
        assert sender.position == 0
        assert sender.send(rows(*range(2500))) == 2500 == source.state.rows_read
        assert sender.send([]) == 2500
        assert sender.send(iter(rows(1, 2))) == 2502
        # Ends of lines other than the usual one stand in values.
        table = pa.table({"ts": [1, 1], "n": [3, 4], "name": ["a\u2028b\nc\r", None]})
        assert sender.send_table(table) == 2504
    assert numbers(source) == [*range(2500), 1, 2, 3, 4]
    assert source.log.read().column("name").to_pylist()[-2:] == ["a\u2028b\nc\r", None]
    source.close()


def test_values_of_every_type_arrive_as_they_are(tmp_path: Path) -> None:
    d = auroral.diagram("d", bucket="1s")
    fields = "at timestamp, day date, price decimal(9,2), raw binary, x double, ok bool, n long"
    d.input("s", fields).filter("f", "n > 0").output()
    given = d.check().diagram.input("s")
    assert given is not None
    source, at = Source(given, 1_000_000, tmp_path), datetime(2026, 3, 1, 12, 30, 0, 123456, UTC)
    row = {"at": at, "day": date(2026, 3, 1), "price": Decimal("12.50"), "raw": b"\x00\xff", "x": 0.1, "ok": True}
    with lines_of(source) as lines, Sender(str(lines.endpoint)) as sender:
        sender.send([row | {"n": np.int64(1)}, row | {"at": at.replace(tzinfo=None), "x": float("inf"), "n": 2}])
        sent = source.log.read().drop_columns(["__stime", "__seq"])
        sender.send_table(sent)
    found = source.log.read().drop_columns(["__stime", "__seq"])
    assert found.to_pylist() == [*([row | {"n": 1}, row | {"x": float("inf"), "n": 2}] * 2)]
    source.close()


def test_rows_that_are_refused_are_said_and_the_others_taken(tmp_path: Path) -> None:
    source = a_source(tmp_path)
    with lines_of(source) as given, Sender(str(given.endpoint)) as sender:
        with pytest.raises(
            RowsRefused, match=r"left out rows: 2 refused; the first: .*field 'n': 'many' is no int"
        ) as e:
            sender.send([*rows(1), {"ts": 1, "n": "many", "name": "x"}, {"ts": 1, "n": 2**40, "name": "x"}, *rows(2)])
        assert e.value.left_out == {"refused": 2}
        assert sender.send(rows(3)) == 5
    assert numbers(source) == [1, 2, 3] and ledger(source) == {"refused": 2}
    source.close()


def test_rows_that_were_refused_while_the_connection_broke_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, say, broken = a_source(tmp_path), Guest.say, iter([False, True, False, False])

    def cut(guest: Guest, line: bytes) -> None:
        if next(broken, False):
            # It was logged, and the answer is lost.
            guest.end()
        else:
            say(guest, line)

    source.take_in(pa.table({"ts": [1], "n": [1], "name": ["x"]}), 0, [Refused("a", 1, 0, None, "?", "row", "odd")])
    with lines_of(source) as given, Sender(str(given.endpoint)) as sender:
        monkeypatch.setattr(Guest, "say", cut)
        with pytest.raises(RowsRefused) as e:
            sender.send([*rows(1), {"ts": 1, "n": "many", "name": "x"}])
        assert e.value.left_out == {"refused": 1}
        assert sender.send(rows(3)) == 5
    source.close()


def test_what_is_late_by_the_input_s_own_rule_is_no_mistake(tmp_path: Path) -> None:
    d = auroral.diagram("d", bucket="1s")
    d.input("s", "ts long, n int", stime="ts", unit="s", late="reject").filter("f", "n > 0").output()
    given = d.check().diagram.input("s")
    assert given is not None
    source = Source(given, 1_000_000, tmp_path, None, inputs.HOUR)
    with lines_of(source) as lines, Sender(str(lines.endpoint)) as sender:
        assert sender.send([{"ts": 9, "n": 1}, {"ts": 3, "n": 2}, {"ts": 10, "n": 3}]) == 3
        with pytest.raises(RowsRefused, match="left out rows: 1 in the future"):
            sender.send([{"ts": 8000, "n": 4}])
    assert ledger(source) == {"late": 1, "in the future": 1}
    source.close()


@pytest.mark.parametrize(
    ("sent", "complaint"),
    [
        ([[1, 2]], r"a row is a list(.|\n)*allowed: dicts"),
        ([{"n": object()}], r"a object is no value of a field(.|\n)*allowed: numbers"),
        ([{"ts": 1, "n": 1, "name": "x" * (2 << 20)}], "a line of more than"),
    ],
)
def test_what_cannot_be_sent_is_said(sent: Any, complaint: str, tmp_path: Path) -> None:
    source = a_source(tmp_path)
    with lines_of(source) as given, Sender(str(given.endpoint)) as sender:
        with pytest.raises(SenderError, match=complaint):
            sender.send(sent)
        # And it goes on.
        assert sender.position == 0
        assert sender.send(rows(1)) == 1
        with pytest.raises(SenderError, match=r"no fields of rows(.|\n)*n list"):
            sender.send_table(pa.table({"n": [[1]]}))
    source.close()


def test_addresses_that_are_no_source(tmp_path: Path) -> None:
    with pytest.raises(SenderError, match=r"is no endpoint(.|\n)*allowed: HOST:PORT"):
        Sender("127.0.0.1:x")
    (port,) = free_ports(1)
    with pytest.raises(NoSource, match=r"has taken nothing for 0.1 s: .*refused(.|\n)*auroral status"):
        Sender(f"127.0.0.1:{port}", patience=0.1).send(rows(1))
    with socket.create_server(("127.0.0.1", 0)) as other:

        def babble() -> None:
            connection, _ = other.accept()
            with connection:
                connection.sendall(b"220 smtp ready\n")

        threading.Thread(target=babble).start()
        with (
            pytest.raises(SenderError, match="is no source: b'220 smtp"),
            Sender(f"127.0.0.1:{other.getsockname()[1]}") as sender,
        ):
            sender.send(rows(1))
    source = a_source(tmp_path)
    refused = pytest.raises(SenderError, match=r"refused: (.|\n)*no column 'ts'")
    with lines_of(source, Format.CSV) as given, Sender(str(given.endpoint)) as sender, refused:
        sender.send(rows(1))
    source.close()


def test_another_sender_is_noticed(tmp_path: Path) -> None:
    source = a_source(tmp_path)
    with lines_of(source) as given, Sender(str(given.endpoint)) as sender, Talk(given.endpoint) as other:
        sender.send(rows(1))
        other.hear()
        other.say(b'{"ts": 1, "n": 2, "name": "x"}\n')
        with pytest.raises(AnotherSender, match="allowed: one sender for an input"):
            sender.send(rows(3))
        assert sender.position == 3
    source.close()


def test_a_full_disk_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, take_in, room = a_source(tmp_path), Source.take_in, iter([False, False, False, True])

    def full(*given: Any) -> Any:
        if not next(room, False):
            raise StorageFull("the disk is full")
        return take_in(*given)

    monkeypatch.setattr(Source, "take_in", full)
    with lines_of(source) as given, Sender(str(given.endpoint)) as sender:
        assert sender.send(rows(1, 2, 3)) == 3
        sender.patience = 0.3
        with pytest.raises(NoSource, match=r"has taken nothing for 0\.3 s: the disk is full"):
            sender.send(rows(4))
        monkeypatch.setattr(Source, "take_in", take_in)
        assert sender.position == 3 and sender.send(rows(4)) == 4
    assert numbers(source) == [1, 2, 3, 4]
    source.close()


def test_an_input_that_stops_in_the_middle_of_rows_is_gone_on_with(tmp_path: Path) -> None:
    """Many times, with connections cut at any byte."""
    source, draw = a_source(tmp_path), random.Random(3)
    given = LineInput(source, LOCAL, lambda: 0, lambda: None)
    given.start()
    stop = threading.Event()

    def cut() -> None:
        while not stop.wait(draw.random() * 0.03):
            for guest in given.guests.here():
                guest.end()

    cutting = threading.Thread(target=cut)
    cutting.start()
    try:
        with Sender(str(given.endpoint)) as sender:
            for begin in range(0, 20_000, 2000):
                assert sender.send(rows(*range(begin, begin + 2000))) == begin + 2000
    finally:
        stop.set()
        cutting.join()
        given.stop()
    assert numbers(source) == list(range(20_000))
    source.close()


@pytest.mark.slow
def test_no_row_is_lost_or_doubled_when_the_source_is_killed(tmp_path: Path) -> None:
    (port,), log, draw = free_ports(1), tmp_path / "log", random.Random(5)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, inputs.__file__, str(log), f"tcp:127.0.0.1:{port}"]
    children = [subprocess.Popen(command, env=environment)]
    stop, lives = threading.Event(), 5

    def kill() -> None:
        while len(children) < lives and not stop.wait(1 + draw.random()):
            children[-1].kill()
            children[-1].wait()
            children.append(subprocess.Popen(command, env=environment))

    killing = threading.Thread(target=kill)
    try:
        with Sender(str(Endpoint("127.0.0.1", port))) as sender:
            assert sender.position == 0
            killing.start()
            sent, until_life = 0, time.monotonic() + 60
            while len(children) < lives and time.monotonic() < until_life:
                many = draw.randrange(1, 5000)
                assert sender.send(rows(*range(sent, sent + many))) == sent + many
                sent += many
    finally:
        stop.set()
        killing.join()
        children[-1].kill()
        children[-1].wait()
    assert len(children) == lives
    with SourceLog.open(log, auroral.schema("ts long, n int, name string"), readonly=True) as found:
        assert found.read().sort_by(SEQ).column("n").to_pylist() == list(range(sent))
