"""A bucket's way from the sources over nodes to the client, as one OpenTelemetry trace.

Every process sends the spans of its own part. They belong together without a word in any message: which trace a bucket has follows from the
run and the bucket's number, and so does the span that all others lie in, which the client sends once the bucket is stable at all outputs.

| span | of | from | to |
|---|---|---|---|
| `bucket N` | client | the end of the bucket's time | stable at all outputs |
| `close STREAM` | source | the end of the bucket's time | handed to those who read it |
| `gather` | replica | the first that came of the bucket | its job was wanted |
| `evaluate STREAMS` | replica | the job was wanted | its result; failed jobs are errors |
| `deliver STREAM` | client | the first that came of the bucket | delivered: stable, tentative, corrected or confirmed |
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from auroral.dpc.events import Deliver, Effect, Evaluate, Evaluated, Event, Failed, Miss, Received, Send
from auroral.dpc.values import Confirm, Stable, Tentative
from auroral.model.errors import AuroralError

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

MOST_AT_ONCE = 100
"""Buckets of one job, message or gap that have spans: who catches up has thousands in one."""
MOST_AWAITED = 10_000
"""Buckets of which it is remembered when they first came."""
SENT_WITHIN = 3.0
"""Seconds, at the end of a process too: who collects may be away."""
_BILLION = 1_000_000_000


def must_be_installed() -> None:
    try:
        import opentelemetry.exporter.otlp.proto.http
        import opentelemetry.sdk.trace  # noqa: F401
    except ImportError as error:
        raise AuroralError(
            f"traces need a package that is not installed: {error.name}\n"
            "    allowed: the packages of auroral[otel]\n    next: pip install 'auroral[otel]'"
        ) from error


def parse_traces(text: str) -> str:
    """`http://HOST:PORT`, or nothing for `off`; ValueError for anything else."""
    if text == "off":
        return ""
    if not _is_address(text):
        raise ValueError(
            f"{text[:60]!r} is no address of OTLP over HTTP; allowed: http://HOST:PORT, https://HOST:PORT or off"
        )
    return text.rstrip("/")


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return (
            parts.scheme in ("http", "https")
            and bool(parts.hostname)
            and parts.port != 0
            and not (parts.query or parts.fragment)
        )
    except ValueError:
        # As of a port that is none.
        return False


def trace_of(run: str, bucket: int) -> int:
    return int.from_bytes(hashlib.blake2b(f"{run} {bucket}".encode(), digest_size=16).digest())


def root_of(run: str, bucket: int) -> int:
    """The span that all others of the trace lie in."""
    return int.from_bytes(hashlib.blake2b(f"root {run} {bucket}".encode(), digest_size=8).digest())


def provider_to(where: str, process: str, deployment: str) -> TracerProvider:
    """Sends to an OTLP/HTTP address. What else can be set, as headers, certificates and sampling, are the variables of OpenTelemetry (OTEL_...)."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    about = Resource.create({"service.name": f"auroral-{process}", "service.namespace": deployment})
    provider = TracerProvider(resource=about, id_generator=_ids(), shutdown_on_exit=False)
    provider.add_span_processor(
        BatchSpanProcessor(OTLPSpanExporter(endpoint=f"{where.rstrip('/')}/v1/traces", timeout=SENT_WITHIN))
    )
    return provider


def send_the_rest(provider: TracerProvider) -> None:
    """At the end of a process. What takes longer than SENT_WITHIN is lost: the SDK itself would wait that long for each batch."""
    sending = threading.Thread(target=provider.shutdown, name="traces", daemon=True)
    sending.start()
    sending.join(SENT_WITHIN)


def _ids() -> Any:
    from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

    class Ids(RandomIdGenerator):
        """Random, but for a span whose numbers are given."""

        given: tuple[int, int] | None = None

        def generate_trace_id(self) -> int:
            return super().generate_trace_id() if self.given is None else self.given[0]

        def generate_span_id(self) -> int:
            return super().generate_span_id() if self.given is None else self.given[1]

    return Ids()


