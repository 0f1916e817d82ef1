"""Folds: boxes whose state goes on from range to range.

A fold sees, key by key, its stored state (if any) and then the rows of the range in processing order (see `partition_scan`);
it gives results and the state at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from auroral.engine.accumulate import accumulators
from auroral.engine.failures import marked
from auroral.model.aggregates import TypedAggregate
from auroral.model.boxes.aggregate import WindowStart
from auroral.model.types import INTEGER_BITS

Row = tuple[Any, ...]


class Fold(Protocol):
    """`start` is called for each key, then `row` for each of its rows, then `end`, which also gives results."""

    def start(self, key: Row, state: Any, lo: int, hi: int) -> None: ...

    def row(self, values: Row) -> Iterator[Row]: ...

    def end(self) -> Iterator[Row]: ...

    def state(self) -> Any: ...


@dataclass(slots=True)
class AggregatingFold:
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
            except BaseException as error:
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
                result = accumulator.result()
            except BaseException as error:
                raise marked(self._called(function), error) from error
            yield result


@dataclass(slots=True)
class LandmarkFold(AggregatingFold):
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
class RunsFold(AggregatingFold):
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
class FirstAlignedFold(AggregatingFold):
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
