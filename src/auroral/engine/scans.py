"""Boxes that run as a scan in Python: folds, windows with user aggregates, and functions of DataFrames."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from auroral.engine.arrowrows import as_declared
from auroral.engine.expression import to_sql
from auroral.engine.failures import UserCodeFailed, described
from auroral.engine.folds import FirstAlignedFold, Fold, LandmarkFold, RunsFold, UserWindows, scan
from auroral.engine.relations import Edge, kept_name, stream_columns
from auroral.engine.sqltext import (
    STIME,
    Column,
    falls_below,
    floor_div,
    order_column,
    quoted,
    select,
    string_literal,
)
from auroral.model.boxes.aggregate import (
    TypedAggregateBox,
    TypedEventTimeAggregate,
    TypedFirstAligned,
    TypedLandmark,
    TypedRuns,
    TypedStimeAggregate,
)
from auroral.model.boxes.apply import TypedApply
from auroral.model.checking import CheckedBox
from auroral.model.errors import DiagramError, Problem
from auroral.model.types import FieldType, Kind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from auroral.engine.compile import Compiler

CALLS_A_PLAN = 16
"""How many calls of an `apply` function go into one plan."""

Statement = Callable[[str], "DataFrame"]
"""Runs SQL over the steps before this one, with :lo and :hi bound."""


class PythonBox(Protocol):
    def frames(self, statement: Statement, lo: int, hi: int) -> Mapping[str, DataFrame]:
        """The relations that the box gives, by name."""
        ...


@dataclass(frozen=True, slots=True)
class StateEdge(Edge):
    """A fold's state: the newest row of each key counts. Deltas are stored under the last microsecond of their range."""

    keys: tuple[str, ...] = ()


def python_box(checked: CheckedBox, compiler: Compiler) -> PythonBox | None:
    """The scan that evaluates the box, or None where SQL does."""
    typed = checked.typed
    match typed:
        case TypedApply():
            return ApplyBox(
                checked.box.name,
                tuple(compiler.with_past(s) for s in checked.box.inputs),
                tuple(compiler.stream(s).schema.stime_name for s in checked.box.inputs),
                checked.box.outputs[0],
                checked.box.outputs[0] in compiler.ordered,
                typed,
                compiler.checked.diagram.bucket,
            )
        case TypedLandmark() | TypedFirstAligned() | TypedRuns():
            return _fold_box(checked, typed, compiler)
        case TypedStimeAggregate() if any(f.user for f in typed.functions):
            return _user_windows(checked, typed, compiler)
        case TypedEventTimeAggregate() if any(f.user for f in typed.functions):
            raise DiagramError(
                [
                    Problem(
                        f"box {checked.box.name!r}: user aggregates on event-time windows do not run yet",
                        checked.box.place,
                        next_step="use built-in functions, or windows on stime",
                    )
                ]
            )
        case _:
            return None


def _rows(compiler: Compiler, source: str, typed: TypedAggregateBox) -> tuple[list[str], list[str]]:
    """Select items of a scan's input: group columns g0.., stime, order columns, arguments a0_0..; and their names."""
    schema = compiler.stream(source).schema

    def column(_: str | None, name: str) -> str:
        return STIME if name == "stime" and schema.get(name) is None else quoted(name)

    items = [f"{_as_group(quoted(name), schema[name])} AS g{i}" for i, name in enumerate(typed.group_by)]
    items += [STIME, *(c.name for c in compiler.order(source))]
    for i, function in enumerate(typed.functions):
        items += [f"{to_sql(arg, column)} AS a{i}_{j}" for j, arg in enumerate(function.args)]
    return items, [item.rsplit(" AS ", 1)[-1] for item in items]


def _as_group(text: str, kind: FieldType) -> str:
    """Group values as GROUP BY sees them: one zero, one NaN."""
    return f"nanvl({text} + 0D, double('NaN'))" if kind.is_float else text


@dataclass(frozen=True, slots=True)
class FoldBox:
    """scan(state at lo, rows of the range) -> results and the state of the keys touched, at hi."""

    name: str
    rows: str
    sort: tuple[str, ...]
    state: StateEdge | None
    state_nulls: tuple[str, ...]
    fold: Fold
    output: str
    output_columns: tuple[Column, ...]
    keys: tuple[str, ...]
    single: bool
    kept: str = "TRUE"
    """Which results leave the box: windows that a drop upstream took rows from do not."""

    def frames(self, statement: Statement, lo: int, hi: int) -> Mapping[str, DataFrame]:
        text = self.rows
        if self.state is not None:
            state = select([*self.keys, "0 AS __tag", "__state", *self.state_nulls], quoted(kept_name(self.state)))
            text = f"{state}\nUNION ALL\n{text}"
        frame = statement(text)
        frame = frame.coalesce(1) if self.single or not self.keys else frame.repartition(*self.keys)
        frame = frame.sortWithinPartitions(*self.sort)
        ddl = f"__kind INT, __row STRUCT<{_struct(self.output_columns)}>"
        if self.state is not None:
            ddl += f", __kept STRUCT<{_struct(self.state.columns)}>"
        scanned = frame.mapInArrow(
            scan(
                self.fold,
                len(self.keys),
                lo,
                hi,
                self.output_columns,
                self.state.columns if self.state else (),
            ),
            ddl,
        )
        frames = {self.output: scanned.where("__kind = 0").select("__row.*").where(self.kept)}
        if self.state is not None:
            frames[self.state.name] = scanned.where("__kind = 1").select("__kept.*")
        return frames


