"""Aggregate functions row by row in Python, for scans: folds, and windows with user aggregates.

What an accumulator has seen is `dump`ed as plain values (see `statecodec`), and `load`ed into a fresh one. Floating sums are exact, as whole
numbers of 2^-1074.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Sequence
from decimal import Context, Decimal
from typing import Any, Protocol

from auroral.model.aggregates import TypedAggregate
from auroral.model.expression.uservalues import as_arguments, as_result
from auroral.model.types import FieldType, Kind

_ONE = 1 << 1074
_WIDE = Context(prec=100)
"""For shifting decimals, which rounds to the context's digits: by default 28, where a value has up to 38."""

_IMMUTABLE = (int, float, str, bytes, bool, type(None), Decimal)


class Accumulator(Protocol):
    def add(self, values: Sequence[Any]) -> None: ...

    def merge(self, later: Any) -> None: ...

    def result(self) -> Any: ...

    def dump(self) -> Any: ...

    def load(self, dumped: Any) -> None: ...


def accumulators(functions: Sequence[TypedAggregate]) -> list[Any]:
    return [_accumulator(f) for f in functions]


def mergeable(functions: Sequence[TypedAggregate]) -> bool:
    return all(f.user is None or f.user.combine is not None for f in functions)


def _accumulator(function: TypedAggregate) -> Any:
    if function.user is not None:
        return User(function)
    if function.function == "count":
        return Count(bool(function.args))
    arg = function.args[0].type
    match function.function:
        case "min" | "max":
            return Extreme(1 if function.function == "max" else -1, arg.is_float)
        case "firstval" | "lastval":
            return Edge(function.function == "lastval")
        case "count_distinct":
            return Distinct()
        case "sum" | "avg":
            return Total(function.function, arg, function.type)
        case _:
            return Deviation(arg)


class Count:
    def __init__(self, of_values: bool):
        self.of_values, self.n = of_values, 0

    def add(self, values: Sequence[Any]) -> None:
        self.n += not self.of_values or values[0] is not None

    def merge(self, later: Count) -> None:
        self.n += later.n

    def result(self) -> int:
        return self.n

    def dump(self) -> Any:
        return self.n

    def load(self, dumped: Any) -> None:
        self.n = dumped


class Extreme:
    """NaN is above everything, and either zero is 0.0, as in the SQL form."""

    def __init__(self, sign: int, floating: bool):
        self.sign, self.floating = sign, floating
        self.best: Any = None

    def add(self, values: Sequence[Any]) -> None:
        value = values[0]
        if value is None:
            return
        if self.floating:
            value = value + 0.0
        if self.best is None or self._above(value, self.best):
            self.best = value

    def _above(self, a: Any, b: Any) -> bool:
        if self.floating and (math.isnan(a) or math.isnan(b)):
            return (
                bool(math.isnan(a) and not math.isnan(b))
                if self.sign > 0
                else bool(math.isnan(b) and not math.isnan(a))
            )
        return bool(a > b) if self.sign > 0 else bool(a < b)

    def merge(self, later: Extreme) -> None:
        self.add([later.best])

    def result(self) -> Any:
        return self.best

    def dump(self) -> Any:
        return self.best

    def load(self, dumped: Any) -> None:
        self.best = dumped


class Edge:
    """The first or last value, nulls included."""

    def __init__(self, last: bool):
        self.last, self.seen = last, False
        self.value: Any = None

    def add(self, values: Sequence[Any]) -> None:
        if self.last or not self.seen:
            self.value, self.seen = values[0], True

    def merge(self, later: Edge) -> None:
        if later.seen:
            self.add([later.value])

    def result(self) -> Any:
        return self.value

    def dump(self) -> Any:
        return (self.value,) if self.seen else ()

    def load(self, dumped: Any) -> None:
        self.seen, self.value = bool(dumped), dumped[0] if dumped else None


class Distinct:
    def __init__(self) -> None:
        self.seen: set[Any] = set()

    def add(self, values: Sequence[Any]) -> None:
        value = values[0]
        if value is not None:
            self.seen.add("NaN" if isinstance(value, float) and math.isnan(value) else value)

    def merge(self, later: Distinct) -> None:
        self.seen |= later.seen

    def result(self) -> int:
        return len(self.seen)

    def dump(self) -> Any:
        return self.seen

    def load(self, dumped: Any) -> None:
        self.seen = dumped


