"""Rows that revise others: which stime they belong to, and what is left of rows that were added and taken away."""

from __future__ import annotations

from collections.abc import Iterable

from auroral.model.revisions import REVISED, mark, net, sign_of, stime_of
from auroral.model.stream import StreamType
from auroral.reference.rows import Key, Row, Values, values_key


def mark_of(row: Row, stream: StreamType) -> str | None:
    """What the row of a stream that may be revised is marked with."""
    if stream.kept is None:
        return None
    text = row.values[stream.schema.names.index(REVISED)]
    assert text is None or isinstance(text, str)
    return text


def belongs_to(row: Row, stream: StreamType) -> int:
    return stime_of(mark_of(row, stream), row.stime)


def unmarked(row: Row, stream: StreamType) -> Values:
    if stream.kept is None:
        return row.values
    at = stream.schema.names.index(REVISED)
    return (*row.values[:at], *row.values[at + 1 :])


def marked(values: Values, text: str | None, stream: StreamType) -> Values:
    at = stream.schema.names.index(REVISED)
    return (*values[:at], text, *values[at:])


def standing(rows: Iterable[Row], stream: StreamType) -> list[Row]:
    """The rows that are left, unmarked, each at the stime that it belongs to, ordered by that and by their fields."""
    return [row for row, count in _net(rows, stream) for _ in range(count)]


def left_over(rows: Iterable[Row], stream: StreamType) -> list[Row]:
    """The changes that are left of changes at the same stimes: a row that is not late needs no mark."""
    found = []
    for stime in sorted({row.stime for row in rows}):
        for row, count in _net((row for row in rows if row.stime == stime), stream):
            text = None if count > 0 and row.stime == stime else mark(count, row.stime)
            found += [Row(stime, marked(row.values, text, stream))] * abs(count)
    return found


def difference(before: Iterable[Row], after: Iterable[Row], stime: int, stream: StreamType) -> list[Row]:
    """Changes at `stime` that make `after` of `before`, which are unmarked rows at the stimes that they belong to."""
    taken = [Row(stime, marked(row.values, mark(-1, row.stime), stream)) for row in before]
    given = [Row(stime, marked(row.values, mark(1, row.stime), stream)) for row in after]
    return left_over([*taken, *given], stream)


def _net(rows: Iterable[Row], stream: StreamType) -> list[tuple[Row, int]]:
    """Equal rows are those with the same bits; zeros of both signs are not."""
    known: dict[tuple[int, Key], Row] = {}
    changes = []
    for row in rows:
        values, at = unmarked(row, stream), belongs_to(row, stream)
        named = (at, values_key(values))
        known.setdefault(named, Row(at, values, values))
        changes.append((named, sign_of(mark_of(row, stream))))
    return [(known[named], count) for named, count in sorted(net(changes).items(), key=lambda item: item[0])]
