"""Files that are nearly what they should be: stray line ends, JSON that is not in lines, numbers for times."""

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from auroral.edge import jsonarrays
from auroral.edge.files import Batch, InputError, read_batches
from auroral.model.schema import Schema, schema

SIMPLE = schema("a int, b string")
TIMED = schema("t timestamp")


def read(path: Path, given: Schema = SIMPLE, **options: Any) -> list[Batch]:
    return list(read_batches(path, given, **options))


def rows(batches: list[Batch]) -> list[dict[str, Any]]:
    return [row for batch in batches for row in batch.rows.to_pylist()]


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_a_bare_carriage_return_refuses_its_row_only(tmp_path: Path) -> None:
    path = write(tmp_path / "in.csv", b'a,b\r\n1,x\r\n2,y\rz\r\n3,"q\rr"\r\n4,"s"\r\n\r\n5,"t\r\nu"\r\n')
    batches = read(path)
    assert rows(batches) == [
        {"a": 1, "b": "x"},
        {"a": 3, "b": "q\rr"},
        {"a": 4, "b": "s"},
        {"a": 5, "b": "t\r\nu"},
    ]
    (refused,) = batches[0].refused
    assert (refused.line, refused.row) == (3, 1)
    assert "carriage return" in str(refused)


def test_a_row_between_quotes_and_a_carriage_return_is_refused(tmp_path: Path) -> None:
    batches = read(write(tmp_path / "in.csv", b'a,b\n1,"x",\r7\n2,"x"\r\n3,y\r\r\n'))
    assert rows(batches) == [{"a": 2, "b": "x"}, {"a": 3, "b": "y"}]
    assert [refused.line for refused in batches[0].refused] == [2]


def test_a_file_with_carriage_returns_for_line_ends_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"(?s)in\.csv: the header .*carriage return.*next: "):
        read(write(tmp_path / "in.csv", b"a,b\r1,x\r2,y\r"))


@pytest.mark.parametrize("skip", [0, 1])
@pytest.mark.parametrize("name", ["in.json", "in.jsonl"])
@pytest.mark.parametrize("indent", [None, 2])
def test_a_json_array_is_read(tmp_path: Path, name: str, indent: int | None, skip: int) -> None:
    objects = [{"a": 1, "b": "x"}, {"a": "no", "b": "y"}, {"a": 3, "b": "[}\n,"}]
    batches = read(write(tmp_path / name, json.dumps(objects, indent=indent)), skip=skip, batch_rows=2)
    assert rows(batches) == [objects[0], objects[2]][min(skip, 1) :]
    (refused,) = [refused for batch in batches for refused in batch.refused]
    assert (refused.row, refused.field) == (1, "a")
    assert refused.line == (1 if indent is None else 6)


def test_pretty_printed_objects_are_read(tmp_path: Path) -> None:
    text = "\n".join(json.dumps({"a": i, "b": "x"}, indent=2) for i in range(3))
    assert [row["a"] for row in rows(read(write(tmp_path / "in.json", text)))] == [0, 1, 2]


def test_one_broken_line_of_many_is_still_one_refused_row(tmp_path: Path) -> None:
    batches = read(write(tmp_path / "in.json", '{"a": 1, "b": \n{"a": 2, "b": "y"}\n'))
    assert rows(batches) == [{"a": 2, "b": "y"}]
    assert batches[0].refused[0].line == 1


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('[{"a": 1, "b": "x"}', "ends within"),
        ('[{"a": 1, "b": "x"},\n {"a": }]', "line 2"),
        ('[{"a": 1, "b": "x"}]\n[{"a": 1, "b": "x"}]', "line 2"),
        ('[{"a": 1, "b": "x"} {"a": 1, "b": "x"}]', "line 1"),
    ],
)
def test_a_broken_array_is_one_clear_error(tmp_path: Path, text: str, what: str) -> None:
    with pytest.raises(InputError, match=f"(?s)in.json is a JSON array.*{what}.*allowed: .*next: "):
        read(write(tmp_path / "in.json", text))


def test_an_array_of_something_else_is_refused_row_by_row(tmp_path: Path) -> None:
    batches = read(write(tmp_path / "in.json", '[1, {"a": 2, "b": "x"}]'))
    assert rows(batches) == [{"a": 2, "b": "x"}]
    assert len(batches[0].refused) == 1


def test_an_empty_array_has_no_rows(tmp_path: Path) -> None:
    assert read(write(tmp_path / "in.json", " [ ]\n")) == []


def test_a_large_array_is_refused_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonarrays, "LARGEST", 100)
    path = write(tmp_path / "in.json", json.dumps([{"a": i, "b": "x"} for i in range(20)]))
    with pytest.raises(InputError, match=r"(?s)in.json is one JSON array of .*next: jq -c '.\[\]'"):
        read(path)


@pytest.mark.parametrize("text", ['[{"a": 1, "b": "x"}]', '{\n  "a": 1,\n  "b": "x"\n}\n'])
def test_a_pipe_must_be_json_lines(text: str) -> None:
    ours, theirs = os.pipe()
    os.write(theirs, text.encode())
    os.close(theirs)
    with open(ours, "rb", buffering=0) as pipe, pytest.raises(InputError, match=r"(?s)standard input.*next: .*jq -c"):
        list(read_batches("-", SIMPLE, stdin=pipe))  # type: ignore[arg-type]


NUMBERS = [0, 20260301, 1772368200, 1772368200123, 1772368200123456, -(10**17)]


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_whole_numbers_for_a_timestamp_are_not_guessed_at(tmp_path: Path, form: str) -> None:
    path = tmp_path / f"in.{form}"
    if form == "csv":
        write(path, "t\n" + "".join(f"{n}\n" for n in NUMBERS))
    elif form == "jsonl":
        write(path, "".join(json.dumps({"t": n}) + "\n" for n in NUMBERS))
    else:
        pq.write_table(pa.table({"t": pa.array(NUMBERS, pa.int64())}), path)
    (batch,) = read(path, TIMED)
    assert batch.rows.column("t").cast(pa.int64()).to_pylist() == [0, NUMBERS[4], NUMBERS[5]]
    assert [refused.row for refused in batch.refused] == [1, 2, 3]
    assert "seconds, milliseconds or a date" in batch.refused[0].why


def test_a_parquet_time_that_does_not_fit_is_refused_and_shown(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"t": pa.array([1, 2**60], pa.timestamp("ms"))}), path)
    (batch,) = read(path, TIMED)
    assert [refused.value for refused in batch.refused] == [str(2**60)]
