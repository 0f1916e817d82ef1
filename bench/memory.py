"""Resident memory of driver and JVM over 10,000 buckets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from auroral.engine.session import start_session
from bench.feeding import engine, one_bucket
from bench.latency import STREAMS, diagram

FIRST, LAST = 5_000, 10_000


def measure() -> dict[str, Any]:
    spark = start_session()
    jvm = int(spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid())  # type: ignore[union-attr]
    at: dict[int, dict[str, int]] = {}
    with engine(spark, diagram()) as running:
        for number in range(LAST + 1):
            one_bucket(running, number, STREAMS, 333, 100)
            if number % 1_000 == 0:
                at[number] = {"driver": _resident("self"), "jvm": _resident(str(jvm))}
                print(f"  bucket {number:,}: driver {at[number]['driver']} MB, JVM {at[number]['jvm']} MB", flush=True)
    slopes = {name: at[LAST][name] / at[FIRST][name] - 1 for name in ("driver", "jvm")}
    table = [
        f"{name}: {100 * slope:+.1f} % between bucket {FIRST:,} and {LAST:,} (below 5 %)"
        for name, slope in slopes.items()
    ]
    return {
        "table": table,
        "resident_mb": {str(k): v for k, v in at.items()},
        "slopes": {k: round(v, 4) for k, v in slopes.items()},
    }


def _resident(process: str) -> int:
    """Resident set in MB, from the kernel's own account (Linux)."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) // 1024
    raise RuntimeError(f"/proc/{process}/status has no VmRSS")
