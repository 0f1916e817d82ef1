"""What the protocol costs: versions, logs, acknowledgements, heartbeats and the way from process to process, beside the engine alone.

The only replica of a query is killed for a minute while its sources go on, and started again. While it catches up it has always something to
evaluate; what it does not spend in the engine, the protocol takes.
"""

from __future__ import annotations

import time
from contextlib import closing
from typing import Any, NamedTuple

from auroral.node.fleet.processes import Fleet
from bench.deployments import SITES, Deliveries, Senders, diagram, running

RATE, AWAY = 1500, 60.0
NODE = "mergea"
ASKED = 0.9


def measure() -> dict[str, Any]:
    with (
        running(diagram("500ms", "60s", False), False, replicas=1) as fleet,
        closing(Senders(fleet, RATE)),
        closing(Deliveries(fleet)) as given,
    ):
        given.warm()
        fleet.kill(NODE)
        time.sleep(AWAY)
        last = min(int(fleet.ask(site, "status")["closed"]) for site in SITES)
        fleet.start([NODE])
        seen = [_sample(fleet)]
        while seen[-1].frontier <= last:
            time.sleep(0.01)
            seen.append(_sample(fleet))
    # From when the first job had ended.
    begin, end = next(one for one in seen if one.spent), seen[-1]
    took, spent, buckets = end.at - begin.at, end.spent - begin.spent, end.frontier - begin.frontier
    table = [
        f"{buckets} buckets of {RATE * len(SITES) // 2} rows caught up in {took:.2f} s, {spent:.2f} s of it in the engine: {spent / took:.2f} of "
        f"the engine's throughput (at least {ASKED})"
    ]
    return {"table": table, "buckets": buckets, "seconds": took, "in_engine": spent, "share": spent / took}


class Sample(NamedTuple):
    at: float
    spent: float
    frontier: int


def _sample(fleet: Fleet) -> Sample:
    status = fleet.ask(NODE, "status")
    return Sample(
        time.monotonic(), status["seconds_in_jobs"]["stable"], status["outputs"].get("sums", {}).get("frontier", 0)
    )
