"""A Spark session for a command. What the JVM itself says on standard error is kept aside: it is rarely about the user."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from auroral.engine.failures import UserCodeFailed
from auroral.engine.session import DEFAULT_MASTER, need_java, start_session
from auroral.model.errors import AuroralError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SAID: list[IO[bytes]] = []
"""Where the JVMs of this process write to; they do so until it ends."""
_TOLD_LINES, _TOLD_BYTES = 30, 2**16
_RAISED = re.compile(r"[A-Za-z_][\w.]*(Error|Exception|Interrupt): ")


class SparkFailed(AuroralError):
    """Spark does not start, or a job stopped with something that is not about a user's function."""


def must_have_java(master: str | None) -> None:
    """Say at once where Spark could not start for want of Java: before anything else is said or made."""
    if not (master or DEFAULT_MASTER).startswith("sc://"):
        need_java()


def session_for(master: str | None, *, debug: bool = False) -> SparkSession:
    """Start Spark, or say why it does not start. With `debug`, its own words are shown."""
    master = master or DEFAULT_MASTER
    partitions = _partitions(master)
    if debug:
        return start_session(master, partitions=partitions)
    # Without a name: whatever this process ends with, nothing is left of it.
    said = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115  a JVM writes there until the end
    _SAID.append(said)
    try:
        with _standard_error_to(said.fileno()):
            return start_session(master, partitions=partitions)
    except AuroralError:
        raise
    except Exception as error:
        first_line = next(iter(str(error).strip().splitlines()), "")
        raise SparkFailed(
            f"Spark does not start on {master}: {type(error).__name__}: {first_line}\n"
            f"    allowed: local[N], spark://host:port, sc://host:port\n"
            f"    next: read what Spark said, or try again with --debug, which shows all of it"
        ) from error


def last_said() -> list[str]:
    """The last lines that Spark said of itself. A JVM that still writes goes on undisturbed."""
    lines: list[str] = []
    for said in _SAID:
        size = os.fstat(said.fileno()).st_size
        begin = max(0, size - _TOLD_BYTES)
        lines += os.pread(said.fileno(), size - begin, begin).decode(errors="replace").splitlines()
    return lines[-_TOLD_LINES:]


def forget_said() -> None:
    for said in _SAID:
        said.close()
    _SAID.clear()


def _partitions(master: str) -> int | None:
    """On this machine, a task for each core: Spark's own 200 are for clusters, and take minutes here."""
    match = re.match(r"local(?:\[(\d+|\*))?", master)
    if match is None:
        return None
    return max(2, int(match[1]) if match[1] and match[1] != "*" else os.cpu_count() or 2)


@dataclass(frozen=True, slots=True)
class Resuming:
    """The commands that go on with a run: as it is, and with functions that were mended."""

    as_it_is: str
    mended: str


def failed_in_spark(what: str, error: BaseException, resume: Resuming | None = None) -> BaseException:
    """An error to raise for one that a job stopped with: mostly the user's own function, deep inside Spark."""
    if isinstance(error, UserCodeFailed) and resume is not None:
        failed = AuroralError(
            f"{error.what}, in the buckets of stime [{error.lo}, {error.hi})\n"
            "    allowed: a function that takes these rows; they are still in the log\n"
            f"    next: mend the function, then go on with: {resume.mended}; or, in a new run, "
            "filter out such rows before it, or reject them with on_error='reject' on a filter or map"
        )
        failed.__cause__ = error
        return failed
    if isinstance(error, AuroralError):
        return error
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # Of a worker's traceback, the last line says what happened.
    told = next((line for line in reversed(lines) if _RAISED.match(line)), lines[0] if lines else "")
    next_step = "again with --debug, which shows where"
    if resume is not None:
        next_step += f"; go on with: {resume.as_it_is}; or, where a function was mended: {resume.mended}"
    failed = SparkFailed(f"{what} stopped with {type(error).__name__}: {told}\n    next: {next_step}")
    failed.__cause__ = error
    return failed


@contextmanager
def _standard_error_to(descriptor: int) -> Iterator[None]:
    """File descriptor 2 leads elsewhere: a process started meanwhile keeps that for its whole life."""
    sys.stderr.flush()
    ours = os.dup(2)
    try:
        os.dup2(descriptor, 2)
        yield
    finally:
        os.dup2(ours, 2)
        os.close(ours)
