"""Reading input files: formats, bad values with their places, resuming, and files that cannot be read."""

import io
import os
import re
import subprocess
import sys
import threading
import warnings
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auroral.edge import csvfiles
from auroral.edge.files import Batch, ExtraColumns, InputError, MissingColumns, read_batches
from auroral.model.schema import Schema, arrow_schema, schema
from edge.children import without_privileges

SIMPLE = schema("a int, b string")
ALL = schema(
    "by byte, sh short, i int, l long, f single, d double, s string, t timestamp, o bool, "
    "m decimal(10,2), da date, bi binary"
)


def read(path: Path | str, given_schema: Schema = SIMPLE, **options: Any) -> list[Batch]:
    return list(read_batches(path, given_schema, **options))


def rows(batches: list[Batch]) -> list[dict[str, Any]]:
    return [row for batch in batches for row in batch.rows.to_pylist()]


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_csv_by_name_with_one_warning_for_extra_columns(tmp_path: Path) -> None:
    path = write(tmp_path / "in.csv", "b,more,a\nx,1,1\ny,2,2\n\nz,3,3\n")
    with pytest.warns(ExtraColumns, match="ignored: more") as caught:
        batches = read(path, batch_rows=1)
    assert len(caught) == 1
    assert rows(batches) == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}, {"a": 3, "b": "z"}]


def test_csv_null_and_empty_string_differ(tmp_path: Path) -> None:
    path = write(tmp_path / "in.csv", 'a,b\n,\n1,""\n"",x\n')
    batches = read(path)
    assert rows(batches) == [{"a": None, "b": None}, {"a": 1, "b": ""}]
    (refused,) = batches[0].refused
    assert (refused.line, refused.field, refused.value) == (4, "a", "")


def test_csv_quotes_line_ends_bom_and_no_last_line_end(tmp_path: Path) -> None:
    text = '\ufeffa,b\r\n1,"two\r\nlines, ""quoted"""\r\n2,5" pipe\r\nx,bad\r\n3,"last"'
    batches = read(write(tmp_path / "in.csv", text), batch_rows=2)
    assert rows(batches) == [
        {"a": 1, "b": 'two\r\nlines, "quoted"'},
        {"a": 2, "b": '5" pipe'},
        {"a": 3, "b": "last"},
    ]
    (refused,) = [r for batch in batches for r in batch.refused]
    assert refused.line == 5, "the record in quotes takes two lines"


def test_csv_bad_values_name_file_line_field_value_and_type(tmp_path: Path) -> None:
    path = write(tmp_path / "in.csv", "a,b\n1,x\n1.5,y\n2,z\n99999999999,w\n3\n4,q,r\n5,ok\n")
    (batch,) = read(path)
    assert rows([batch]) == [{"a": 1, "b": "x"}, {"a": 2, "b": "z"}, {"a": 5, "b": "ok"}]
    assert [(r.line, r.row, r.field, r.value, r.type) for r in batch.refused] == [
        (3, 1, "a", "1.5", "int"),
        (5, 3, "a", "99999999999", "int"),
        (6, 4, None, "3", "row of 2 columns"),
        (7, 5, None, "4,q,r", "row of 2 columns"),
    ]
    assert str(batch.refused[0]) == f"{path}:3: field 'a': '1.5' is no int (not a whole number)"
    assert (batch.first, batch.read, batch.end) == (0, 7, 7)


def test_csv_bytes_that_are_no_text_and_quotes_that_stay_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "in.csv", b'a,b\n1,\xff\xfe\n2,"open\n3,c\n4,d\n')
    batches = read(path)
    refused = [r for batch in batches for r in batch.refused]
    assert rows(batches) == [{"a": 3, "b": "c"}, {"a": 4, "b": "d"}]
    assert [(r.line, r.field) for r in refused] == [(2, None), (3, None)]
    assert "not closed" in refused[1].why
    monkeypatch.setattr(csvfiles, "LONGEST_RECORD", 10)
    again = read(path, batch_rows=2)
    assert rows(again) == rows(batches)


