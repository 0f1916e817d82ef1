"""What each process of a deployment does."""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import logging
import secrets
import shutil
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from auroral.dpc.assembly import CLIENT, node_of
from auroral.dpc.client import Client
from auroral.dpc.events import Deliver, Effect, Event, Miss
from auroral.dpc.metrics import Metrics
from auroral.dpc.replica import Replica
from auroral.dpc.source import Source as SourceCore
from auroral.dpc.versions import NO_CHANGE
from auroral.dpc.why import why
from auroral.edge.durable import StorageError
from auroral.engine.arrowrows import as_numbers
from auroral.engine.session import start_session
from auroral.engine.shared import Gateway, attached, gateway_of, jvm_lives
from auroral.model.deployment import endpoint
from auroral.model.errors import AuroralError
from auroral.node.feeds import Feed, make_feed, wall_clock
from auroral.node.fleet.clientproxy import ClientStore
from auroral.node.fleet.deployed import SPARK, Deployed, DeploymentError, gateway
from auroral.node.fleet.evaluation import Evaluation, ordered_streams
from auroral.node.fleet.lineinput import LineInput
from auroral.node.fleet.process import Process
from auroral.node.fleet.sourceproxy import SourceProxy
from auroral.node.runfolder import RunFolder
from auroral.node.source import Source
from auroral.node.store.corestore import CoreStore

_log = logging.getLogger(__name__)
LINES = "tcp:"
"""How an input is written whose rows come as lines over TCP."""
SPARK_WITHIN = 120.0
"""Seconds for which a node waits for the Spark that is to be started beside it."""
_TICKS = 10
"""Looks at the clock in a bucket."""
_SHOWN = 500
"""Deliveries that a client remembers for whoever looks."""


def role(deployed: Deployed, name: str) -> Process:
    if name == SPARK:
        return SparkProcess(deployed, name)
    if name == CLIENT:
        return ClientProcess(deployed, name)
    if name in deployed.fragments.sources:
        return SourceProcess(deployed, name)
    if name in deployed.nodes:
        return NodeProcess(deployed, name, fingerprint())
    raise AuroralError(f"there is no {name!r} in this deployment\n    allowed: {', '.join(deployed.processes)}")


def fingerprint() -> str:
    """Of the engine: replicas with another one might give other results."""
    return " ".join(f"{name} {importlib.metadata.version(name)}" for name in ("auroral", "pyspark", "pyarrow"))


class SparkProcess(Process):
    """Has the Spark that the nodes on this machine share."""

    async def prepare(self) -> None:
        self.session = await asyncio.to_thread(start_session, self.deployed.agreed.master)
        self.known = {"gateway": asdict(gateway_of(self.session))}
        self.in_the_background(self._watch())

    async def _watch(self) -> None:
        """Without its JVM it is of no use: it ends, and is started again with a new one."""
        while jvm_lives(self.session):
            await asyncio.sleep(0.5)
        raise AuroralError("the JVM of Spark has ended\n    next: auroral up starts another, and the nodes with it")


