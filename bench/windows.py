"""A window's length must not matter: 10 against 1,000 buckets, same data, with 100 and with 10,000 keys."""

from __future__ import annotations

import statistics
from typing import Any

import auroral as au
from auroral.engine.session import start_session
from bench.feeding import BUCKET, SCHEMA, engine, ms, offer_file, one_bucket, rows, settled

FILLED, MOST = 1_000, 2_000


def measure() -> dict[str, Any]:
    spark = start_session()
    lines, found = [], {}
    for keys in (100, 10_000):
        with engine(spark, _diagram("10s")) as short, engine(spark, _diagram("1000s")) as long:
            times: dict[str, list[float]] = {"short": [], "long": []}
            # The long window is full only after 1,000 buckets: those in one job. Then both are measured in turn, on the same rows.
            for running in (short, long):
                table = rows(0, FILLED * BUCKET, FILLED * 1_000, keys, 0)
                offer_file(running, "a", table, running.folder / "filled.parquet", FILLED)
                running.evaluate(0, FILLED * BUCKET)
            number = FILLED
            while number < FILLED + MOST and not all(settled(given) for given in times.values()):
                for name, running in (("short", short), ("long", long)):
                    times[name].append(one_bucket(running, number, ["a"], 1_000, keys))
                number += 1
        medians = {name: statistics.median(given[-100:]) for name, given in times.items()}
        ratio = medians["long"] / medians["short"]
        found[str(keys)] = {"short_ms": ms(medians["short"]), "long_ms": ms(medians["long"]), "ratio": round(ratio, 2)}
        lines.append(
            f"{keys:,} keys: 10 buckets {ms(medians['short'])} ms, 1,000 buckets {ms(medians['long'])} ms, ratio {ratio:.2f} (at most 1.3)"
        )
        print("  " + lines[-1], flush=True)
    return {"table": lines, "keys": found}


def _diagram(window: str) -> au.DiagramBuilder:
    net = au.diagram("windows")
    a = net.input("a", SCHEMA, stime="ts")
    a.aggregate("load", {"n": "count()", "s": "sum(v)"}, window=window, advance="1s", by=["k"]).output()
    return net