CSV_ALL = """by,sh,i,l,f,d,s,t,o,m,da,bi
-128,32767, 7 ,-9223372036854775808,1.5,1e-300,ü,2026-01-31T12:00:00.25Z,true,12.30,2026-01-31,AAE=
127,-32768,+7,9223372036854775807,NaN,-Infinity,"a,b",2026-01-31 14:00:00.250+02:00,0,-1,0001-01-01,
,,,,inf,0.1,,1769860800250000,FALSE,99999999.99,,/w==
,,,,,,,2026-01-31T12:00,,,,
"""


def test_csv_every_type(tmp_path: Path) -> None:
    (batch,) = read(write(tmp_path / "in.csv", CSV_ALL), ALL)
    assert batch.refused == ()
    one, two, three, four = batch.rows.to_pylist()
    moment = datetime(2026, 1, 31, 12, 0, 0, 250_000, tzinfo=UTC)
    assert batch.rows.schema.equals(arrow_schema(ALL))
    assert [one["t"], two["t"], three["t"]] == [moment] * 3
    assert four["t"] == datetime(2026, 1, 31, 12, tzinfo=UTC)
    assert (one["by"], one["sh"], one["i"], one["l"]) == (-128, 32767, 7, -(2**63))
    assert (one["d"], one["s"], one["m"], one["da"], one["bi"]) == (
        1e-300,
        "ü",
        Decimal("12.30"),
        date(2026, 1, 31),
        b"\x00\x01",
    )
    assert (one["o"], two["o"], three["o"], four["o"]) == (True, False, False, None)
    assert np.isnan(two["f"])
    assert two["d"] == float("-inf")
    assert three["bi"] == b"\xff"


BAD = {
    "by": ["128", "x", "1.0", "0x10", "1_0"],
    "f": ["1e39", "one", "1,5"],
    "d": ["1e400", "--1"],
    "t": ["yesterday", "2026-13-01T00:00:00Z", "2026-01-31T12:00:00.1234567Z", "99999999999999999999"],
    "o": ["yes", "2"],
    "m": ["1.234", "123456789.00", "x"],
    "da": ["31.1.2026", "2026-02-30"],
    "bi": ["no base64!", "AAE"],
}


@pytest.mark.parametrize(("field", "value"), [(f, v) for f, values in BAD.items() for v in values])
def test_values_that_do_not_convert_are_refused_in_csv_and_json(tmp_path: Path, field: str, value: str) -> None:
    one = Schema(tuple(f for f in ALL.fields if f.name == field))
    csv = read(write(tmp_path / "in.csv", f'{field}\n"{value}"\n'), one)
    jsonl = read(write(tmp_path / "in.jsonl", f'{{"{field}": "{value}"}}\n'), one)
    for batches, line in ((csv, 2), (jsonl, 1)):
        (refused,) = batches[0].refused
        assert (refused.line, refused.field, refused.value) == (line, field, value)
        assert rows(batches) == []


def test_json_lines(tmp_path: Path) -> None:
    lines = [
        '{"i": 1, "d": 1, "s": "x", "t": 1772368200500000, "o": true, "m": 12.30, "da": "2026-01-31", "bi": "AAE="}',
        "",
        '{"i": "2", "d": "NaN", "s": null, "t": "2026-03-01T12:30:00.5", "m": "0.1", "f": "-Infinity"}',
        '{"by": 0, "sh": 0, "l": 9223372036854775807}',
    ]
    (batch,) = read(write(tmp_path / "in.jsonl", "\n".join(lines)), ALL)
    one, two, three = batch.rows.to_pylist()
    assert one["t"] == two["t"] == datetime(2026, 3, 1, 12, 30, 0, 500_000, tzinfo=UTC)
    assert (one["i"], one["d"], one["s"], one["o"], one["m"]) == (1, 1.0, "x", True, Decimal("12.30"))
    assert (one["da"], one["bi"], two["i"], two["m"]) == (date(2026, 1, 31), b"\x00\x01", 2, Decimal("0.10"))
    assert np.isnan(two["d"])
    assert two["f"] == float("-inf")
    assert three["l"] == 2**63 - 1


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ('{"i": 1.0}', "i"),
        ('{"i": true}', "i"),
        ('{"i": 2147483648}', "i"),
        ('{"s": 5}', "s"),
        ('{"s": "\\ud800"}', "s"),
        ('{"d": [1]}', "d"),
        ('{"f": 1e39}', "f"),
        ('{"d": 1' + "0" * 400 + "}", "d"),
        ('{"m": 1.234}', "m"),
        ('{"o": 1}', "o"),
        ('{"t": 1.5}', "t"),
        ('{"da": 5}', "da"),
        ("[1]", None),
        ('{"i": 1', None),
        ("nonsense", None),
        ("[" * 100_000, None),
    ],
)
def test_json_bad_values_are_refused_with_their_line(tmp_path: Path, line: str, field: str | None) -> None:
    every = ", ".join(f'"{name}": null' for name in ALL.names)
    (batch,) = read(write(tmp_path / "in.jsonl", f"{{{every}}}\n\n{line}\n{{{every}}}\n"), ALL)
    (refused,) = batch.refused
    assert (refused.line, refused.row, refused.field) == (3, 1, field)
    assert (batch.rows.num_rows, batch.read) == (2, 3)


