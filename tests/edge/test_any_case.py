"""Columns of inputs of Borealis files, whose names have no case; those of Python diagrams are exact."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from auroral.edge.files import InputError, MissingColumns, read_batches
from auroral.model.schema import schema

READING = schema("sec int, siteid string")
ROWS = [{"sec": 1, "siteid": "a"}, {"sec": 2, "siteid": "b"}]


VALUES: list[list[Any]] = [[1, "a", "a"], [2, "b", "b"]]


def written_csv(folder: Path, names: tuple[str, ...]) -> Path:
    path = folder / "in.csv"
    path.write_text("\n".join(",".join(map(str, row[: len(names)])) for row in [names, *VALUES]))
    return path


def written_json(folder: Path, names: tuple[str, ...]) -> Path:
    path = folder / "in.jsonl"
    path.write_text("\n".join(json.dumps(dict(zip(names, row, strict=False))) for row in VALUES))
    return path


def written_parquet(folder: Path, names: tuple[str, ...]) -> Path:
    path = folder / "in.parquet"
    columns = [pa.array(column) for column in zip(*VALUES, strict=True)]
    pq.write_table(pa.Table.from_arrays(columns[: len(names)], names=list(names)), path)
    return path


FORMATS = [written_csv, written_json, written_parquet]
Writer = Callable[[Path, tuple[str, ...]], Path]


def read(path: Path, **options: Any) -> list[dict[str, Any]]:
    return [row for batch in read_batches(path, READING, **options) for row in batch.rows.to_pylist()]


@pytest.mark.parametrize("write", FORMATS)
def test_columns_are_found_in_any_case(write: Writer, tmp_path: Path) -> None:
    path = write(tmp_path, ("Sec", "SiteId"))
    assert read(path, any_case=True) == ROWS
    assert read(path, any_case=True, batch_rows=1, skip=1) == ROWS[1:]


@pytest.mark.parametrize("write", FORMATS)
def test_python_diagrams_are_exact(write: Writer, tmp_path: Path) -> None:
    path = write(tmp_path, ("sec", "SiteId"))
    with pytest.raises(MissingColumns, match="did you mean 'SiteId' for 'siteid'"):
        read(path)


@pytest.mark.parametrize("write", [written_csv, written_parquet])
def test_two_columns_of_one_field_are_refused(write: Writer, tmp_path: Path) -> None:
    path = write(tmp_path, ("sec", "SiteId", "siteID"))
    with pytest.raises(InputError, match=r"'SiteId' and 'siteID' are both the field 'siteid'.*\n.*allowed.*\n.*next"):
        read(path, any_case=True)


def test_json_spells_each_row_in_its_own_way_and_refuses_one_with_two(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text('{"SEC": 1, "SiteId": "a"}\n{"sec": 2, "siteid": "b"}\n{"sec": 3, "Siteid": "c", "siteid": "d"}\n')
    (batch,) = read_batches(path, READING, any_case=True)
    assert batch.rows.to_pylist() == ROWS
    (refused,) = batch.refused
    assert refused.line == 3
    assert "'Siteid' and 'siteid' are both the field 'siteid'" in refused.why


@pytest.mark.parametrize("text", [b"Sec,SiteId\n1,a\n2,b\n", b'{"Sec": 1, "SiteId": "a"}\n{"sec": 2, "siteid": "b"}\n'])
def test_standard_input(text: bytes) -> None:
    receive, send = os.pipe()
    os.write(send, text)
    os.close(send)
    with os.fdopen(receive, "rb") as pipe:
        found = [
            row for batch in read_batches("-", READING, stdin=pipe, any_case=True) for row in batch.rows.to_pylist()
        ]
    assert found == ROWS
