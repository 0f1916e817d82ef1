"""The outputs of a real deployment: read by programs and written to tables while an input is cut and the client process is killed.

One deployment serves all tests of this file: each leaves it running.
"""

from __future__ import annotations

import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import auroral
from auroral.cli import main
from auroral.client import Client, Stable, Tentative, TupleType, connect
from auroral.node.fleet.preparing import prepare
from auroral.node.fleet.processes import Fleet
from auroral.node.history import Manifest
from auroral.node.outputlog import OutputLog
from auroral.node.runfolder import RunFolder
from auroral.ui.serving import served
from edge.postgresql import Server, why_not
from fleet.deployments import Feeds, client, frontier, until, watch
from ui.browsing import browsing, opened

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture(scope="module")
def server() -> Iterator[Server | None]:
    """None where there can be none: all but what is about it is tested all the same."""
    if why_not() is not None:
        yield None
        return
    running = Server()
    yield running
    running.remove()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, server: Server | None) -> Iterator[Fleet]:
    folder = tmp_path_factory.mktemp("outputs")
    outputs = [
        ("sums", f"sqlite:{folder}/sums.db#sums"),
        ("sums", f"{folder}/sums.parquet"),
        *([] if server is None else [("sums", f"{server.address}#sums")]),
    ]
    fleet = Fleet(prepare(folder / "live", watch(kept=True).check(), outputs=outputs))
    try:
        fleet = fleet.up(lambda _: None)
        with closing(Feeds(fleet)):
            yield fleet
    finally:
        fleet.down(lambda _: None)


@pytest.fixture
def reads(running: Fleet) -> Iterator[Client]:
    with connect(running.deployed.folder) as found:
        yield found


def log_of(fleet: Fleet, stream: str = "sums") -> OutputLog:
    folder = RunFolder.look(fleet.deployed.folder)
    return OutputLog.look(folder.output(stream), folder.checked.streams[stream].schema)


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*table.to_pydict().values(), strict=True))


def in_sqlite(fleet: Fleet, what: str = "stime, host, rows, total, _tentative") -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(fleet.deployed.folder.parent / "sums.db")) as connection:
        return connection.execute(f"SELECT {what} FROM sums").fetchall()


def in_postgresql(server: Server | None) -> list[tuple[Any, ...]]:
    assert server is not None
    with psycopg.connect(server.address) as connection:
        return connection.execute("SELECT stime, host, rows, total, _tentative FROM sums").fetchall()


def tentative_now(fleet: Fleet) -> int:
    return int(client(fleet)["streams"].get("sums", {}).get("tentative_now", 0))


def with_east_away(fleet: Fleet, found: Callable[[], Any]) -> None:
    """An input falls silent until something is seen."""
    until(lambda: frontier(fleet) > 4)
    fleet.ask("east", "pause")
    try:
        until(found)
    finally:
        fleet.ask("east", "resume")


def test_who_ignores_what_is_tentative_sees_the_failure_free_stream(running: Fleet, reads: Client) -> None:
    """D46, with an input that is away for a while."""
    with reads.subscribe("sums") as all_events, reads.subscribe("sums") as as_tuples:
        seen: list[tuple[Any, ...]] = []
        kinds: Counter[str] = Counter()

        def look() -> int:
            event = next(all_events)
            kinds[type(event).__name__] += 1
            if isinstance(event, Stable):
                seen.extend(rows_of(event.rows))
            return kinds["Tentative"]

        with_east_away(running, lambda: look() > 3)
        until(lambda: look() and kinds["Corrected"] and not tentative_now(running))
        assert all_events.position is not None
        expected = log_of(running).read(None, all_events.position)
        assert seen == rows_of(expected)
        # The same, as tuples.
        inserted: list[tuple[Any, ...]] = []
        for one in as_tuples.tuples():
            if one.type is TupleType.INSERTION:
                inserted.append(tuple(one.row.values()))
            if one.type is TupleType.BOUNDARY and one.position >= all_events.position:
                break
        assert inserted[: len(seen)] == seen


