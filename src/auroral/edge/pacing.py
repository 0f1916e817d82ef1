"""What to read for a stream, and when each row of it is due. Only computation: whoever calls does the
waiting."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from auroral.edge.batches import Batch
from auroral.model.errors import AuroralError

# Rows due within one step are released together: more often than that nobody sees a difference.
STEP_US = 50_000
_SPEED = re.compile(r"^([+-]?(?:\d+(?:\.\d*)?|\.\d+))x?$")


class InputSpecError(AuroralError):
    """A `--input` or `--output` that cannot be understood."""


@dataclass(frozen=True, slots=True)
class InputSpec:
    """`speed` is how many seconds of stime pass in a second; None is as fast as possible."""

    stream: str
    path: str
    speed: float | None = None


def absolute(path: str) -> str:
    """As seen from anywhere: a run may be resumed, and its files judged, from another folder. `-` stays as it is."""
    return path if path == "-" else os.path.abspath(path)


def parse_input_spec(text: str) -> InputSpec:
    """Read `stream=PATH[@SPEED]`, SPEED being `10x`, `0.5` and the like. An `@` without a speed behind it
    is the path's."""
    stream, equals, path = text.partition("=")
    if not equals or not stream.strip() or not path:
        raise InputSpecError(
            f"{text!r} does not say what to read for which stream\n"
            "    allowed: stream=PATH or stream=PATH@SPEED\n"
            "    next: for example packets=packets.csv@10x, or packets=- for standard input"
        )
    before, at, speed = path.rpartition("@")
    if at and before and (match := _SPEED.match(speed)):
        if float(match[1]) <= 0:
            raise InputSpecError(
                f"{text!r}: a speed of {match[1]} never gets anywhere\n    allowed: a number above 0, as 1x or 0.5\n"
                "    next: leave the speed away to read as fast as possible"
            )
        return InputSpec(stream.strip(), before, float(match[1]))
    return InputSpec(stream.strip(), path)


@dataclass(frozen=True, slots=True)
class Due:
    """A batch and the moment at which it should be released, in microseconds since the replay began."""

    at_us: int
    batch: Batch


def paced(
    batches: Iterable[Batch],
    speed: float | None,
    stime_of: Callable[[pa.Table], npt.NDArray[np.int64]],
    step_us: int = STEP_US,
) -> Iterator[Due]:
    """Cut batches into small ones that are due at the pace of their stimes, the first row being due at 0.

    A row is never due before one that stands before it. Without a speed everything is due at once.
    """
    origin: int | None = None
    reached = 0.0
    for batch in batches:
        if speed is None or not batch.rows.num_rows:
            yield Due(int(reached), batch)
            continue
        stimes = np.asarray(stime_of(batch.rows), dtype=np.float64)
        if origin is None:
            origin = int(stimes[0])
        due = np.maximum(np.maximum.accumulate((stimes - origin) / speed), reached)
        steps = np.floor(due / step_us)
        ends = np.flatnonzero(np.diff(steps)) + 1
        starts = [0, *ends.tolist()]
        for start, part in zip(starts, batch.cut(ends.tolist()), strict=True):
            yield Due(int(due[start]), part)
        reached = float(due[-1])
