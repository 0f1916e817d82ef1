"""Boxes that work on rows which revise others, bucket by bucket, with all of the past in memory."""

from __future__ import annotations

from collections.abc import Sequence

from auroral.model.boxes.aggregate import TypedRevisedAggregate
from auroral.model.boxes.join import TypedRevisedJoin
from auroral.model.boxes.revisable import TypedRevisable, TypedSettled
from auroral.model.revisions import (
    AHEAD,
    DELETE,
    EXPIRED,
    INSERT,
    REVISED,
    UNMATCHED,
    UNREADABLE,
    Said,
    mark,
    said,
    sign_of,
)
from auroral.model.schema import Schema
from auroral.model.stream import StreamType
from auroral.reference.bybucket import ByBucket
from auroral.reference.machine import Outlet, picked, window_numbers
from auroral.reference.names import Reading
from auroral.reference.revised import belongs_to, difference, left_over, mark_of, marked, standing
from auroral.reference.rows import Key, Row, Values, equality_key
from auroral.reference.windows import Group, Grouping


class RevisableMachine(ByBucket):
    """`standing` are the rows by key, each with the stime that it belongs to, in the order in which they came."""

    def __init__(self, box: TypedRevisable, inputs: Sequence[StreamType], outlet: Outlet):
        super().__init__(box.bucket)
        self.box, (self.raw,) = box, inputs
        self.stream = box.outputs[0]
        self.outlet = outlet
        self.standing: dict[Key, list[Row]] = {}
        self.plain = self.raw.schema.names.index(REVISED)

    def on_row(self, port: int, row: Row) -> None:
        text = row.values[self.plain]
        assert text is None or isinstance(text, str)
        if not text:
            self.outlet.emit(0, Row(row.stime, self._with(row, None)))
        super().on_row(port, row)

    def over(self, number: int, rows: list[Row]) -> None:
        changes: list[Row] = []
        for row in rows:
            text = row.values[self.plain]
            assert text is None or isinstance(text, str)
            word = said(text)
            kept = self.standing.setdefault(equality_key(picked(row, self.raw, self.box.key)), [])
            if word is None:
                self.outlet.count(UNREADABLE)
            elif not word.word:
                kept.append(Row(row.stime, self._with(row, None)))
            else:
                changes += self._changes(number, row, word, kept)
        self.outlet.rows[0] += left_over(changes, self.stream)

    def _changes(self, number: int, row: Row, word: Said, kept: list[Row]) -> list[Row]:
        oldest, end = number * self.bucket - self.box.kept, (number + 1) * self.bucket
        if word.at is not None and not oldest <= word.at < end:
            self.outlet.count(EXPIRED if word.at < oldest else AHEAD)
            return []
        if word.word == INSERT:
            assert word.at is not None
            new = Row(word.at, self._with(row, None))
            kept.append(new)
            return [self._change(1, new, end)]
        open_to = [
            (old.stime, place) for place, old in enumerate(kept) if old.stime >= oldest and word.at in (None, old.stime)
        ]
        if not open_to:
            self.outlet.count(UNMATCHED)
            return []
        _, place = max(open_to)
        old = kept[place]
        if word.word == DELETE:
            del kept[place]
            return [self._change(-1, old, end)]
        kept[place] = Row(old.stime, self._with(row, None))
        return [self._change(-1, old, end), self._change(1, kept[place], end)]

    def _with(self, row: Row, text: str | None) -> Values:
        return (*row.values[: self.plain], text, *row.values[self.plain + 1 :])

    def _change(self, sign: int, row: Row, end: int) -> Row:
        return Row(end - 1, self._with(row, mark(sign, row.stime)))


