"""Aggregate functions, value by value in processing order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, Protocol

from auroral.model.aggregates import TypedAggregate, UserAggregate
from auroral.model.decimals import scaled, unscaled
from auroral.model.expression.uservalues import as_arguments, as_result
from auroral.model.types import FieldType, Kind
from auroral.reference.exact import ExactTotal, ratio, sample_deviation, wrapped
from auroral.reference.names import Reading
from auroral.reference.rows import Key, Row, Value, equality_key, group_value, value_key


class Accumulator(Protocol):
    """`result` may be asked at any time, and more values may follow."""

    def add(self, *values: Value) -> None: ...

    def result(self) -> Value: ...


class Count:
    """Rows, or non-null values where it has an argument."""

    def __init__(self) -> None:
        self.n = 0

    def add(self, *values: Value) -> None:
        if None not in values:
            self.n += 1

    def result(self) -> Value:
        return self.n


class CountDistinct:
    def __init__(self) -> None:
        self.seen: set[Key] = set()

    def add(self, *values: Value) -> None:
        if None not in values:
            self.seen.add(equality_key(values))

    def result(self) -> Value:
        return len(self.seen)


class Sum:
    """Nulls do not count; without any other value the sum is null.

    Integers wrap at 64 bits, decimals are null beyond the result's digits, floats are rounded once, at last.
    """

    def __init__(self, argument: FieldType, result: FieldType):
        self.argument = argument
        self.type = result
        self.n = 0
        self.whole = 0
        self.floating = ExactTotal()

    def add(self, *values: Value) -> None:
        (value,) = values
        if value is None:
            return
        self.n += 1
        if isinstance(value, float):
            self.floating.add(value)
        elif isinstance(value, Decimal):
            self.whole += unscaled(value, self.argument.scale or 0)
        else:
            assert isinstance(value, int)
            self.whole += value

    def result(self) -> Value:
        if self.n == 0:
            return None
        if self.argument.is_float:
            return self.floating.rounded()
        if self.type.kind is Kind.DECIMAL:
            return scaled(self.whole, self.type)
        return wrapped(self.whole, 64)

    def as_double(self) -> float:
        """The exact sum, neither wrapped nor cut, as the nearest double."""
        return (
            self.floating.rounded() if self.argument.is_float else ratio(self.whole, 10 ** (self.argument.scale or 0))
        )


class Average:
    """The sum rounded to a double, divided by the number of values."""

    def __init__(self, argument: FieldType, result: FieldType):
        self.sum = Sum(argument, result)

    def add(self, *values: Value) -> None:
        self.sum.add(*values)

    def result(self) -> Value:
        return None if self.sum.n == 0 else self.sum.as_double() / self.sum.n


class Deviation:
    def __init__(self) -> None:
        self.values: list[Fraction] = []
        self.special: list[float] = []

    def add(self, *values: Value) -> None:
        (value,) = values
        if isinstance(value, float) and not math.isfinite(value):
            self.special.append(value)
        elif value is not None:
            assert isinstance(value, int | float | Decimal)
            self.values.append(Fraction(value))

    def result(self) -> Value:
        if len(self.values) + len(self.special) < 2:
            return None
        return math.nan if self.special else sample_deviation(self.values)


class Extreme:
    """Min or max. NaN is the largest; both zeros give 0.0, so that it does not show which came first."""

    def __init__(self, largest: bool):
        self.largest = largest
        self.best: Value = None

    def add(self, *values: Value) -> None:
        (value,) = values
        if value is None:
            return
        new, old = value_key(value), value_key(self.best)
        if self.best is None or (new > old if self.largest else new < old):
            self.best = group_value(value)

    def result(self) -> Value:
        return self.best


class First:
    """The first row's value, be it null."""

    def __init__(self) -> None:
        self.values: tuple[Value, ...] | None = None

    def add(self, *values: Value) -> None:
        if self.values is None:
            self.values = values

    def result(self) -> Value:
        return self.values[0] if self.values is not None else None


class Last:
    def __init__(self) -> None:
        self.value: Value = None

    def add(self, *values: Value) -> None:
        (self.value,) = values

    def result(self) -> Value:
        return self.value


class User:
    """init, incr for each row (nulls too), final."""

    def __init__(self, aggregate: UserAggregate, types: Sequence[FieldType]):
        self.aggregate, self.arguments = aggregate, as_arguments(types)
        self.state: Any = aggregate.init()

    def add(self, *values: Value) -> None:
        self.state = self.aggregate.incr(self.state, *self.arguments(values))

    def result(self) -> Value:
        value: Value = as_result(self.aggregate.returns)(self.aggregate.final(self.state))
        return value


def accumulator(typed: TypedAggregate) -> Accumulator:
    if typed.user is not None:
        return User(typed.user, [arg.type for arg in typed.args])
    match typed.function:
        case "count":
            return Count()
        case "count_distinct":
            return CountDistinct()
        case "sum":
            return Sum(typed.args[0].type, typed.type)
        case "avg":
            return Average(typed.args[0].type, typed.type)
        case "stddev":
            return Deviation()
        case "min" | "max":
            return Extreme(largest=typed.function == "max")
        case "firstval":
            return First()
        case "lastval":
            return Last()
        case unknown:
            raise AssertionError(f"aggregate function {unknown}")


class Accumulators:
    """All functions of a box over one window of one group."""

    def __init__(self, functions: Sequence[TypedAggregate], reading: Reading):
        self.functions = tuple((typed.args, accumulator(typed)) for typed in functions)
        self.reading = reading

    def add(self, row: Row) -> None:
        for args, function in self.functions:
            function.add(*(self.reading.value(arg, row) for arg in args))

    def results(self) -> tuple[Value, ...]:
        return tuple(function.result() for _, function in self.functions)