def _struct(given: Sequence[Column]) -> str:
    return ", ".join(f"{quoted(c.name)}: {c.type}" for c in given)


def _fold_box(checked: CheckedBox, typed: TypedLandmark | TypedFirstAligned | TypedRuns, compiler: Compiler) -> FoldBox:
    source, output = checked.box.inputs[0], checked.box.outputs[0]
    items, names = _rows(compiler, source, typed)
    schema = compiler.stream(source).schema
    groups = len(typed.group_by)
    per_key = not isinstance(typed, TypedRuns)
    key_names = tuple(names[:groups]) if per_key else ()
    key_columns = (
        tuple(
            Column(f"g{i}", "DOUBLE" if schema[n].is_float else schema[n].spark) for i, n in enumerate(typed.group_by)
        )
        if per_key
        else ()
    )
    where = f"WHERE {STIME} >= {typed.origin}L" if isinstance(typed, TypedLandmark) and typed.origin is not None else ""
    rest = items if not per_key else items[groups:]
    rest_names = names if not per_key else names[groups:]
    rows = select(
        [*(items[:groups] if per_key else []), "1 AS __tag", "CAST(NULL AS BINARY) AS __state", *rest],
        quoted(source),
        where,
    )
    state = None
    if not compiler.batch:
        state = StateEdge(
            f"{checked.box.name}@state",
            (Column(STIME, "BIGINT"), *key_columns, Column("__state", "BINARY")),
            keys=key_names,
        )
        compiler.keep(state)
    order = [c.name for c in compiler.order(source)]
    ordered = output in compiler.ordered
    fold: Fold
    match typed:
        case TypedLandmark():
            fold = LandmarkFold(checked.box.name, typed.functions, groups, len(order), ordered)
        case TypedRuns():
            fold = RunsFold(checked.box.name, typed.functions, groups, len(order), ordered)
        case TypedFirstAligned():
            assert typed.start is not None
            fold = FirstAlignedFold(
                checked.box.name,
                typed.functions,
                groups,
                len(order),
                ordered,
                size=typed.size,
                advance=typed.advance,
                named=typed.start,
            )
    return FoldBox(
        checked.box.name,
        rows,
        (*key_names, "__tag", STIME, *order),
        state,
        tuple(f"NULL AS {name}" for name in rest_names),
        fold,
        output,
        stream_columns(compiler.stream(output), ordered),
        key_names,
        compiler.single,
    )


def _user_windows(checked: CheckedBox, typed: TypedStimeAggregate, compiler: Compiler) -> FoldBox:
    """Windows of stime with user aggregates: rows of the horizon are read again and scanned group by group."""
    source, output = checked.box.inputs[0], checked.box.outputs[0]
    items, names = _rows(compiler, source, typed)
    groups = len(typed.group_by)
    rows = select(
        [*items[:groups], "1 AS __tag", "CAST(NULL AS BINARY) AS __state", *items[groups:]],
        compiler.with_past(source),
    )
    order = [c.name for c in compiler.order(source)]
    ordered = output in compiler.ordered
    fold = UserWindows(checked.box.name, typed.functions, groups, len(order), ordered, typed=typed)
    return FoldBox(
        checked.box.name,
        rows,
        (*names[:groups], "__tag", STIME, *order),
        None,
        (),
        fold,
        output,
        stream_columns(compiler.stream(output), ordered),
        tuple(names[:groups]),
        compiler.single,
        _kept_windows(typed),
    )


def _kept_windows(typed: TypedStimeAggregate) -> str:
    """A condition on results: the same as SQL aggregates have on theirs."""
    number = floor_div(f"{STIME} - {typed.size - 1}L - {typed.phase}L", typed.advance)
    groups = [quoted(name) for name in typed.group_by]
    tests = []
    for sample in typed.kept_windows:
        hashed = f"xxhash64({', '.join([string_literal(sample.box), *groups, floor_div(number, sample.batch)])})"
        tests.append(f"NOT {falls_below(hashed, sample.rate)}")
    return " AND ".join(tests) or "TRUE"


