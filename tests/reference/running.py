"""One box, or a few, run by the reference on rows written as tuples."""

from collections.abc import Mapping, Sequence
from typing import Any

from auroral.model.boxes.base import BoxSpec
from auroral.model.checking import check
from auroral.model.diagram import Box, Diagram, Input, Output, Query, Stamp
from auroral.model.schema import schema
from auroral.reference.apply import Applied
from auroral.reference.evaluate import Result, evaluate
from auroral.reference.rows import Row

FOREVER = 10**15


def rows(*given: tuple[Any, ...]) -> list[Row]:
    """(stime, column, ...) tuples as a source's rows, in the order of arrival."""
    return [Row(stime, tuple(values), (seq,)) for seq, (stime, *values) in enumerate(given)]


def run(
    inputs: Mapping[str, tuple[str, Sequence[Row]]],
    boxes: Sequence[Box],
    outputs: Sequence[str],
    until: int = FOREVER,
    flush: bool = False,
    stamps: Mapping[str, Stamp] | None = None,
    functions: Mapping[str, Applied] | None = None,
    bucket: int = 10,
) -> Result:
    """`inputs` are schema and rows of each stream."""
    diagram = Diagram(
        "test",
        inputs=tuple(Input(name, schema(ddl), (stamps or {}).get(name)) for name, (ddl, _) in inputs.items()),
        outputs=tuple(Output(name) for name in outputs),
        queries=(Query("q", tuple(boxes)),),
        bucket=bucket,
    )
    sources = {name: given for name, (_, given) in inputs.items()}
    return evaluate(check(diagram), sources, until, flush, functions)


def run_box(
    spec: BoxSpec,
    ddl: str,
    given: Sequence[Row],
    until: int = FOREVER,
    flush: bool = False,
    outputs: int = 1,
    stamp: Stamp | None = None,
) -> Result:
    """One box `b` on stream `s`, with outputs `o0`, `o1`, ..."""
    names = tuple(f"o{i}" for i in range(outputs))
    stamps = {"s": stamp} if stamp else {}
    return run({"s": (ddl, given)}, [Box("b", spec, ("s",), names)], names, until, flush, stamps)


def shown(result: Result, stream: str = "o0") -> list[tuple[Any, ...]]:
    """Rows of a stream as (stime, column, ...)."""
    return [(row.stime, *row.values) for row in result.streams[stream]]