def test_missing_columns_name_the_nearest(tmp_path: Path) -> None:
    wanted = schema("bytes long, site string")
    with pytest.raises(MissingColumns, match=r"(?s)in\.csv: no column 'bytes', 'site'.*byte, stie.*'byte' for 'bytes'"):
        read(write(tmp_path / "in.csv", "byte,stie\n1,2\n"), wanted)
    with pytest.raises(MissingColumns, match="did you mean 'byte'"):
        read(write(tmp_path / "in.jsonl", '{"byte": 1, "site": "x"}\n'), wanted)
    pq.write_table(pa.table({"byte": [1], "site": ["x"]}), tmp_path / "in.parquet")
    with pytest.raises(MissingColumns, match="did you mean 'byte'"):
        read(tmp_path / "in.parquet", wanted)
    with pytest.raises(InputError, match="there twice"):
        read(write(tmp_path / "twice.csv", "site,site,bytes\n"), wanted)
    with pytest.raises(InputError, match=r"(?s)is empty.*header"):
        read(write(tmp_path / "empty.csv", ""), wanted)
    assert read(write(tmp_path / "header.csv", "site,bytes\n"), wanted) == []


@pytest.mark.parametrize(("separator", "shown"), [(";", "';'"), ("\t", "tabs"), ("|", "'|'")])
def test_another_separator_than_commas_is_named(tmp_path: Path, separator: str, shown: str) -> None:
    file = write(tmp_path / "in.csv", separator.join(("site", "bytes")) + "\n" + separator.join("x1") + "\n")
    with pytest.raises(MissingColumns, match=rf"next: its columns seem to be separated by {re.escape(shown)}.*commas"):
        read(file, schema("bytes long, site string"))


def test_errors_of_a_file_come_before_the_first_batch_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"(?s)cannot be read: No such file.*next: check the path"):
        read_batches(tmp_path / "none.csv", SIMPLE)
    write(tmp_path / "some.csv", "a,b\n")
    with pytest.raises(InputError, match=r"has some\.csv"):
        read_batches(tmp_path / "none.csv", SIMPLE)
    with pytest.raises(InputError, match=r"next: write a speed as a number, as in some\.csv@10x"):
        read_batches(tmp_path / "some.csv@fast", SIMPLE)
    with pytest.raises(InputError, match=r"(?s)a \.xls file.*allowed: \.csv"):
        read_batches(write(tmp_path / "in.xls", "x"), SIMPLE)
    with pytest.raises(InputError, match="no Parquet file"):
        read_batches(tmp_path, SIMPLE)


def test_a_file_without_the_right_to_read() -> None:
    # Not below pytest's own folder, which is root's alone where root runs the tests.
    with TemporaryDirectory() as made:
        folder = Path(made)
        folder.chmod(0o755)
        readable, closed = write(folder / "readable.csv", "a,b\n"), write(folder / "closed.csv", "a,b\n")
        closed.chmod(0)
        with without_privileges():
            assert list(read_batches(readable, SIMPLE)) == []
            with pytest.raises(InputError, match="chmod"):
                read_batches(closed, SIMPLE)


