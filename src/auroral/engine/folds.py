"""Folds, evaluated by a scan over rows sorted by key and processing order.

A fold sees, key by key, its stored state (if any) and then the rows of the range; it gives results and the state at the end.
"""

from __future__ import annotations

import pickle
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from auroral.engine.accumulate import accumulators, mergeable
from auroral.engine.failures import marked
from auroral.engine.sqltext import Column
from auroral.model.aggregates import TypedAggregate
from auroral.model.boxes.aggregate import TypedStimeAggregate, WindowStart
from auroral.model.types import INTEGER_BITS
from auroral.model.windows import EventTimeWindow

Row = tuple[Any, ...]


class Fold(Protocol):
    """`start` is called for each key, then `row` for each of its rows, then `end`, which also gives results."""

    box: str

    def start(self, key: Row, state: Any, lo: int, hi: int) -> None: ...

    def row(self, values: Row) -> Iterator[Row]: ...

    def end(self) -> Iterator[Row]: ...

    def state(self) -> Any: ...


@dataclass(slots=True)
class _Aggregating:
    """Common to folds that aggregate. A row is (group values if the fold is not by key, stime, order.., arguments..)."""

    box: str
    functions: tuple[TypedAggregate, ...]
    groups: int
    orders: int
    ordered: bool
    key: Row = ()
    lo: int = 0
    hi: int = 0

    def _fresh(self) -> list[Any]:
        return accumulators(self.functions)

    def _add(self, accumulated: Sequence[Any], arguments: Row) -> None:
        at = 0
        for function, accumulator in zip(self.functions, accumulated, strict=True):
            given = arguments[at : at + len(function.args)]
            try:
                accumulator.add(given)
            except Exception as error:
                raise marked(self._called(function), error, given) from error
            at += len(function.args)

    def _result(self, stime: int, order: Row, fields: Row, accumulated: Sequence[Any]) -> Row:
        return (stime, *(order if self.ordered else ()), *fields, *self._finals(accumulated))

    def _whole(self, rows: Sequence[Row], skip: int = 0) -> list[Any]:
        """The functions over these rows, of which `skip` values stand between order and arguments."""
        accumulated = self._fresh()
        for row in rows:
            self._add(accumulated, row[1 + self.orders + skip :])
        return accumulated

    def _called(self, function: TypedAggregate) -> str:
        return f"box {self.box!r}: aggregate {function.function!r}"

    def _finals(self, accumulated: Sequence[Any]) -> Iterator[Any]:
        for function, accumulator in zip(self.functions, accumulated, strict=True):
            try:
                yield accumulator.result()
            except Exception as error:
                raise marked(self._called(function), error) from error


@dataclass(slots=True)
class LandmarkFold(_Aggregating):
    """Each row gives the result over all rows of its group so far."""

    so_far: Any = None

    def start(self, key: Row, state: Any, lo: int, hi: int) -> None:
        self.key, self.so_far = key, self._fresh() if state is None else restore(self._fresh(), state)

    def row(self, values: Row) -> Iterator[Row]:
        order, arguments = values[1 : 1 + self.orders], values[1 + self.orders :]
        self._add(self.so_far, arguments)
        yield self._result(values[0], order, self.key, self.so_far)

    def end(self) -> Iterator[Row]:
        return iter(())

    def state(self) -> Any:
        return dump(self.so_far)


@dataclass(slots=True)
class RunsFold(_Aggregating):
    """Aurora's Tumble over the whole stream: a run of equal group values is closed by the first row with others."""

    current: Row | None = None
    so_far: Any = None

    def start(self, key: Row, state: Any, lo: int, hi: int) -> None:
        self.current, self.so_far = None, None
        if state is not None:
            self.current, self.so_far = state[0], restore(self._fresh(), state[1])

    def row(self, values: Row) -> Iterator[Row]:
        group, values = values[: self.groups], values[self.groups :]
        if self.current is not None and not same(group, self.current):
            yield self._result(values[0], values[1 : 1 + self.orders], self.current, self.so_far)
            self.current = None
        if self.current is None:
            self.current, self.so_far = group, self._fresh()
        self._add(self.so_far, values[1 + self.orders :])

    def end(self) -> Iterator[Row]:
        return iter(())

    def state(self) -> Any:
        return (self.current, dump(self.so_far))


