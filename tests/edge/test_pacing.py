"""Input specifications, and when rows of a replay are due."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auroral.edge.files import Batch, Due, InputSpec, InputSpecError, Refused, paced, parse_input_spec


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("s=in.csv", InputSpec("s", "in.csv")),
        ("s=in.csv@1x", InputSpec("s", "in.csv", 1.0)),
        ("s=in.csv@10x", InputSpec("s", "in.csv", 10.0)),
        ("s=in.csv@0.5", InputSpec("s", "in.csv", 0.5)),
        ("s=a@b/in.csv", InputSpec("s", "a@b/in.csv")),
        ("s=a@b/in.csv@2", InputSpec("s", "a@b/in.csv", 2.0)),
        ("s=in@fast", InputSpec("s", "in@fast")),
        ("s=a=b.csv", InputSpec("s", "a=b.csv")),
        ("s=-", InputSpec("s", "-")),
        ("s=@3", InputSpec("s", "@3")),
    ],
)
def test_input_spec(text: str, spec: InputSpec) -> None:
    assert parse_input_spec(text) == spec


@pytest.mark.parametrize("text", ["in.csv", "=in.csv", "s=", "", "s=in.csv@0x", "s=in.csv@-1", "s=in.csv@-0.5x"])
def test_wrong_input_spec_says_what_is_allowed(text: str) -> None:
    with pytest.raises(InputSpecError, match=r"(?s)allowed: .*next: "):
        parse_input_spec(text)


def stime_of(table: pa.Table) -> npt.NDArray[np.int64]:
    values: npt.NDArray[np.int64] = table.column("t").to_numpy()
    return values


def batch(values: list[int | None], first: int = 0) -> Batch:
    """None is a row that was refused."""
    refused = [Refused("f", i, first + i, "t", "", "long", "") for i, v in enumerate(values) if v is None]
    good = pa.table({"t": pa.array([v for v in values if v is not None], pa.int64())})
    return Batch(good, first, len(values), tuple(refused))


def spelt(due: Due) -> tuple[int, Any]:
    return due.at_us, due.batch.rows.column("t").to_pylist()


def test_rows_are_due_at_the_pace_of_their_stimes() -> None:
    second = 1_000_000
    given_batch = batch([5 * second, 5 * second + 10, 6 * second, 5 * second + 20, 9 * second])
    assert [spelt(due) for due in paced([given_batch], 2, stime_of)] == [
        (0, [5 * second, 5 * second + 10]),
        (500_000, [6 * second, 5 * second + 20]),
        (2_000_000, [9 * second]),
    ]


def test_pace_goes_on_over_batches_and_never_back() -> None:
    dues = list(paced([batch([0, 1_000_000]), batch([]), batch([500_000, 2_000_000])], 1, stime_of))
    assert [due.at_us for due in dues] == [0, 1_000_000, 1_000_000, 1_000_000, 2_000_000]


def test_without_speed_everything_is_due_at_once_and_whole() -> None:
    given_batch = batch([0, 10**12])
    assert list(paced([given_batch], None, stime_of)) == [Due(0, given_batch)]


@given(
    st.lists(st.lists(st.one_of(st.none(), st.integers(0, 10**6)), max_size=12), max_size=4),
    st.sampled_from([0.5, 1.0, 10.0]),
)
def test_parts_keep_every_row_and_every_refusal_at_its_position(groups: list[list[int | None]], speed: float) -> None:
    batches, first = [], 0
    for group in groups:
        batches.append(batch(group, first))
        first += len(group)
    everything = [value for group in groups for value in group]
    position = 0
    last = 0
    for due in paced(batches, speed, stime_of):
        part = due.batch
        values = everything[part.first : part.end]
        assert part.first == position
        assert part.rows.column("t").to_pylist() == [v for v in values if v is not None]
        assert [r.row for r in part.refused] == [part.first + i for i, v in enumerate(values) if v is None]
        assert due.at_us >= last
        position, last = part.end, due.at_us
    assert position == len(everything)
