"""The metrics of a process, from what it says of itself to `auroral status`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from auroral.dpc.states import State
from auroral.dpc.transitions import RECOVERING
from auroral.edge.ledger import Reason
from auroral.engine.footprint import Footprint
from auroral.node.fleet.deployed import Deployed
from auroral.node.fleet.metrics.exposition import Sample

STATES = (*map(str, State), RECOVERING)
SOURCE_STATES = ("open", "silent", "full", "failed", "ended")
OF_BOXES = (
    *(Reason.LATE, Reason.REJECTED, Reason.AHEAD, Reason.UNREADABLE, Reason.UNMATCHED, Reason.SUPERSEDED),
    *(Reason.EXPIRED, Reason.SHED),
)
OF_SOURCES = (
    *(Reason.MOVED, Reason.LATE, Reason.DROPPED, Reason.NO_STIME, Reason.STIME_RANGE, Reason.FUTURE, Reason.TOO_LONG),
    Reason.REFUSED,
)
"""Reasons for which rows are left out, or moved."""
Said = Mapping[str, Any]


def source_state(said: Said) -> str:
    """The worst of what a source says of itself, in a word."""
    worst = (name for name, key in (("failed", "failed"), ("silent", "silent"), ("full", "paused")) if said[key])
    return next(worst, "ended" if said["ended"] else "open")


def of_process(kind: str, version: str, began: float, footprint: Footprint) -> Iterator[Sample]:
    yield Sample("auroral_process_info", 1, {"kind": kind, "version": version})
    yield Sample("auroral_process_start_time_seconds", began)
    for of, size in (("python", footprint.driver_rss), ("jvm", footprint.jvm_rss)):
        if size is not None:
            yield Sample("auroral_memory_bytes", size, {"of": of})
    if footprint.jvm_metaspace is not None:
        yield Sample("auroral_jvm_metaspace_bytes", footprint.jvm_metaspace)
    if footprint.jvm_threads is not None:
        yield Sample("auroral_jvm_threads", footprint.jvm_threads)


def of_status(name: str, said: Said, deployed: Deployed, now: float) -> Iterator[Sample]:
    match said.get("kind"):
        case "source":
            yield from _of_source(name, said, deployed, now)
        case "node":
            yield from _of_node(said, deployed, now)
        case "client":
            yield from _of_client(said, deployed, now)
        case "catalog":
            for what, key in (("move", "moving"), ("change", "changing")):
                yield Sample("auroral_reconfiguring", said.get(key) is not None, {"what": what})
        case _:
            pass


def _of_source(name: str, said: Said, deployed: Deployed, now: float) -> Iterator[Sample]:
    yield Sample("auroral_source_rows_total", said["rows"], {"stream": name})
    yield from _ledger({(name, reason): count for reason, count in said["ledger"].items()}, [name], OF_SOURCES)
    if "closed" in said:
        yield from _state("auroral_source_state", {"stream": name}, source_state(said), SOURCE_STATES)
        yield from _frontier(name, said["closed"], deployed, now)


def _of_node(said: Said, deployed: Deployed, now: float) -> Iterator[Sample]:
    for stream, one in said["outputs"].items():
        labels = {"query": one["query"], "stream": stream}
        yield from _state("auroral_output_state", labels, one["state"], STATES)
        for state, seconds in one["seconds_in"].items():
            yield Sample("auroral_output_state_seconds_total", seconds, {**labels, "state": state})
        yield Sample("auroral_computed_rows_total", one["computed"], labels)
        yield Sample("auroral_tentative_buckets", one["tentative"], {"stream": stream})
        yield from _frontier(stream, one["frontier"], deployed, now)
    counted = {
        (box, reason): count for what, count in said["left_out"].items() for box, _, reason in [what.partition(": ")]
    }
    queries = {one["query"] for one in said["outputs"].values()}
    boxes = [box for fragment in deployed.fragments.all if fragment.name in queries for box in fragment.checked.boxes]
    yield from _ledger(counted, [box.box.name for box in boxes if box.typed.leaves_out], OF_BOXES)
    yield Sample("auroral_not_started", len(said["not_started"]))


def _of_client(said: Said, deployed: Deployed, now: float) -> Iterator[Sample]:
    for stream, bound in deployed.agreed.bounds.items():
        yield Sample("auroral_bound_seconds", bound, {"stream": stream})
    for stream, one in said["streams"].items():
        labels = {"stream": stream}
        if "frontier" in one:
            yield from _frontier(stream, one["frontier"], deployed, now)
        if "delivered" in one:
            for kind, count in {**one["delivered"], "missed": one["missed"]}.items():
                yield Sample("auroral_delivered_buckets_total", count, {**labels, "as": kind})
            yield Sample("auroral_tentative_buckets", one["tentative_now"], labels)
            yield Sample("auroral_tentative_rows_total", one["tentative_rows"], labels)
            yield Sample("auroral_delay_new_max_seconds", one["delay_new"], labels)
            yield Sample("auroral_usual_latency_seconds", one["proc"], labels)
            yield Sample("auroral_over_bound_total", one["over_bound"], labels)
        yield Sample("auroral_tentative_let_go_total", one.get("tentative_let_go", 0), labels)
    yield Sample("auroral_readers", len(said["readers"]))
    for one in said["sinks"]:
        labels = {"stream": one["stream"], "sink": one["sink"]}
        yield Sample("auroral_sink_failing", one["failing"] is not None, labels)
        yield Sample("auroral_sink_behind_buckets", one["behind"], labels)


def _ledger(counted: Mapping[tuple[str, str], int], of: Iterable[str], reasons: Iterable[Reason]) -> Iterator[Sample]:
    """What may come to be counted is 0 until then: of a counter that begins with its first rows, nobody sees that it has gone up."""
    none = {(name, str(reason)): 0 for name in of for reason in reasons}
    for (name, reason), count in {**none, **counted}.items():
        yield Sample("auroral_ledger_rows_total", count, {"stream": name, "reason": reason})


def _frontier(stream: str, frontier: int, deployed: Deployed, now: float) -> Iterator[Sample]:
    yield Sample("auroral_frontier_buckets", frontier, {"stream": stream})
    agreed = deployed.agreed
    if agreed.first is not None and agreed.origin is None:
        behind = max(0.0, now - (agreed.first + frontier) * deployed.settings.bucket)
        yield Sample("auroral_behind_seconds", behind, {"stream": stream})


def _state(name: str, labels: Mapping[str, str], state: str, states: Iterable[str]) -> Iterator[Sample]:
    for one in states:
        yield Sample(name, one == state, {**labels, "state": one})
