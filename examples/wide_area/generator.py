"""A minute of reports from four sites, the same ones for the same seed.

    python examples/wide_area/generator.py sites

writes a file for each site, as sites/mit.csv. The server at ucsd is busy from the half of it on.
"""

from __future__ import annotations

import argparse
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pandas

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
REPORTS = 120
"""Of each site, one every half second."""
PATHS = {"mit": 35.0, "uw": 60.0, "ucsd": 20.0, "ufl": 45.0}
"""Milliseconds to each, mostly."""
BUSY = "ucsd"


def reports(seed: int = 1) -> dict[str, list[dict[str, Any]]]:
    """The rows of each site, in order of time."""
    random = Random(seed)
    return {site: [_report(site, number, random) for number in range(REPORTS)] for site in PATHS}


def _report(site: str, number: int, random: Random) -> dict[str, Any]:
    busy = site == BUSY and number >= REPORTS // 2
    return {
        "ts": NOON + timedelta(milliseconds=500 * number),
        "server": site,
        "load": round(random.uniform(0.8, 1.0) if busy else random.uniform(0.1, 0.3), 3),
        "ms": round(PATHS[site] + random.expovariate(0.3), 1),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write reports of servers' loads and path latencies as CSV files.")
    parser.add_argument("folder", type=Path, help="where a file for each site is written")
    parser.add_argument("--seed", type=int, default=1, help="another gives other reports; default %(default)s")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    for name, found in reports(given.seed).items():
        pandas.DataFrame(found).to_csv(given.folder / f"{name}.csv", index=False)
