"""User aggregates and functions of DataFrames for random diagrams, the latter with what stands in for them in the reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from auroral.model.aggregates import aggregate_function
from auroral.model.expression import register_function
from auroral.reference.apply import Stime
from auroral.reference.rows import Row


def register_aggregates() -> None:
    """User aggregates. Nested functions: Spark's workers get them by value and need no module of the tests."""

    def chain(state: str, text: str | None, number: float | None) -> str:
        return f"{state}<{text}:{number}"

    def append(state: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
        return (*state, value)

    aggregate_function(
        "chained", init=lambda: "", incr=chain, final=lambda state: state[-40:], returns="string"
    )  # order matters, and parts cannot be combined
    aggregate_function(
        "listed",
        init=lambda: (),
        incr=append,
        final=lambda state: "|".join(map(str, state)),
        returns="string",
        combine=lambda earlier, later: earlier + later,
    )


def register_functions() -> None:
    """Functions that fail for some rows, nested for the same reason."""

    def picky(x: float | None) -> float | None:
        if x is not None and not x >= 0:
            raise ValueError(f"#{x} is below zero")
        return x

    def letter(text: str | None) -> str | None:
        if text is not None and len(text) != 1:
            raise LookupError(text)
        return text

    register_function("picky", picky, "double", "double")
    register_function("letter", letter, "string", "string")


def per_key_frame(frame: Any) -> Any:
    """Rows of each key in the horizon, at the bucket's end."""
    from pyspark.sql import functions as sf

    return frame.groupBy("k").agg(sf.count("*").alias("n"))


def per_key_rows(place: int) -> Callable[..., list[tuple[None, tuple[Any, ...]]]]:
    def function(rows: Sequence[Row]) -> list[tuple[None, tuple[Any, ...]]]:
        keys = [row.values[place] for row in rows]
        return [(None, (key, keys.count(key))) for key in dict.fromkeys(keys)]

    return function


def moved_frame(by: int) -> Callable[[Any], Any]:
    """Rows with another stime, which often no bucket can give; those of key b with none."""
    return lambda frame: frame.selectExpr(f"IF(k = 'b', NULL, stime + {by}) AS stime", "k", "1L AS n")


def moved_rows(place: int, by: int) -> Callable[..., list[tuple[int | Stime, tuple[Any, ...]]]]:
    def function(rows: Sequence[Row]) -> list[tuple[int | Stime, tuple[Any, ...]]]:
        keys = [row.values[place] for row in rows]
        return [(Stime.NULL if key == "b" else row.stime + by, (key, 1)) for key, row in zip(keys, rows, strict=True)]

    return function


def recent_frame(past: int) -> Callable[[Any], Any]:
    """For each row, how many of its key came within `past` before it: the same however buckets are put together."""

    def function(frame: Any) -> Any:
        from pyspark.sql import Window
        from pyspark.sql import functions as sf

        recent = Window.partitionBy("k").orderBy("stime").rangeBetween(-past, 0)
        return frame.select("stime", "k", sf.count("*").over(recent).alias("n"))

    return function


def recent_rows(place: int, past: int) -> Callable[..., list[tuple[int, tuple[Any, ...]]]]:
    def function(rows: Sequence[Row]) -> list[tuple[int, tuple[Any, ...]]]:
        def recent(row: Row) -> int:
            return sum(
                other.values[place] == row.values[place] and row.stime - past <= other.stime <= row.stime
                for other in rows
            )

        return [(row.stime, (row.values[place], recent(row))) for row in rows]

    return function
