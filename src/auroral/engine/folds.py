"""The folds that aggregate: totals that run on, runs of equal values, and windows aligned on a group's first row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from auroral.engine.accumulate import accumulators
from auroral.engine.failures import marked
from auroral.engine.fold import Given, Result, Row, Untimed
from auroral.model.aggregates import TypedAggregate
from auroral.model.boxes.aggregate import WindowStart
from auroral.model.types import INTEGER_BITS


@dataclass(slots=True)
class Aggregating:
    """What evaluates aggregate functions row by row: `arguments` are those of all functions, one after the other."""

    box: str
    functions: tuple[TypedAggregate, ...]

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

    def _called(self, function: TypedAggregate) -> str:
        return f"box {self.box!r}: aggregate {function.function!r}"

    def _finals(self, accumulated: Sequence[Any]) -> Row:
        return tuple(self._of_each(accumulated, "result"))

    def _dumped(self, accumulated: Sequence[Any]) -> list[Any]:
        return list(self._of_each(accumulated, "dump"))

    def _loaded(self, dumped: Sequence[Any]) -> list[Any]:
        fresh = self._fresh()
        for accumulator, state in zip(fresh, dumped, strict=True):
            accumulator.load(state)
        return fresh

    def _of_each(self, accumulated: Sequence[Any], method: str) -> Iterator[Any]:
        for function, accumulator in zip(self.functions, accumulated, strict=True):
            try:
                given = getattr(accumulator, method)()
            except BaseException as error:
                raise marked(self._called(function), error) from error
            yield given


@dataclass(slots=True)
class LandmarkFold(Aggregating, Untimed):
    """Each row gives the result over all rows of its group so far."""

    key: Row = ()
    so_far: Any = None

    def start(self, key: Row, state: Any) -> None:
        self.key, self.so_far = key, self._fresh() if state is None else self._loaded(state)

    def row(self, port: int, stime: int, order: Row, values: Row) -> Iterator[Given]:
        self._add(self.so_far, values)
        yield Result(stime, order, (*self.key, *self._finals(self.so_far)))

    def state(self) -> Any:
        return self._dumped(self.so_far)


@dataclass(slots=True)
class RunsFold(Aggregating, Untimed):
    """Aurora's Tumble over the whole stream: a run of equal group values is closed by the first row with others.

    There is one key, for all rows: the group values are the first `groups` of a row's.
    """

    groups: int = 0
    current: Row | None = None
    so_far: Any = None

    def start(self, key: Row, state: Any) -> None:
        self.current, self.so_far = None, None
        if state is not None:
            self.current, self.so_far = state[0], self._loaded(state[1])

    def row(self, port: int, stime: int, order: Row, values: Row) -> Iterator[Given]:
        group, arguments = values[: self.groups], values[self.groups :]
        if self.current is not None and not same(group, self.current):
            yield Result(stime, order, (*self.current, *self._finals(self.so_far)))
            self.current = None
        if self.current is None:
            self.current, self.so_far = group, self._fresh()
        self._add(self.so_far, arguments)

    def state(self) -> Any:
        return None if self.current is None else (self.current, self._dumped(self.so_far))


@dataclass(slots=True)
class FirstAlignedFold(Aggregating, Untimed):
    """Windows aligned on the group's first row; a row at or past a window's end closes it."""

    size: int = 0
    advance: int = 0
    named: WindowStart | None = None
    key: Row = ()
    origin: int | None = None
    windows: dict[int, Any] | None = None

    def start(self, key: Row, state: Any) -> None:
        self.key, self.origin, self.windows = key, None, {}
        if state is not None:
            self.origin = state[0]
            self.windows = {begin: self._loaded(dumped) for begin, dumped in state[1].items()}

    def row(self, port: int, stime: int, order: Row, values: Row) -> Iterator[Given]:
        if self.origin is None:
            self.origin = stime
        assert self.windows is not None and self.named is not None
        for begin in sorted(b for b in self.windows if b + self.size <= stime):
            fields = (*self.key, start_value(self.named, begin), *self._finals(self.windows.pop(begin)))
            yield Result(stime, (*order, begin), fields)
        last = self.origin + (stime - self.origin) // self.advance * self.advance
        first = max(self.origin, last - (self.size - 1 - (stime - last)) // self.advance * self.advance)
        for begin in range(first, last + 1, self.advance):
            window = self.windows.get(begin)
            if window is None:
                window = self.windows[begin] = self._fresh()
            self._add(window, values)

    def state(self) -> Any:
        assert self.windows is not None
        return (self.origin, {begin: self._dumped(window) for begin, window in self.windows.items()})


def start_value(named: WindowStart, begin: int) -> int:
    """A window's start in the unit and width of the field that names it, as SQL's CAST gives it."""
    bits = INTEGER_BITS.get(named.field.type.kind, 64)
    half = 1 << (bits - 1)
    return ((begin - named.offset) // named.unit + half) % (1 << bits) - half


def same(a: Row, b: Row) -> bool:
    """Equality of group values: null equals null, NaN equals NaN."""
    return all(x == y or (x is None and y is None) or (x != x and y != y) for x, y in zip(a, b, strict=True))
