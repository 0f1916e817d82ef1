"""What brings rows to an input by itself: a file at a pace, standard input, or a Python iterable.

A feed is a function that pushes until it is through, the run stops, or something is wrong. What can be said
against a file as a whole is said when the feed is made, before any thread starts.
"""

from __future__ import annotations

import os
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from auroral.edge.batches import Batch
from auroral.edge.files import InputSpec, InputSpecError, paced, parse_input_spec, read_batches
from auroral.model.diagram import Input
from auroral.model.errors import nearest
from auroral.node.pushed import pushed_table
from auroral.node.source import Source

Clock = Callable[[], int]
Given: TypeAlias = str | os.PathLike[str] | InputSpec | pa.Table | Iterable[Any]
BATCH_ROWS = 50_000
"""Rows read at once where no pace is set: each batch is one durable write."""
PUSHED = "pushed"
_CHECKED_ROWS = 100


@dataclass(frozen=True, slots=True)
class Feed:
    """`run(stop, woken)` pushes rows and calls `woken` after each time; `stop` ends it between two."""

    stream: str
    run: Callable[[threading.Event, Callable[[], None]], None]


def described(given: Given) -> str:
    """How run.json names where an input's rows come from."""
    if isinstance(given, InputSpec):
        return given.path + (f"@{given.speed:g}x" if given.speed is not None else "")
    return os.fspath(given) if isinstance(given, str | os.PathLike) else PUSHED


def make_feed(source: Source, given: Given, clock: Clock) -> Feed:
    """A feed that goes on where the source's log ends."""
    stream = source.input.stream
    known = _understood(stream, given)
    if isinstance(known, InputSpec):
        return Feed(stream, _file_feed(source, known, clock))
    if isinstance(known, pa.Table | Sequence):
        return Feed(stream, _sequence_feed(source, known, clock))
    return Feed(stream, _iterator_feed(source, iter(known), clock))


def check_input(source: Input, given: Given) -> None:
    """Refuse a file that cannot be read or lacks a column, before anything is made for the run."""
    known = _understood(source.stream, given)
    if isinstance(known, InputSpec):
        if known.speed is not None:
            _stimes(source)
        if known.path != "-":
            read_batches(known.path, source.schema, batch_rows=_CHECKED_ROWS)


def _understood(stream: str, given: Given) -> InputSpec | pa.Table | Iterable[Any]:
    if isinstance(given, str):
        return parse_input_spec(f"{stream}={given}")
    if isinstance(given, os.PathLike):
        return InputSpec(stream, os.fspath(given))
    if isinstance(given, InputSpec | pa.Table) or (
        isinstance(given, Iterable) and not isinstance(given, Mapping | bytes)
    ):
        return given
    raise InputSpecError(
        f"input {stream!r} is a {type(given).__name__}\n"
        "    allowed: a path, 'PATH@SPEED', '-' for standard input, a pyarrow Table, or an iterable of rows\n"
        "    next: leave it out to push rows with app.push(...)"
    )


def refuse_unknown(kind: str, given: Iterable[str], known: Sequence[str]) -> None:
    for name in given:
        if name not in known:
            guess = nearest(name, known)
            raise InputSpecError(
                f"the diagram has no {kind} {name!r}\n    allowed: {', '.join(known) or 'none'}"
                + (f"\n    next: did you mean {guess!r}?" if guess else "")
            )


def _file_feed(source: Source, spec: InputSpec, clock: Clock) -> Callable[[threading.Event, Callable[[], None]], None]:
    schema = source.input.schema
    skip = source.state.rows_read if spec.path != "-" or _stdin_rewound() else 0
    # A pipe goes on where it is, so its rows are numbered behind those that came before.
    offset = source.state.rows_read - skip
    stime_of = _stimes(source.input) if spec.speed is not None else _no_stimes
    if source.state.ended:
        batches: Iterator[Batch] = iter(())
    else:
        batches = read_batches(spec.path, schema, skip=skip, batch_rows=BATCH_ROWS)

    def run(stop: threading.Event, woken: Callable[[], None]) -> None:
        began = time.monotonic()
        for due in paced(batches, spec.speed, stime_of):
            if stop.wait(max(0.0, began + due.at_us / 1e6 - time.monotonic())):
                return
            source.take(due.batch.rows, clock(), due.batch.refused, offset + due.batch.end)
            woken()
        source.end()
        woken()

    return run


def _sequence_feed(
    source: Source, rows: pa.Table | Sequence[Any], clock: Clock
) -> Callable[[threading.Event, Callable[[], None]], None]:
    """Rows that are all there: those that an earlier process logged are passed over."""
    first = 0 if source.state.ended else source.state.rows_read
    count = rows.num_rows if isinstance(rows, pa.Table) else len(rows)

    def run(stop: threading.Event, woken: Callable[[], None]) -> None:
        for at in range(first, 0 if source.state.ended else count, BATCH_ROWS):
            if stop.is_set():
                return
            part = rows.slice(at, BATCH_ROWS) if isinstance(rows, pa.Table) else rows[at : at + BATCH_ROWS]
            source.take(pushed_table(source.input, part), clock())
            woken()
        source.end()
        woken()

    return run


def _iterator_feed(
    source: Source, items: Iterator[Any], clock: Clock
) -> Callable[[threading.Event, Callable[[], None]], None]:
    """Rows as they come; each item is logged by itself, so that a source of many should give lists or tables."""

    def run(stop: threading.Event, woken: Callable[[], None]) -> None:
        for item in items:
            if stop.is_set():
                return
            rows = [item] if isinstance(item, Mapping) else item
            source.take(pushed_table(source.input, rows), clock())
            woken()
        source.end()
        woken()

    return run


def _stdin_rewound() -> bool:
    """Whether standard input is a file, which begins anew with each process; a pipe goes on."""
    return stat.S_ISREG(os.fstat(sys.stdin.fileno()).st_mode)


def _stimes(given: Input) -> Callable[[pa.Table], npt.NDArray[np.int64]]:
    stamp = given.stamp
    if stamp is None or stamp.field is None:
        raise InputSpecError(
            f"input {given.stream!r} is stamped by the clock, so that its rows have no pace of their own\n"
            "    next: leave the speed away, or name the field that carries the time with stime=..."
        )
    name, unit = stamp.field, stamp.unit

    def stimes(rows: pa.Table) -> npt.NDArray[np.int64]:
        column = rows.column(name).cast(pa.int64())
        known = pc.fill_null(pc.fill_null_backward(pc.fill_null_forward(column)), 0)
        return np.asarray(known.to_numpy() * np.int64(unit), dtype=np.int64)

    return stimes


def _no_stimes(rows: pa.Table) -> npt.NDArray[np.int64]:
    return np.zeros(rows.num_rows, dtype=np.int64)
