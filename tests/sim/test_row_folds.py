"""Boxes that go by rows under failures: in the end they are as without any, by whatever way their state was come by."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest

import auroral
from auroral.extend import FieldNames, Fold, FoldRow, Schema, SchemaLike
from auroral.model.builder import DiagramBuilder
from auroral.sim import Tried, under_failures

ROWS = {
    name: [{"ts": 250_000 * step + shift, "k": step % 3, "n": (step * factor) % 11} for step in range(48)]
    for name, shift, factor in (("east", 0, 3), ("west", 100, 7))
}
STREAMS = ("threes", "near", "timed", "stays", "fewer")


@dataclass(frozen=True)
class Stays(Fold):
    by: FieldNames

    def schema(self, rows: Schema) -> SchemaLike:
        return {**{name: rows[name] for name in self.by}, "rows": "int"}

    def key(self) -> tuple[str, ...]:
        return self.by

    def row(self, state: Any, row: FoldRow) -> Any:
        rows, _ = state or (0, 0)
        return (rows + 1, row.stime), []

    def due(self, state: Any) -> int:
        last: int = state[1]
        return last + 700_000

    def timeout(self, state: Any, key: tuple[Any, ...], stime: int) -> Any:
        return None, [{**dict(zip(self.by, key, strict=True)), "rows": state[0]}]


def every_fold() -> DiagramBuilder:
    """Windows of rows, a join with buffers, a sort, shedding, and a box of a user's."""
    d = auroral.diagram("folds", bucket="500ms")
    east, west = (d.input(name, "ts long, k int, n int", stime="ts", unit="us") for name in ("east", "west"))
    both = east.union("both", west)
    both.aggregate_rows("threes", {"n": "sum(n)"}, rows=3, by=["k"], timeout="2s").output(availability="3s")
    east.join("near", west, on="left.k = right.k", rows=2, columns={"a": "left.n", "b": "right.n"}).output()
    both.wsort("timed", on=["n"], timeout="1s", by=["k"]).output()
    both.box("stays", Stays(("k", "n"))).output()
    both.drop_windows("fewer", 0.5, rows=4, by=["k"]).output()
    return d


SCHEDULES = {
    "a tentative chain, and recovery from a snapshot while it goes on": "at 3s silence west; at 5s crash na; at 7s restart na; at 9s resume west",
    "a state of another replica": "at 5s destroy na; at 8s restart na",
    "a move during a failure": "at 3s silence east; at 5s move na-nc; at 9s resume east",
}


def in_the_end(one: Tried, until: int) -> dict[str, Counter[str]]:
    """What outputs hold of buckets up to this one: with failures a run lasts longer, and times are up that were not in the other."""
    answers = [answer for answer in one.answers if answer.stable and answer.stime <= until]
    return {
        stream: Counter(repr(row) for answer in answers if answer.stream == stream for row in answer.rows)
        for stream in STREAMS
    }


@pytest.mark.slow
def test_all_end_as_without_failures() -> None:
    calm = under_failures(every_fold(), ROWS)
    assert calm.ok and not calm.tentative
    until = max(answer.stime for answer in calm.answers)
    expected = in_the_end(calm, until)
    assert all(expected.values())
    for name, schedule in SCHEDULES.items():
        tried = under_failures(every_fold(), ROWS, schedule)
        assert tried.ok, f"{name}: {tried.violations}"
        assert any(answer.rows for answer in tried.tentative) == ("silence" in schedule), name
        assert in_the_end(tried, until) == expected, name
