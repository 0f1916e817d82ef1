"""All metrics that there are, by name. Names stay: dashboards and alerts are written with them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """As Prometheus has them."""

    GAUGE = "gauge"
    COUNTER = "counter"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Family:
    name: str
    kind: Kind
    meaning: str
    labels: tuple[str, ...] = ()
    """Besides `process`, which all have."""


FAMILIES: tuple[Family, ...] = (
    # Every process
    Family("auroral_process_info", Kind.GAUGE, "1, with what the process is", ("kind", "version")),
    Family("auroral_process_start_time_seconds", Kind.GAUGE, "When the process began, in seconds since 1970"),
    Family("auroral_memory_bytes", Kind.GAUGE, "Resident memory, of Python and of a JVM that it started", ("of",)),
    Family("auroral_jvm_metaspace_bytes", Kind.GAUGE, "Metaspace of the JVM, of processes that started one"),
    Family("auroral_jvm_threads", Kind.GAUGE, "Threads of the JVM, of processes that started one"),
    Family("auroral_events_total", Kind.COUNTER, "What `auroral events` tells of, since the process began", ("event",)),
    # Sources
    Family("auroral_source_rows_total", Kind.COUNTER, "Rows that were logged, in all lives of the source", ("stream",)),
    Family(
        "auroral_source_state", Kind.GAUGE, "1 for the state that the source is in, 0 for others", ("stream", "state")
    ),
    # Streams, wherever they are
    Family(
        "auroral_frontier_buckets",
        Kind.GAUGE,
        "Buckets since the deployment began that a source has closed, that a node has made stable, or that the client was given stable",
        ("stream",),
    ),
    Family(
        "auroral_behind_seconds",
        Kind.GAUGE,
        "How far the frontier is behind the clock; not for files with times of their own",
        ("stream",),
    ),
    Family(
        "auroral_tentative_buckets",
        Kind.GAUGE,
        "Buckets that are tentative now: of a node, those behind its frontier; of the client, those that are to be corrected",
        ("stream",),
    ),
    Family(
        "auroral_ledger_rows_total",
        Kind.COUNTER,
        "Rows that did not go the ordinary way: of a source by its stream, of a node by the box that left them out",
        ("stream", "reason"),
    ),
    # Nodes
    Family(
        "auroral_output_state",
        Kind.GAUGE,
        "1 for the state that an output of a node is in, 0 for others",
        ("query", "stream", "state"),
    ),
    Family(
        "auroral_output_state_seconds_total",
        Kind.COUNTER,
        "Seconds for which an output was in a state; in STABILIZATION it reconciles",
        ("query", "stream", "state"),
    ),
    Family(
        "auroral_computed_rows_total", Kind.COUNTER, "Rows that jobs gave, stable or tentative", ("query", "stream")
    ),
    Family(
        "auroral_job_seconds",
        Kind.HISTOGRAM,
        "How long jobs took, from when they were asked for; lane is stable or tentative",
        ("query", "lane"),
    ),
    Family(
        "auroral_jobs_failed_total",
        Kind.COUNTER,
        "Jobs that came to nothing, cancelled ones included",
        ("query", "lane"),
    ),
    Family(
        "auroral_sent_buckets_total",
        Kind.COUNTER,
        "Buckets that were sent, to each reader: stable (first or as a correction), tentative, confirmed, or in a gap",
        ("stream", "as"),
    ),
    Family("auroral_not_started", Kind.GAUGE, "Replicas that are to run on this node and cannot be started"),
    # Who reads
    Family(
        "auroral_switches_total",
        Kind.COUNTER,
        "Times that a stream came to be read from another replica, by a node or the client",
        ("stream",),
    ),
    # The client
    Family(
        "auroral_delivered_buckets_total",
        Kind.COUNTER,
        "Buckets that the client was given: stable at once, tentative, and then confirmed or corrected; or missed, lost in a gap",
        ("stream", "as"),
    ),
    Family(
        "auroral_tentative_rows_total",
        Kind.COUNTER,
        "Rows of the tentative buckets that the client was given",
        ("stream",),
    ),
    Family(
        "auroral_latency_seconds",
        Kind.HISTOGRAM,
        "From the end of a new bucket to its delivery; not for files with times of their own",
        ("stream",),
    ),
    Family("auroral_usual_latency_seconds", Kind.GAUGE, "The median of what was stable and new lately", ("stream",)),
    Family(
        "auroral_delay_new_max_seconds",
        Kind.GAUGE,
        "Delay_new: how much later than usual anything new came at most, since the process began",
        ("stream",),
    ),
    Family("auroral_bound_seconds", Kind.GAUGE, "X, the bound that was asked for; +Inf for none", ("stream",)),
    Family(
        "auroral_over_bound_total",
        Kind.COUNTER,
        "New buckets that came later than usual by X or more",
        ("stream",),
    ),
    Family(
        "auroral_correcting_seconds",
        Kind.HISTOGRAM,
        "From the first correction until nothing was left to be corrected",
        ("stream",),
    ),
    Family("auroral_readers", Kind.GAUGE, "Programs that read outputs"),
    Family(
        "auroral_tentative_let_go_total",
        Kind.COUNTER,
        "Tentative buckets that could not be kept for readers",
        ("stream",),
    ),
    Family("auroral_sink_failing", Kind.GAUGE, "1 where a table or a file cannot be written", ("stream", "sink")),
    Family("auroral_sink_behind_buckets", Kind.GAUGE, "Buckets that a table or a file lacks", ("stream", "sink")),
    # The catalog
    Family("auroral_reconfiguring", Kind.GAUGE, "1 while a query is moved or changed", ("what",)),
)
BY_NAME = {family.name: family for family in FAMILIES}


def as_markdown() -> str:
    rows = [
        f"| `{one.name}` | {one.kind} | {', '.join(f'`{label}`' for label in one.labels)} | {one.meaning} |"
        for one in FAMILIES
    ]
    return "\n".join(["| metric | kind | labels | what |", "|---|---|---|---|", *rows]) + "\n"
