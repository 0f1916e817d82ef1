"""Aggregate functions as mergeable states in SQL: from rows, merged with one another, and finished.

A box's state is a set of columns. Those of exact floating sums come with *bin* columns (see `exact`): a group has one state
row for each combination of bins, and `finish` folds these into one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from auroral.engine import exact
from auroral.engine.expression import Column as ColumnText
from auroral.engine.expression import to_sql
from auroral.engine.sqltext import Column, quoted
from auroral.model.aggregates import TypedAggregate
from auroral.model.types import FieldType, Kind


@dataclass(frozen=True, slots=True)
class StateColumn:
    """`of_rows` aggregates rows, `merge` aggregates states; both over the columns prepared by `Prepared`."""

    name: str
    type: str
    of_rows: str
    merge: str


@dataclass(frozen=True, slots=True)
class Prepared:
    """A column computed from a row, in stages: a later stage may use the columns of earlier ones."""

    stage: int
    name: str
    sql: str


@dataclass(frozen=True, slots=True)
class FunctionState:
    """How one function is computed.

    `final` is over the merged state, after `finishing` stages have added columns to it. With `bins`, a group has a state row
    for each combination of bins; folding makes one row of them, each bin column an array of parts (`<bin>p`).
    """

    columns: tuple[StateColumn, ...]
    final: str
    prepared: tuple[Prepared, ...] = ()
    finishing: tuple[Prepared, ...] = ()
    bins: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BoxState:
    """All functions of a box together. A bin column is stored also where the statement takes it to be zero."""

    functions: tuple[FunctionState, ...]
    many_bins: bool

    @property
    def all_bins(self) -> tuple[str, ...]:
        return tuple(b for f in self.functions for b in f.bins)

    @property
    def bins(self) -> tuple[str, ...]:
        """The bin columns that tell state rows of one group apart."""
        return self.all_bins if self.many_bins else ()

    @property
    def columns(self) -> tuple[StateColumn, ...]:
        zero = () if self.many_bins else tuple(StateColumn(b, "INT", "0", "0") for b in self.all_bins)
        return (*zero, *(c for f in self.functions for c in f.columns))

    def stored(self) -> list[Column]:
        bins = [Column(b, "INT") for b in self.all_bins]
        return [*bins, *(Column(c.name, c.type) for f in self.functions for c in f.columns)]

    def stages(self) -> list[list[Prepared]]:
        return _by_stage([p for f in self.functions for p in f.prepared])

    def finishing(self) -> list[list[Prepared]]:
        return _by_stage([p for f in self.functions for p in f.finishing])

    def of_rows(self) -> list[str]:
        return [f"{c.of_rows} AS {c.name}" for c in self.columns]

    def merge(self) -> list[str]:
        return [f"{c.merge} AS {c.name}" for c in self.columns]

    def fold(self) -> list[str]:
        """Columns that turn several state rows of a group, one for each combination of bins, into one."""
        digits = {b + d for b in self.bins for d in exact.DIGITS}
        folded = [f"{c.merge} AS {c.name}" for c in self.columns if c.name not in digits]
        for b in self.bins:
            fields = ", ".join(f"'{d}', {b}{d}" for d in exact.DIGITS)
            folded.append(f"collect_list(named_struct('b', {b}, {fields})) AS {b}p")
        return folded

    def finals(self, names: Sequence[str]) -> list[str]:
        return [f"{f.final} AS {quoted(name)}" for f, name in zip(self.functions, names, strict=True)]


def _by_stage(prepared: Sequence[Prepared]) -> list[list[Prepared]]:
    last = max((p.stage for p in prepared), default=-1)
    return [[p for p in prepared if p.stage == stage] for stage in range(last + 1)]


def box_state(
    functions: Sequence[TypedAggregate], order: Sequence[Column], column: ColumnText, many_bins: bool
) -> BoxState:
    """`order` are the columns of the processing order, `column` gives the SQL of a field.

    Without `many_bins`, floating sums are compiled for values of bin 0, which nearly all are: the plan is far smaller. Another
    value then stops the job with `exact.MANY_BINS`.
    """
    many_bins = many_bins or any(f.function == "stddev" for f in functions)
    return BoxState(tuple(_function(f, f"a{i}", order, column, many_bins) for i, f in enumerate(functions)), many_bins)


def _function(
    function: TypedAggregate, name: str, order: Sequence[Column], column: ColumnText, many_bins: bool
) -> FunctionState:
    if not function.args:
        return _state(StateColumn(f"{name}n", "BIGINT", "count(*)", f"sum({name}n)"), final=f"{name}n")
    arg = function.args[0].type
    x = f"{name}x"
    prepared = Prepared(0, x, to_sql(function.args[0], column))
    match function.function:
        case "count":
            return _state(
                StateColumn(f"{name}n", "BIGINT", f"count({x})", f"sum({name}n)"),
                final=f"{name}n",
                prepared=(prepared,),
            )
        case "min" | "max" as side:
            # 0.0 and -0.0 are equal, so which one a minimum would be depends on order: adding zero makes it 0.0.
            value = f"({x} + {'CAST(0 AS FLOAT)' if arg.kind is Kind.SINGLE else '0D'})" if arg.is_float else x
            return _state(
                StateColumn(f"{name}m", arg.spark, f"{side}({value})", f"{side}({name}m)"),
                final=f"{name}m",
                prepared=(prepared,),
            )
        case "firstval" | "lastval" as which:
            side = "min" if which == "firstval" else "max"
            keys = ", ".join(f"'k{i}', {k.name}" for i, k in enumerate(order))
            kind = f"STRUCT<{', '.join(f'k{i}: {k.type}' for i, k in enumerate(order))}, v: {arg.spark}>"
            state = StateColumn(f"{name}v", kind, f"{side}(named_struct({keys}, 'v', {x}))", f"{side}({name}v)")
            return _state(state, final=f"{name}v.v", prepared=(prepared,))
        case "count_distinct":
            value = f"nanvl({x} + 0D, double('NaN'))" if arg.is_float else x
            of_rows, merge = f"collect_set({value})", f"array_distinct(flatten(collect_list({name}s)))"
            kind = "DOUBLE" if arg.is_float else arg.spark
            return _state(
                StateColumn(f"{name}s", f"ARRAY<{kind}>", of_rows, merge),
                final=f"CAST(size({name}s) AS BIGINT)",
                prepared=(prepared,),
            )
        case "sum" | "avg" if not arg.is_float:
            return _exact_number(function, name, arg, prepared)
        case "sum" | "avg" | "stddev":
            return _floating(function.function, name, prepared, many_bins)
        case other:
            raise AssertionError(f"aggregate function {other}")


def _state(*columns: StateColumn, final: str, prepared: tuple[Prepared, ...] = ()) -> FunctionState:
    return FunctionState(columns, final, prepared)


def _exact_number(function: TypedAggregate, name: str, arg: FieldType, prepared: Prepared) -> FunctionState:
    """Sums of integers and decimals, which are exact by themselves."""
    x, n = f"{name}x", f"{name}n"
    count = StateColumn(n, "BIGINT", f"count({x})", f"sum({n})")
    if arg.kind is Kind.DECIMAL:
        # 38 digits leave room for 10^(38-p) rows before the declared precision is all that overflows.
        total = StateColumn(
            f"{name}t",
            f"DECIMAL(38,{arg.scale})",
            f"CAST(sum({x}) AS DECIMAL(38,{arg.scale}))",
            f"CAST(sum({name}t) AS DECIMAL(38,{arg.scale}))",
        )
        final = (
            f"CAST({name}t AS {function.type.spark})"
            if function.function == "sum"
            else f"CAST({name}t AS DOUBLE) / {n}"
        )
        return _state(count, total, final=f"IF({n} = 0, NULL, {final})", prepared=(prepared,))
    total = StateColumn(f"{name}t", "BIGINT", f"sum(CAST({x} AS BIGINT))", f"sum({name}t)")
    if function.function == "sum":
        return _state(count, total, final=f"IF({n} = 0, NULL, {name}t)", prepared=(prepared,))
    # A mean of longs must not wrap where a sum does: two halves are summed apart.
    high = StateColumn(f"{name}h", "BIGINT", f"sum(shiftright(CAST({x} AS BIGINT), 32))", f"sum({name}h)")
    low = StateColumn(f"{name}l", "BIGINT", f"sum(CAST({x} AS BIGINT) & 4294967295L)", f"sum({name}l)")
    whole = f"CAST(CAST({name}h AS DECIMAL(38,0)) * 4294967296 + {name}l AS DOUBLE)"
    return _state(count, high, low, final=f"IF({n} = 0, NULL, {whole} / {n})", prepared=(prepared,))


def _floating(function: str, name: str, prepared: Prepared, many_bins: bool) -> FunctionState:
    x, n, flags = f"{name}x", f"{name}n", f"{name}f"
    as_double = Prepared(0, x, f"CAST({prepared.sql} AS DOUBLE)")
    count = StateColumn(n, "BIGINT", f"count({x})", f"sum({n})")
    flag = exact.special(x) if many_bins else exact.special_or_other_bin(x)
    special = StateColumn(flags, "INT", f"bit_or({flag})", f"bit_or({flags})")
    terms = [(f"{name}b", exact.finite(x))]
    if function == "stddev":
        # x^2 = square + error without loss (Dekker's product): half as many digits would cancel away in a variance.
        square, error = f"{x} * {x}", exact.product_error(x, x)
        terms += [(f"{name}q", exact.finite(square)), (f"{name}r", exact.finite(error))]
        # 1 where only the square is too large, 4 where x itself is NaN or infinite.
        overflow = f"CASE WHEN {x} IS NULL THEN 0 WHEN abs({x}) < double('Infinity') THEN IF({square} = double('Infinity'), 1, 0) ELSE 4 END"
        special = StateColumn(flags, "INT", f"bit_or({overflow})", f"bit_or({flags})")
    stages = [as_double]
    digits = []
    for b, term in terms:
        if many_bins:
            stages += [Prepared(1, f"{b}x", term), Prepared(2, b, exact.bin_of(f"{b}x"))]
            stages.append(Prepared(3, f"{b}v", exact.shifted(f"{b}x", b)))
        else:
            stages.append(Prepared(1, f"{b}v", exact.in_bin_zero_or_zero(x)))
        digits += [
            StateColumn(f"{b}{d}", "BIGINT", f"sum({digit})", f"sum({b}{d})") for d, digit in exact.digits(f"{b}v")
        ]
    before_total = [] if many_bins else exact.before_total_of_bin_zero(f"{name}b")
    return FunctionState(
        (count, special, *digits),
        _floating_final(function, name, n, flags, many_bins),
        tuple(stages),
        tuple(Prepared(0, column, sql) for column, sql in before_total),
        tuple(b for b, _ in terms),
    )


def _floating_final(function: str, name: str, n: str, flags: str, many_bins: bool) -> str:
    if function == "stddev":
        variance = exact.variance(f"{name}bp", f"{name}qp", f"{name}rp", n)
        return (
            f"CASE WHEN {n} < 2 THEN NULL WHEN {flags} = 0 THEN sqrt({variance}) "
            f"WHEN {flags} = 1 THEN double('Infinity') ELSE double('NaN') END"
        )
    total = exact.total(f"{name}bp") if many_bins else exact.total_of_bin_zero(f"{name}b")
    return f"IF({n} = 0, NULL, {exact.with_special(total, flags)}{f' / {n}' if function == 'avg' else ''})"
