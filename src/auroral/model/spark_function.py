"""Ordinary functions of DataFrames, taken as steps of a diagram."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from auroral.model import arguments as given
from auroral.model.duration import Duration
from auroral.model.errors import Place
from auroral.model.schema import Schema, SchemaLike


@dataclass(frozen=True, slots=True)
class SparkFunction:
    """A function of DataFrames with what has to be known of it; it can still be called as it is."""

    function: Callable[..., Any] = field(compare=False)
    schema: Schema
    past: int = 0
    cut_free: bool = False

    def __call__(self, *frames: Any) -> Any:
        return self.function(*frames)


@given.whole_call
def from_spark(
    function: Callable[..., Any],
    *,
    schema: SchemaLike | None = None,
    horizon: Duration | None = None,
    cut_free: bool = False,
    place: Place | None = None,
) -> SparkFunction:
    """An ordinary function of DataFrames as a step: `stream.apply("top", from_spark(top, schema="..."))`.

    `schema` has the fields of its result, `horizon` is how much of the past it sees besides the bucket, rounded up to whole
    buckets. The result may have a `stime`, a long or a timestamp; rows whose stime is null or lies beyond the horizon are
    rejected and counted.
    `cut_free` promises that many buckets in one call give the same rows as bucket by bucket.
    """
    called: object = function
    name = getattr(called, "__name__", repr(called))
    place = place or given.user_place(f"function {name!r}")
    if not callable(called):
        given.refuse(
            f"{called!r} is not a function",
            place,
            "a function of DataFrames that returns a DataFrame",
            next_step="hand over the function itself, without calling it",
        )
    if schema is None:
        given.refuse(
            "the function's result has no schema",
            place,
            allowed="schema='name type, ...', a dict or a pyarrow schema",
            next_step="say the fields that it returns, without stime",
        )
    past = given.optional_duration("horizon", horizon, place) or 0
    return SparkFunction(function, given.schema_of(schema, place), past, bool(cut_free))
