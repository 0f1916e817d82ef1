"""One diagram and one set of rows through three evaluators: the reference, Spark in ranges of buckets, Spark in one batch."""

from __future__ import annotations

import math
import struct
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from auroral.engine.arrowrows import arrow_type, canonical, from_python
from auroral.engine.batch import SourceRows, run_batch
from auroral.engine.edgelog import STABLE, Segment
from auroral.engine.evaluate import Engine
from auroral.engine.relations import Edge
from auroral.model.checking import Checked
from auroral.reference.evaluate import evaluate
from auroral.reference.rows import Row

Sources = Mapping[str, Sequence[Row]]
Shown = list[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Rows (stime, column, ...) of each output in canonical order, and the ledger."""

    outputs: Mapping[str, Shown]
    ledger: Mapping[tuple[str, str], int]


def by_reference(checked: Checked, sources: Sources, until: int, functions: Mapping[str, Any] | None = None) -> Outcome:
    result = evaluate(checked, sources, until, functions=functions)
    outputs = {o.stream: [(r.stime, *r.values) for r in result.streams[o.stream]] for o in checked.diagram.outputs}
    return Outcome(outputs, dict(result.ledger))


def by_buckets(
    spark: Any, checked: Checked, sources: Sources, cuts: Sequence[int], folder: Path, **options: Any
) -> Outcome:
    """Range after range; `cuts` are the stimes at which one ends and the next begins, first and last included."""
    engine = Engine(spark, checked, folder, **options)
    outputs: dict[str, Shown] = {o.stream: [] for o in checked.diagram.outputs}
    ledger: Counter[tuple[str, str]] = Counter()
    for lo, hi in pairwise(cuts):
        for stream, rows in sources.items():
            within = [row for row in rows if lo <= row.stime < hi]
            table = source_table(engine.source(stream), within)
            engine.offer(stream, Segment(lo, hi, STABLE, len(within), table))
        evaluation = engine.evaluate(lo, hi)
        ledger.update(evaluation.counts)
        assert all(lo <= at < hi for *_, at in evaluation.left_out), "counted in the bucket of the row"
        for output in engine.small.outputs:
            rows = shown(canonical(evaluation.outputs[output.name].load(output)))
            assert all(lo <= row[0] < hi for row in rows), f"{output.name} of [{lo}, {hi}) has {rows}"
            outputs[output.name] += rows
    return Outcome(outputs, dict(ledger))


def by_batch(spark: Any, checked: Checked, sources: Sources, until: int, folder: Path, flush: bool = False) -> Outcome:
    edges = {e.name.removesuffix("@source"): e for e in Engine(spark, checked, folder / "unused").small.sources}
    given = {name: SourceRows([source_table(edges[name], rows)]) for name, rows in sources.items()}
    result = run_batch(spark, checked, given, until, flush, folder)
    return Outcome({name: shown(read_files(files)) for name, files in result.outputs.items()}, dict(result.counts))


def read_files(files: Sequence[Path]) -> pa.Table:
    return canonical(pa.concat_tables([pq.read_table(path) for path in files]))


def source_table(edge: Edge, rows: Sequence[Row]) -> pa.Table:
    columns = [[row.stime for row in rows], [row.order[0] for row in rows]]
    columns += [[row.values[i] for row in rows] for i in range(len(edge.columns) - 2)]
    arrays = [from_python(list(c), arrow_type(kind.type)) for c, kind in zip(columns, edge.columns, strict=True)]
    return pa.table(arrays, [c.name for c in edge.columns])


def shown(table: pa.Table) -> Shown:
    """Rows with timestamps as microseconds and dates as days, as the reference has them."""
    columns = []
    for column in table.columns:
        if pa.types.is_timestamp(column.type):
            column = column.cast(pa.int64())
        elif pa.types.is_date32(column.type):
            column = column.cast(pa.int32())
        columns.append(column.to_pylist())
    return list(zip(*columns, strict=True))


def bits(row: Sequence[Any]) -> tuple[Any, ...]:
    """Equal exactly where the rows are the same bit for bit, any NaN being NaN; can be sorted."""
    return tuple(map(_bits, row))


def _bits(value: Any) -> tuple[str, Any]:
    if value is None:
        return ("", "")
    if isinstance(value, float):
        return ("float", "nan" if math.isnan(value) else struct.pack(">d", value).hex())
    if isinstance(value, Decimal):
        return ("decimal", str(value))
    return (type(value).__name__, value)


def assert_same(expected: Outcome, found: Outcome, loose: Mapping[str, Sequence[int]] | None = None) -> None:
    """The same rows and ledger. `loose` are positions of columns that need only agree to nine digits, by output."""
    assert dict(found.ledger) == dict(expected.ledger), f"ledger: {dict(found.ledger)}, not {dict(expected.ledger)}"
    assert found.outputs.keys() == expected.outputs.keys()
    for name, rows in expected.outputs.items():
        _assert_same_rows(name, rows, found.outputs[name], (loose or {}).get(name, ()))


def _assert_same_rows(name: str, expected: Shown, found: Shown, loose: Sequence[int]) -> None:
    exact_expected, exact_found = (Counter(bits(_without(row, loose)) for row in rows) for rows in (expected, found))
    missing, extra = exact_expected - exact_found, exact_found - exact_expected
    assert not missing and not extra, (
        f"{name}: {len(expected)} rows expected, {len(found)} found\n"
        f"  missing {sorted(missing.elements())[:4]}\n  extra   {sorted(extra.elements())[:4]}"
    )
    if loose:
        for a, b in zip(_loose_order(expected, loose), _loose_order(found, loose), strict=True):
            for i in loose:
                assert close(a[i], b[i]), f"{name}: {a} against {b}"
    else:
        assert [bits(row) for row in found] == [bits(row) for row in expected], f"{name}: not in canonical order"


def _without(row: tuple[Any, ...], positions: Sequence[int]) -> tuple[Any, ...]:
    return tuple(value for i, value in enumerate(row) if i not in positions)


def _loose_order(rows: Shown, loose: Sequence[int]) -> Shown:
    return sorted(rows, key=lambda row: (bits(_without(row, loose)), [_number(row[i]) for i in loose]))


def _number(value: float | None) -> tuple[bool, bool, float]:
    return (value is not None, value is not None and math.isnan(value), 0.0 if value is None else value)


def close(a: float | None, b: float | None) -> bool:
    if a is None or b is None:
        return a is b
    return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-9)