class Tracing:
    """Shown every event of the cores of a process with what came of it."""

    def __init__(
        self,
        provider: TracerProvider,
        run: str,
        now: Callable[[], float],
        ends_at: Callable[[int], float | None],
        sources: Iterable[str] = (),
        outputs: Iterable[str] = (),
    ):
        """`ends_at` gives when a bucket's time ended, by the clock; None where times are those of files. `sources` are cores of sources,
        `outputs` what the client reads."""
        from opentelemetry import trace

        self._trace, self._tracer = trace, provider.get_tracer("auroral")
        self._ids: Any = provider.id_generator
        self._run, self._now, self._ends_at = run, now, ends_at
        self._sources, self._outputs = frozenset(sources), frozenset(outputs)
        self._came: dict[tuple[str, int], float] = {}
        """By core, or stream of the client, and bucket."""
        self._jobs: dict[tuple[str, int], tuple[Evaluate, float]] = {}
        self._closed: dict[str, int] = {}
        """By stream of a source, the first bucket of which nothing was sent."""
        self._tentative: dict[tuple[str, int], int] = {}
        """Hashes of what was delivered."""
        self._stable: dict[int, set[str]] = {}
        """Outputs at which a bucket is stable, of those that are not so at all of them."""

    def saw(self, core: str, event: Event, effects: Sequence[Effect]) -> None:
        now = self._now()
        if isinstance(event, Received):
            for stream, bucket in _brought(event.message):
                self._remember((stream if stream in self._outputs else core, bucket), now)
        if isinstance(event, Evaluated | Failed) and (begun := self._jobs.pop((core, event.job), None)) is not None:
            self._evaluated(core, *begun, now, event.reason if isinstance(event, Failed) else "")
        for effect in effects:
            match effect:
                case Evaluate():
                    self._jobs[core, effect.job] = (effect, now)
                    self._gathered(core, effect, now)
                case Send(_, Stable() as given) if core in self._sources:
                    self._sent_by_source(core, given, now)
                case Deliver():
                    self._delivered(effect, now)
                case Miss():
                    self._missed(effect, now)
                case _:
                    pass

    def _remember(self, key: tuple[str, int], now: float) -> None:
        self._came.setdefault(key, now)
        while len(self._came) > MOST_AWAITED:
            del self._came[next(iter(self._came))]

    def _sent_by_source(self, core: str, given: Stable, now: float) -> None:
        begin = max(given.begin, self._closed.get(given.stream, 0))
        end = given.begin + len(given.contents)
        # What is sent again, or to another reader, is no news.
        self._closed[given.stream] = max(end, self._closed.get(given.stream, 0))
        for bucket in range(begin, end)[-MOST_AT_ONCE:]:
            rows = given.contents[bucket - given.begin].count
            about = {"stream": given.stream, "core": core, "rows": rows}
            self._span(f"close {given.stream}", bucket, self._ends_at(bucket) or now, now, about)

    def _gathered(self, core: str, job: Evaluate, now: float) -> None:
        for bucket in range(job.begin, job.end)[-MOST_AT_ONCE:]:
            came = self._came.get((core, bucket)) if job.tentative else self._came.pop((core, bucket), None)
            if came is not None:
                self._span("gather", bucket, came, now, {"core": core, "tentative": job.tentative})

    def _evaluated(self, core: str, job: Evaluate, began: float, now: float, failed: str) -> None:
        about = {"core": core, "job": job.job, "tentative": job.tentative, "begin": job.begin, "end": job.end}
        for bucket in range(job.begin, job.end)[-MOST_AT_ONCE:]:
            self._span(f"evaluate {', '.join(job.outputs)}", bucket, began, now, about, failed)

    def _delivered(self, effect: Deliver, now: float) -> None:
        key = (effect.stream, effect.bucket)
        kind = "stable" if effect.stable else "tentative"
        if not effect.stable:
            self._tentative[key] = effect.content.hash
        elif (before := self._tentative.pop(key, None)) is not None:
            kind = "confirmed" if before == effect.content.hash else "corrected"
        about = {"stream": effect.stream, "as": kind, "rows": effect.content.count}
        self._span(f"deliver {effect.stream}", effect.bucket, self._came.pop(key, now), now, about)
        if effect.stable:
            self._is_final(effect.stream, effect.bucket, now)

    def _missed(self, effect: Miss, now: float) -> None:
        lost = range(effect.begin, effect.end)
        for bucket in lost:
            self._tentative.pop((effect.stream, bucket), None)
        for bucket in lost[-MOST_AT_ONCE:]:
            self._is_final(effect.stream, bucket, now)

    def _is_final(self, stream: str, bucket: int, now: float) -> None:
        """At this output; when it is so at all of them, the trace is whole."""
        at = self._stable.setdefault(bucket, set())
        at.add(stream)
        if at >= self._outputs:
            del self._stable[bucket]
            self._root(bucket, now)
        elif len(self._stable) > MOST_AWAITED:
            del self._stable[next(iter(self._stable))]

    def _root(self, bucket: int, now: float) -> None:
        began = self._ends_at(bucket) or now
        self._ids.given = (trace_of(self._run, bucket), root_of(self._run, bucket))
        try:
            span = self._tracer.start_span(
                f"bucket {bucket}", self._trace.set_span_in_context(self._trace.INVALID_SPAN), start_time=_nanos(began)
            )
        finally:
            self._ids.given = None
        span.set_attribute("auroral.bucket", bucket)
        span.set_attribute("auroral.run", self._run)
        span.end(_nanos(now))

    def _span(
        self, name: str, bucket: int, began: float, ended: float, about: Mapping[str, Any], failed: str = ""
    ) -> None:
        trace = self._trace
        parent = trace.SpanContext(
            trace_of(self._run, bucket), root_of(self._run, bucket), True, trace.TraceFlags(trace.TraceFlags.SAMPLED)
        )
        within = trace.set_span_in_context(trace.NonRecordingSpan(parent))
        attributes = {f"auroral.{key}": value for key, value in {"bucket": bucket, **about}.items()}
        span = self._tracer.start_span(name, within, attributes=attributes, start_time=_nanos(began))
        if failed:
            span.set_status(trace.Status(trace.StatusCode.ERROR, failed[:500]))
        span.end(_nanos(max(began, ended)))


def _brought(message: object) -> Iterator[tuple[str, int]]:
    """Streams and buckets that a message has something of."""
    match message:
        case Stable():
            yield from ((message.stream, message.begin + n) for n in range(len(message.contents)))
        case Confirm():
            yield from ((message.stream, message.begin + n) for n in range(len(message.hashes)))
        case Tentative():
            yield message.stream, message.bucket


def _nanos(seconds: float) -> int:
    return int(seconds * _BILLION)
