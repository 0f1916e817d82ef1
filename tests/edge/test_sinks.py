"""Sinks: no row lost or repeated, whatever is offered again and whenever the writer dies."""

import io
import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auroral.edge.durable import InUse, StorageFull
from auroral.edge.files import read_batches
from auroral.edge.sinks import OutputError, OutputGap, Sink, StandardOutput, open_sink
from auroral.edge.spelling import csv_header, csv_lines, json_lines
from auroral.model.schema import arrow_schema, schema
from edge.children import killed_after, moments, small_disk

SCHEMA = schema("n long, s string")
KINDS = ("csv", "jsonl", "parquet")


def rows(low: int, high: int) -> pa.Table:
    numbers = pa.array(range(low, high), pa.int64())
    return pa.table({"__stime": numbers, "n": numbers, "s": pa.array(["x"] * (high - low), pa.string())})


def stored(path: Path) -> list[int]:
    wanted = schema("stime long, n long, s string")
    return [row["stime"] for batch in read_batches(path, wanted) for row in batch.rows.to_pylist()]


@pytest.mark.parametrize("kind", KINDS)
def test_ranges_follow_on_one_another_over_reopening(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "new" / f"out.{kind}"
    with open_sink(path, SCHEMA) as sink:
        assert sink.frontier is None
        assert sink.append(0, 10, rows(0, 10)) == 10
        assert sink.append(10, 20, rows(0, 0)) == 0
        assert sink.append(5, 20, rows(5, 20)) == 0, "offered again"
    with open_sink(path, SCHEMA) as sink:
        assert sink.frontier == 20
        assert sink.append(15, 25, rows(15, 25)) == 5, "the part below the frontier is there already"
        with pytest.raises(OutputGap, match=r"(?s)from 25 on are due.*next"):
            sink.append(30, 40, rows(30, 40))
        with pytest.raises(OutputError, match="outside"):
            sink.append(25, 30, rows(25, 31))
        assert sink.frontier == 25
    assert stored(path) == [*range(10), *range(20, 25)]


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_not_committed_is_cut_off(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"out.{kind}"
    with open_sink(path, SCHEMA) as sink:
        sink.append(0, 5, rows(0, 5))
    if kind == "parquet":
        pq.write_table(rows(5, 9), path / "part-00000001_5_9.parquet")
        (path / "part-00000002_9_10.parquet.tmp").write_bytes(b"half")
    else:
        with path.open("a") as file:
            file.write("5,5,x\n6,")
    with open_sink(path, SCHEMA) as sink:
        sink.append(5, 7, rows(5, 7))
    assert stored(path) == list(range(7))


def test_parquet_parts_are_named_by_their_range(tmp_path: Path) -> None:
    with open_sink(tmp_path / "out.parquet", SCHEMA) as sink:
        sink.append(-10, 5, rows(-3, 2))
    names = sorted(p.name for p in (tmp_path / "out.parquet").iterdir())
    assert names == ["_commit.json", "part-00000000_-10_5.parquet"]


@pytest.mark.parametrize("kind", KINDS)
def test_outputs_of_others_are_left_alone(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"out.{kind}"
    with open_sink(path, SCHEMA, owner="run 1") as sink:
        sink.append(0, 5, rows(0, 5))
        with pytest.raises(InUse):
            open_sink(path, SCHEMA, owner="run 1")
    with pytest.raises(OutputError, match=r"(?s)another run \(run 1\).*next"):
        open_sink(path, SCHEMA, owner="run 2")
    with pytest.raises(OutputError, match="schema"):
        open_sink(path, schema("n long"), owner="run 1")
    foreign = tmp_path / f"foreign.{kind}"
    if kind == "parquet":
        foreign.mkdir()
        (foreign / "thesis.txt").write_text("do not touch")
    else:
        foreign.write_text("do not touch")
    with pytest.raises(OutputError, match=r"(?s)there already.*next"):
        open_sink(foreign, SCHEMA)


@pytest.mark.parametrize("kind", KINDS)
def test_an_output_that_somebody_shortened_is_an_error(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"out.{kind}"
    with open_sink(path, SCHEMA) as sink:
        sink.append(0, 5, rows(0, 5))
    if kind == "parquet":
        next(path.glob("part*")).unlink()
    else:
        os.truncate(path, 3)
    with pytest.raises(OutputError, match=r"(?s)changed.*next: restore"):
        open_sink(path, SCHEMA)


def test_unknown_format(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"(?s)\.xls output.*allowed: \.csv"):
        open_sink(tmp_path / "out.xls", SCHEMA)


def test_standard_output_is_json_lines() -> None:
    stream = io.StringIO()
    sink = StandardOutput(SCHEMA, stream)
    sink.append(0, 2, rows(0, 2))
    sink.append(0, 2, rows(0, 2))
    assert [json.loads(line) for line in stream.getvalue().splitlines()] == [
        {"stime": 0, "n": 0, "s": "x"},
        {"stime": 1, "n": 1, "s": "x"},
    ]
    assert isinstance(open_sink("-", SCHEMA), StandardOutput)


ALL = schema(
    "by byte, sh short, i int, l long, f single, d double, s string, t timestamp, o bool, "
    "m decimal(10,2), da date, bi binary"
)
ANY = {
    "by": st.integers(-(2**7), 2**7 - 1),
    "sh": st.integers(-(2**15), 2**15 - 1),
    "i": st.integers(-(2**31), 2**31 - 1),
    "l": st.integers(-(2**63), 2**63 - 1),
    "f": st.floats(width=32),
    "d": st.floats(),
    "s": st.text(st.characters(exclude_categories=["Cs"])),
    "t": st.integers(-(2**55), 2**55),
    "o": st.booleans(),
    "m": st.decimals(-99999999, 99999999, places=2),
    "da": st.dates(),
    "bi": st.binary(),
}


ANY_ROW = st.fixed_dictionaries({name: st.one_of(st.none(), values) for name, values in ANY.items()})


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
@given(values=st.lists(ANY_ROW, min_size=1, max_size=6))
def test_what_is_written_is_read_back_the_same(
    tmp_path_factory: pytest.TempPathFactory, kind: str, values: list[dict[str, object]]
) -> None:
    table = pa.Table.from_pylist(values, arrow_schema(ALL))
    path = tmp_path_factory.getbasetemp() / f"spelling.{kind}"
    # A second column, as every output has: a lone null would be an empty line in CSV.
    numbered = table.add_column(0, "stime", pa.array(range(len(values)), pa.int64()))
    text = csv_header(numbered.column_names) + csv_lines(numbered) if kind == "csv" else json_lines(numbered)
    path.write_bytes(text.encode())
    batches = list(read_batches(path, schema("stime long, " + str(ALL))))
    assert [batch.refused for batch in batches] == [()] * len(batches)
    again = pa.concat_tables(batch.rows for batch in batches)
    # repr tells -0.0 from 0.0 and takes NaN for equal to itself.
    assert repr(again.drop(["stime", "t"]).to_pylist()) == repr(table.drop(["t"]).to_pylist())
    assert again.column("t").equals(table.column("t"))


def test_spelling(tmp_path: Path) -> None:
    odd = schema("stime double, s string, t timestamp, m decimal(5,2), bi binary")
    row = {"__stime": 7, "stime": 0.1, "s": 'a "b"', "t": 0, "m": 1, "bi": b"\x00"}
    types = pa.schema([pa.field("__stime", pa.int64()), *arrow_schema(odd)])
    for kind, expected in (
        ("csv", '__stime,stime,s,t,m,bi\n7,0.1,"a ""b""",1970-01-01T00:00:00.000000Z,1.00,AA==\n'),
        (
            "jsonl",
            '{"__stime": 7, "stime": 0.1, "s": "a \\"b\\"", "t": "1970-01-01T00:00:00.000000Z", '
            '"m": "1.00", "bi": "AA=="}\n',
        ),
    ):
        path = tmp_path / f"out.{kind}"
        with open_sink(path, odd) as sink:
            sink.append(0, 10, pa.Table.from_pylist([row], types))
        assert path.read_text() == expected


def append_until_full(sink: Sink) -> None:
    for low in range(0, 10_000_000, 500):
        sink.append(low, low + 500, rows(low, low + 500))


@pytest.mark.parametrize("kind", KINDS)
def test_full_disk(tmp_path: Path, kind: str) -> None:
    with small_disk(tmp_path / "disk", "1m") as disk:
        ballast = disk / "ballast"
        ballast.write_bytes(bytes(700_000))
        path = disk / f"out.{kind}"
        with open_sink(path, SCHEMA) as sink:
            with pytest.raises(StorageFull, match=r"(?s)disk is full.*next: make room.*--resume"):
                append_until_full(sink)
            position = sink.frontier
            assert position is not None
            assert position > 0
            ballast.unlink()
            sink.append(position, position + 500, rows(position, position + 500))
        assert stored(path) == list(range(position + 500))


WRITER = """
import sys
import pyarrow as pa
from auroral.edge.sinks import open_sink
from auroral.edge.spelling import csv_header, csv_lines, json_lines
from auroral.model.schema import schema

sink = open_sink(sys.argv[1], schema("n long, s string"))
low = sink.frontier or 0
while True:
    high = low + (5_000 if low % 3 == 0 else 7)
    numbers = pa.array(range(low, high), pa.int64())
    sink.append(low, high, pa.table({"__stime": numbers, "n": numbers, "s": ["x"] * (high - low)}))
    low = high
    print(low, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_sigkill_in_the_middle_of_appends_loses_and_repeats_nothing(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"out.{kind}"
    for waited, pause in moments(11, 3):
        acknowledged = killed_after(WRITER, [str(path)], waited, pause)
        with open_sink(path, SCHEMA) as sink:
            assert sink.frontier is not None
            assert sink.frontier >= acknowledged
            assert stored(path) == list(range(sink.frontier))
