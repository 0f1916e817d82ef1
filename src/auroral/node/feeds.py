"""What brings rows to an input by itself: a file at a pace, standard input, or a Python iterable.

A feed is a function that pushes until it is through, the run stops, or something is wrong. What can be said
against a file as a whole is said when the feed is made, before any thread starts.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from auroral.edge.batches import Batch
from auroral.edge.files import InputSpec, InputSpecError, paced, parse_input_spec, read_batches, standard_input
from auroral.model.diagram import Input
from auroral.model.errors import nearest
from auroral.node.continuing import Continued, not_the_same
from auroral.node.filemarks import FileMark
from auroral.node.pushed import is_frame, pushed_table
from auroral.node.source import Source

Clock = Callable[[], int]
Given: TypeAlias = str | os.PathLike[str] | InputSpec | pa.Table | Iterable[Any]
BATCH_ROWS = 50_000
"""Rows read at once where no pace is set: each batch is one durable write."""
PUSHED = "pushed"
_CHECKED_ROWS = 100
_LONGEST_SLICE = 60.0
_LONG_WAIT = 3600.0
Run: TypeAlias = Callable[[threading.Event, Callable[[], None]], None]


def wall_clock() -> int:
    return time.time_ns() // 1000


@dataclass(frozen=True, slots=True)
class Feed:
    """`run(stop, woken)` pushes rows and calls `woken` after each time; `stop` ends it between two."""

    stream: str
    run: Run


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
    if isinstance(known, pa.Table | Sequence) or is_frame(known):
        return Feed(stream, _sequence_feed(source, known, clock))
    return Feed(stream, _iterator_feed(source, iter(known), clock))


def check_input(source: Input, given: Given) -> None:
    """Refuse a file that cannot be read or lacks a column, before anything is made for the run."""
    known = _understood(source.stream, given)
    if isinstance(known, InputSpec):
        if known.speed is not None:
            _stimes(source)
        if known.path == "-":
            standard_input()
        else:
            read_batches(known.path, source.schema, batch_rows=_CHECKED_ROWS, any_case=source.any_case)


def first_stime(source: Input | None, given: str) -> int | None:
    """The lowest time among the first rows of a file; None where rows have no time of their own, or there are none."""
    if source is None or source.stamp is None or source.stamp.field is None:
        return None
    spec = parse_input_spec(f"{source.stream}={given}")
    batches = read_batches(spec.path, source.schema, batch_rows=_CHECKED_ROWS, any_case=source.any_case)
    first = next((batch for batch in batches if batch.rows.num_rows), None)
    return None if first is None else int(_stimes(source)(first.rows).min())


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
        "    allowed: a path, 'PATH@SPEED', '-' for standard input, a pyarrow Table, a pandas DataFrame, or an iterable of rows\n"
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


def _file_feed(source: Source, spec: InputSpec, clock: Clock) -> Run:
    stime_of = _stimes(source.input) if spec.speed is not None else _no_stimes
    # A pipe goes on where it is, so its rows are numbered behind those that came before.
    offset = source.state.rows_read if spec.path == "-" and not _stdin_rewound() else 0
    batches = _new_batches(source, spec, offset)

    def run(stop: threading.Event, woken: Callable[[], None]) -> None:
        began = time.monotonic()
        for due in paced(batches, spec.speed, stime_of):
            if _stopped_before(began + due.at_us / 1e6, stop, source, offset + due.batch.first):
                return
            source.take(due.batch.rows, clock(), due.batch.refused, offset + due.batch.end)
            woken()
        if not source.state.ended:
            _remember(source, spec)
        source.end()
        woken()

    return run


def _new_batches(source: Source, spec: InputSpec, offset: int) -> Iterator[Batch]:
    """What a file has behind the rows that the log has; refused where these are not in it."""
    if source.state.ended:
        _note_ended(source, spec)
        return iter(())
    given = source.input
    read = partial(read_batches, spec.path, given.schema, batch_rows=BATCH_ROWS, any_case=given.any_case)
    if offset or (spec.path == "-" and not source.state.rows_read):
        return read()
    before, now = FileMark.load(source.log.folder), FileMark.of(Path(spec.path))
    if before is not None and now is not None and (change := before.change(now)) is not None:
        raise not_the_same(source.input.stream, spec.path, change)
    continued = Continued(source.log, spec.path)
    batches = continued.new_rows(read(skip=continued.begin))
    _remember(source, spec)
    return batches


def _remember(source: Source, spec: InputSpec) -> None:
    if spec.path != "-" and (mark := FileMark.of(Path(spec.path))) is not None:
        mark.save(source.log.folder)


def _note_ended(source: Source, spec: InputSpec) -> None:
    """Nothing is lost by it, but who gives another file, or a longer one, should know that it is not read."""
    before, now = FileMark.load(source.log.folder), FileMark.of(Path(spec.path))
    if now is not None and (before is None or (before.size, before.hash) != (now.size, now.hash)):
        source.notes.append(
            f"input {source.input.stream!r} had ended before this run was resumed: nothing new of {spec.path} is read; "
            "begin a new run for more rows"
        )


def _stopped_before(moment: float, stop: threading.Event, source: Source, row: int) -> bool:
    """Wait until `moment`; True where the run stops before. Far moments are waited for in slices, and told of."""
    note: str | None = None
    try:
        while (left := moment - time.monotonic()) > 0:
            if left > _LONG_WAIT and note is None:
                length = f"{left / 3600:,.0f} hours" if left < 2 * 86_400 else f"{left / 86_400:,.0f} days"
                note = (
                    f"input {source.input.stream!r}: row {row + 1} is due in {length} at this speed, by its time; "
                    "a higher speed, or none, brings it sooner"
                )
                source.notes.append(note)
            if stop.wait(min(left, _LONGEST_SLICE)):
                return True
        return stop.is_set()
    finally:
        if note is not None:
            source.notes.remove(note)


def _sequence_feed(source: Source, rows: Any, clock: Clock) -> Run:
    """Rows that are all there: those that an earlier process logged are passed over."""
    first, ended = source.state.rows_read, source.state.ended
    if not ended:
        _check_sequence(source, rows)

    def run(stop: threading.Event, woken: Callable[[], None]) -> None:
        for at in range(first, 0 if ended else len(rows), BATCH_ROWS):
            if stop.is_set():
                return
            source.take(pushed_table(source.input, _sliced(rows, at, at + BATCH_ROWS)), clock())
            woken()
        source.end()
        woken()

    return run


def _check_sequence(source: Source, rows: Any) -> None:
    continued = Continued(source.log, f"the {type(rows).__name__}")
    if len(rows) < continued.rows_read:
        raise continued.too_short(len(rows))
    if continued.rows_read:
        begin, end = continued.begin, continued.rows_read
        continued.behind(Batch(pushed_table(source.input, _sliced(rows, begin, end)), begin, end - begin))


def _sliced(rows: Any, begin: int, end: int) -> Any:
    if isinstance(rows, pa.Table):
        return rows.slice(begin, end - begin)
    return rows.iloc[begin:end] if is_frame(rows) else rows[begin:end]


def _iterator_feed(source: Source, items: Iterator[Any], clock: Clock) -> Run:
    """Rows as they come; each item is logged by itself, so that a source of many should give lists or tables.

    On resuming, an iterator must begin at the beginning again: the rows that the log has are passed over.
    """
    continued = Continued(source.log, "the iterator")

    def run(stop: threading.Event, woken: Callable[[], None]) -> None:
        at = 0
        for item in iter(()) if source.state.ended else items:
            if stop.is_set():
                return
            rows = pushed_table(source.input, [item] if isinstance(item, Mapping) else item)
            given = Batch(rows, at, rows.num_rows)
            at = given.end
            new = given if continued.all_passed else continued.behind(given)
            if new.read or not rows.num_rows:
                source.take(new.rows, clock())
                woken()
        if not source.state.ended and not continued.all_passed:
            raise continued.too_short(at)
        source.end()
        woken()

    return run


def _stdin_rewound() -> bool:
    """Whether standard input is a file, which begins anew with each process; a pipe goes on."""
    return stat.S_ISREG(os.fstat(standard_input().fileno()).st_mode)


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
