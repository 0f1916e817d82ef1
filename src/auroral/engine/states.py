"""Aggregate functions as mergeable states in SQL: from rows, merged with one another, and finished.

A box's state is a set of columns. Those of exact floating sums come with *bin* columns (see `exact`): a group has one state
row for each combination of bins, and `finish` folds these into one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from auroral.engine import exact, wide_decimals
from auroral.engine.expression import to_sql
from auroral.engine.sqltext import ROWS, Column, ColumnText
from auroral.model.aggregates import TypedAggregate
from auroral.model.expression import FieldRef
from auroral.model.types import FieldType, Kind

_SUM, _FLAGS = "sum({})", "bit_or({})"


@dataclass(frozen=True, slots=True)
class StateColumn:
    """`of_row` is the state of one row, `combine` an aggregate over states (or over rows taken as states), with {} for the value.

    `of_rows` is there where many rows have a cheaper form than that.
    """

    name: str
    type: str
    of_row: str
    combine: str = _SUM
    of_rows: str = ""

    def from_rows(self) -> str:
        return f"{self.of_rows or self.combine.format(self.of_row)} AS {self.name}"

    def merged(self) -> str:
        return f"{self.combine.format(self.name)} AS {self.name}"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A column computed from a row, in stages: a later stage may use the columns of earlier ones."""

    stage: int
    name: str
    sql: str


@dataclass(frozen=True, slots=True)
class FunctionState:
    """How one function is computed: `final` is over the merged state.

    With `bins`, a group has a state row for each combination of bins; folding makes one row of them, each bin column an array
    of parts (`<bin>p`).
    """

    columns: tuple[StateColumn, ...]
    final: str
    prepared: tuple[Prepared, ...] = ()
    bins: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BoxState:
    """All functions of a box together. A bin column is stored also where the statement takes it to be zero.

    With `counted`, the rows of a group are counted where the rest of the state can be subtracted: to know when none is left.
    """

    functions: tuple[FunctionState, ...]
    many_bins: bool
    counted: bool = False

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
        return (*zero, *self._kept())

    def stored(self) -> list[Column]:
        bins = [Column(b, "INT") for b in self.all_bins]
        return [*bins, *(Column(c.name, c.type) for c in self._kept())]

    def _kept(self) -> list[StateColumn]:
        columns = [c for f in self.functions for c in f.columns]
        if self.counted and all(c.combine in (_SUM, _FLAGS) for c in columns):
            columns.append(StateColumn(ROWS, "BIGINT", "1L", of_rows="count(*)"))
        return columns

    def subtracted(self) -> tuple[str, ...]:
        """The columns in which states can be subtracted; none, where some function's cannot."""
        kept = self._kept()
        return tuple(c.name for c in kept if c.combine == _SUM) if kept[-1].name == ROWS and not self.many_bins else ()

    def flags(self) -> tuple[str, ...]:
        return tuple(c.name for c in self._kept() if c.combine == _FLAGS)

    def stages(self) -> list[list[Prepared]]:
        prepared = [p for f in self.functions for p in f.prepared]
        return [[p for p in prepared if p.stage == stage] for stage in sorted({p.stage for p in prepared})]

    def of_row(self) -> list[str]:
        return [f"{c.of_row} AS {c.name}" for c in self.columns]

    def of_rows(self) -> list[str]:
        return [c.from_rows() for c in self.columns]

    def merge(self) -> list[str]:
        return [c.merged() for c in self.columns]

    def fold(self) -> list[str]:
        """Columns that turn several state rows of a group, one for each combination of bins, into one."""
        digits = {b + d for b in self.bins for d in exact.DIGITS}
        folded = [c.merged() for c in self.columns if c.name not in digits]
        for b in self.bins:
            fields = ", ".join(f"'{d}', {b}{d}" for d in exact.DIGITS)
            folded.append(f"collect_list(named_struct('b', {b}, {fields})) AS {b}p")
        return folded

    def finals(self) -> list[str]:
        return [f.final for f in self.functions]


