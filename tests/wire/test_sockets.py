"""Sockets are found among all that the process has open, and nothing else of it is touched."""

from __future__ import annotations

import asyncio
import os
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from auroral.wire import sockets
from auroral.wire.sockets import connections, sever
from wire.hosts import BROKEN, Hosts, run

WRITER = """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None)
try:
    database.execute("begin immediate")
except sqlite3.OperationalError as error:
    print(error)
else:
    database.execute("insert into t values (99)")
    database.execute("commit")
    print("wrote")
"""


async def written_by_another_process(database: Path) -> str:
    command = [sys.executable, "-c", WRITER, str(database)]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_database_of_this_process_stays_locked(mode: str, tmp_path: Path) -> None:
    """Whoever closes any descriptor of a file, a copy too, gives up all POSIX locks that the process has on it."""
    path = tmp_path / "rows.db"

    async def scenario(hosts: Hosts) -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as database:
            database.execute(f"pragma journal_mode={mode}")
            database.execute("create table t (a)")
            database.execute("begin immediate")
            database.execute("insert into t values (1)")
            first, second = await hosts.pair()
            assert await written_by_another_process(path) == "database is locked"
            link = first.transport._peer("n2").link
            assert link is not None
            first.transport.ended(link, "by the test")
            await second.until(lambda: ("a", BROKEN) in second.heard["b"])
            assert await written_by_another_process(path) == "database is locked"
            await first.transport.stop()
            await second.transport.stop()
            assert await written_by_another_process(path) == "database is locked"
            database.execute("commit")
            assert await written_by_another_process(path) == "wrote"
            assert database.execute("select a from t").fetchall() == [(1,), (99,)]

    run("flight", scenario)


def test_only_sockets_are_copied(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    copied, plain = list[int](), os.dup
    monkeypatch.setattr(os, "dup", lambda number: copied.append(number) or plain(number))
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as one,
        (tmp_path / "file").open("w") as file,
    ):
        assert connections(server.getsockname()[1]) == {(one.getsockname(), server.getsockname())}
        assert one.fileno() in copied and file.fileno() not in copied
        assert sever(remote=server.getsockname()) == 1 and one.recv(1) == b""


def test_a_number_that_means_a_file_by_the_time_it_is_copied(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The copy stays open: closed, it would take locks along."""
    closed, plain = list[int](), os.close
    monkeypatch.setattr(sockets, "_is_socket", lambda _: True)
    monkeypatch.setattr(os, "close", lambda number: closed.append(number) or plain(number))
    with (tmp_path / "file").open("w") as file:
        copies = list[int]()
        copy = os.dup
        monkeypatch.setattr(os, "dup", lambda number: copies.append(copy(number)) or copies[-1])
        assert sockets._duplicate(file.fileno()) is None
        assert len(copies) == 1 and not closed
        os.fstat(copies[0])
        plain(copies[0])
