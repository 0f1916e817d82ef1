"""`auroral check --determinism`: a diagram over the same random rows in several ways, which must not show.

`combine` of user aggregates is compared with counting on. Each `apply` box is tried by itself, on rows of its inputs'
schemas, then the diagram as a whole with all of its streams looked at. It cannot find every case: a function may misbehave only on rows that were not drawn.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from auroral.commands.combining import combine_differences
from auroral.commands.randomrows import random_rows
from auroral.engine.arrowrows import as_declared, between, canonical
from auroral.engine.edgelog import STABLE, Segment, parquet_segment
from auroral.engine.evaluate import Engine, Limits
from auroral.model.boxes.apply import TypedApply
from auroral.model.checking import Checked, CheckedBox, check
from auroral.model.diagram import Diagram, Input, Output, Query
from auroral.model.errors import AuroralError, Problem

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BUCKETS = 4
ROWS = 80
PARTITIONS = 7


@dataclass(frozen=True, slots=True)
class Way:
    """One way to evaluate the same rows: how many buckets a job has, in how many partitions, in what order."""

    name: str
    cuts: tuple[int, ...]
    partitions: int = 1
    shuffled: bool = False


FIRST = Way("bucket by bucket", (1,) * BUCKETS)
WAYS = (
    Way("with the rows shuffled", FIRST.cuts, shuffled=True),
    Way("in other cuts", (1, 3)),
    Way(f"in one job with {PARTITIONS} partitions", (BUCKETS,), PARTITIONS, shuffled=True),
)

Streams = Mapping[str, list[str]]


def try_out(session: SparkSession, checked: Checked, seed: int) -> tuple[int, list[Problem]]:
    """How many trials were made, and which boxes gave different rows."""
    tried, found = combine_differences(checked, seed)
    for trial in (*_apply_boxes(checked), _all_streams(checked)):
        blamed = {problem.place for problem in found}
        found += [p for p in _differences(session, trial, seed) if p.place not in blamed or not p.place.line]
        tried += len(WAYS)
    return tried, found


def _apply_boxes(checked: Checked) -> Iterator[Checked]:
    """A diagram for each apply box, with its input streams as inputs."""
    for one in checked.boxes:
        if isinstance(one.typed, TypedApply):
            inputs = tuple(
                Input(s, checked.streams[s].schema, place=one.box.place) for s in dict.fromkeys(one.box.inputs)
            )
            queries = (Query(one.box.name, (one.box,)),)
            outputs = (Output(one.box.outputs[0]),)
            yield check(Diagram(one.box.name, inputs, outputs, queries, bucket=checked.diagram.bucket))


def _all_streams(checked: Checked) -> Checked:
    """The diagram with every box's streams as outputs, so that the first one that differs names its box."""
    streams = [stream for one in checked.boxes for stream in one.box.outputs]
    outputs = tuple(Output(s) for s in streams if checked.streams[s].schema.fields)
    return check(replace(checked.diagram, outputs=outputs))


def _differences(session: SparkSession, checked: Checked, seed: int) -> list[Problem]:
    expected = _evaluate(session, checked, FIRST, seed)
    found: dict[str, Problem] = {}
    for way in WAYS:
        given = _evaluate(session, checked, way, seed)
        different = [s for s in expected if given[s] != expected[s]]
        for one in _first_boxes(checked, different):
            found.setdefault(one.box.name, _problem(one, way, expected, given))
    return list(found.values())


def _first_boxes(checked: Checked, different: list[str]) -> Iterator[CheckedBox]:
    """The boxes whose results differ though what they read does not."""
    for one in checked.boxes:
        if any(s in different for s in one.box.outputs) and not any(s in different for s in one.box.inputs):
            yield one


def _problem(one: CheckedBox, way: Way, expected: Streams, given: Streams) -> Problem:
    stream = next(s for s in one.box.outputs if expected[s] != given[s])
    only = sorted(set(expected[stream]) ^ set(given[stream])) or given[stream]
    return Problem(
        f"box {one.box.name!r} gives other rows {way.name} than {FIRST.name}, such as {only[0]}",
        one.box.place,
        allowed="a function of the rows alone: no clock, no random source, no order of rows, no partitions",
        next_step="sort by all columns before taking a first row, and take times and numbers from the rows",
    )


def _evaluate(session: SparkSession, checked: Checked, way: Way, seed: int) -> Streams:
    """All output rows as text, in canonical order; as text, NaN equals itself and -0.0 is not 0.0."""
    many = way.partitions > 1
    settings = _many(way.partitions) if many else {}
    try:
        with tempfile.TemporaryDirectory(prefix="auroral-determinism-", ignore_cleanup_errors=True) as folder:
            engine = Engine(session, checked, Path(folder), Limits(-1, -1) if many else Limits(), settings)
            return _rows(engine, way, Random(seed))
    except AuroralError:
        raise
    except Exception as error:
        first_line = str(error).strip().splitlines()[0] if str(error).strip() else ""
        names = ", ".join(repr(one.box.name) for one in checked.boxes)
        raise AuroralError(
            f"trying out {names} stops with {type(error).__name__}: {first_line}\n"
            "    next: see that the function takes nulls, NaN and empty strings; --debug shows where it stopped"
        ) from error


def _rows(engine: Engine, way: Way, random: Random) -> Streams:
    bucket = engine.bucket
    start = 1_700_000_000_000_000 // bucket * bucket
    sources = {
        given.stream: random_rows(
            engine.source(given.stream),
            engine.checked.streams[given.stream],
            ROWS,
            start,
            start + BUCKETS * bucket,
            random,
        )
        for given in engine.checked.diagram.inputs
    }
    found: dict[str, list[pa.Table]] = {output.stream: [] for output in engine.checked.diagram.outputs}
    lo = start
    for buckets in way.cuts:
        hi = lo + buckets * bucket
        for stream, rows in sources.items():
            engine.offer(stream, _segment(engine, between(rows, lo, hi), lo, hi, way, random))
        evaluation = engine.evaluate(lo, hi)
        for stream, segment in evaluation.outputs.items():
            edge = next(edge for edge in engine.small.outputs if edge.name == stream)
            found[stream].append(as_declared(segment.load(edge), edge.columns))
        lo = hi
    return {stream: _texts(canonical(pa.concat_tables(tables))) for stream, tables in found.items()}


def _segment(engine: Engine, rows: pa.Table, lo: int, hi: int, way: Way, random: Random) -> Segment:
    if way.shuffled:
        order = list(range(rows.num_rows))
        random.shuffle(order)
        rows = rows.take(order)
    if way.partitions == 1:
        return Segment(lo, hi, STABLE, rows.num_rows, rows)
    engine.folder.mkdir(parents=True, exist_ok=True)
    files = []
    for part in range(way.partitions):
        chosen = rows.take(list(range(part, rows.num_rows, way.partitions)))
        files.append(engine.folder / f"rows-{random.getrandbits(64):x}.parquet")
        pq.write_table(chosen, files[-1])
    return parquet_segment(lo, hi, STABLE, files)


def _many(partitions: int) -> dict[str, str]:
    """Settings that really give that many partitions, also to few and small files."""
    names = (
        "spark.sql.shuffle.partitions",
        "spark.sql.leafNodeDefaultParallelism",
        "spark.sql.files.minPartitionNum",
    )
    return {name: str(partitions) for name in names}


def _texts(rows: pa.Table) -> list[str]:
    return [repr(tuple(row.values())) for row in rows.to_pylist()]
