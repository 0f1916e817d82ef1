"""The process that is given the outputs."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from auroral.dpc.assembly import CLIENT
from auroral.dpc.client import Client
from auroral.dpc.events import Deliver, Effect, Event, Miss
from auroral.dpc.metrics import Metrics
from auroral.dpc.port import cut_off_of, lanes_of
from auroral.dpc.why import why
from auroral.edge.durable import StorageError
from auroral.engine.arrowrows import as_numbers
from auroral.model.deployment import endpoint
from auroral.node.course import CourseWriter
from auroral.node.fleet.clientproxy import ClientStore
from auroral.node.fleet.deliverycourse import DeliveryCourse
from auroral.node.fleet.metrics.exposition import Sample
from auroral.node.fleet.outputs import Outputs
from auroral.node.fleet.process import Process
from auroral.node.fleet.serving import OutputServer, token_of
from auroral.node.fleet.sinking import Sinking, end_all
from auroral.node.history import Histories
from auroral.node.merging import merge
from auroral.node.outputlog import DamagedOutput, OutputLog
from auroral.node.runfolder import RunFolder
from auroral.wire.certificates import READERS, SERVER, Certificates
from auroral.wire.posting import post

_log = logging.getLogger(__name__)
MERGE_EVERY = 5.0
"""Seconds."""
KINDS = ("stable", "tentative", "corrected", "confirmed")
"""Ways in which a bucket is delivered."""
_USUAL_FOR = 1.0
"""Seconds for which what is usual is not looked at again: it changes slowly, and takes longer to say than all else here."""
_SHOWN = 500
"""Deliveries that a client remembers for whoever looks."""


class ClientProcess(Process):
    async def prepare(self) -> None:
        self.doing |= {"tail": self._tail, "why": self._why}
        self.run_folder = await asyncio.to_thread(RunFolder.resume, self.deployed.folder)
        self.opened.callback(self.run_folder.close)
        self.metrics = Metrics(self.deployed.settings.bucket, self.deployed.agreed.bounds)
        self._written = CourseWriter(self.deployed.folder)
        self.opened.callback(self._written.flush)
        self._course = DeliveryCourse(self._written)
        self._in_time = self.deployed.in_time
        self._usual: dict[str, tuple[float, float]] = {}
        """Of each stream, how long a bucket usually takes, and when that was last looked at."""
        self.host.observed.append(self._observed)
        self._delivered: deque[dict[str, Any]] = deque(maxlen=_SHOWN)
        self._number = 0
        self._newest: dict[str, int] = {}
        self._delivered_as: dict[str, Counter[str]] = {}
        """Buckets of each stream."""
        self._shown_tentative: dict[tuple[str, int], int] = {}
        self.outputs: Outputs | None = None
        self.histories: Histories | None = None
        self._history_fails = ""
        self.sinks: list[Sinking] = []
        # Before it is ready: an address that is taken is told by whoever starts it.
        folder, loop = self.deployed.folder, asyncio.get_running_loop()
        certificates = Certificates.from_folder(folder / READERS / SERVER) if self.deployed.agreed.tls else None
        self.server = OutputServer(
            endpoint(self.deployed.agreed.serve),
            token_of(folder),
            partial(post, loop, self.refusals.note),
            certificates,
        )
        self.opened.push_async_callback(self.server.stop)

    async def begin(self) -> None:
        assembly, first = self.deployed.assembly, self.deployed.first
        store = await asyncio.to_thread(ClientStore, self.run_folder, first)
        self.opened.callback(store.close)
        self.histories = Histories(self.run_folder, store.logs, {stream for stream, _ in self.deployed.agreed.outputs})
        # When nothing comes any more, and before the logs are closed.
        self.opened.push_async_callback(self._publish)
        self.outputs = self.server.outputs = Outputs(store.logs, store.bucket, first, self.histories)
        self.host.shown.append(self.outputs.saw)
        self._begin_sinks(self.outputs)
        # Before the sinks end: they write what it has stored by then.
        self.opened.push_async_callback(self.host.stop)
        self.host.start(CLIENT, assembly.client(self.deployed.layout), store.started(), store)
        self.in_the_background(self._merge(dict(store.logs)))

    async def _merge(self, logs: dict[str, OutputLog]) -> None:
        """Beside all else: there is a part for each delivery."""
        while True:
            await asyncio.sleep(MERGE_EVERY)
            self._written.flush()
            for stream, log in list(logs.items()):
                merging = asyncio.ensure_future(asyncio.to_thread(merge, log))
                try:
                    await asyncio.shield(merging)
                except asyncio.CancelledError:
                    # Nobody else may open the log before that is over.
                    await asyncio.wait([merging])
                    raise
                except StorageError as error:
                    _log.error("%s", error, extra={"stream": stream})
                except DamagedOutput as error:
                    _log.error("%s", error, extra={"stream": stream})
                    self.events.note("damaged", stream=stream, detail=str(error)[:500])
                    del logs[stream]
            await self._publish()

    async def _publish(self) -> None:
        """What connection points keep. What cannot be written now is written next time."""
        assert self.histories is not None, "it has begun"
        publishing = asyncio.ensure_future(asyncio.to_thread(self.histories.publish))
        try:
            await asyncio.shield(publishing)
        except asyncio.CancelledError:
            await asyncio.wait([publishing])
            raise
        except (StorageError, DamagedOutput) as error:
            if (said := str(error)[:500]) != self._history_fails:
                # Once, and not every few seconds for as long as it lasts.
                _log.error("%s", error)
                self.events.note("history failing", detail=said)
            self._history_fails = said
        else:
            self._history_fails = ""

    def _begin_sinks(self, outputs: Outputs) -> None:
        agreed, run = self.deployed.agreed, self.run_folder.settings.run
        for stream, where in agreed.outputs:
            sink = Sinking(outputs, stream, where, run, stable_only=agreed.stable_only, note=self.events.note)
            self.sinks.append(sink)
            sink.start()
        self.opened.push_async_callback(asyncio.to_thread, end_all, self.sinks)

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = {"kind": "client", "counts": self.counts, "streams": {}}
        found["serves"] = self.deployed.agreed.serve
        found["sinks"] = [sink.status() for sink in self.sinks]
        found["histories"] = [] if self.histories is None else self.histories.status()
        found["readers"] = [] if self.outputs is None else self.outputs.status()
        for stream, metrics in self.metrics.streams.items():
            one = metrics.measured
            found["streams"][stream] = {
                "newest": metrics.newest,
                "delay_new": one.delay_new,
                "proc_new": one.proc_new,
                "proc": one.proc,
                "tentative_buckets": one.tentative_buckets,
                "tentative_rows": one.n_tentative,
                "tentative_now": len(metrics.uncorrected),
                "missed": one.missed,
                "delivered": {kind: self._delivered_as[stream][kind] for kind in KINDS},
                "over_bound": metrics.over_bound,
            }
        for stream, count in ({} if self.outputs is None else self.outputs.let_go).items():
            found["streams"].setdefault(stream, {})["tentative_let_go"] = count
        core = self.host.cores.get(CLIENT)
        if isinstance(core, Client):
            for stream, frontier in core.delivered.items():
                port = [core.ports[stream]]
                reads = {"reads": lanes_of(port), "misses": cut_off_of(port, core.monitor, self.clock.now())}
                found["streams"].setdefault(stream, {}).update(reads, frontier=frontier)
        return found

    @property
    def counts(self) -> dict[str, int]:
        """Buckets of all streams."""
        return {kind: sum(one[kind] for one in self._delivered_as.values()) for kind in KINDS}

    def measured(self) -> Iterator[Sample]:
        for stream, metrics in self.metrics.streams.items():
            yield Sample("auroral_correcting_seconds", metrics.corrections, {"stream": stream})
            if self.deployed.agreed.origin is None:
                yield Sample("auroral_latency_seconds", metrics.latencies, {"stream": stream})

    def _observed(self, name: str, event: Event, effects: Sequence[Effect]) -> None:
        origin = self.deployed.first * self.deployed.settings.bucket
        now = self.clock.now() - origin
        for effect in effects:
            self.metrics.saw(now, event, (effect,))
            if isinstance(effect, Deliver | Miss):
                self._delivered_as.setdefault(effect.stream, Counter())
            if isinstance(effect, Deliver):
                self._deliver_one(effect)
            elif isinstance(effect, Miss):
                for bucket in range(effect.begin, effect.end):
                    self._shown_tentative.pop((effect.stream, bucket), None)
                self._remember(effect.stream, effect.begin, "missed", count=0, rows=[], end=effect.end)
                self._course.missed(effect.stream, effect.begin, effect.end, self.clock.now())

    def _deliver_one(self, effect: Deliver) -> None:
        key = (effect.stream, effect.bucket)
        kind = "stable" if effect.stable else "tentative"
        if effect.stable and (before := self._shown_tentative.pop(key, None)) is not None:
            kind = "confirmed" if before == effect.content.hash else "corrected"
        elif not effect.stable:
            self._shown_tentative[key] = effect.content.hash
        self._delivered_as[effect.stream][kind] += 1
        more: dict[str, Any] = {"count": effect.content.count, "rows": _in_words(effect.content.rows)}
        metrics = self.metrics.streams[effect.stream]
        if metrics.newest == effect.bucket and effect.bucket > self._newest.get(effect.stream, -1):
            self._newest[effect.stream] = effect.bucket
            more["latency"] = metrics.new[-1].latency
        if not effect.stable:
            more["coverage"] = self._coverage(effect)
        self._remember(effect.stream, effect.bucket, kind, **more)
        delay = self._delay(effect.stream, more["latency"]) if "latency" in more else None
        at, coverage = self.clock.now(), more.get("coverage", {})
        self._course.delivered(effect.stream, effect.bucket, kind, effect.content.count, at, delay, coverage)

    def _delay(self, stream: str, latency: float) -> float | None:
        """How much later than usual something new came; None where times of rows do not pass as those of the clock do."""
        if not self._in_time:
            return None
        usual, looked = self._usual.get(stream, (0.0, 0.0))
        if (now := self.clock.now()) - looked >= _USUAL_FOR:
            usual = self.metrics.streams[stream].usual
            self._usual[stream] = (usual, now)
        return max(0.0, latency - usual)

    def _remember(self, stream: str, bucket: int, kind: str, **more: Any) -> None:
        self._number += 1
        said = {"number": self._number, "at": self.clock.now(), "stream": stream, "bucket": bucket, "kind": kind}
        self._delivered.append({**said, **more})
        self.recorder.write(
            at=said["at"], delivery={**said, **{key: one for key, one in more.items() if key != "rows"}}
        )

    def _coverage(self, effect: Deliver) -> dict[str, str]:
        """How much there is of each source."""
        core = self.host.cores[CLIENT]
        assert isinstance(core, Client)
        found = core.ports[effect.stream].coverage(effect.bucket)
        return {source: found.level(source).name.lower() for source in found.spans}

    async def _tail(self, asked: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Deliveries behind the one of this number, as far as they are remembered."""
        since, stream = int(asked.get("since", 0)), asked.get("stream")
        return [one for one in self._delivered if one["number"] > since and stream in (None, one["stream"])]

    async def _why(self, asked: Mapping[str, Any]) -> str | None:
        core = self.host.cores[CLIENT]
        assert isinstance(core, Client)
        stream = str(asked["stream"])
        return str(why(core, stream, self.clock.now())) if stream in core.ports else None


def _in_words(rows: pa.Table | None) -> list[dict[str, Any]]:
    """The first rows, for people. Times that Python does not know stay numbers."""
    if rows is None:
        return []
    first = rows.slice(0, 20)
    plain = {name: as_numbers(first.column(name)) for name in first.column_names}
    found: list[dict[str, Any]] = json.loads(json.dumps(pa.table(plain).to_pylist(), default=str))
    return found
