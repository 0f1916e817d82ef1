"""Resident memory of a whole run over 10,000 buckets: of the driver (logs, engine, outputs) and of the JVM, separately.

The JVM's heap comes and goes by a tenth: what counts is the line through all samples of the second half, not two of them.
BUCKETS=200 in the environment makes it a quick try; what it then finds is mostly warm-up.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

import auroral as au
from auroral.engine.session import start_session
from bench.feeding import BUCKET, rows
from bench.latency import STREAMS, diagram

BUCKETS = int(os.environ.get("BUCKETS", "10000"))
FIRST, LAST = BUCKETS // 2, BUCKETS
_SAMPLES = 200


def measure() -> dict[str, Any]:
    at: dict[int, dict[str, float]] = {}
    with au.run(diagram(), session=start_session()) as app:
        for number in range(LAST + 1):
            _push(app, number)
            # Before its first bucket a run has measured nothing.
            if number and number % max(1, BUCKETS // _SAMPLES) == 0:
                taken = app.status.footprint
                assert taken.driver_rss and taken.jvm_rss, "resident memory is known on Linux only"
                at[number] = {"driver": _mb(taken.driver_rss), "jvm": _mb(taken.jvm_rss)}
                print(f"  bucket {number:,}: driver {at[number]['driver']} MB, JVM {at[number]['jvm']} MB", flush=True)
        jobs = app.progress[-1].number
    return {"buckets": BUCKETS, "jobs": jobs, "resident_mb": {str(k): v for k, v in at.items()}, **judged(at)}


def judged(at: Mapping[int, Mapping[str, float]]) -> dict[str, Any]:
    """How memory changes over the second half, by bucket and process: the fitted lines, and how sure they are."""
    half = sorted(number for number in at if number >= max(at) // 2)
    table, slopes = [], {}
    for name in ("driver", "jvm"):
        start, end, error = fitted(half, [at[number][name] for number in half])
        slopes[name] = {"slope": round(end / start - 1, 4), "standard_error": round(error / start, 4)}
        table.append(
            f"{name}: {start:.1f} MB at bucket {half[0]:,}, {end:.1f} MB at bucket {half[-1]:,}, on a line through "
            f"{len(half)} samples: {100 * (end / start - 1):+.1f} % (below 5 %), standard error {100 * error / start:.1f} %"
        )
    return {"table": table, "slopes": slopes}


def fitted(x: list[int], y: list[float]) -> tuple[float, float, float]:
    """The values at both ends of the line of least squares, and the standard error of their difference."""
    from_middle = np.array(x) - np.mean(x)
    slope, middle = np.polyfit(from_middle, y, 1)
    rest = np.array(y) - middle - slope * from_middle
    error = np.sqrt((rest**2).sum() / (len(x) - 2) / (from_middle**2).sum())
    start, end = (float(middle + slope * at) for at in (from_middle[0], from_middle[-1]))
    return start, end, float(error * (x[-1] - x[0]))


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


def _mb(size: int) -> float:
    return round(size / 2**20, 1)
