"""A process of a deployment: `python -m auroral.node.fleet.process FOLDER NAME`.

It is a source, a node, the client, or has the Spark that nodes share. It ends with SIGTERM, and cleanly; killed, it goes on from the
folder when it is started again.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from auroral.dpc.assembly import CATALOG, CLIENT
from auroral.dpc.events import Disconnected, Effect, Received, Report
from auroral.dpc.layout import Layout
from auroral.dpc.values import Decided, Prepare, Rewire
from auroral.engine.footprint import Footprint, resident
from auroral.model.errors import AuroralError
from auroral.node.fleet.clock import Clock
from auroral.node.fleet.control import Control
from auroral.node.fleet.deployed import TLS, Deployed, agreed_in
from auroral.node.fleet.eventlog import EventLog
from auroral.node.fleet.host import Host
from auroral.node.fleet.metrics.collecting import of_process, of_status
from auroral.node.fleet.metrics.counting import Counting
from auroral.node.fleet.metrics.exposition import Sample, text
from auroral.node.fleet.metrics.places import metrics_at
from auroral.node.fleet.metrics.serving import MetricServer
from auroral.node.fleet.recording import Recorder
from auroral.node.fleet.refusals import Refusals, watch_handshakes
from auroral.node.fleet.structuredlog import begin_logging
from auroral.node.fleet.tracing import Tracing, must_be_installed, provider_to, send_the_rest
from auroral.node.fleet.turns import Turns
from auroral.node.runfolder import RunFolder
from auroral.node.storeddiagram import load_diagram
from auroral.wire.addresses import AddressBook
from auroral.wire.certificates import Certificates
from auroral.wire.flight import FlightTransport
from auroral.wire.hello import Identity
from auroral.wire.transport import Patience

_log = logging.getLogger(__name__)
OF_CATALOG = (Rewire, Prepare, Decided)
"""What the catalog alone says."""
_LOOK_EVERY = 0.2
DRAIN_WITHIN = 3.0
"""Seconds that jobs have to end when a process is to end."""


class Process:
    """What all of them have in common: a host that reaches the others, a log of events, and answers for who asks."""

    def __init__(self, deployed: Deployed, name: str, fingerprint: str = ""):
        self.deployed, self.name = deployed, name
        self.clock = Clock()
        folder = deployed.folder
        self.events = EventLog(folder / "events" / f"{name}.jsonl", name, self.clock)
        self.book = AddressBook()
        # With certificates, nobody needs to be a stranger.
        self.book.closed = deployed.agreed.tls
        self._locate()
        identity = Identity.of(name, deployed.checked.diagram.bucket, fingerprint)
        listen = deployed.endpoint(name) if name in deployed.agreed.endpoints else None
        # Silence is a failure to the protocol sooner than to a connection: what is healed in time goes on.
        patience = Patience(silence=max(3.0, 2 * deployed.settings.detection))
        certificates = Certificates.from_folder(folder / TLS / name) if deployed.agreed.tls else None
        self.transport = FlightTransport(identity, self.book, self._deliver, listen, certificates, patience)
        self.refusals = Refusals(self.events, self.clock)
        self.transport.told_refused = self.refusals.note
        self.host = Host(self.clock, self.transport)
        turns = Turns(self.events)
        self.host.shown += [self._shown, turns.saw]
        self.host.observed.append(turns.heard)
        self.host.failed = self._failed
        self.failure: BaseException | None = None
        self.new = deployed.agreed.first is None
        """Whether the deployment had not begun when it was started: otherwise there may have been lives before, whatever is left of them."""
        self.control = Control(folder / "processes" / f"{name}.json", self._answer)
        self.doing: dict[str, Callable[[Mapping[str, Any]], Awaitable[Any]]] = {
            "status": self._status,
            "cut": self._cut,
            "heal": self._heal,
            "slow": self._slow,
            "begin": self._begin,
        }
        self.opened = AsyncExitStack()
        """What is to be closed at the end, the last first."""
        self.opened.callback(self.events.close)
        self.opened.push_async_callback(self.transport.stop)
        self.opened.push_async_callback(self.host.stop)
        self.known: dict[str, Any] = {}
        """What others find in its file."""
        self.jvm: int | None = None
        """The number of the JVM that it started, if it did."""
        self.footprint: Callable[[], Footprint] = lambda: Footprint(resident("self"))
        """Blocking."""
        self.counting: Counting | None = None
        """Since metrics were asked for."""
        self.recorder = Recorder(folder, name)
        self.opened.callback(self.recorder.close)
        self.cut_off: set[str] = set()
        """Others that it was told to let nothing pass to or from, or in one direction."""
        self.began = self.clock.now()
        self.begun, self.lives = asyncio.Event(), asyncio.Event()
        self.ended = asyncio.Event()

    async def prepare(self) -> None:
        """All that can be done before it is known when the deployment begins."""

    async def begin(self) -> None:
        """Its cores live from here on."""

    async def follow(self, layout: Layout) -> None:
        """What is to be where has changed. Cores hear of it from the catalog."""

    def _locate(self) -> None:
        """Wherever replicas may be, now or later."""
        deployed = self.deployed
        for other in deployed.agreed.endpoints:
            self.book.locate(other, deployed.endpoint(other))
        sources = {deployed.assembly.source_core(stream): stream for stream in deployed.fragments.sources}
        replicas = {f"{fragment.name}@{node}": node for fragment in deployed.fragments.all for node in deployed.nodes}
        self.book.place_all({**sources, **replicas, CLIENT: CLIENT, CATALOG: CATALOG})

    async def watch_layout(self, seen: int) -> None:
        """What the catalog wrote down last, and which nodes there are."""
        while True:
            await asyncio.sleep(_LOOK_EVERY)
            if (now := self.written()) != seen and self.deployed.layout_file.exists():
                seen = now
                self.deployed = await asyncio.to_thread(Deployed.look, self.deployed.folder, self.deployed.checked)
                self._locate()
                await self.follow(self.deployed.layout)

    def written(self) -> int:
        """Of the files that say what is to be where."""
        files = (self.deployed.layout_file, self.deployed.folder / "deployment.json")
        return hash(tuple((at.st_mtime_ns, at.st_ino) if (at := _stat(file)) else None for file in files))

    def in_the_background(self, task: Coroutine[Any, Any, None]) -> None:
        """Until the end. Whatever it fails with ends the process."""
        running = asyncio.ensure_future(task)
        running.add_done_callback(self._background_ended)
        self.opened.push_async_callback(_cancelled, running)

    def _background_ended(self, task: asyncio.Future[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.critical("%s cannot go on", self.name, exc_info=error)
            self._failed(self.name, error)

    def status(self) -> dict[str, Any]:
        return {}

    # What it tells Prometheus

    def measured(self) -> Iterator[Sample]:
        """Besides what `status` says."""
        yield from ()

    async def _metrics(self) -> str:
        footprint = await asyncio.to_thread(self.footprint)
        said, now = self.status(), self.clock.now()
        found = [
            *of_process(said.get("kind", "spark"), importlib.metadata.version("auroral"), self.began, footprint),
            *self.measured(),
        ]
        found += of_status(self.name, said, self.deployed, now)
        found += [Sample("auroral_events_total", n, {"event": kind}) for kind, n in self.events.counts.items()]
        if self.counting is not None:
            found += self.counting.samples()
        return text(self.name, found)

    def _count(self) -> None:
        if self.counting is None:
            self.counting = Counting(self.clock)
            self.host.observed.append(self.counting.saw)

    def begin_tracing(self) -> None:
        """Where traces were asked for when it was started."""
        deployed = self.deployed
        if not deployed.agreed.traces:
            return
        try:
            must_be_installed()
        except AuroralError as error:
            # As on another machine, which has no collector to send to either: that is no reason not to compute.
            _log.error("%s", error)
            self.events.note("traces not sent", detail=str(error))
            return
        provider = provider_to(deployed.agreed.traces, self.name, deployed.folder.name)
        bucket, first, clocked = deployed.settings.bucket, deployed.first, deployed.agreed.origin is None
        tracing = Tracing(
            provider,
            RunFolder.settings_of(deployed.folder).run,
            self.clock.now,
            lambda number: (first + number + 1) * bucket if clocked else None,
            [deployed.assembly.source_core(stream) for stream in deployed.fragments.sources],
            deployed.fragments.client if self.name == CLIENT else (),
        )
        self.host.observed.append(tracing.saw)
        self.opened.push_async_callback(asyncio.to_thread, send_the_rest, provider)

    def metric_server(self) -> MetricServer:
        def failed(detail: str) -> None:
            self.events.note("metrics not served", detail=detail)

        return MetricServer(lambda: metrics_at(self.deployed, self.name), self._metrics, self._count, failed)

    def _deliver(self, core: str, event: Received | Disconnected) -> None:
        if isinstance(event, Received) and isinstance(event.message, OF_CATALOG) and event.sender != CATALOG:
            self.events.note("refused", core=core, detail=f"{event.sender} speaks for the catalog")
            return
        self.host.tell(core, event)

    def _shown(self, core: str, effect: Effect) -> None:
        if isinstance(effect, Report):
            self.events.note(
                effect.kind, core=core, stream=effect.stream, count=effect.count, detail=effect.detail[:500]
            )

    def _failed(self, core: str, error: BaseException) -> None:
        self.failure = error
        self.ended.set()
        self.events.note("failed", core=core, detail=f"{type(error).__name__}: {error}"[:500])

    # What it is asked

    async def _answer(self, asked: Mapping[str, Any]) -> Any:
        do = self.doing.get(str(asked.get("do")))
        if do is None:
            raise AuroralError(f"it cannot {asked.get('do')!r}\n    allowed: {', '.join(self.doing)}")
        return await do(asked)

    async def _status(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        rss = [resident(which) for which in ("self", *([] if self.jvm is None else [str(self.jvm)]))]
        return {
            "name": self.name,
            "begun": self.begun.is_set(),
            "metrics": None if (at := metrics_at(self.deployed, self.name)) is None else f"http://{at}/metrics",
            "rss": sum(map(int, filter(None, rss))),
            **self.said(),
        }

    def said(self) -> dict[str, Any]:
        return {"cut_off": sorted(self.cut_off), **self.status()}

    async def _begin(self, asked: Mapping[str, Any]) -> None:
        """It has been written down when the deployment begins. Answered when its cores live."""
        self.begun.set()
        await self.lives.wait()

    async def _cut(self, asked: Mapping[str, Any]) -> None:
        peer = str(asked["peer"])
        self.transport.refuse(peer, going=bool(asked.get("going", True)), coming=bool(asked.get("coming", True)))
        self.cut_off.add(peer)
        self.events.note("cut off", peer=peer)
        self.recorder.turned.set()

    async def _heal(self, asked: Mapping[str, Any]) -> None:
        peer = str(asked["peer"])
        self.transport.allow(peer)
        self.cut_off.discard(peer)
        self.events.note("healed", peer=peer)
        self.recorder.turned.set()

    async def _slow(self, asked: Mapping[str, Any]) -> None:
        self.transport.slow(str(asked["peer"]), float(asked["seconds"]))


async def run(folder: Path, name: str) -> None:
    # Here, since a source or a client needs no Spark, and whoever has the Spark nothing else.
    from auroral.node.fleet.roles import role

    process = role(Deployed.look(folder, load_diagram(folder)), name)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, process.ended.set)
    await lived(process)


async def lived(process: Process, reached: Callable[[], None] = lambda: None) -> None:
    """From its beginning to its end. `reached` is called when it can be asked."""
    deployed, folder, name = process.deployed, process.deployed.folder, process.name
    async with process.opened:
        await process.prepare()
        await process.transport.start()
        await process.control.start(**process.known)
        process.opened.push_async_callback(process.control.stop)
        process.events.note("started")
        process.in_the_background(process.metric_server().run())
        reached()
        if deployed.agreed.tls:
            process.in_the_background(watch_handshakes(folder / "logs" / f"{name}.log", process.refusals.note))
        if process.deployed.agreed.first is None:
            await _either(process.begun, process.ended)
            process.deployed = Deployed.look(folder, deployed.checked)
        process.begun.set()
        if not process.ended.is_set():
            seen = process.written()
            process.begin_tracing()
            await process.begin()
            process.in_the_background(process.watch_layout(seen))
            process.in_the_background(process.recorder.run(process.said, process.clock))
            process.lives.set()
        await process.ended.wait()
        process.events.note("ending")
        if process.failure is None:
            await process.host.drain(DRAIN_WITHIN)
    if process.failure is not None:
        raise process.failure


def _stat(file: Path) -> os.stat_result | None:
    try:
        return file.stat()
    except FileNotFoundError:
        return None


async def _cancelled(task: asyncio.Future[None]) -> None:
    task.cancel()
    await asyncio.wait([task])


async def _either(*events: asyncio.Event) -> None:
    waiting = [asyncio.ensure_future(event.wait()) for event in events]
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for one in waiting:
        one.cancel()


def main(arguments: list[str]) -> int:
    folder, name = Path(arguments[0]), arguments[1]
    begin_logging(folder, name, agreed_in(folder).logs)
    try:
        asyncio.run(run(folder, name))
    except AuroralError as error:
        _log.error("%s", error)
        return 1
    except Exception:
        _log.critical("%s ends with an error of its own", name, exc_info=True)
        raise
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