def test_parquet_file_and_folder(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for part in range(3):
        numbers = pa.array(range(part * 10, part * 10 + 10), pa.int64())
        texts = pa.array(["x"] * 10).dictionary_encode()
        pq.write_table(pa.table({"b": texts, "a": numbers}), folder / f"p{part}.parquet", row_group_size=4)
    write(folder / "_SUCCESS", "")
    batches = read(folder, batch_rows=7)
    assert [row["a"] for row in rows(batches)] == list(range(30))
    assert batches[0].rows.schema.equals(arrow_schema(SIMPLE))
    assert [row["a"] for row in rows(read(folder / "p1.parquet"))] == list(range(10, 20))


def test_parquet_values_that_do_not_fit_are_refused_by_row(tmp_path: Path) -> None:
    values = {"a": pa.array([1, 2**40, 3, None]), "b": ["x", "y", "z", None]}
    pq.write_table(pa.table(values), tmp_path / "in.parquet")
    (batch,) = read(tmp_path / "in.parquet")
    assert rows([batch]) == [{"a": 1, "b": "x"}, {"a": 3, "b": "z"}, {"a": None, "b": None}]
    (refused,) = batch.refused
    assert (refused.line, refused.row, refused.field, refused.value) == (2, 1, "a", str(2**40))
    pq.write_table(pa.table({"f": [1e39, 0.5, float("inf")]}), tmp_path / "wide.parquet")
    (batch,) = read(tmp_path / "wide.parquet", schema("f single"))
    assert rows([batch]) == [{"f": 0.5}, {"f": float("inf")}]
    pq.write_table(pa.table({"a": ["1", "x"], "b": ["", ""]}), tmp_path / "text.parquet")
    (batch,) = read(tmp_path / "text.parquet")
    assert (batch.rows.num_rows, len(batch.refused)) == (1, 1)


def test_parquet_timestamps(tmp_path: Path) -> None:
    wanted = schema("t timestamp")
    moment = datetime(2026, 1, 31, 12, tzinfo=UTC)
    for unit, zone in (("s", None), ("ms", "Europe/Berlin"), ("us", None), ("us", "UTC")):
        column = pa.array([moment if zone else moment.replace(tzinfo=None)], pa.timestamp(unit, tz=zone))
        pq.write_table(pa.table({"t": column}), tmp_path / "in.parquet")
        assert rows(read(tmp_path / "in.parquet", wanted)) == [{"t": moment}]
    pq.write_table(pa.table({"t": pa.array([1], pa.timestamp("ns"))}), tmp_path / "in.parquet")
    with pytest.raises(InputError, match=r"(?s)column 't' has nanosecond.*next: .*coerce_timestamps='us'"):
        read_batches(tmp_path / "in.parquet", wanted)


def test_parquet_half_written_or_of_another_type_is_refused_at_once(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1] * 1000, "b": ["x"] * 1000}), tmp_path / "b.parquet")
    whole = (tmp_path / "b.parquet").read_bytes()
    for size in (0, 3, 100, len(whole) - 1):
        write(tmp_path / "c.parquet", whole[:size])
        with pytest.raises(InputError, match=r"(?s)c\.parquet is no readable Parquet.*still being written"):
            read_batches(tmp_path, SIMPLE)
    pq.write_table(pa.table({"a": [[1]], "b": ["x"]}), tmp_path / "c.parquet")
    with pytest.raises(InputError, match=r"(?s)column 'a' is list.*does not convert to int"):
        read_batches(tmp_path, SIMPLE)


FORMATS = ("csv", "jsonl", "parquet")