class Total:
    """Exact sums; `specials` collects NaN and infinities."""

    def __init__(self, function: str, arg: FieldType, result: FieldType):
        self.function, self.arg, self.type = function, arg, result
        self.n, self.total, self.specials = 0, 0, set[str]()

    def add(self, values: Sequence[Any]) -> None:
        value = values[0]
        if value is None:
            return
        self.n += 1
        if not self.arg.is_float:
            self.total += value if self.arg.is_integer else int(value.scaleb(self.arg.scale or 0, _WIDE))
        elif math.isfinite(value):
            numerator, denominator = value.as_integer_ratio()
            self.total += numerator * (_ONE // denominator)
        else:
            self.specials.add(str(value))

    def merge(self, later: Total) -> None:
        self.n += later.n
        self.total += later.total
        self.specials |= later.specials

    def result(self) -> Any:
        if self.n == 0:
            return None
        if self.arg.is_integer:
            wrapped = (self.total + (1 << 63)) % (1 << 64) - (1 << 63)
            return wrapped if self.function == "sum" else _ratio(self.total, 1) / self.n
        if self.arg.kind is Kind.DECIMAL:
            return self._decimal()
        total = self._floating()
        return total if self.function == "sum" else total / self.n

    def _decimal(self) -> Any:
        whole = Decimal(self.total).scaleb(-(self.arg.scale or 0), _WIDE)
        if self.function == "avg":
            return float(whole) / self.n
        return None if len(str(abs(self.total))) > (self.type.precision or 38) else whole

    def _floating(self) -> float:
        if self.specials:
            return float(next(iter(self.specials))) if len(self.specials) == 1 else math.nan
        return _ratio(self.total, _ONE)

    def dump(self) -> Any:
        return (self.n, self.total, self.specials)

    def load(self, dumped: Any) -> None:
        self.n, self.total, self.specials = dumped


class Deviation:
    def __init__(self, arg: FieldType):
        self.scale = _ONE if arg.is_float else 10 ** (arg.scale or 0)
        self.arg = arg
        self.n, self.total, self.squares, self.special = 0, 0, 0, False

    def add(self, values: Sequence[Any]) -> None:
        value = values[0]
        if value is None:
            return
        self.n += 1
        if self.arg.is_float and not math.isfinite(value):
            self.special = True
            return
        numerator, denominator = value.as_integer_ratio()
        scaled = numerator * (self.scale // denominator)
        self.total += scaled
        self.squares += scaled * scaled

    def merge(self, later: Deviation) -> None:
        self.n += later.n
        self.total += later.total
        self.squares += later.squares
        self.special |= later.special

    def result(self) -> float | None:
        if self.n < 2:
            return None
        if self.special:
            return math.nan
        above = self.n * self.squares - self.total * self.total
        return math.sqrt(_ratio(above, self.n * (self.n - 1) * self.scale * self.scale))

    def dump(self) -> Any:
        return (self.n, self.total, self.squares, self.special)

    def load(self, dumped: Any) -> None:
        self.n, self.total, self.squares, self.special = dumped


class User:
    """The user's own init / incr / final, with combine where parts are merged."""

    def __init__(self, function: TypedAggregate):
        assert function.user is not None
        self.user = function.user
        self.arguments = as_arguments([arg.type for arg in function.args])
        self.state = self.user.init()

    def add(self, values: Sequence[Any]) -> None:
        self.state = self.user.incr(self.state, *self.arguments(values))

    def merge(self, later: User) -> None:
        assert self.user.combine is not None
        # A copy: several windows share a part, and users may well change or keep what `combine` is given.
        self.state = self.user.combine(self.state, _copy(later.state))

    def result(self) -> Any:
        return as_result(self.user.returns)(self.user.final(self.state))

    def dump(self) -> Any:
        # What can be changed in place may hold the same object twice, which only a pickle keeps.
        return (self.state,) if _plain(self.state) else pickle.dumps(self.state, protocol=4)

    def load(self, dumped: Any) -> None:
        self.state = pickle.loads(dumped) if isinstance(dumped, bytes) else dumped[0]


def _plain(state: Any) -> bool:
    return type(state) in _IMMUTABLE or (type(state) is tuple and all(map(_plain, state)))


def _copy(state: Any) -> Any:
    return state if type(state) in _IMMUTABLE else pickle.loads(pickle.dumps(state, protocol=4))


def _ratio(numerator: int, denominator: int) -> float:
    try:
        return numerator / denominator
    except OverflowError:
        return math.inf if (numerator > 0) == (denominator > 0) else -math.inf