class SettledMachine:
    """A row leaves at the end of the last bucket in which it may be revised, at its own time in it."""

    def __init__(self, box: TypedSettled, inputs: Sequence[StreamType], outlet: Outlet):
        self.box, (self.stream,) = box, inputs
        self.outlet = outlet
        self.rows: list[Row] = []

    def on_row(self, port: int, row: Row) -> None:
        self.rows.append(row)

    def on_boundary(self, stime: float) -> None:
        over = [row for row in self.rows if self._end(row) <= stime]
        self.rows = [row for row in self.rows if self._end(row) > stime]
        for row in standing(over, self.stream):
            self.outlet.emit(0, Row(row.stime + self.box.kept, row.values, row.values))

    def _end(self, row: Row) -> int:
        return ((belongs_to(row, self.stream) + self.box.kept) // self.box.bucket + 1) * self.box.bucket


class RevisedAggregateMachine:
    """Windows by number, with all rows that ever belonged to them, the number of the bucket up to which they were looked at, and what was given."""

    def __init__(self, box: TypedRevisedAggregate, inputs: Sequence[StreamType], outlet: Outlet):
        self.box, (self.stream,) = box, inputs
        # Functions see rows without their mark, at the stimes that they belong to.
        fields = tuple(field for field in self.stream.schema.fields if field.name != REVISED)
        self.grouping = Grouping(box, [StreamType(Schema(fields), self.stream.clocks)])
        self.output = box.outputs[0]
        self.outlet = outlet
        self.windows: dict[int, list[Row]] = {}
        self.done: dict[int, int] = {}
        self.given: dict[int, list[Row]] = {}

    def on_row(self, port: int, row: Row) -> None:
        for m in window_numbers(belongs_to(row, self.stream), self.box.size, self.box.advance, self.box.phase):
            self.windows.setdefault(m, []).append(row)

    def on_boundary(self, stime: float) -> None:
        bucket = self.box.bucket
        for m, rows in self.windows.items():
            first = (m * self.box.advance + self.box.phase + self.box.size - 1) // bucket
            revised = {row.stime // bucket for row in rows if mark_of(row, self.stream)}
            for number in sorted({first, *(n for n in revised if n > first)}):
                if number > self.done.get(m, first - 1) and (number + 1) * bucket <= stime:
                    self._close(m, number, number == first)

    def _close(self, m: int, number: int, first: bool) -> None:
        before, after = self.given.get(m, []), self._results(m, number)
        self.done[m], self.given[m] = number, after
        if first:
            self.outlet.rows[0] += [Row(row.stime, marked(row.values, None, self.output)) for row in after]
        else:
            last = (number + 1) * self.box.bucket - 1
            self.outlet.rows[0] += difference(before, after, last, self.output)

    def _results(self, m: int, number: int) -> list[Row]:
        """Of window `m`, as it is at the end of a bucket."""
        start = m * self.box.advance + self.box.phase
        groups: dict[Key, Group] = {}
        seen = [row for row in self.windows[m] if row.stime // self.box.bucket <= number]
        for row in standing(seen, self.stream):
            self.grouping.add(groups, row)
        return [Row(start + self.box.size - 1, self.grouping.result(group, start)) for group in groups.values()]


class RevisedJoinMachine:
    def __init__(self, box: TypedRevisedJoin, inputs: Sequence[StreamType], outlet: Outlet):
        self.box, self.inputs = box, inputs
        self.reading = Reading(inputs, ("left", "right"))
        self.outlet = outlet
        self.rows: tuple[list[Row], list[Row]] = ([], [])
        self.pairs: list[Row] = []

    def on_row(self, port: int, row: Row) -> None:
        self.rows[port].append(row)
        for other in self.rows[1 - port]:
            left, right = (row, other) if port == 0 else (other, row)
            at = belongs_to(left, self.inputs[0]), belongs_to(right, self.inputs[1])
            near = at[0] - self.box.right_size <= at[1] <= at[0] + self.box.left_size
            if near and self.reading.value(self.box.predicate, left, right) is True:
                values = tuple(self.reading.value(typed, left, right) for _, typed in self.box.columns)
                marks = [mark_of(r, s) for r, s in zip((left, right), self.inputs, strict=True)]
                sign = sign_of(marks[0]) * sign_of(marks[1])
                text = mark(sign, max(at)) if any(marks) else None
                self.pairs.append(Row(row.stime, marked(values, text, self.box.outputs[0])))

    def on_boundary(self, stime: float) -> None:
        over = [row for row in self.pairs if row.stime < stime]
        self.pairs = [row for row in self.pairs if row.stime >= stime]
        self.outlet.rows[0] += left_over(over, self.box.outputs[0])
