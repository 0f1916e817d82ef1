"""SIGKILL at any moment neither loses nor doubles a row of a sink."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import psycopg
import pyarrow.parquet as pq
import pytest

from client.killed import BUCKETS, LATER, numbers
from client.served import stime
from edge.postgresql import Server, why_not

PROGRAM = Path(__file__).with_name("killed.py")
EXPECTED = [(stime(bucket), n) for bucket in range(BUCKETS) for n in sorted(numbers(bucket))]


def standing() -> list[tuple[int, int]]:
    """The rows of the output that is revised, once all is done."""
    found = []
    for bucket in range(BUCKETS):
        first, *rest = numbers(bucket) or [None]
        revised = [first] if bucket + LATER >= BUCKETS else [first + 1000] if first is not None else []
        found += [(stime(bucket), n) for n in (*revised, *rest) if n is not None]
    return sorted(found)


@pytest.mark.slow
def test_sinks_of_a_process_that_is_killed_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(PROGRAM.parents[1]), prepend=":")
    server = Server() if why_not() is None else None
    try:
        places = [f"sqlite:{tmp_path}/of.db", str(tmp_path / "f.parquet"), str(tmp_path / "f.csv")]
        places += [] if server is None else [f"{server.address}#f"]
        revised = [f"sqlite:{tmp_path}/of.db#g?revised", *([] if server is None else [f"{server.address}#g?revised"])]
        command = [sys.executable, str(PROGRAM), str(tmp_path / "run"), *places, "--revised", *revised]
        drawn = random.Random(7)
        for _ in range(5):
            with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
                assert process.stdout is not None and process.stdout.readline() == b"began\n"
                time.sleep(drawn.uniform(0.05, 0.6))
                process.kill()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        statement = "SELECT stime, n FROM f WHERE NOT _tentative ORDER BY stime, n"
        tentative = "SELECT count(*) FROM f WHERE _tentative"
        stand = "SELECT stime, n FROM g ORDER BY stime, n"
        with closing(sqlite3.connect(tmp_path / "of.db")) as connection:
            assert connection.execute(statement).fetchall() == EXPECTED
            assert connection.execute(tentative).fetchall() == [(0,)]
            assert connection.execute(stand).fetchall() == standing()
        if server is not None:
            with psycopg.connect(server.address) as connection:
                assert connection.execute(statement).fetchall() == EXPECTED
                assert connection.execute(tentative).fetchall() == [(0,)]
                assert connection.execute(stand).fetchall() == standing()
        table = pq.read_table(tmp_path / "f.parquet")
        assert list(zip(*table.select(["stime", "n"]).to_pydict().values(), strict=True)) == EXPECTED
        lines = (tmp_path / "f.csv").read_text().splitlines()[1:]
        assert [(int(line.split(",")[0]), int(line.split(",")[2])) for line in lines] == EXPECTED
    finally:
        if server is not None:
            server.remove()
