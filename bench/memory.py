"""Resident memory of a whole run over 10,000 buckets: of the driver (logs, engine, outputs) and of the JVM, separately.

BUCKETS=200 in the environment makes it a quick try; what it then finds is mostly warm-up.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import auroral as au
from auroral.engine.session import start_session
from bench.feeding import BUCKET, rows
from bench.latency import STREAMS, diagram

BUCKETS = int(os.environ.get("BUCKETS", "10000"))
FIRST, LAST = BUCKETS // 2, BUCKETS
_STEPS = 10


def measure() -> dict[str, Any]:
    spark = start_session()
    jvm = int(spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid())  # type: ignore[union-attr]
    at: dict[int, dict[str, float]] = {}
    with au.run(diagram(), session=spark) as app:
        for number in range(LAST + 1):
            _push(app, number)
            if number in (FIRST, LAST) or number % max(1, BUCKETS // _STEPS) == 0:
                at[number] = found = {"driver": _resident("self"), "jvm": _resident(str(jvm))}
                print(f"  bucket {number:,}: driver {found['driver']} MB, JVM {found['jvm']} MB", flush=True)
        jobs = app.progress[-1].number
    slopes = {name: at[LAST][name] / at[FIRST][name] - 1 for name in ("driver", "jvm")}
    table = [
        f"{name}: {at[FIRST][name]} MB at bucket {FIRST:,}, {at[LAST][name]} MB at bucket {LAST:,}: "
        f"{100 * slope:+.1f} % (below 5 %)"
        for name, slope in slopes.items()
    ]
    return {
        "table": table,
        "buckets": BUCKETS,
        "jobs": jobs,
        "resident_mb": {str(k): v for k, v in at.items()},
        "slopes": {k: round(v, 4) for k, v in slopes.items()},
    }


def _push(app: au.App, number: int) -> None:
    """The rows of a bucket, which close the one before it; and wait for that one's output."""
    lo = number * BUCKET
    for position, stream in enumerate(STREAMS):
        given = rows(lo, lo + BUCKET, 333, 100, number * 7 + position)
        app.push(stream, given.select(["ts", "k", "v"]))
    while number and (app.frontier is None or app.frontier < lo):
        if not app.is_active:
            raise app.exception or RuntimeError(f"the run ended at bucket {number}")
        time.sleep(0.001)


def _resident(process: str) -> float:
    """Resident set in MB, from the kernel's own account (Linux)."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return round(int(line.split()[1]) / 1024, 1)
    raise RuntimeError(f"/proc/{process}/status has no VmRSS")
