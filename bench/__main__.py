"""Run the benchmarks that are named, or all; each prints its table and writes bench/results/NAME.json."""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import catchup, failures, folds, latency, load, memory, nexmark, overhead, stall, windows, wire

BENCHMARKS: dict[str, tuple[Callable[[], dict[str, Any]], str]] = {
    "latency": (latency.measure, "bucket close to output, against Structured Streaming (default and tuned)"),
    "catchup": (catchup.measure, "five million rows at once, against the plain batch and Structured Streaming"),
    "windows": (windows.measure, "windows of 10 and of 1,000 buckets on the same data"),
    "folds": (folds.measure, "a bucket that touches 1,000 keys of a fold, with 1,000 and with 1,000,000 keys in all"),
    "tables": (folds.measure_tables, "the same, with a table that rows are looked up in and added to"),
    "wire": (
        wire.measure,
        "a bucket from a source to where a replica has taken it in, and a message over Flight alone",
    ),
    "failures": (
        failures.measure,
        "a silent input and a killed replica at real processes: delays, corrections, failover",
    ),
    "foldfailure": (failures.measure_fold, "a fold after an input was silent for 60 s: how fast it is corrected"),
    "load": (load.measure, "the highest rate that two queries with two replicas each hold (long)"),
    "overhead": (overhead.measure, "a replica that catches up, and a bare engine on the same rows"),
    "stall": (stall.measure, "a silent input, beside Structured Streaming"),
    "nexmark": (nexmark.measure, "the queries of Nexmark, against the plain batch run of each"),
    "memory": (memory.measure, "resident memory between bucket 5,000 and bucket 10,000 (long)"),
}
RESULTS = Path(__file__).parent / "results"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}; default: all")
    names = parser.parse_args().names or list(BENCHMARKS)
    if unknown := [name for name in names if name not in BENCHMARKS]:
        parser.error(f"unknown benchmark {', '.join(unknown)}; allowed: {', '.join(BENCHMARKS)}")
    for name in names:
        measure, about = BENCHMARKS[name]
        print(f"== {name}: {about}", flush=True)
        before, started = os.getloadavg(), time.time()
        found = measure()
        machine = {
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "load_before": [round(load, 2) for load in before],
            "load_after": [round(load, 2) for load in os.getloadavg()],
            "seconds": round(time.time() - started, 1),
        }
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{name}.json").write_text(json.dumps({"machine": machine, **found}, indent=1) + "\n")
        for line in found["table"]:
            print("  " + line)


if __name__ == "__main__":
    main()
