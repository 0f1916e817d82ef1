"""A Spark session for a command. What the JVM itself says on standard error goes to a file: it is rarely about the user."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from auroral.engine.failures import UserCodeFailed
from auroral.engine.session import DEFAULT_MASTER, need_java, start_session
from auroral.model.errors import AuroralError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOGS: list[Path] = []
"""Where the JVMs of this process write to; they do so until it ends."""
_RAISED = re.compile(r"[A-Za-z_][\w.]*(Error|Exception|Interrupt): ")


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
    log = Path(tempfile.mkdtemp(prefix="auroral-")) / "spark.log"
    _LOGS.append(log)
    try:
        with _standard_error_to(log):
            return start_session(master, partitions=partitions)
    except AuroralError:
        raise
    except Exception as error:
        first_line = next(iter(str(error).strip().splitlines()), "")
        raise AuroralError(
            f"Spark does not start on {master}: {type(error).__name__}: {first_line}\n"
            f"    allowed: local[N], spark://host:port, sc://host:port\n"
            f"    next: read what Spark said, or try again with --debug"
        ) from error


def clear_logs(*, keep: bool) -> list[Path]:
    """Remove what Spark said of itself; with `keep`, only where it said nothing. Gives the files that are left.

    A JVM that still writes there goes on undisturbed.
    """
    left = [log for log in _LOGS if keep and log.exists() and log.stat().st_size]
    for log in _LOGS:
        if log not in left:
            shutil.rmtree(log.parent, ignore_errors=True)
    _LOGS.clear()
    return left


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
    failed = AuroralError(f"{what} stopped with {type(error).__name__}: {told}\n    next: {next_step}")
    failed.__cause__ = error
    return failed


@contextmanager
def _standard_error_to(path: Path) -> Iterator[None]:
    """File descriptor 2 leads to `path`: a process started meanwhile keeps it for its whole life."""
    sys.stderr.flush()
    ours = os.dup(2)
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.dup2(log, 2)
        yield
    finally:
        os.dup2(ours, 2)
        os.close(ours)
        os.close(log)
