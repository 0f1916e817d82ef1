"""Revisions in a deployment of real processes, while an input is silent, and a replica and the client process are killed."""

from __future__ import annotations

import random
import sqlite3
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa

import auroral
from auroral.client import connect
from auroral.edge.sourcelog import SourceLog
from auroral.model.builder import DiagramBuilder
from auroral.node.fleet.preparing import prepare
from auroral.node.fleet.processes import Fleet
from auroral.node.outputlog import OutputLog
from auroral.node.runfolder import RunFolder
from auroral.reference.evaluate import evaluate
from auroral.reference.rows import Row
from engine.revising import corrected
from fleet.deployments import Feeds, all_is_stable, client, goes_on, right_in_the_end, until

BUCKET, KEPT = 500_000, 5_000_000
WORDS = [None, None, None, None, "replace", "replace", "delete", "insert"]


def readings(revised: bool) -> DiagramBuilder:
    d = auroral.diagram("readings", bucket=f"{BUCKET}us")
    how: dict[str, Any] = {"revisions": f"{KEPT}us", "key": ["meter"]} if revised else {}
    east, west = (d.input(name, "meter int, site string, kw int", **how) for name in ("east", "west"))
    sums = {"rows": "count()", "kw": "sum(kw)"}
    high = east.union("both", west).filter("high", "kw > 2")
    high.aggregate("sums", sums, window="2s", advance="500ms", by=["site"]).output(availability="8s")
    return d


def reading(name: str, number: int) -> dict[str, Any]:
    """Of some 2 s ago, most of those that revise another; some of them find none."""
    drawn = random.Random(f"{name} {number}")
    word = drawn.choice(WORDS)
    if word == "insert":
        word = f"insert {time.time_ns() // 1000 - drawn.randrange(KEPT)}"
    meter, kw = drawn.randrange(200), drawn.randrange(10)
    return {"meter": meter, "site": f"s{kw % 3}", "kw": kw, "revised_value": word}


def now(fleet: Fleet) -> pa.Table:
    """The table of now, as a program reads it, at a moment at which nothing of it is tentative."""
    with connect(fleet.deployed.folder) as reader:

        def calm() -> pa.Table | None:
            found = reader.table("sums", revised=True)
            return None if any(found.column("_tentative").to_pylist()) else found.drop_columns("_tentative")

        found: pa.Table = until(calm)
    return found


def in_the_table(fleet: Fleet) -> Counter[tuple[Any, ...]]:
    with closing(sqlite3.connect(fleet.deployed.folder.parent / "sums.db")) as connection:
        return Counter(connection.execute("SELECT stime, site, rows, kw FROM sums"))


def expected(folder: RunFolder, end: int) -> Counter[tuple[Any, ...]]:
    """Of rows that are right from the beginning, evaluated one by one."""
    given: dict[str, list[Row]] = {}
    for name in ("east", "west"):
        schema = folder.checked.streams[name].schema
        with SourceLog.open(folder.source(name), schema, readonly=True) as log:
            columns = log.read().to_pydict()
        rows = zip(columns["__stime"], *(columns[field] for field in schema.names), strict=True)
        given[name] = corrected([Row(at, tuple(v), (i,)) for i, (at, *v) in enumerate(rows) if at < end], BUCKET, KEPT)
    found = evaluate(readings(False).check(), given, end).streams["sums"]
    return Counter((row.stime, *row.values) for row in found)


def test_revisions_through_a_silent_input_and_kills(tmp_path: Path, spark: Any) -> None:
    outputs = [("sums", f"sqlite:{tmp_path}/sums.db#sums?revised")]
    fleet = Fleet(prepare(tmp_path / "live", readings(True).check(), outputs=outputs))
    try:
        fleet = fleet.up(lambda _: None)
        with closing(Feeds(fleet, reading)):
            goes_on(fleet, 12)
            for _ in range(3):
                fleet.kill("client")
                fleet.start(["client"])
                goes_on(fleet)
            fleet.ask("east", "pause")
            until(lambda: client(fleet)["counts"].get("tentative", 0) > 3)
            fleet.kill("na")
            until(lambda: client(fleet)["counts"].get("tentative", 0) > 8)
            fleet.start(["na"])
            fleet.ask("east", "resume")
            # In the middle of the corrections.
            until(lambda: client(fleet)["counts"].get("corrected", 0) > 0)
            fleet.kill("client")
            fleet.start(["client"])
            goes_on(fleet, 8)
            all_is_stable(fleet)
            read = now(fleet)
        right_in_the_end(fleet, spark)
    finally:
        fleet.down(lambda _: None)
    folder = RunFolder.look(fleet.deployed.folder)
    log = OutputLog.look(folder.output("sums"), folder.checked.streams["sums"].schema)
    marks = Counter(str(mark).split()[0] for mark in log.read().column("revised_value").to_pylist())
    assert marks["None"] > 50 and marks["delete"] > 50 and marks["insert"] > 50, marks
    assert log.frontier is not None
    assert in_the_table(fleet) == expected(folder, log.frontier)
    # Each bucket has results, at its end.
    last = read.column("stime").to_pylist()[-1]
    assert Counter(zip(*read.to_pydict().values(), strict=True)) == expected(folder, last + 1)
