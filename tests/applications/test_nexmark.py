"""Nexmark's queries as the page runs them: equal to the batch run, and to what their definitions say over all events."""

from __future__ import annotations

import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from bench import nexmark
from examples.nexmark.auction_site import LONGEST, SCHEMAS
from examples.nexmark.generator import Site, tables, write

from applications.nexmark_oracle import expected
from auroral.cli import main
from auroral.commands.diagrams import load_one

FOLDER = Path(__file__).parents[2] / "examples" / "nexmark"
QUERIES = [f"q{number}" for number in range(9)]
SITE = Site(events=4000, seed=7)


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("events")
    write(SITE, folder)
    return folder


@pytest.mark.spark
@pytest.mark.usefixtures("interpreted", "commands_share_spark")
@pytest.mark.parametrize("query", QUERIES)
def test_a_query_is_proved_and_is_what_its_definition_says(
    query: str,
    events: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    file = str(FOLDER / f"{query}.py")
    diagram = load_one(file, ()).diagram
    (output,) = (one.stream for one in diagram.outputs)
    inputs = [f"--input={given.stream}={events / given.stream}.csv" for given in diagram.inputs]
    run, rows = tmp_path / "run", tmp_path / "rows.parquet"
    assert main(["run", file, *inputs, "--flush", "--folder", str(run), "--output", f"{output}={rows}"]) == 0
    assert main(["verify", str(run)]) == 0, capsys.readouterr().out
    found = pq.read_table(rows).drop_columns("stime").to_pylist()
    wanted = expected(query, **tables(SITE))
    assert Counter(tuple(row.values()) for row in found) == Counter(wanted)
    assert len(wanted) > 3, "too little to tell anything"


@pytest.mark.spark
@pytest.mark.usefixtures("interpreted")
def test_the_benchmark_counts_the_rows_that_a_query_reads(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(nexmark, "ENOUGH_RUNS", 1)
    site = Site(events=200, begin=datetime(1970, 1, 1, tzinfo=UTC))
    streams = {name: nexmark.stamped(rows) for name, rows in tables(site).items()}
    found = nexmark.compared(spark, "q8", streams, 2, tmp_path)
    assert found["rows"] == 4 + 12
    assert min(found["auroral"], found["batch"], found["to_batch"]) > 0


def test_the_events_are_those_of_the_seed() -> None:
    assert tables(SITE) == tables(SITE)
    assert tables(SITE) != tables(Site(events=SITE.events, seed=8))


def test_of_fifty_events_one_is_a_person_three_are_auctions_and_the_rest_bids() -> None:
    counts = {stream: len(rows) for stream, rows in tables(SITE).items()}
    assert counts == {"persons": 80, "auctions": 240, "bids": 3680}


def test_fields_are_those_of_the_streams() -> None:
    for stream, rows in tables(Site(events=50)).items():
        assert list(rows[0]) == [field.split()[0] for field in SCHEMAS[stream].split(", ")]


def test_half_of_the_bids_are_for_a_hot_auction_and_three_quarters_from_a_hot_bidder() -> None:
    bids = tables(Site(events=20_000))["bids"]
    assert 0.5 < _share(bids, "auction", 0) < 0.55
    assert 0.74 < _share(bids, "bidder", 1) < 0.78


def test_nobody_sells_or_bids_before_they_are_there_and_no_auction_is_longer_than_is_waited_for() -> None:
    site = Site(events=SITE.events, a_second=10)
    found = tables(site)
    since: dict[str, dict[int, Any]] = {s: {row["id"]: row["ts"] for row in found[s]} for s in ("persons", "auctions")}
    assert all(since["persons"][row["seller"]] < row["ts"] for row in found["auctions"])
    assert all(since["persons"][row["bidder"]] < row["ts"] for row in found["bids"])
    assert all(since["auctions"][row["auction"]] < row["ts"] for row in found["bids"])
    assert max(row["expires"] - row["ts"] for row in found["auctions"]) == site.longest == LONGEST


def test_some_bids_come_too_late() -> None:
    """Otherwise q4 and q6 could leave out when an auction ends."""
    found = tables(SITE)
    ends = {row["id"]: row["expires"] for row in found["auctions"]}
    late = sum(row["ts"] > ends[row["auction"]] for row in found["bids"])
    assert 100 < late < len(found["bids"]) - 100
    assert min(row["expires"] - row["ts"] for row in found["auctions"]) >= timedelta(milliseconds=1)


def _share(rows: list[dict[str, Any]], field: str, rest: int) -> float:
    return sum(row[field] % 100 == rest for row in rows) / len(rows)
