"""Functions of DataFrames as boxes: what they are given, and what is taken of their results."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from auroral.engine.arrowrows import as_declared
from auroral.engine.failures import UserCodeFailed, described
from auroral.engine.relations import stream_columns
from auroral.engine.sqltext import STIME, Column, floor_div, order_column, quoted
from auroral.model.boxes.apply import TypedApply
from auroral.model.errors import DiagramError, Problem
from auroral.model.types import FieldType, Kind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CALLS_A_PLAN = 16
"""How many calls of an `apply` function go into one plan."""

Statement = Callable[[str], "DataFrame"]
"""Runs SQL over the steps before this one, with the range bound."""

_OUTSIDE, _CLAIMED = "__outside", "__claimed"
_WIDTHS = ("tinyint", "smallint", "int", "bigint")
_TIMESTAMPS = ("timestamp", "timestamp_ntz")


@dataclass(frozen=True, slots=True)
class ApplyBox:
    """The user's function over DataFrames: bucket by bucket, or once for the range where it is cut-free.

    Of each call, results with a stime in its buckets are given. Those with a stime up to `past` behind them are left to the
    calls for the buckets that they lie in. No call can give the others any more: they have no stime, or one before the call's
    buckets, or one too far behind them. Of these, the function gives again what it already gave from the earlier rows that it
    sees; those that only the rows of the call's own buckets brought are rejected, and counted.
    """

    name: str
    relations: tuple[str, ...]
    stime_names: tuple[str, ...]
    output: str
    ordered: bool
    typed: TypedApply
    bucket: int
    counts_from: int | None
    """Where an oracle over a part of the input begins to count."""

    @property
    def rejected(self) -> str:
        """The relation that has a row for each result that is rejected, at the end of its call."""
        return f"{self.name}@rejected"

    def frames(self, statement: Statement, lo: int, hi: int) -> Mapping[str, DataFrame]:
        given = self._given(statement, lo, hi)
        outside = given.where(f"{_OUTSIDE} <> 0").groupBy(STIME, _CLAIMED).agg({_OUTSIDE: "sum"}).toDF(STIME, "at", "n")
        return {
            self.output: given.where(f"{_OUTSIDE} = 0").drop(_OUTSIDE, _CLAIMED),
            self.rejected: outside.where("n > 0").selectExpr(STIME, "explode(sequence(1L, n)) AS each").select(STIME),
        }

    def _given(self, statement: Statement, lo: int, hi: int) -> Any:
        """Results in their buckets, with 0 in column __outside, and those that no call gives.

        Of the latter, __outside is 1 for what the call has and -1 for what the earlier rows alone have; __claimed is the
        stime that the function gives, __stime the call's end.
        """
        # Cut out of one frame for all calls: to analyse the steps before this one anew for each would take most of the time.
        inputs = [statement(f"SELECT * FROM {relation}") for relation in self.relations]
        if self.typed.cut_free:
            return self._call(inputs, lo, hi)
        starts: Sequence[int] = range(lo, hi, self.bucket)
        if len(starts) <= CALLS_A_PLAN:
            return self._union(inputs, starts)
        # One plan of thousands of calls would outgrow Spark's optimiser: some calls at a time, their results put together.
        starts = self._with_rows(statement, starts)
        tables = [
            self._union(inputs, starts[i : i + CALLS_A_PLAN]).toArrow() for i in range(0, len(starts), CALLS_A_PLAN)
        ]
        columns = (
            *stream_columns(self.typed.outputs[0], self.ordered),
            Column(_CLAIMED, "BIGINT"),
            Column(_OUTSIDE, "INT"),
        )
        together = pa.concat_tables([as_declared(table, columns) for table in tables])
        return statement("SELECT 1").sparkSession.createDataFrame(together)

    def _with_rows(self, statement: Statement, starts: Sequence[int]) -> Sequence[int]:
        """The buckets that have a row in their horizon; one of them at least, for the columns of its result."""
        number = floor_div(STIME, self.bucket)
        each = " UNION ".join(f"SELECT {number} AS bucket FROM {relation}" for relation in self.relations)
        filled = sorted(statement(each).toArrow().column("bucket").to_pylist())

        def has_rows(start: int) -> bool:
            at = bisect_left(filled, (start - self.typed.past) // self.bucket)
            return at < len(filled) and filled[at] <= start // self.bucket

        return [start for start in starts if has_rows(start)] or starts[:1]

    def _union(self, inputs: Sequence[Any], starts: Sequence[int]) -> Any:
        parts = [self._call(inputs, start, start + self.bucket) for start in starts]
        return reduce(lambda a, b: a.unionAll(b), parts)

    def _call(self, inputs: Sequence[Any], lo: int, hi: int) -> Any:
        from pyspark.sql import functions as sf

        result, end = self._seen(inputs, lo, hi, hi), sf.lit(hi - 1)
        stime = self._stime(result)
        if stime is None:
            return self._columns(result, end, sf.lit(None), sf.lit(0))
        past = self.typed.past
        outside = stime.isNull() | (stime < lo) | (stime >= hi + past)
        inside = ~outside & (stime < hi)
        given = self._columns(
            result.where(outside | inside),
            sf.when(outside, end).otherwise(stime),
            stime,
            sf.when(outside, 1).otherwise(0),
        )
        counted = lo if self.counts_from is None else min(max(lo, self.counts_from), hi)
        if counted == lo - past:
            return given
        # The same stimes are what repetitions have in common: values of earlier rows may well change with newer ones.
        before = self._seen(inputs, lo, hi, counted).where(outside)
        return given.unionAll(self._columns(before, end, stime, sf.lit(-1)))

    def _seen(self, inputs: Sequence[Any], lo: int, hi: int, end: int) -> Any:
        """What the function gives for [lo, hi), of the rows before `end`."""
        from pyspark.sql import functions as sf

        seen = []
        for frame, name in zip(inputs, self.stime_names, strict=True):
            hidden = [c for c in frame.columns if c.startswith(order_column(0)[:3])]
            rows = frame.where(f"{STIME} >= {lo - self.typed.past}L AND {STIME} < {end}L")
            seen.append(rows.drop(*hidden).withColumnRenamed(STIME, name))
        # Not called at all where the horizon is empty: otherwise the rows would depend on where a run begins.
        some = [rows.select(sf.lit(1).alias("__some")).limit(1) for rows in seen]
        return self._result(seen, lo, hi).join(reduce(lambda a, b: a.unionAll(b), some), how="left_semi")

    def _result(self, inputs: Sequence[Any], lo: int, hi: int) -> Any:
        """What the user's function gives, once it is known to be what the box declares."""
        function = self.typed.function
        try:
            result = function(*inputs)
        except (Exception, SystemExit) as error:
            named = getattr(function, "__name__", repr(function))
            raise UserCodeFailed(described(f"box {self.name!r}: function {named!r}", error), lo, hi) from error
        schema = self.typed.outputs[0].schema
        allowed = f"a DataFrame of stime and {schema}"
        if not hasattr(result, "columns") or not hasattr(result, "sparkSession"):
            raise _refused(f"box {self.name!r}: its function gives a {type(result).__name__}", allowed)
        counted = Counter(result.columns)
        have = ", ".join(result.columns)
        missing = [n for n in schema.names if not counted[n]]
        if missing:
            raise _refused(
                f"box {self.name!r}: its function gives the columns {have}, without {', '.join(missing)}", allowed
            )
        twice = [n for n in (*schema.names, "stime", STIME) if counted[n] > 1]
        if twice:
            raise _refused(f"box {self.name!r}: its function gives the columns {have}, {twice[0]} twice", allowed)
        types = {f.name: f.dataType.simpleString() for f in result.schema.fields}
        wrong = [
            f"column {f.name!r} is a {types[f.name]}, not a {f.type}"
            for f in schema.fields
            if not _fits(types[f.name], f.type)
        ]
        if wrong:
            raise _refused(f"box {self.name!r}: of its function's result, {'; '.join(wrong)}", allowed)
        return result

    def _columns(self, result: Any, stime: Any, claimed: Any, outside: Any) -> Any:
        """The result's fields as declared, behind a stime, and with where it claims to lie."""
        from pyspark.sql import functions as sf

        schema = self.typed.outputs[0].schema
        fields = [sf.col(quoted(f.name)).cast(f.type.spark) for f in schema.fields]
        keys = [field.alias(order_column(i)) for i, field in enumerate(fields)] if self.ordered else []
        named = [field.alias(f.name) for field, f in zip(fields, schema.fields, strict=True)]
        whose = [claimed.cast("bigint").alias(_CLAIMED), outside.cast("int").alias(_OUTSIDE)]
        return result.select(stime.cast("bigint").alias(STIME), *keys, *named, *whose)

    def _stime(self, result: Any) -> Any:
        """The result's stime in microseconds; None where it has none.

        It is called as in the inputs: stime, or __stime where a field is called stime.
        """
        from pyspark.sql import functions as sf

        name = STIME if STIME in result.columns else self.typed.outputs[0].schema.stime_name
        if name not in result.columns:
            if self.typed.cut_free:
                raise _refused(
                    f"box {self.name!r} is cut_free, but its function gives no {name}",
                    f"a DataFrame with a column {name}, or a function that is not cut_free",
                )
            return None
        given = dict(result.dtypes)[name]
        if given in _TIMESTAMPS:
            return sf.unix_micros(sf.col(name).cast("timestamp"))
        if given not in (*_WIDTHS, "void"):
            raise _refused(
                f"box {self.name!r}: of its function's result, column {name!r} is a {given}",
                "a long, in microseconds since 1970, or a timestamp; or no such column, for the bucket's end - 1 us",
                f"if {name!r} is a field of your own, say so in the box's schema; otherwise rename or drop it",
            )
        return sf.col(name).cast("bigint")


def _refused(what: str, allowed: str, next_step: str | None = None) -> DiagramError:
    return DiagramError([Problem(what, allowed=allowed, next_step=next_step)])


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
