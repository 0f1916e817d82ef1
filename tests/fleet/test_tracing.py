"""A bucket's way as one trace: several processes, each with the real SDK, send their spans to a collector that reads OTLP."""

from __future__ import annotations

import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from auroral.dpc.coverage import Coverage
from auroral.dpc.events import Deliver, Effect, Evaluate, Evaluated, Event, Failed, Miss, Received, Send, Woken
from auroral.dpc.values import Confirm, Content, Stable, Tentative
from auroral.node.fleet import tracing
from auroral.node.fleet.tracing import (
    MOST_AT_ONCE,
    MOST_AWAITED,
    Tracing,
    parse_traces,
    provider_to,
    root_of,
    send_the_rest,
    trace_of,
)
from auroral.sim.scenario import CLIENT
from auroral.sim.stage import Stage
from sim.scenarios import chain

RUN = "scans-1"


@dataclass
class Span:
    name: str
    service: str
    trace: int
    parent: int
    span: int
    seconds: float
    failed: bool
    about: dict[str, Any]


@dataclass
class Collector:
    """What collectors take: POST /v1/traces with protobuf."""

    spans: list[Span] = field(default_factory=list)
    address: str = ""

    def take(self, body: bytes) -> None:
        for one in ExportTraceServiceRequest.FromString(body).resource_spans:
            service = {a.key: a.value.string_value for a in one.resource.attributes}["service.name"]
            for span in (span for scope in one.scope_spans for span in scope.spans):
                about = {a.key: getattr(a.value, a.value.WhichOneof("value")) for a in span.attributes}
                seconds = (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9
                ids = (int.from_bytes(found) for found in (span.trace_id, span.parent_span_id, span.span_id))
                self.spans.append(Span(span.name, service, *ids, seconds, span.status.code == 2, about))


@pytest.fixture
def collector() -> Iterator[Collector]:
    found = Collector()

    class Take(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/traces"
            found.take(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Take)
    found.address = f"http://127.0.0.1:{server.server_port}"
    running = threading.Thread(target=server.serve_forever, daemon=True)
    running.start()
    yield found
    server.shutdown()
    running.join()
    server.server_close()


class Process:
    """What a process does for its traces, with a clock that is set by hand."""

    def __init__(self, collector: Collector, name: str, **which: Any):
        self.time = 100.0
        self.provider: TracerProvider = provider_to(collector.address, name, "live")
        self.tracing = Tracing(self.provider, RUN, lambda: self.time, lambda bucket: bucket + 1.0 + 100, **which)

    def saw(self, at: float, core: str, event: Event, *effects: Any) -> None:
        self.time = at
        self.tracing.saw(core, event, effects)


ROWS, OTHER = Content(7, 3), Content(8, 4)


def given(*contents: Content, stream: str = "oslo", begin: int = 5) -> Stable:
    return Stable(stream, 1, begin, contents)


def evaluate(job: int, tentative: bool = False, begin: int = 5, end: int = 6) -> Evaluate:
    return Evaluate(job, ("alerts",), begin, end, {}, tentative)


def test_the_way_of_a_bucket_is_one_trace(collector: Collector) -> None:
    source = Process(collector, "oslo", sources=["oslo@oslo"])
    node = Process(collector, "na")
    client = Process(collector, "client", outputs=["alerts"])
    source.saw(106.1, "oslo@oslo", Woken(), Send("q@na", given(ROWS)), Send("q@nb", given(ROWS)))
    node.saw(106.2, "q@na", Received("oslo@oslo", given(ROWS)), evaluate(1))
    node.saw(106.5, "q@na", Evaluated(1, {}), Send("client", given(ROWS, stream="alerts")))
    alert = given(ROWS, stream="alerts")
    client.saw(106.6, "client", Received("q@na", alert), Deliver("alerts", 5, ROWS, True))
    for process in (source, node, client):
        process.provider.shutdown()
    spans = {span.name: span for span in collector.spans}
    assert {name: (span.service, round(span.seconds, 2)) for name, span in spans.items()} == {
        "close oslo": ("auroral-oslo", 0.1),
        "gather": ("auroral-na", 0.0),
        "evaluate alerts": ("auroral-na", 0.3),
        "deliver alerts": ("auroral-client", 0.0),
        "bucket 5": ("auroral-client", 0.6),
    }
    assert {span.trace for span in collector.spans} == {trace_of(RUN, 5)}
    root = spans.pop("bucket 5")
    assert (root.span, root.parent) == (root_of(RUN, 5), 0)
    assert {span.parent for span in spans.values()} == {root.span}
    assert len({span.span for span in collector.spans}) == 5
    assert spans["close oslo"].about == {
        "auroral.bucket": 5,
        "auroral.stream": "oslo",
        "auroral.core": "oslo@oslo",
        "auroral.rows": 3,
    }


def names(collector: Collector, process: Process, key: str) -> list[tuple[str, Any]]:
    process.provider.shutdown()
    return [(span.name, span.about.get(key)) for span in collector.spans]


def test_what_was_tentative_is_seen_to_be_corrected_or_confirmed(collector: Collector) -> None:
    client = Process(collector, "client", outputs=["alerts", "rest"])
    guess = Tentative("alerts", 1, 5, ROWS, True, 0.0, Coverage({}))
    client.saw(
        110, "client", Received("q@na", guess), Deliver("alerts", 5, ROWS, False), Deliver("alerts", 6, ROWS, False)
    )
    client.saw(120, "client", Received("q@na", given(OTHER, stream="alerts")), Deliver("alerts", 5, OTHER, True))
    client.saw(121, "client", Received("q@na", Confirm("alerts", 1, 6, (7,))), Deliver("alerts", 6, ROWS, True))
    client.saw(122, "client", Woken(), Miss("rest", 5, 6), Deliver("rest", 6, ROWS, True))
    found = names(collector, client, "auroral.as")
    assert found == [
        *(("deliver alerts", "tentative"), ("deliver alerts", "tentative"), ("deliver alerts", "corrected")),
        *(("deliver alerts", "confirmed"), ("bucket 5", None), ("deliver rest", "stable"), ("bucket 6", None)),
    ]


def test_a_job_that_fails_is_an_error_and_a_long_one_has_not_too_many_spans(collector: Collector) -> None:
    node = Process(collector, "na")
    node.saw(1, "q@na", Woken(), evaluate(1, tentative=True), evaluate(2, begin=0, end=5_000))
    node.saw(2, "q@na", Failed(1, "no room"))
    node.saw(3, "q@na", Evaluated(2, {}))
    node.saw(4, "q@na", Evaluated(9, {}))
    node.provider.shutdown()
    failed, *others = collector.spans
    assert failed.failed and failed.about["auroral.tentative"] and len(others) == MOST_AT_ONCE
    assert not any(span.failed for span in others) and others[-1].about["auroral.bucket"] == 4_999


def test_what_is_sent_again_is_no_news(collector: Collector) -> None:
    source = Process(collector, "oslo", sources=["oslo@oslo"])
    source.saw(106.1, "oslo@oslo", Woken(), Send("q@na", given(ROWS, ROWS)))
    source.saw(200.0, "oslo@oslo", Woken(), Send("q@nb", given(ROWS, ROWS, OTHER)))
    assert names(collector, source, "auroral.bucket") == [("close oslo", 5), ("close oslo", 6), ("close oslo", 7)]


def test_of_some_buckets_only_all_processes_choose_the_same(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "traceidratio")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "0.3")
    source = Process(collector, "oslo", sources=["oslo@oslo"])
    client = Process(collector, "client", outputs=["alerts"])
    for bucket in range(90):
        source.saw(1.0, "oslo@oslo", Woken(), Send("q@na", given(ROWS, begin=bucket)))
        client.saw(2.0, "client", Woken(), Deliver("alerts", bucket, ROWS, True))
    source.provider.shutdown()
    client.provider.shutdown()
    chosen = {
        kind: {s.trace for s in collector.spans if s.name.startswith(kind)} for kind in ("close", "deliver", "bucket")
    }
    assert chosen["close"] == chosen["deliver"] == chosen["bucket"] and 10 < len(chosen["close"]) < 50


def test_what_is_remembered_does_not_grow_with_the_run(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "MOST_AWAITED", 50)
    client = Process(collector, "client", outputs=["alerts", "rest"])
    for bucket in range(400):
        some = given(ROWS, stream="rest", begin=bucket)
        client.saw(1.0, "client", Received("q@na", some), Deliver("alerts", bucket, ROWS, True))
    client.provider.shutdown()
    assert len(client.tracing._came) <= 50 and len(client.tracing._stable) <= 51 < MOST_AWAITED


def test_a_long_gap_has_not_too_many_spans(collector: Collector) -> None:
    client = Process(collector, "client", outputs=["alerts"])
    client.saw(1.0, "client", Woken(), Deliver("alerts", 7, ROWS, False), Miss("alerts", 0, 5_000))
    assert len(names(collector, client, "auroral.bucket")) == 1 + MOST_AT_ONCE
    assert collector.spans[-1].about["auroral.bucket"] == 4_999 and not client.tracing._tentative


def test_a_collector_that_does_not_answer_keeps_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "SENT_WITHIN", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        away = Process(Collector(address=f"http://127.0.0.1:{silent.getsockname()[1]}"), "client", outputs=["alerts"])
        for bucket in range(2_000):
            away.saw(2.0, "client", Woken(), Deliver("alerts", bucket, ROWS, True))
        began = time.monotonic()
        send_the_rest(away.provider)
        assert time.monotonic() - began < 1.5, "there are several batches, and each of them would take as long"


@pytest.mark.parametrize(
    "text", ["", "localhost:4318", "ftp://a", "http://", "http://a/?x=1", "http://a:99999", "http://a:b", "http://[::1"]
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(ValueError, match="allowed: http://HOST:PORT"):
        parse_traces(text)
    assert parse_traces("off") == "" and parse_traces("https://otel.example/base/") == "https://otel.example/base"


def test_other_runs_and_buckets_are_other_traces() -> None:
    assert len({trace_of(run, bucket) for run in ("a", "b") for bucket in range(100)}) == 200
    assert 0 < trace_of("a", 1) < 2**128 and 0 < root_of("a", 1) < 2**64


@pytest.mark.slow
def test_the_protocol_under_a_failure_is_traced_as_a_whole() -> None:
    """The cores themselves, in virtual time, each with the traces of a process: what was tentative is corrected in the same trace."""
    stage = Stage(chain("at 5s silence t; at 15s resume t", seconds=25))
    sent = InMemorySpanExporter()
    traced: dict[str, Tracing] = {}
    sources = [stage.scenario.names(stream)[0] for stream in stage.scenario.sources]

    def saw(now: float, core: str, event: Event, effects: Sequence[Effect]) -> None:
        clock[0] = now
        if core not in traced:
            provider = TracerProvider(id_generator=tracing._ids())
            provider.add_span_processor(SimpleSpanProcessor(sent))
            outputs = stage.scenario.outputs if core == CLIENT else ()
            ends_at = lambda bucket: (bucket + 1) * 0.5  # noqa: E731
            traced[core] = Tracing(provider, RUN, lambda: clock[0], ends_at, sources, outputs)
        traced[core].saw(core, event, effects)

    clock = [0.0]
    stage.world.observers.append(saw)
    stage.world.run(40)
    found: dict[int, list[ReadableSpan]] = {}
    for span in sent.get_finished_spans():
        assert span.context.trace_id == trace_of(RUN, int(span.attributes["auroral.bucket"]))
        found.setdefault(int(span.attributes["auroral.bucket"]), []).append(span)
    roots = {bucket: [span for span in spans if span.parent is None] for bucket, spans in found.items()}
    assert {bucket: len(one) for bucket, one in roots.items()} == dict.fromkeys(range(50), 1)
    silent = found[16]
    names = Counter(span.name for span in silent)
    assert names == {
        "close s": 1,
        "close t": 1,
        "evaluate u.out": 4,
        "evaluate f.out": 4,
        "evaluate w.out": 4,
        "gather": 12,
        "deliver w.out": 2,
        "bucket 16": 1,
    }
    given = [span for span in silent if span.name == "deliver w.out"]
    assert [span.attributes["auroral.as"] for span in given] == ["tentative", "corrected"]
    (root,) = roots[16]
    assert root.start_time == 8_500_000_000 and root.end_time == given[-1].end_time > 15_000_000_000
