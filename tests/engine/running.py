"""Directed vectors on Spark: many boxes side by side in one diagram, so that all of them share a few jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from auroral.engine.evaluate import Limits
from auroral.model.boxes.aggregate import TypedStimeAggregate
from auroral.model.checking import Checked, check
from auroral.model.diagram import Box, Diagram, Input, Output, Query, Stamp
from auroral.model.schema import schema
from auroral.reference.rows import Row
from engine.evaluators import Outcome, assert_same, by_batch, by_buckets, by_reference


def rows(*given: tuple[Any, ...]) -> list[Row]:
    """(stime, column, ...) tuples as a source's rows, in the order of arrival."""
    return [Row(stime, tuple(values), (seq,)) for seq, (stime, *values) in enumerate(given)]


def checked_diagram(
    inputs: Mapping[str, str],
    boxes: Sequence[Box],
    outputs: Sequence[str] | None = None,
    bucket: int = 10,
    stamps: Mapping[str, Stamp] | None = None,
) -> Checked:
    """`inputs` are DDL by stream; without `outputs`, every stream that a box makes is one."""
    made = outputs if outputs is not None else [stream for box in boxes for stream in box.outputs]
    diagram = Diagram(
        "test",
        inputs=tuple(Input(name, schema(ddl), (stamps or {}).get(name)) for name, ddl in inputs.items()),
        outputs=tuple(Output(name) for name in made),
        queries=(Query("q", tuple(boxes)),),
        bucket=bucket,
    )
    return check(diagram)


def run_all(
    spark: Any,
    folder: Path,
    checked: Checked,
    sources: Mapping[str, Sequence[Row]],
    until: int,
    functions: Mapping[str, Any] | None = None,
    first: int | None = None,
    large: bool = True,
) -> Outcome:
    """The outcome, once bucketed Spark (cut in two ways), batch Spark and the reference have agreed on it.

    Without `large`, buckets are computed in small jobs alone: for what another test has on the large path.
    """
    bucket = checked.diagram.bucket
    lowest = min((row.stime for given in sources.values() for row in given), default=0)
    begin = first if first is not None else lowest // bucket * bucket
    ends = range(begin, until + 1, bucket)
    assert ends[-1] == until
    middle = ends[len(ends) // 2]
    expected = by_reference(checked, sources, until, functions)
    found = by_buckets(spark, checked, sources, [begin, middle, until], folder / "small")
    assert_same(expected, found)
    if large:
        whole = by_buckets(spark, checked, sources, [begin, until], folder / "large", limits=Limits(0, 0))
        assert_same(expected, whole)
    if any(isinstance(box.typed, TypedStimeAggregate) for box in checked.boxes):
        # Other boxes have the same form there as in small jobs.
        assert_same(
            expected, by_buckets(spark, checked, sources, [begin, middle, until], folder / "middle", limits=Limits(0))
        )
    assert_same(expected, by_batch(spark, checked, sources, until, folder / "batch"))
    return expected