class SourceProcess(Process):
    async def prepare(self) -> None:
        given = self.deployed.checked.diagram.input(self.name)
        assert given is not None
        bucket = self.deployed.checked.diagram.bucket
        folder = RunFolder.look(self.deployed.folder).source(self.name)
        self.source = await asyncio.to_thread(Source, given, bucket, folder)
        self.doing |= {"pause": self._pause, "resume": self._resume, "why": self._why}
        self.opened.callback(self.source.close)
        # What is said of the end comes after all else has ended.
        self.opened.push_async_callback(self.host.stop)
        self._stop, self._woken, self._loop = threading.Event(), asyncio.Event(), asyncio.get_running_loop()
        self.proxy: SourceProxy | None = None
        self.lines: LineInput | None = None
        how = self.deployed.agreed.inputs[self.name]
        if how.startswith(LINES):
            # Here, so that an address that is taken is said before anything begins.
            self.lines = LineInput(self.source, endpoint(how.removeprefix(LINES)), wall_clock, self._wake)
            self.opened.callback(self.lines.stop)

    async def begin(self) -> None:
        deployed, assembly = self.deployed, self.deployed.assembly
        bucket, first = deployed.checked.diagram.bucket, deployed.first
        self.core = assembly.source_core(self.name)
        self.proxy = SourceProxy(self.host, self.core, self.source, bucket, first)
        self.host.shown.append(self.proxy.shown)
        started = await asyncio.to_thread(self.proxy.started)
        self.host.start(self.core, assembly.source(self.name, assembly.layout), started, self.proxy)
        if self.lines is not None:
            self.lines.start()
        else:
            feed = make_feed(self.source, deployed.agreed.inputs[self.name], wall_clock)
            threading.Thread(target=self._run_feed, args=(feed,), name="feed", daemon=True).start()
        self.in_the_background(self._tick(self.proxy, bucket / 1e6 / _TICKS))
        self.opened.callback(self._stop.set)

    def _wake(self) -> None:
        """From any thread: rows were taken."""
        with suppress(RuntimeError):
            # The loop of a process that has ended has nobody to tell.
            self._loop.call_soon_threadsafe(self._woken.set)

    def _run_feed(self, feed: Feed) -> None:
        try:
            while True:
                try:
                    return feed.run(self._stop, self._wake)
                except StorageError as error:
                    # When there is room, it goes on behind what is logged.
                    _log.error("%s cannot log, and waits: %s", self.name, error)
                    if self._stop.wait(1):
                        return None
                    feed = make_feed(self.source, self.deployed.agreed.inputs[self.name], wall_clock)
        except AuroralError as error:
            # What came before it is logged, and nothing behind it is: to the others this input has failed.
            self.events.note("input failed", stream=self.name, detail=str(error))
            _log.error("%s", error)

    async def _tick(self, proxy: SourceProxy, every: float) -> None:
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), every)
            self._woken.clear()
            try:
                await proxy.advance(wall_clock())
            except StorageError as error:
                # Nothing is given that is not logged. When there is room, it goes on.
                _log.error("%s cannot log, and waits: %s", self.name, error)
                await asyncio.sleep(1)

    def status(self) -> dict[str, Any]:
        state = self.source.state
        found: dict[str, Any] = {"kind": "source", "rows": state.rows, "boundary": state.boundary, "ended": state.ended}
        found["ledger"] = {row.reason: row.count for row in state.ledger.rows()}
        if self.proxy is not None:
            found |= {"closed": self.proxy.closed, "paused": not self.source.room.is_set(), "silent": self.proxy.silent}
            found["lines"] = None if self.lines is None else str(self.lines.endpoint)
        return found

    def _begun(self) -> SourceProxy:
        if self.proxy is None:
            raise AuroralError(f"source {self.name!r} has not begun")
        return self.proxy

    async def _pause(self, asked: Mapping[str, Any]) -> None:
        self._begun().silent = True
        self.events.note("paused")

    async def _resume(self, asked: Mapping[str, Any]) -> None:
        self._begun().silent = False
        self.events.note("resumed")

    async def _why(self, asked: Mapping[str, Any]) -> str | None:
        core = self.host.cores[self.core]
        assert isinstance(core, SourceCore)
        return str(why(core, self.name, self.clock.now())) if asked["stream"] == self.name else None


