"""What a run takes of its machine, to see whether that stays as it is over days: the driver's memory, and the JVM's."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from auroral.engine.session import is_remote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Footprint:
    """Bytes of resident memory and of the JVM's metaspace, and the JVM's threads.

    None where it cannot be known: in a JVM that is elsewhere, as with Spark Connect, and on systems without /proc.
    """

    driver_rss: int | None = None
    jvm_rss: int | None = None
    jvm_threads: int | None = None
    jvm_metaspace: int | None = None


def footprint_of(session: SparkSession) -> Callable[[], Footprint]:
    """A function that measures now. It may be called from any thread, also after the session has ended."""
    if is_remote(session):
        return lambda: Footprint(resident("self"))
    jvm: Any = session.sparkContext._jvm
    process = str(jvm.java.lang.ProcessHandle.current().pid())
    # Spark has these for its own metrics. Java's own beans are in modules that do not let py4j in.
    metrics = jvm.com.codahale.metrics.jvm
    metaspace = metrics.MemoryUsageGaugeSet().getMetrics()["pools.Metaspace.used"]
    threads = metrics.ThreadStatesGaugeSet().getMetrics()["count"]
    return lambda: Footprint(resident("self"), resident(process), _asked(threads), _asked(metaspace))


def resident(process: str) -> int | None:
    """The resident memory of a process in bytes, from the kernel's own account (Linux)."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except OSError:
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


def _asked(gauge: Any) -> int | None:
    from py4j.protocol import Py4JError

    try:
        return int(gauge.getValue())
    except (Py4JError, OSError):
        # The JVM has ended.
        return None
