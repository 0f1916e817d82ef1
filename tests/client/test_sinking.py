"""Sinks of a deployment: each at its own pace, from its own position, through its own failures."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pyarrow.parquet as pq
import pytest

from auroral.node.fleet import sinking
from auroral.node.fleet.sinking import Sinking, end_all
from client.served import Life, stime
from edge.postgresql import Server


@pytest.fixture
def life(tmp_path: Path) -> Iterator[Life]:
    served = Life(tmp_path / "run")
    yield served
    served.end()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sinking, "FIRST_WAIT", 0.05)
    monkeypatch.setattr(sinking, "LONGEST_WAIT", 0.1)
    monkeypatch.setattr("auroral.edge.sqlitesink._PATIENCE", 0.1)


class Noted:
    def __init__(self) -> None:
        self.events: list[str] = []

    def __call__(self, event: str, **more: Any) -> None:
        self.events.append(event)


def begun(life: Life, where: str, noted: Noted | None = None, stable_only: bool = False) -> Sinking:
    sink = Sinking(life.outputs, "f", where, "run", stable_only=stable_only, note=noted or Noted())
    sink.start()
    return sink


def until(found: Callable[[], Any]) -> None:
    end = time.monotonic() + 60
    while not found():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.02)


def in_sqlite(file: Path) -> list[tuple[int, int]]:
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute("SELECT n, _tentative FROM f ORDER BY _lo, n").fetchall()


def test_a_sink_has_what_holds_now(life: Life, tmp_path: Path) -> None:
    life.stable(0, 1, 2)
    file = tmp_path / "of.db"
    sink, stable = begun(life, f"sqlite:{file}"), begun(life, f"sqlite:{tmp_path}/stable.db", stable_only=True)
    parquet = begun(life, str(tmp_path / "f.parquet"))
    until(lambda: sink.position == stime(1))
    life.tentative(1, 3)
    until(lambda: in_sqlite(file) == [(1, 0), (2, 0), (3, 1)])
    life.stable(1, 4)
    life.stable(2)
    life.stable(3, 5)
    end_all([sink, stable, parquet])
    assert in_sqlite(file) == in_sqlite(tmp_path / "stable.db") == [(1, 0), (2, 0), (4, 0), (5, 0)]
    assert pq.read_table(tmp_path / "f.parquet").column("n").to_pylist() == [1, 2, 4, 5]
    for one in (sink, stable, parquet):
        assert one.status() | {"sink": ""} == {
            "stream": "f",
            "sink": "",
            "position": stime(4),
            "behind": 0,
            "failing": None,
        }


def test_a_sink_that_was_away_goes_on_from_its_own_position(tmp_path: Path) -> None:
    file, parquet = tmp_path / "of.db", tmp_path / "f.parquet"
    places = [f"sqlite:{file}", str(parquet)]
    first = Life(tmp_path / "run")
    first.stable(0, 1)
    sinks = [begun(first, place) for place in places]
    until(lambda: all(sink.position == stime(1) for sink in sinks))
    first.tentative(1, 7)
    until(lambda: (7, 1) in in_sqlite(file))
    end_all(sinks)
    # The deployment goes on without them, and in the next life they have all of it to catch up with.
    first.stable(1, 2)
    first.end()
    again = Life(tmp_path / "run")
    again.stable(2, 3)
    end_all([begun(again, place) for place in places])
    assert in_sqlite(file) == [(1, 0), (2, 0), (3, 0)]
    assert pq.read_table(parquet).column("n").to_pylist() == [1, 2, 3]
    again.end()


def test_a_sink_that_fails_waits_and_holds_up_nobody(life: Life, tmp_path: Path) -> None:
    file, noted = tmp_path / "of.db", Noted()
    sink, other = begun(life, f"sqlite:{file}", noted), begun(life, str(tmp_path / "f.parquet"))
    life.stable(0, 1)
    until(lambda: sink.position == stime(1))
    with closing(sqlite3.connect(file, isolation_level=None)) as somebody:
        somebody.execute("BEGIN EXCLUSIVE")
        life.stable(1, 2)
        until(lambda: sink.failing is not None)
        assert "database is locked" in sink.status()["failing"]
        life.stable(2, 3)
        until(lambda: other.position == stime(3))
        assert sink.status()["behind"] == 2
        somebody.execute("ROLLBACK")
    until(lambda: sink.position == stime(3) and sink.failing is None)
    end_all([sink, other])
    assert in_sqlite(file) == [(1, 0), (2, 0), (3, 0)]
    # Told once, however often it was tried.
    assert noted.events == ["sink failing", "sink goes on"]


def test_a_server_that_goes_away_and_comes_back(life: Life) -> None:
    server = Server()
    try:
        noted = Noted()
        sink = begun(life, f"{server.address}#f", noted)
        life.stable(0, 1)
        life.tentative(1, 8)
        until(lambda: sink.position == stime(1))
        server.stop()
        life.stable(1, 2)
        until(lambda: sink.failing is not None)
        life.stable(2, 3)
        life.tentative(3, 4)
        server.start()
        until(lambda: sink.position == stime(3) and sink.failing is None)

        def rows() -> list[tuple[Any, ...]]:
            with psycopg.connect(server.address) as connection:
                return connection.execute("SELECT n, _tentative FROM f ORDER BY _lo").fetchall()

        until(lambda: rows() == [(1, False), (2, False), (3, False), (4, True)])
        end_all([sink])
        assert noted.events == ["sink failing", "sink goes on"]
    finally:
        server.remove()


def test_a_disk_that_is_full(life: Life, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As SQLite says it: no page more than there are."""
    file = tmp_path / "of.db"
    life.stable(0, 1)
    sink = begun(life, f"sqlite:{file}")
    until(lambda: sink.position == stime(1))
    end_all([sink])
    connect, full = sqlite3.connect, True

    def small(*arguments: Any, **named: Any) -> sqlite3.Connection:
        connection = connect(*arguments, **named)
        if full:
            connection.execute("PRAGMA max_page_count = 1")
        return connection

    monkeypatch.setattr("auroral.edge.sqlitesink.sqlite3.connect", small)
    sink = begun(life, f"sqlite:{file}")
    life.stable(1, *range(2, 20_000))
    until(lambda: sink.failing is not None)
    assert "full" in sink.status()["failing"]
    full = False
    until(lambda: sink.position == stime(2))
    end_all([sink])
    assert len(in_sqlite(file)) == 19_999