class NodeProcess(Process):
    async def prepare(self) -> None:
        deployed = self.deployed
        self.doing |= {"why": self._why}
        self.session = await asyncio.to_thread(attached, await self._gateway())
        layout = deployed.assembly.layout
        self.replicas = [c for members in layout.members.values() for c in members if node_of(c) == self.name]
        self.evaluations = {core: await asyncio.to_thread(self._evaluation, core) for core in self.replicas}
        self._states: dict[tuple[str, str], str] = {}
        self.host.observed.append(self._observed)

    async def _gateway(self) -> Gateway:
        """Of Spark, which may just be starting."""
        until = time.monotonic() + SPARK_WITHIN
        while True:
            try:
                return gateway(self.deployed.folder)
            except DeploymentError:
                if time.monotonic() > until or self.ended.is_set():
                    raise
                await asyncio.sleep(0.1)

    def _evaluation(self, core: str) -> Evaluation:
        fragment = self.deployed.assembly.fragment(core)
        ordered = ordered_streams(self.deployed.fragments)
        # One that was killed may have left a job that still writes: each life has a folder of its own.
        caches = self.deployed.folder / "nodes" / self.name / core / "cache"
        shutil.rmtree(caches, ignore_errors=True)
        cache = caches / secrets.token_hex(4)
        found = Evaluation(self.session, fragment, 0, cache, ordered.intersection(fragment.streams))
        # One that comes back finds Spark warm, and the others need it.
        found.warm_up(*(() if self.deployed.agreed.first is None else (0.0,)))
        return found

    async def begin(self) -> None:
        assembly = self.deployed.assembly
        for core in self.replicas:
            folder = self.deployed.folder / "nodes" / self.name / core / "kept"
            store = await asyncio.to_thread(CoreStore.open, folder)
            self.opened.callback(store.close)
            for damage in store.damage:
                self.events.note("damaged", core=core, detail=damage)
            evaluation = self.evaluations[core]
            evaluation.first = self.deployed.first
            started = await asyncio.to_thread(store.started, NO_CHANGE)
            self.host.start(core, assembly.replica(core, assembly.layout, not self.new), started, store, evaluation)
        self.opened.push_async_callback(self.host.stop)

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = {"kind": "node", "outputs": {}, "left_out": {}}
        for name, core in self.host.cores.items():
            assert isinstance(core, Replica)
            for stream, offer in core.offers(self.clock.now()).items():
                tentative = max(0, core.outlets[stream].newest + 1 - offer.frontier)
                found["outputs"][stream] = {
                    "query": name.rpartition("@")[0],
                    "state": "RECOVERING" if core.recovering else str(offer.state),
                    "fresh": offer.fresh,
                    "frontier": offer.frontier,
                    "tentative": tentative,
                }
            for (box, reason), count in dict(self.evaluations[name].left_out).items():
                found["left_out"][f"{box}: {reason}"] = count
        return found

    def _observed(self, name: str, event: Event, effects: Sequence[Effect]) -> None:
        core = self.host.cores.get(name)
        assert isinstance(core, Replica | None)
        for stream, union in core.unions.items() if core is not None else ():
            state = "RECOVERING" if core is not None and core.recovering else str(union.noted)
            if self._states.get((name, stream)) != state:
                self._states[name, stream] = state
                self.events.note("state", core=name, stream=stream, state=state, frontier=union.outlet.frontier)

    async def _why(self, asked: Mapping[str, Any]) -> str | None:
        for core in self.host.cores.values():
            assert isinstance(core, Replica)
            if asked["stream"] in core.unions:
                return str(why(core, str(asked["stream"]), self.clock.now()))
        return None


class ClientProcess(Process):
    async def prepare(self) -> None:
        self.doing |= {"tail": self._tail, "why": self._why}
        self.run_folder = await asyncio.to_thread(RunFolder.resume, self.deployed.folder)
        self.opened.callback(self.run_folder.close)
        self.metrics = Metrics(self.deployed.settings.bucket)
        self.host.observed.append(self._observed)
        self._delivered: deque[dict[str, Any]] = deque(maxlen=_SHOWN)
        self._number = 0
        self.counts = {"stable": 0, "tentative": 0, "corrected": 0, "confirmed": 0}
        self._shown_tentative: dict[tuple[str, int], int] = {}

    async def begin(self) -> None:
        assembly, first = self.deployed.assembly, self.deployed.first
        store = await asyncio.to_thread(ClientStore, self.run_folder, first)
        self.opened.callback(store.close)
        self.opened.push_async_callback(self.host.stop)
        self.host.start(CLIENT, assembly.client(assembly.layout), store.started(), store)

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = {"kind": "client", "counts": self.counts, "streams": {}}
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
            }
        core = self.host.cores.get(CLIENT)
        if isinstance(core, Client):
            for stream, frontier in core.delivered.items():
                found["streams"].setdefault(stream, {})["frontier"] = frontier
        return found

    def _observed(self, name: str, event: Event, effects: Sequence[Effect]) -> None:
        origin = self.deployed.first * self.deployed.settings.bucket
        self.metrics.saw(self.clock.now() - origin, event, effects)
        for effect in effects:
            if isinstance(effect, Deliver):
                self._deliver_one(effect)
            elif isinstance(effect, Miss):
                for bucket in range(effect.begin, effect.end):
                    self._shown_tentative.pop((effect.stream, bucket), None)

    def _deliver_one(self, effect: Deliver) -> None:
        key = (effect.stream, effect.bucket)
        kind = "stable" if effect.stable else "tentative"
        if effect.stable and (before := self._shown_tentative.pop(key, None)) is not None:
            kind = "confirmed" if before == effect.content.hash else "corrected"
        elif not effect.stable:
            self._shown_tentative[key] = effect.content.hash
        self.counts[kind] += 1
        self._number += 1
        rows = _in_words(effect.content.rows)
        said = {"at": self.clock.now(), "stream": effect.stream, "bucket": effect.bucket, "kind": kind}
        self._delivered.append(
            {
                "number": self._number,
                **said,
                "count": effect.content.count,
                "rows": rows,
            }
        )

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
