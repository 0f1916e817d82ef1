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

_REJECTED = "__rejected"
_WIDTHS = ("tinyint", "smallint", "int", "bigint")
_TIMESTAMPS = ("timestamp", "timestamp_ntz")


@dataclass(frozen=True, slots=True)
class ApplyBox:
    """The user's function over DataFrames: bucket by bucket, or once for the range where it is cut-free.

    Of each call, results with a stime in its buckets are given. Those with a stime within `past` before or behind them are
    left to the calls for those buckets, which see the same rows; all others are rejected, and counted.
    """

    name: str
    relations: tuple[str, ...]
    stime_names: tuple[str, ...]
    output: str
    ordered: bool
    typed: TypedApply
    bucket: int

    @property
    def rejected(self) -> str:
        """The relation that has a row for each result that no bucket gives, at the end of its call."""
        return f"{self.name}@rejected"

    def frames(self, statement: Statement, lo: int, hi: int) -> Mapping[str, DataFrame]:
        given = self._given(statement, lo, hi)
        return {
            self.output: given.where(f"NOT {_REJECTED}").drop(_REJECTED),
            self.rejected: given.where(_REJECTED).select(STIME),
        }

    def _given(self, statement: Statement, lo: int, hi: int) -> Any:
        if self.typed.cut_free:
            return self._call(statement, lo, hi)
        starts: Sequence[int] = range(lo, hi, self.bucket)
        if len(starts) <= CALLS_A_PLAN:
            return self._union(statement, starts)
        # One plan of thousands of calls would outgrow Spark's optimiser: some calls at a time, their results put together.
        starts = self._with_rows(statement, starts)
        tables = [
            self._union(statement, starts[i : i + CALLS_A_PLAN]).toArrow() for i in range(0, len(starts), CALLS_A_PLAN)
        ]
        columns = (*stream_columns(self.typed.outputs[0], self.ordered), Column(_REJECTED, "BOOLEAN"))
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

    def _union(self, statement: Statement, starts: Sequence[int]) -> Any:
        parts = [self._call(statement, start, start + self.bucket) for start in starts]
        return reduce(lambda a, b: a.unionAll(b), parts)

    def _call(self, statement: Statement, lo: int, hi: int) -> Any:
        from pyspark.sql import functions as sf

        inputs = []
        for relation, name in zip(self.relations, self.stime_names, strict=True):
            frame = statement(f"SELECT * FROM {relation} WHERE {STIME} >= {lo - self.typed.past}L AND {STIME} < {hi}L")
            hidden = [c for c in frame.columns if c.startswith(order_column(0)[:3])]
            inputs.append(frame.drop(*hidden).withColumnRenamed(STIME, name))
        result = self._placed(self._result(inputs, lo, hi), lo, hi)
        # Not called at all where the horizon is empty: otherwise the rows would depend on where a run begins.
        some = inputs[0].select(sf.lit(1).alias("__some")).limit(1)
        for other in inputs[1:]:
            some = some.unionAll(other.select(sf.lit(1).alias("__some")).limit(1))
        return result.join(some, how="left_semi")

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

    def _placed(self, result: Any, lo: int, hi: int) -> Any:
        """The result's fields with their stime and whether they are rejected, without what other buckets give."""
        from pyspark.sql import functions as sf

        stime, rejected, end = self._stime(result), sf.lit(False), sf.lit(hi - 1).cast("bigint")
        if stime is None:
            stime = end
        else:
            past = self.typed.past
            rejected = stime.isNull() | (stime < lo - past) | (stime >= hi + past)
            result = result.where(rejected | ((stime >= lo) & (stime < hi)))
            stime = sf.when(rejected, end).otherwise(stime)
        schema = self.typed.outputs[0].schema
        fields = [sf.col(quoted(f.name)).cast(f.type.spark) for f in schema.fields]
        keys = [field.alias(order_column(i)) for i, field in enumerate(fields)] if self.ordered else []
        named = [field.alias(f.name) for field, f in zip(fields, schema.fields, strict=True)]
        return result.select(stime.alias(STIME), *keys, *named, rejected.alias(_REJECTED))

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