def box_state(
    functions: Sequence[TypedAggregate],
    order: Sequence[Column],
    column: ColumnText,
    many_bins: bool,
    short: bool = False,
    counted: bool = False,
) -> BoxState:
    """`order` are the columns of the processing order, `column` gives the SQL of a field.

    `short` is for small jobs: a statement with fewer steps is analysed faster. Digits of floating sums are then computed each by
    itself, and where all arguments are plain columns no step gives them names of their own: `of_row` reads the source itself.

    Without `many_bins`, floating sums are compiled for values of bin 0, which nearly all are: the plan is far smaller. Another
    value then stops the job with `exact.MANY_BINS`.
    """
    many_bins = many_bins or any(f.function == "stddev" for f in functions)
    plain = all(isinstance(a, FieldRef) for f in functions for a in f.args)
    form = _Form(order, many_bins, short)
    named = not (short and plain and not many_bins)
    states = (_function(f, f"a{i}", column, form, named) for i, f in enumerate(functions))
    return BoxState(tuple(states), many_bins, counted)


@dataclass(frozen=True, slots=True)
class _Form:
    """How the functions of a box are written: see `box_state`."""

    order: Sequence[Column]
    many_bins: bool
    short: bool


def _function(function: TypedAggregate, name: str, column: ColumnText, form: _Form, named: bool) -> FunctionState:
    if not function.args:
        return FunctionState((StateColumn(f"{name}n", "BIGINT", "1L", of_rows="count(*)"),), f"{name}n")
    arg, sql = function.args[0].type, to_sql(function.args[0], column)
    if not named:
        return _computed(function, name, arg, sql, form)
    computed = _computed(function, name, arg, f"{name}x", form)
    return replace(computed, prepared=(Prepared(0, f"{name}x", sql), *computed.prepared))


def _computed(function: TypedAggregate, name: str, arg: FieldType, x: str, form: _Form) -> FunctionState:
    """The state over `x`, the text of the argument."""
    match function.function:
        case "count":
            return FunctionState((_count(name, x),), f"{name}n")
        case "min" | "max" as side:
            # 0.0 and -0.0 are equal, so which one a minimum would be depends on order: adding zero makes it 0.0.
            value = f"({x} + {'CAST(0 AS FLOAT)' if arg.kind is Kind.SINGLE else '0D'})" if arg.is_float else x
            return FunctionState((StateColumn(f"{name}m", arg.spark, value, side + "({})"),), f"{name}m")
        case "firstval" | "lastval" as which:
            side = "min" if which == "firstval" else "max"
            keys = ", ".join(f"'k{i}', {k.name}" for i, k in enumerate(form.order))
            kind = f"STRUCT<{', '.join(f'k{i}: {k.type}' for i, k in enumerate(form.order))}, v: {arg.spark}>"
            state = StateColumn(f"{name}v", kind, f"named_struct({keys}, 'v', {x})", side + "({})")
            return FunctionState((state,), f"{name}v.v")
        case "count_distinct":
            value = f"nanvl({x} + 0D, double('NaN'))" if arg.is_float else x
            kind = f"ARRAY<{'DOUBLE' if arg.is_float else arg.spark}>"
            together = "array_distinct(flatten(collect_list({})))"
            state = StateColumn(f"{name}s", kind, f"array_compact(array({value}))", together, f"collect_set({value})")
            return FunctionState((state,), f"CAST(size({name}s) AS BIGINT)")
        case "sum" | "avg" if not arg.is_float:
            return _exact_number(function, name, arg, x)
        case "sum" | "avg" | "stddev":
            return _floating(function.function, name, x, arg, form)
        case other:
            raise AssertionError(f"aggregate function {other}")


def _count(name: str, x: str) -> StateColumn:
    return StateColumn(f"{name}n", "BIGINT", f"IF({x} IS NULL, 0L, 1L)", of_rows=f"count({x})")