@dataclass(slots=True)
class FirstAlignedFold(_Aggregating):
    """Windows aligned on the group's first row; a row at or past a window's end closes it."""

    size: int = 0
    advance: int = 0
    named: WindowStart | None = None
    origin: int | None = None
    windows: dict[int, Any] | None = None

    def start(self, key: Row, state: Any, lo: int, hi: int) -> None:
        self.key = key
        self.origin, self.windows = None, {}
        if state is not None:
            self.origin = state[0]
            self.windows = {begin: restore(self._fresh(), dumped) for begin, dumped in state[1].items()}

    def row(self, values: Row) -> Iterator[Row]:
        stime, order = values[0], values[1 : 1 + self.orders]
        if self.origin is None:
            self.origin = stime
        assert self.windows is not None and self.named is not None
        for begin in sorted(b for b in self.windows if b + self.size <= stime):
            start = start_value(self.named, begin)
            yield self._result(stime, (*order, begin), (*self.key, start), self.windows.pop(begin))
        last = self.origin + (stime - self.origin) // self.advance * self.advance
        first = max(self.origin, last - (self.size - 1 - (stime - last)) // self.advance * self.advance)
        for begin in range(first, last + 1, self.advance):
            self._add(self.windows.setdefault(begin, self._fresh()), values[1 + self.orders :])

    def end(self) -> Iterator[Row]:
        return iter(())

    def state(self) -> Any:
        assert self.windows is not None
        return (self.origin, {begin: dump(a) for begin, a in self.windows.items()})


@dataclass(slots=True)
class UserWindows(_Aggregating):
    """Windows of stime over rows of the whole horizon.

    With `in_parts`, where every function can combine, each part of a window is counted once for all windows that share it.
    The batch oracle counts every window from its rows, so that a `combine` that disagrees with `incr` shows.
    """

    typed: TypedStimeAggregate | None = None
    in_parts: bool = True
    rows: list[Row] | None = None

    def start(self, key: Row, state: Any, lo: int, hi: int) -> None:
        self.key, self.lo, self.hi, self.rows = key, lo, hi, []

    def row(self, values: Row) -> Iterator[Row]:
        assert self.rows is not None
        self.rows.append(values)
        return iter(())

    def end(self) -> Iterator[Row]:
        assert self.typed is not None and self.rows is not None
        stimes = [row[0] for row in self.rows]
        parts = self._parts() if self.in_parts and mergeable(self.functions) else None
        starts = sorted(parts or ())
        for begin in self._filled(stimes):
            end = begin + self.typed.size
            if parts is None:
                accumulated = self._whole(self.rows[bisect_left(stimes, begin) : bisect_left(stimes, end)])
            else:
                inside = starts[bisect_left(starts, begin) : bisect_left(starts, end)]
                accumulated = self._merged([parts[start] for start in inside])
            start = self.typed.start
            fields = (*self.key, start_value(start, begin)) if start else self.key
            yield self._result(end - 1, self.key, fields, accumulated)

    def _filled(self, stimes: Sequence[int]) -> Iterator[int]:
        """The starts of windows that end in the range and have rows; from one to the next that has, gaps are skipped."""
        assert self.typed is not None
        size, advance, phase = self.typed.size, self.typed.advance, self.typed.phase
        number = (self.lo - phase - size) // advance + 1
        last = (self.hi - phase - size) // advance
        while number <= last:
            begin = number * advance + phase
            at = bisect_left(stimes, begin)
            if at == len(stimes):
                return
            if stimes[at] < begin + size:
                yield begin
                number += 1
            else:
                number = (stimes[at] - phase - size) // advance + 1

    def _parts(self) -> dict[int, list[Any]]:
        """One partial result for each slice between two window starts or ends."""
        assert self.typed is not None and self.rows is not None
        size, advance, phase = self.typed.size, self.typed.advance, self.typed.phase
        parts: dict[int, list[Any]] = {}
        for row in self.rows:
            number, into = divmod(row[0] - phase, advance)
            begin = number * advance + phase + (size % advance if into >= size % advance else 0)
            part = parts.get(begin)
            if part is None:
                part = parts[begin] = self._fresh()
            self._add(part, row[1 + self.orders :])
        return parts

    def _merged(self, parts: Sequence[list[Any]]) -> list[Any]:
        accumulated = self._fresh()
        for each in parts:
            for function, whole, part in zip(self.functions, accumulated, each, strict=True):
                try:
                    whole.merge(part)
                except Exception as error:
                    raise marked(f"{self._called(function)}, combining", error) from error
        return accumulated

    def state(self) -> Any:
        return None


@dataclass(slots=True)
class UserEventWindows(_Aggregating):
    """Windows of event time over rows of the whole horizon. A row is (stime, order.., event time, arguments..).

    A window has its result when it closes, of the rows that came before; with corrections also at the stime of each later
    row that is in time for one, of all rows up to it.
    """

    window: EventTimeWindow | None = None
    named: WindowStart | None = None
    windows: dict[int, list[Row]] | None = None

    def start(self, key: Row, state: Any, lo: int, hi: int) -> None:
        self.key, self.lo, self.hi, self.windows = key, lo, hi, {}

    def row(self, values: Row) -> Iterator[Row]:
        assert self.window is not None and self.windows is not None
        size, advance, event = self.window.size, self.window.advance, values[1 + self.orders]
        for number in range((event - size) // advance + 1, event // advance + 1):
            close = number * advance + size + self.window.lateness
            # A window that closes behind the range is a later range's; one that was done before it, an earlier one's.
            if close <= self.hi and max(self.lo, values[0]) < close + self.window.correct_for:
                self.windows.setdefault(number * advance, []).append(values)
        return iter(())

    def end(self) -> Iterator[Row]:
        assert self.window is not None and self.windows is not None
        for begin in sorted(self.windows):
            rows = self.windows[begin]
            stimes = [row[0] for row in rows]
            close = begin + self.window.size + self.window.lateness
            in_time = bisect_left(stimes, close)
            if in_time and self.lo < close:
                yield self._of(begin, close - 1, rows[:in_time])
            for at in sorted({stime for stime in stimes[in_time:] if self.lo <= stime < self.hi}):
                yield self._of(begin, at, rows[: bisect_right(stimes, at)])

    def _of(self, begin: int, stime: int, rows: Sequence[Row]) -> Row:
        fields = (*self.key, start_value(self.named, begin)) if self.named else self.key
        return self._result(stime, (begin, *self.key), fields, self._whole(rows, skip=1))

    def state(self) -> Any:
        return None


def start_value(named: WindowStart, begin: int) -> int:
    """A window's start in the unit and width of the field that names it, as SQL's CAST gives it."""
    bits = INTEGER_BITS.get(named.field.type.kind, 64)
    half = 1 << (bits - 1)
    return ((begin - named.offset) // named.unit + half) % (1 << bits) - half


def dump(accumulated: Any) -> Any:
    return (
        None if accumulated is None else [a.__getstate__() if hasattr(a, "user") else a.__dict__ for a in accumulated]
    )


def restore(fresh: list[Any], dumped: Any) -> list[Any]:
    for accumulator, state in zip(fresh, dumped or [], strict=True):
        if hasattr(accumulator, "user"):
            accumulator.state = state
        else:
            accumulator.__dict__.update(state)
    return fresh


def same(a: Row, b: Row) -> bool:
    """Equality of group values: null equals null, NaN equals NaN."""
    return all(x == y or (x is None and y is None) or (x != x and y != y) for x, y in zip(a, b, strict=True))


def scan(
    fold: Fold, keys: int, lo: int, hi: int, result: Sequence[Column], kept: Sequence[Column]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that Spark runs over each partition: columns are keys, tag, state, then a row's values."""

    def over(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        results: list[Row] = []
        states: list[Row] = []
        key: Row | None = None

        def close() -> None:
            results.extend(fold.end())
            if kept and key is not None:
                states.append((hi - 1, *key, pickle.dumps(fold.state(), protocol=4)))

        touched = False
        for batch in batches:
            for values in zip(*(_python(column) for column in batch.columns), strict=True):
                of_row, tag, stored = values[:keys], values[keys], values[keys + 1]
                if key is None or not same(key, of_row):
                    if touched:
                        close()
                    key, touched = of_row, False
                    fold.start(of_row, pickle.loads(stored) if tag == 0 else None, lo, hi)
                if tag == 1:
                    touched = True
                    results.extend(fold.row(values[keys + 2 :]))
        if touched:
            close()
        yield from _batches(fold.box, results, states, result, kept)

    return over


def _python(column: pa.Array) -> list[Any]:
    """Values as folds see them: timestamps as whole microseconds, dates as whole days."""
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.int64()).to_pylist()  # type: ignore[no-any-return]
    if pa.types.is_date32(column.type):
        return column.cast(pa.int32()).to_pylist()  # type: ignore[no-any-return]
    return column.to_pylist()  # type: ignore[no-any-return]


def _batches(
    box: str, results: list[Row], states: list[Row], result: Sequence[Column], kept: Sequence[Column]
) -> Iterator[pa.RecordBatch]:
    from auroral.engine.arrowrows import arrow_type, from_python

    total = len(results) + len(states)
    if total == 0:
        return
    kinds = pa.array([0] * len(results) + [1] * len(states), pa.int32())
    structs = []
    for given, chosen, offset in ((results, result, 0), (states, kept, len(results))):
        if not chosen:
            continue
        arrays = []
        for i, column in enumerate(chosen):
            values = [None] * offset + [row[i] for row in given] + [None] * (total - offset - len(given))
            try:
                arrays.append(from_python(values, arrow_type(column.type)))
            except (pa.ArrowException, TypeError, OverflowError) as error:
                raise marked(f"box {box!r}: a result for field {column.name!r}", error) from error
        mask = pa.array([not offset <= n < offset + len(given) for n in range(total)])
        structs.append(pa.StructArray.from_arrays(arrays, [c.name for c in chosen], mask=mask))
    names = ["__kind", "__row", "__kept"][: 1 + len(structs)]
    yield pa.RecordBatch.from_arrays([kinds, *structs], names)