@dataclass(frozen=True, slots=True)
class ApplyBox:
    """The user's function over DataFrames: bucket by bucket, or once for the range where it is cut-free."""

    name: str
    relations: tuple[str, ...]
    stime_names: tuple[str, ...]
    output: str
    ordered: bool
    typed: TypedApply
    bucket: int

    def frames(self, statement: Statement, lo: int, hi: int) -> Mapping[str, DataFrame]:
        if self.typed.cut_free:
            return {self.output: self._call(statement, lo, hi)}
        starts = range(lo, hi, self.bucket)
        if len(starts) <= CALLS_A_PLAN:
            return {self.output: self._union(statement, starts)}
        # One plan of thousands of calls would outgrow Spark's optimiser: some calls at a time, their results put together.
        tables = [
            self._union(statement, starts[i : i + CALLS_A_PLAN]).toArrow() for i in range(0, len(starts), CALLS_A_PLAN)
        ]
        columns = stream_columns(self.typed.outputs[0], self.ordered)
        together = pa.concat_tables([as_declared(table, columns) for table in tables])
        return {self.output: statement("SELECT 1").sparkSession.createDataFrame(together)}

    def _union(self, statement: Statement, starts: Sequence[int]) -> Any:
        parts = [self._call(statement, start, start + self.bucket) for start in starts]
        return reduce(lambda a, b: a.unionAll(b), parts)

    def _result(self, inputs: Sequence[Any], lo: int, hi: int) -> Any:
        """What the user's function gives, once it is known to be what the box declares."""
        function = self.typed.function
        try:
            result = function(*inputs)
        except Exception as error:
            named = getattr(function, "__name__", repr(function))
            raise UserCodeFailed(described(f"box {self.name!r}: function {named!r}", error), lo, hi) from error
        schema = self.typed.outputs[0].schema
        allowed = f"a DataFrame of stime and {schema}"
        if not hasattr(result, "columns") or not hasattr(result, "sparkSession"):
            raise _refused(f"box {self.name!r}: its function gives a {type(result).__name__}", allowed)
        missing = [n for n in schema.names if n not in result.columns]
        if missing:
            have = ", ".join(result.columns)
            raise _refused(
                f"box {self.name!r}: its function gives the columns {have}, without {', '.join(missing)}", allowed
            )
        types = {f.name: f.dataType.simpleString() for f in result.schema.fields}
        wrong = [
            f"column {f.name!r} is a {types[f.name]}, not a {f.type}"
            for f in schema.fields
            if not _fits(types[f.name], f.type)
        ]
        if wrong:
            raise _refused(f"box {self.name!r}: of its function's result, {'; '.join(wrong)}", allowed)
        return result

    def _call(self, statement: Statement, lo: int, hi: int) -> Any:
        from pyspark.sql import functions as sf

        inputs = []
        for relation, name in zip(self.relations, self.stime_names, strict=True):
            frame = statement(f"SELECT * FROM {relation} WHERE {STIME} >= {lo - self.typed.past}L AND {STIME} < {hi}L")
            hidden = [c for c in frame.columns if c.startswith(order_column(0)[:3])]
            inputs.append(frame.drop(*hidden).withColumnRenamed(STIME, name))
        result = self._result(inputs, lo, hi)
        schema = self.typed.outputs[0].schema
        if "stime" in result.columns:
            stime = sf.col("stime").cast("bigint")
            result = result.where((stime >= lo) & (stime < hi))
        elif self.typed.cut_free:
            raise _refused(
                f"box {self.name!r} is cut_free, but its function gives no stime",
                "a DataFrame with a column stime, or a function that is not cut_free",
            )
        else:
            stime = sf.lit(hi - 1).cast("bigint")
        fields = [sf.col(quoted(f.name)).cast(f.type.spark).alias(f.name) for f in schema.fields]
        keys = (
            [sf.col(quoted(f.name)).cast(f.type.spark).alias(order_column(i)) for i, f in enumerate(schema.fields)]
            if self.ordered
            else []
        )
        result = result.select(stime.alias(STIME), *keys, *fields)
        # Not called at all where the horizon is empty: otherwise the rows would depend on where a run begins.
        some = inputs[0].select(sf.lit(1).alias("__some")).limit(1)
        for other in inputs[1:]:
            some = some.unionAll(other.select(sf.lit(1).alias("__some")).limit(1))
        return result.join(some, how="left_semi")


def _refused(what: str, allowed: str) -> DiagramError:
    return DiagramError([Problem(what, allowed=allowed)])


_WIDTHS = ("tinyint", "smallint", "int", "bigint")


def _fits(given: str, declared: FieldType) -> bool:
    """Whether a column's values are values of the declared type: no cast that could lose or change one."""
    wanted = declared.spark.lower()
    if given == wanted or given == "void":
        return True
    if declared.is_integer:
        return given in _WIDTHS and _WIDTHS.index(given) <= _WIDTHS.index(wanted)
    if declared.is_float:
        return given == "float" or given in (_WIDTHS if declared.kind is Kind.DOUBLE else _WIDTHS[:2])
    if declared.kind is Kind.TIMESTAMP:
        return given == "timestamp_ntz"
    return False