def _exact_number(function: TypedAggregate, name: str, arg: FieldType, x: str) -> FunctionState:
    """Sums of integers and decimals, which are exact by themselves."""
    n, count = f"{name}n", _count(name, x)
    if arg.kind is Kind.DECIMAL:
        assert arg.precision is not None and arg.scale is not None
        kind = function.type.spark
        if arg.precision <= wide_decimals.ROOMY:
            wide = f"DECIMAL(38,{arg.scale})"
            columns = [StateColumn(f"{name}t", wide, f"CAST({x} AS {wide})", f"CAST(sum({{}}) AS {wide})")]
            final = f"CAST({name}t AS {kind})"
        else:
            halves = zip((f"{name}h", f"{name}l"), wide_decimals.halves(x, arg.scale), strict=True)
            columns = [StateColumn(half, "DECIMAL(38,0)", text) for half, text in halves]
            final = wide_decimals.total(f"{name}h", f"{name}l", arg.scale, kind)
        mean = f" / {n}" if function.function == "avg" else ""
        return FunctionState((count, *columns), f"IF({n} = 0, NULL, {final}{mean})")
    whole = f"CAST({x} AS BIGINT)"
    if function.function == "sum":
        return FunctionState((count, StateColumn(f"{name}t", "BIGINT", whole)), f"IF({n} = 0, NULL, {name}t)")
    # A mean of longs must not wrap where a sum does: two halves are summed apart.
    high = StateColumn(f"{name}h", "BIGINT", f"shiftright({whole}, 32)")
    low = StateColumn(f"{name}l", "BIGINT", f"{whole} & 4294967295L")
    total_text = f"CAST(CAST({name}h AS DECIMAL(38,0)) * 4294967296 + {name}l AS DOUBLE)"
    return FunctionState((count, high, low), f"IF({n} = 0, NULL, {total_text} / {n})")


def _floating(function: str, name: str, given: str, arg: FieldType, form: _Form) -> FunctionState:
    x = given if arg.kind is Kind.DOUBLE else f"CAST({given} AS DOUBLE)"
    n, flags = f"{name}n", f"{name}f"
    flag = exact.special(x) if form.many_bins else exact.special_or_other_bin(x)
    terms = [(f"{name}b", exact.finite(x))]
    if function == "stddev":
        # x^2 = square + error without loss (Dekker's product): half as many digits would cancel away in a variance.
        square, error = f"{x} * {x}", exact.product_error(x, x)
        terms += [(f"{name}q", exact.finite(square)), (f"{name}r", exact.finite(error))]
        # 1 where only the square is too large, 4 where x itself is NaN or infinite.
        flag = f"CASE WHEN {x} IS NULL THEN 0 WHEN abs({x}) < double('Infinity') THEN IF({square} = double('Infinity'), 1, 0) ELSE 4 END"
    stages: list[Prepared] = []
    columns = [_count(name, given), StateColumn(flags, "INT", flag, _FLAGS)]
    for b, term in terms:
        value = exact.in_bin_zero_or_zero(x)
        if form.many_bins:
            stages += [Prepared(1, f"{b}x", term), Prepared(2, b, exact.bin_of(f"{b}x"))]
            stages.append(Prepared(3, f"{b}v", exact.shifted(f"{b}x", b)))
            value = f"{b}v"
        if form.short:
            digits = exact.digits(value)
        else:
            digits = [b + d for d in exact.DIGITS]
            for number, step in enumerate(exact.digit_steps(value, b), start=4):
                stages += [Prepared(number, *column) for column in step]
        columns += [StateColumn(b + d, "BIGINT", text) for d, text in zip(exact.DIGITS, digits, strict=True)]
    final = _floating_final(function, name, n, flags, form.many_bins)
    return FunctionState(tuple(columns), final, tuple(stages), tuple(b for b, _ in terms))


def _floating_final(function: str, name: str, n: str, flags: str, many_bins: bool) -> str:
    if function == "stddev":
        variance = exact.variance(f"{name}bp", f"{name}qp", f"{name}rp", n)
        return (
            f"CASE WHEN {n} < 2 THEN NULL WHEN {flags} = 0 THEN sqrt({variance}) "
            f"WHEN {flags} = 1 THEN double('Infinity') ELSE double('NaN') END"
        )
    total = exact.total(f"{name}bp") if many_bins else exact.total_of_bin_zero(f"{name}b")
    return f"IF({n} = 0, NULL, {exact.with_special(total, flags)}{f' / {n}' if function == 'avg' else ''})"
