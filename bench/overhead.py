"""What the protocol costs: versions, logs, acknowledgements, heartbeats and the way from process to process, beside the engine alone.

The only replica of a query is killed while its sources go on, and started again: while it catches up it has always something to evaluate. It is measured from when
the first of its jobs has been handled, so that neither its start nor a part of a job counts. Then the replica is ended, and while the sources go on as before, a bare
engine in a process of its own, on the same Spark, evaluates the same logged rows of the same buckets behind a first job that is not measured either, in as many jobs as
the replica had for them. It has the rows in memory, cut by bucket, as a replica has, and ends with the results in memory.

A JVM gets quicker for dozens of such jobs: whoever runs them later would seem to be the quicker one. So a bare engine runs them while the replica is away, until it is
no faster than before, and the replica is compared with the mean of the last of these runs and the one behind it.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from auroral.dpc.sizing import MOST_ROWS
from auroral.dpc.sunion import MOST_BUCKETS
from auroral.dpc.values import Content
from auroral.edge.sourcelog import SourceLog
from auroral.engine.arrowrows import arrow_schema
from auroral.engine.edgelog import STABLE, Segment
from auroral.engine.evaluate import Engine
from auroral.engine.sqltext import SEQ, STIME
from auroral.node.fleet.contents import by_bucket, numbered
from auroral.node.fleet.deployed import Deployed
from auroral.node.fleet.processes import Fleet
from auroral.node.runfolder import RunFolder
from auroral.node.storeddiagram import load_diagram
from bench.deployments import SITES, Deliveries, Senders, client, diagram, running

RATE, AWAY, BUCKET = 1500, 240.0, "500ms"
NODE = "mergea"
ASKED = 0.9
RUN = 3
"""Jobs in a run of the bare engine, besides the first."""
STEADY = 0.95
"""A run that takes less than so much of the one before it is still getting faster."""
SOME = 5
"""Buckets: a replica that has made more of them has ended a job since it was away, whatever it had stored and not given before."""


def measure(rate: int = RATE, away: float = AWAY, bucket: str = BUCKET) -> dict[str, Any]:
    with running(diagram(bucket, "60s", False), False, replicas=1) as fleet, closing(Senders(fleet, rate)):
        with closing(Deliveries(fleet)) as given:
            given.warm()
        fleet.kill(NODE)
        given_out = int(client(fleet)["streams"]["sums"]["frontier"])
        each = rate * len(SITES) * fleet.deployed.settings.bucket
        before = _warmed(fleet, away, min(MOST_BUCKETS, int(MOST_ROWS / each)))
        begin, end = _caught_up(fleet, given_out)
        # Nothing else uses this Spark from here on.
        fleet.kill(NODE)
        buckets, jobs = end.frontier - begin.frontier, end.jobs - begin.jobs
        if jobs < 2:
            raise RuntimeError(
                f"it caught up in {jobs} jobs behind the first, which is no measure: let it be away for longer than {away:g} s"
            )
        seconds, rows = _bare(fleet, begin.frontier, end.frontier, -(-buckets // jobs))
    took, spent, after = end.at - begin.at, end.spent - begin.spent, seconds / buckets
    bare = (before[-1] + after) / 2 * buckets
    ratio = bare / took
    table = [
        f"a replica caught up {buckets} buckets of {rows // buckets} rows in {took:.2f} s and {jobs} jobs, {spent:.2f} s of it in the engine; it guessed {end.guesses} times",
        f"a bare engine took {bare:.2f} s for the same rows in as many jobs: {1000 * before[-1]:.2f} ms a bucket before, {1000 * after:.2f} ms after it",
        f"(a bucket in its runs so far: {', '.join(f'{1000 * one:.2f}' for one in before)} ms)",
        f"the replica has {ratio:.2f} of the bare engine's throughput (at least {ASKED}): {'met' if ratio >= ASKED else 'MISSED'}",
    ]
    return {
        "table": table,
        "form": "against a bare engine on the same rows in the same run",
        "buckets": buckets,
        "jobs": jobs,
        "seconds": took,
        "in_engine": spent,
        "guesses": end.guesses,
        "bare_seconds": bare,
        "bare_before": before,
        "bare_after": after,
        "ratio": ratio,
    }


def _closed(fleet: Fleet) -> int:
    return min(int(fleet.ask(site, "status")["closed"]) for site in SITES)


def _warmed(fleet: Fleet, seconds: float, size: int) -> list[float]:
    """Runs of a bare engine for so long, and until they are no faster: what a bucket took in each."""
    until, found = time.monotonic() + seconds, list[float]()
    while time.monotonic() < until or len(found) < 4 or found[-1] < STEADY * found[-2]:
        last = _closed(fleet)
        begin = max(1, last - RUN * size)
        found.append(_bare(fleet, begin, last, size)[0] / (last - begin))
    return found


def _caught_up(fleet: Fleet, given_out: int) -> tuple[Sample, Sample]:
    """When the first large job was handled, and when it had all that was closed when it came back."""
    last = _closed(fleet)
    fleet.start([NODE])
    seen = [_sample(fleet)]
    while seen[-1].frontier <= last:
        time.sleep(0.01)
        seen.append(_sample(fleet))
    return next(one for one in seen if one.frontier > given_out + SOME), seen[-1]


def _bare(fleet: Fleet, begin: int, end: int, size: int) -> tuple[float, int]:
    """Seconds, and rows."""
    command = [sys.executable, "-m", "bench.overhead", str(fleet.deployed.folder), *map(str, (begin, end, size))]
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1].split()
    return float(said[0]), int(said[1])


class Sample(NamedTuple):
    at: float
    spent: float
    jobs: int
    guesses: int
    frontier: int


def _sample(fleet: Fleet) -> Sample:
    status = fleet.ask(NODE, "status")
    frontier = status["outputs"].get("sums", {}).get("frontier", 0)
    spent, jobs = status["seconds_in_jobs"], status["jobs"]
    return Sample(time.monotonic(), spent["stable"], jobs["stable"], jobs["tentative"], frontier)


class Bare:
    """The engine without the protocol, on what the sources have logged for buckets [begin, end) and the horizon before them."""

    def __init__(self, deployed: Deployed, begin: int, end: int, size: int):
        (fragment,) = deployed.fragments.all
        (output,) = fragment.outputs
        self.checked, self.folder = fragment.checked, deployed.folder / "bare"
        self.bucket = self.checked.diagram.bucket
        self.begin, self.end = deployed.first + begin, deployed.first + end
        self.size, self.before = size, max(deployed.first, self.begin - size)
        self.early = max(deployed.first, self.before - max(output.reads.values()) + 1)
        self.engine = Engine(Fleet(deployed).session(), self.checked, self.folder)
        self.rows = {given.stream: self._logged(deployed.folder, given.stream) for given in self.checked.diagram.inputs}
        self.rows_in_all = sum(one.count for rows in self.rows.values() for one in rows[self.begin - self.early :])
        self.schemas = {
            edge.name.removesuffix("@source"): arrow_schema([c for c in edge.columns if c.name != SEQ])
            for edge in self.engine.small.sources
        }

    def _logged(self, folder: Path, stream: str) -> Sequence[Content]:
        run = RunFolder.look(folder)
        schema = self.checked.streams[stream].schema
        with closing(SourceLog.open(run.source(stream), schema, stream=stream, readonly=True)) as log:
            rows = log.read(self.early * self.bucket, self.end * self.bucket)
        rows = rows.sort_by([(STIME, "ascending"), (SEQ, "ascending")]).drop_columns([SEQ])
        return [Content(0, one.num_rows, one) for one in by_bucket(rows, self.early, self.end, self.bucket)]

    def seconds(self) -> float:
        """For all of it, behind a job of the same size."""
        for begin, end in ((self.early, self.before), (self.before, self.begin)):
            if begin < end:
                self._evaluate(begin, end)
        began = time.monotonic()
        for at in range(self.begin, self.end, self.size):
            self._evaluate(at, min(at + self.size, self.end))
        return time.monotonic() - began

    def _evaluate(self, begin: int, end: int) -> None:
        lo, hi = begin * self.bucket, end * self.bucket
        for stream, schema in self.schemas.items():
            rows = numbered(self.rows[stream][begin - self.early : end - self.early], schema)
            self.engine.offer(stream, Segment(lo, hi, STABLE, rows.num_rows, rows))
        found: Mapping[str, Segment] = self.engine.evaluate(lo, hi).outputs
        for edge in self.engine.small.outputs:
            found[edge.name].load(edge)


def main(folder: str, begin: str, end: str, size: str) -> None:
    bare = Bare(Deployed.look(Path(folder), load_diagram(Path(folder))), int(begin), int(end), int(size))
    print(bare.seconds(), bare.rows_in_all)


if __name__ == "__main__":
    main(*sys.argv[1:])
