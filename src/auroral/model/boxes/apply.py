"""Any deterministic batch function of DataFrames, as a box."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from auroral.model.boxes.base import BoxClass, BoxFacts, Report, TypedBox
from auroral.model.schema import Schema
from auroral.model.stream import StreamType


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedApply(TypedBox):
    """`function` is called with a DataFrame an input: rows of `past` and of the bucket, with `stime`.

    With `cut_free`, one call may cover many buckets; otherwise each bucket has a call of its own.
    """

    counted: ClassVar[bool] = True

    function: Callable[..., Any] = field(compare=False)
    cut_free: bool


@dataclass(frozen=True, slots=True)
class Apply:
    """`function(DataFrame, ...) -> DataFrame` over `past` microseconds before the bucket, and the bucket.

    `past` is rounded up to whole buckets: a result that is left to the bucket that it lies in must be made there again,
    so that the call there has to see all rows of the bucket that left it.

    The result has the fields of `schema` and may have `stime`, a long or a timestamp; without it, a result's stime is the
    bucket's end - 1 us. Where a field is called `stime`, the stime of rows is called `__stime`, on the way in and out.

    A result with a stime less than `past` behind the bucket is left to the bucket that it lies in; one before the bucket was
    given by an earlier one, if the rows before the bucket give it as well. All others are rejected and counted: those with no
    stime, with one too far behind, or with one before the bucket though rows of the bucket brought them.

    `cut_free` promises that the function of many buckets at once gives the same rows as bucket by bucket (each result has a
    stime and depends only on rows within `past` before it), which lets it run at batch speed.
    """

    function: Callable[..., Any] = field(compare=False)
    schema: Schema
    past: int = 0
    cut_free: bool = False

    type: ClassVar[str] = "apply"
    facts: ClassVar[BoxFacts] = BoxFacts(
        box_class="window",
        ports="N in (required), 1 out",
        closing_event="the bucket's end",
        result_stime="the function's; without one, the bucket's end - 1 us",
        order_key="all columns",
        state="rows of one horizon",
        horizon="as declared, in whole buckets",
        deterministic=True,
        convergent=True,
        repeatable=False,
        compiles_to="the function itself",
    )

    def resolve(self, inputs: Sequence[StreamType], outputs: int, report: Report) -> TypedBox | None:
        if not inputs or outputs != 1:
            report.add(
                f"apply has {len(inputs)} inputs and {outputs} outputs",
                allowed="at least 1 input and exactly 1 output",
                next_step="connect these",
            )
            return None
        if self.past < 0:
            report.add(
                f"the horizon is {self.past} us", allowed="0 or more", next_step="leave it out to see the bucket only"
            )
            return None
        function: object = self.function
        if not callable(function):
            report.add(
                f"{self.function!r} is not a function",
                allowed="a function of DataFrames that returns a DataFrame",
                next_step="hand over the function itself, without calling it",
            )
            return None
        order = tuple(f.type for f in self.schema.fields)
        return TypedApply(
            outputs=(StreamType(self.schema, (), order),),
            box_class=BoxClass.WINDOW,
            past=-(-self.past // report.bucket) * report.bucket,
            required=(True,) * len(inputs),
            function=self.function,
            cut_free=self.cut_free,
        )