def test_the_page_shows_what_is_tentative_and_then_its_correction(running: Fleet) -> None:
    """In a real browser, within 2 s."""
    folder = running.deployed.folder
    with browsing() as browser, served(folder, port=0) as server, opened(browser, server.address) as page:
        until(lambda: frontier(running) > 4)
        page.wait_for_selector(".flow[data-name=sums].stable")
        page.wait_for_selector("#strips .square.stable")
        since = running.ask("client", "tail")[-1]["number"]
        running.ask("east", "pause")
        try:
            told = until(lambda: [o for o in running.ask("client", "tail", since=since) if o["kind"] == "tentative"])
            page.wait_for_selector("[data-output=sums] .square.tentative")
            page.wait_for_selector(".flow[data-name=sums].tentative")
            assert time.time() - told[0]["at"] < 2.0
            page.wait_for_selector(".flow[data-name=east].silent")
            assert told[0]["coverage"] == {"east": "missing", "west": "complete"}
            assert told[0]["latency"] > 2 and page.locator(".cover .missing").count() > 0
            assert (running.status()["na"] or {})["outputs"]["sums"]["misses"] == ["east"]
        finally:
            running.ask("east", "resume")
        until(lambda: not tentative_now(running))
        began = time.monotonic()
        page.wait_for_selector(".flow[data-name=sums].stable")
        page.wait_for_selector("#strips .square.tentative", state="detached")
        assert time.monotonic() - began < 2.0
        assert page.locator("#strips .square.corrected, #strips .square.confirmed").count() > 0
        assert page.locator("#strips .square .tick").count() >= 2
        assert "paused" in page.inner_text("#timeline")
        page.click(".box[data-name=both]")
        page.wait_for_selector("#panel pre")
        page.click(".flow[data-name=sums]")
        page.wait_for_selector(".rows td")
        assert "sums is in STABLE" in page.inner_text("#panel")
        reads = (running.status()["na"] or {})["outputs"]["sums"]["reads"]
        assert {stream: list(lanes.values()) for stream, lanes in reads.items()} == {"east": ["both"], "west": ["both"]}
        assert (running.status()["na"] or {})["outputs"]["sums"]["computed"] > 0
        assert (running.status()["na"] or {})["outputs"]["sums"]["misses"] == []


def test_the_table_of_now_says_what_is_tentative(running: Fleet, reads: Client) -> None:
    with_east_away(running, lambda: any(reads.table("sums").column("_tentative").to_pylist()))
    until(lambda: not any(reads.table("sums").column("_tentative").to_pylist()))
    table = reads.table("sums")
    assert rows_of(table.drop_columns("_tentative")) == rows_of(
        log_of(running).read(None, table.column(0)[-1].as_py() + 1)
    )
    assert list(table.to_pandas().columns) == ["stime", "host", "rows", "total", "_tentative"]


def test_tables_and_readers_through_the_death_of_the_client(
    running: Fleet, reads: Client, server: Server | None
) -> None:
    """Killed in the middle of a failure, and again while it is corrected."""
    with reads.subscribe("sums") as events:
        seen: list[tuple[Any, ...]] = []
        tentative = 0

        def look() -> int:
            nonlocal tentative
            event = next(events)
            tentative += isinstance(event, Tentative)
            if isinstance(event, Stable):
                seen.extend(rows_of(event.rows))
            return tentative

        with_east_away(
            running, lambda: look() > 2 and in_sqlite(running, "count(*)") and any(r[4] for r in in_sqlite(running))
        )
        for _ in range(2):
            running.kill("client")
            time.sleep(0.3)
            running.up(lambda _: None)
            before = until(lambda: frontier(running))
            until(lambda before=before: frontier(running) > before)
        until(lambda: not tentative_now(running))
        goal = (running.deployed.first + frontier(running)) * running.deployed.checked.diagram.bucket
        until(lambda: look() is not None and events.position is not None and events.position >= goal)
        assert seen == rows_of(log_of(running).read(None, events.position))

    def settled() -> bool:
        """All sinks have what is stable, and nothing besides."""
        end = min(one["position"] or 0 for one in client(running)["sinks"])
        stable = Counter((*row, False) for row in rows_of(log_of(running).read(None, end)))
        return len(stable) > 0 and all(rows_before(end, rows) == stable for rows in tables(running, server))

    until(settled)
    assert not any(one["failing"] for one in client(running)["sinks"])


