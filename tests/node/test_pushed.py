"""What may be pushed: rows in any iterable, pandas frames and numpy values; nothing is cut or guessed."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import auroral
from auroral.edge.stamping import Stamper, StampError
from auroral.model.diagram import Input
from auroral.model.schema import schema
from auroral.node.pushed import pushed_table


def source(schema: str = "ts timestamp, v long, d date") -> Input:
    d = auroral.diagram("d")
    d.input("s", schema, stime="ts").filter("f", "true").output("out")
    return d.check().diagram.inputs[0]


def micros(given: Input, rows: Any) -> list[int | None]:
    column: list[int | None] = pushed_table(given, rows).column("ts").cast(pa.int64()).to_pylist()
    return column


NOW = datetime(2026, 3, 1, 12, 30, 0, 123456, tzinfo=UTC)
NOW_US = 1772368200123456


@pytest.mark.parametrize("form", [list, tuple, iter, lambda rows: (row for row in rows)])
def test_rows_come_in_any_iterable(form: Callable[[list[Any]], Any]) -> None:
    rows = form([{"ts": NOW, "v": i, "d": None} for i in range(3)])
    assert pushed_table(source(), rows).column("v").to_pylist() == [0, 1, 2]


@pytest.mark.parametrize("given", [{"ts": NOW, "v": 1, "d": None}, "ts", b"ts", 7])
def test_what_is_no_iterable_of_rows_is_refused(given: Any) -> None:
    with pytest.raises(StampError, match="allowed: rows as dicts from field to value in a list or another iterable"):
        pushed_table(source(), given)


def test_a_pandas_frame() -> None:
    frame = pd.DataFrame(
        {
            "ts": pd.to_datetime([NOW, None], utc=True),
            "v": pd.array([1, None], dtype="Int64"),
            "d": [date(2026, 3, 1), None],
        }
    )
    table = pushed_table(source(), frame)
    assert table.to_pylist() == [{"ts": NOW, "v": 1, "d": date(2026, 3, 1)}, {"ts": None, "v": None, "d": None}]
    assert pushed_table(source(), frame.iloc[:0]).num_rows == 0
    with pytest.raises(StampError, match="unknown field 'w'"):
        pushed_table(source(), frame.rename(columns={"v": "w"}))


def test_missing_values_of_a_frame_are_null() -> None:
    frame = pd.DataFrame({"ts": [NOW, NOW], "v": [1.5, np.nan]})
    assert pushed_table(source("ts timestamp, v double"), frame).column("v").to_pylist() == [1.5, None]


@pytest.mark.parametrize(
    "value",
    [
        NOW,
        NOW.replace(tzinfo=None),
        pd.Timestamp(NOW),
        np.datetime64(NOW_US, "us"),
        np.datetime64(NOW_US * 1000, "ns"),
        "2026-03-01T12:30:00.123456Z",
        NOW_US,
    ],
)
def test_times_are_exact(value: Any) -> None:
    assert micros(source(), [{"ts": value, "v": 1, "d": None}]) == [NOW_US]


def test_times_near_1970_are_taken_where_they_are_times() -> None:
    values = [datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), np.datetime64(1, "s"), np.datetime64("1970-01-02"), 0]
    rows = [{"ts": value, "v": 1, "d": None} for value in values]
    assert micros(source(), rows) == [1_000_000, 1_000_000, 86_400_000_000, 0]


@pytest.mark.parametrize("value", [pd.Timestamp(NOW) + pd.Timedelta(1, "ns"), np.datetime64(NOW_US * 1000 + 1, "ns")])
def test_nanoseconds_are_refused_not_cut(value: Any) -> None:
    with pytest.raises(StampError, match="nanoseconds"):
        pushed_table(source(), [{"ts": value, "v": 1, "d": None}])
    with pytest.raises(StampError, match="nanoseconds"):
        pushed_table(source(), pd.DataFrame({"ts": [value], "v": [1], "d": [None]}))


def test_nanoseconds_of_a_table_are_refused_not_cut() -> None:
    columns = {"v": pa.array([1]), "d": pa.array([None], pa.date32())}
    exact = pa.table({"ts": pa.array([NOW_US * 1000], pa.timestamp("ns", "UTC")), **columns})
    cut = pa.table({"ts": pa.array([NOW_US * 1000 + 1], pa.timestamp("ns", "UTC")), **columns})
    stamper = Stamper(source(), 1_000_000)
    assert stamper.stamp(pushed_table(source(), exact), 0).rows.num_rows == 1
    with pytest.raises(StampError, match="ts"):
        stamper.stamp(pushed_table(source(), cut), 0)


@pytest.mark.parametrize("missing", [None, pd.NaT, pd.NA, np.datetime64("NaT")])
def test_missing_values_are_null(missing: Any) -> None:
    rows = [{"ts": NOW, "v": 1, "d": date(2026, 3, 1)}, {"ts": missing, "v": None, "d": missing}]
    assert pushed_table(source(), rows).to_pylist()[1] == {"ts": None, "v": None, "d": None}


@pytest.mark.parametrize("number", [20260301, 1772368200, 1772368200123, 20260301123000, -5, np.int64(1772368200)])
def test_whole_numbers_that_are_hardly_microseconds_are_refused(number: int) -> None:
    with pytest.raises(StampError, match="seconds, milliseconds or a date"):
        pushed_table(source(), [{"ts": number, "v": 1, "d": None}])


BOREALIS = Input("readings", schema("sec int, siteid string"), any_case=True)


def test_rows_for_borealis_files_name_fields_in_any_case() -> None:
    rows = [{"Sec": 1, "SiteId": "a"}, {"sec": 2, "siteid": "b"}]
    named = [{"sec": 1, "siteid": "a"}, {"sec": 2, "siteid": "b"}]
    assert pushed_table(BOREALIS, rows).to_pylist() == named
    assert pushed_table(BOREALIS, pa.Table.from_pylist(rows[:1])).to_pylist() == named[:1]
    assert pushed_table(BOREALIS, pd.DataFrame(rows[:1])).to_pylist() == named[:1]


@pytest.mark.parametrize("form", [list, pa.Table.from_pylist, pd.DataFrame])
def test_two_spellings_of_one_field_are_refused(form: Callable[[list[dict[str, Any]]], Any]) -> None:
    with pytest.raises(StampError, match="'SiteId' and 'siteid' are both the field 'siteid'"):
        pushed_table(BOREALIS, form([{"sec": 1, "SiteId": "a", "siteid": "b"}]))


def test_rows_for_python_diagrams_are_exact() -> None:
    exact = replace(BOREALIS, any_case=False)
    with pytest.raises(StampError, match="unknown field 'SiteId'"):
        pushed_table(exact, [{"sec": 1, "SiteId": "a"}])