def mixed(folder: Path, kind: str, values: list[int | None]) -> Path:
    """A file whose None values do not convert."""
    path = folder / f"in.{kind}"
    texts = ["bad" if v is None else str(v) for v in values]
    if kind == "csv":
        write(path, "a,b\n" + "".join(f'{t},"x\ny"\n' for t in texts))
    elif kind == "jsonl":
        write(path, "".join(f'{{"a": "{t}", "b": "x"}}\n' for t in texts))
    else:
        table = pa.table({"a": pa.array(texts, pa.string()), "b": pa.array(["x"] * len(texts), pa.string())})
        pq.write_table(table, path, row_group_size=4)
    return path


@pytest.mark.parametrize("kind", FORMATS)
@given(st.lists(st.one_of(st.none(), st.integers(0, 99)), max_size=25), st.integers(0, 26), st.integers(1, 9))
def test_skip_goes_on_where_a_batch_ended(
    tmp_path_factory: pytest.TempPathFactory, kind: str, values: list[int | None], skip: int, size: int
) -> None:
    path = mixed(tmp_path_factory.mktemp("skip"), kind, values)
    batches = read(path, skip=skip, batch_rows=size)
    behind = values[skip:]
    assert [row["a"] for row in rows(batches)] == [v for v in behind if v is not None]
    assert [r.row for b in batches for r in b.refused] == [i for i in range(skip, len(values)) if values[i] is None]
    assert sum(b.read for b in batches) == len(behind)
    position = skip
    for batch in batches:
        assert batch.first == position
        position = batch.end


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_line_numbers_do_not_depend_on_batches_or_skip(tmp_path: Path, kind: str) -> None:
    path = mixed(tmp_path, kind, [1, None, 3, 4, None, 6, None])
    whole = [r.line for b in read(path) for r in b.refused]
    assert whole == ([4, 10, 14] if kind == "csv" else [2, 5, 7])
    assert [r.line for b in read(path, batch_rows=1) for r in b.refused] == whole
    assert [r.line for b in read(path, skip=2) for r in b.refused] == whole[1:]


READER = """
import sys
from auroral.edge.files import read_batches
from auroral.model.schema import schema
for batch in read_batches("-", schema("a int, b string"), skip=int(sys.argv[1])):
    for row in batch.rows.to_pylist():
        print(row["a"], row["b"], flush=True)
    for refused in batch.refused:
        print(refused, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,b\n1,x\n2,y\nz,z", ["2 y", "standard input:4: field 'a': 'z' is no int (not a whole number)"]),
        ('\n{"a": 1, "b": "x"}\n{"a": 2}\n', ["2 None"]),
        ("", []),
    ],
)
def test_standard_input(text: str, expected: list[str]) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", READER, "1"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.splitlines() == expected


@pytest.mark.parametrize(("lines", "head"), [(["1,x\n", "2,y\n"], "a,b\n"), (['{"a": 1}\n', '{"a": 2}\n'], "")])
def test_rows_on_a_pipe_are_handed_on_as_they_come(lines: list[str], head: str) -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as pipe:
        os.write(writing, (head + lines[0]).encode())
        batches = read_batches("-", SIMPLE, stdin=pipe)
        # The other end stays open and silent: this must not wait for more.
        watchdog = threading.Timer(20, os.close, [writing])
        watchdog.start()
        assert next(batches).rows.column("a").to_pylist() == [1]
        os.write(writing, lines[1].encode())
        assert next(batches).rows.column("a").to_pylist() == [2]
        watchdog.cancel()
        os.close(writing)
        assert list(batches) == []


def test_a_pipe_may_lack_a_field_at_first_but_not_have_it_misspelt() -> None:
    for text, fine in (('{"a": 1}\n', True), ('{"a": 1, "bb": "x"}\n', False)):
        reading, writing = os.pipe()
        os.write(writing, text.encode())
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe, warnings.catch_warnings():
            if fine:
                assert rows(list(read_batches("-", SIMPLE, stdin=pipe))) == [{"a": 1, "b": None}]
            else:
                with pytest.raises(MissingColumns, match="did you mean 'bb'"):
                    list(read_batches("-", SIMPLE, stdin=pipe))


def test_stdin_needs_a_real_pipe() -> None:
    with pytest.raises(io.UnsupportedOperation):
        list(read_batches("-", SIMPLE, stdin=io.BytesIO(b"a,b\n")))