def tables(fleet: Fleet, server: Server | None) -> list[list[tuple[Any, ...]]]:
    return [in_sqlite(fleet), *([] if server is None else [in_postgresql(server)])]


def rows_before(end: int, rows: list[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    return Counter((*row[:4], bool(row[4])) for row in rows if row[0] < end)


def test_a_query_through_deaths_and_an_input_away(running: Fleet, spark: Any) -> None:
    """History first, then live; the client process and a replica are killed while the input is away. At the end it equals what the query gives of
    the whole stream, and nobody at the deployment knows of it any more."""
    statement = "SELECT host, count(*) AS rows, sum(n) AS total FROM stream GROUP BY host"
    seen: list[tuple[Any, ...]] = []
    kinds: Counter[str] = Counter()
    until(lambda: frontier(running) > 6)
    by_then = (running.deployed.first + frontier(running)) * 500_000
    with auroral.query(running.deployed.folder, "recent", statement, window="1s", session=spark) as asked:
        begin = next(asked)
        assert isinstance(begin, Stable) and begin.hi <= by_then, "what was kept by then comes first"
        seen.extend(rows_of(begin.rows))

        def look() -> int:
            event = next(asked)
            kinds[type(event).__name__] += 1
            if isinstance(event, Stable):
                seen.extend(rows_of(event.rows))
            return kinds["Tentative"]

        with_east_away(running, lambda: look() > 2)
        for name in ("client", "na"):
            running.kill(name)
        running.up(lambda _: None)
        until(lambda: look() and kinds["Corrected"] and not tentative_now(running))
        end = asked.position
    assert end is not None and kinds["Gap"] == 0
    assert seen == grouped(log_of(running, "high").read(begin.lo, end), 500_000, end)
    until(lambda: not any(one["stream"] == "high" for one in client(running)["readers"]))
    # Any Spark job reads what is kept, meanwhile.
    found = Manifest.read(folder := (running.deployed.folder / "history" / "recent").resolve())
    rows = spark.read.parquet(str(folder)).orderBy("stime", "host", "n").toArrow()
    assert rows_of(rows) == rows_of(log_of(running, "high").read(None, found.frontier))


def grouped(rows: pa.Table, bucket: int, end: int) -> list[tuple[Any, ...]]:
    """By host, of each bucket and the one before it."""
    found: dict[tuple[int, str], list[int]] = {}
    for stime, host, n in rows_of(rows):
        for after in (1, 2):
            found.setdefault(((stime // bucket + after) * bucket - 1, host), []).append(n)
    return sorted((stime, host, len(of), sum(of)) for (stime, host), of in found.items() if stime < end)


def test_a_server_away_is_shown_and_loses_nothing(
    running: Fleet, server: Server | None, capsys: pytest.CaptureFixture[str]
) -> None:
    if server is None:
        pytest.skip(str(why_not()))
    folder = str(running.deployed.folder)
    server.stop()
    try:
        until(lambda: client(running)["sinks"][2]["failing"])
        assert main(["status", "--folder", folder]) == 0
        assert "fails, and is tried again: postgresql://" in capsys.readouterr().out
        before = frontier(running)
        until(lambda: frontier(running) > before + 3)
        sqlite, parquet, away = client(running)["sinks"]
        assert sqlite["failing"] is None and parquet["failing"] is None
        assert away["position"] < min(sqlite["position"], parquet["position"])
    finally:
        server.start()
    until(lambda: client(running)["sinks"][2]["failing"] is None)
    assert main(["events", "--folder", folder]) == 0
    told = capsys.readouterr().out
    assert "sink failing" in told and "sink goes on" in told


def test_at_the_end_all_sinks_have_all_that_is_stable(running: Fleet, server: Server | None) -> None:
    """The last of this file: the deployment ends here."""
    running.down(lambda _: None)
    stable = Counter((*row, False) for row in rows_of(log_of(running).read()))
    end = log_of(running).frontier
    assert end is not None and len(stable) > 10
    for rows in tables(running, server):
        # What is tentative behind the end stays so: nobody has corrected it yet.
        assert rows_before(end, rows) == stable
    parquet = pq.read_table(running.deployed.folder.parent / "sums.parquet")
    assert Counter((*row, False) for row in rows_of(parquet)) == stable
