"""The process of a node: replicas of queries, with their jobs on Spark."""

from __future__ import annotations

import asyncio
import importlib.metadata
import logging
import secrets
import shutil
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from auroral.dpc.assembly import node_of
from auroral.dpc.events import Effect, Evaluated, Event, Learned
from auroral.dpc.layout import Layout
from auroral.dpc.port import cut_off_of, lanes_of
from auroral.dpc.replica import Replica
from auroral.dpc.transitions import RECOVERING, StateTimes, Transitions
from auroral.dpc.versions import Plan
from auroral.dpc.why import waits_for, why
from auroral.engine.shared import Gateway, attached
from auroral.model.errors import AuroralError
from auroral.node.fleet.deployed import DeploymentError, gateway
from auroral.node.fleet.evaluation import Evaluation, ordered_streams
from auroral.node.fleet.process import Process
from auroral.node.fleet.roles.spark import own_session
from auroral.node.fleet.versions import assembly_with_versions, version_of
from auroral.node.leftout import LeftOutLog, log_of
from auroral.node.store.corestore import CoreStore

_log = logging.getLogger(__name__)
SPARK_WITHIN = 120.0
"""Seconds for which a node waits for the Spark that is to be started beside it."""

AGAIN = 5.0
"""Seconds after which a replica that could not be started is tried again."""
CORES = 2
"""That a node takes of a cluster: without a limit, the first one would take all of them, and the others wait for ever."""


def fingerprint() -> str:
    """Of the engine: replicas with another one might give other results."""
    return " ".join(f"{name} {importlib.metadata.version(name)}" for name in ("auroral", "pyspark", "pyarrow"))


class NodeProcess(Process):
    async def prepare(self) -> None:
        self.doing |= {"why": self._why, "learn": self._learn}
        master = self.deployed.master_of(self.name)
        if master is None:
            self.session = await asyncio.to_thread(attached, await self._gateway())
        else:
            self.session = await own_session(self, master, CORES)
        self.evaluations: dict[str, Evaluation] = {}
        self.stores: dict[str, CoreStore] = {}
        for core in self._here(self.deployed.layout):
            self.evaluations[core] = await asyncio.to_thread(self._evaluation, core)
        self.not_started: dict[str, str] = {}
        """Replicas that are to run here and could not be started, and why."""
        self._following = asyncio.Lock()
        self._transitions, self._state_times = Transitions(), StateTimes()
        self._computed: Counter[tuple[str, str]] = Counter()
        """Rows that jobs gave in this life, stable or not, by replica and stream."""
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

    def _here(self, layout: Layout) -> list[str]:
        """The replicas that run on this node."""
        return [core for query in layout.members for core in layout.running(query) if node_of(core) == self.name]

    def _folder(self, core: str) -> Path:
        return self.deployed.folder / "nodes" / self.name / core

    def _evaluation(self, core: str) -> Evaluation:
        query = core.rpartition("@")[0]
        ordered = ordered_streams(self.deployed.fragments)
        # One that was killed may have left a job that still writes: each life has a folder of its own.
        caches = self._folder(core) / "cache"
        shutil.rmtree(caches, ignore_errors=True)
        cache = caches / secrets.token_hex(4)
        found = Evaluation(
            self.session, partial(version_of, self.deployed, query), 0, cache, ordered, self._ledger(core)
        )
        # One that comes back to a Spark that others need finds it warm.
        warm = self.deployed.agreed.first is not None and self.deployed.master_of(self.name) is None
        found.warm_up(*((0.0,) if warm else ()))
        return found

    def _ledger(self, core: str) -> LeftOutLog:
        found = LeftOutLog(log_of(self.deployed.folder, core))
        if found.damage is not None:
            self.events.note("damaged", core=core, detail=found.damage)
        return found

    async def begin(self) -> None:
        self.opened.callback(self._close_stores)
        self.opened.push_async_callback(self.host.stop)
        await self.follow(self.deployed.layout)
        self.in_the_background(self._try_again())

    def _close_stores(self) -> None:
        for store in self.stores.values():
            store.close()
        for evaluation in self.evaluations.values():
            evaluation.close()

    async def follow(self, layout: Layout) -> None:
        """Replicas that are to run here, and do not, are started; others are ended, and what they kept is thrown away: if they ever come
        again, they are new. One that cannot be started does not keep the others from running, and is tried again."""
        async with self._following:
            await self._follow(layout)

    async def _follow(self, layout: Layout) -> None:
        here = self._here(layout)
        for core in [core for core in self.stores if core not in here]:
            await self._end(core)
        left = self.deployed.folder / "nodes" / self.name
        for folder in left.iterdir() if left.exists() else ():
            if folder.name not in here:
                await asyncio.to_thread(_throw_away, folder)
        for core in [core for core in here if core not in self.stores]:
            try:
                await self._start(core, layout)
            except (AuroralError, OSError) as error:
                await self._could_not_start(core, error)
            else:
                self.not_started.pop(core, None)

    async def _could_not_start(self, core: str, error: Exception) -> None:
        if core in self.stores:
            self.stores.pop(core).close()
        if core in self.evaluations:
            self.evaluations.pop(core).close()
        _log.error("%s cannot be started, and is tried again: %s", core, error, extra={"core": core})
        if self.not_started.get(core) != str(error):
            self.events.note("not started", core=core, detail=str(error)[:500])
        self.not_started[core] = str(error)

    async def _try_again(self) -> None:
        while True:
            await asyncio.sleep(AGAIN)
            if self.not_started:
                await self.follow(self.deployed.layout)

    async def _start(self, core: str, layout: Layout) -> None:
        if core not in self.evaluations:
            self.evaluations[core] = await asyncio.to_thread(self._evaluation, core)
        store = self.stores[core] = await asyncio.to_thread(CoreStore.open, self._folder(core) / "kept")
        for damage in store.damage:
            self.events.note("damaged", core=core, detail=damage)
        self.evaluations[core].first = self.deployed.first
        query = core.rpartition("@")[0]
        # Of one that is new, only the catalog knows which versions there are.
        started = await asyncio.to_thread(store.started, Plan(layout.decision(query).starts))
        begins = self.new and layout.number == 0
        assembly = await asyncio.to_thread(assembly_with_versions, self.deployed)
        replica = assembly.replica(core, layout, recovering=not begins)
        self.host.start(core, replica, started, store, self.evaluations[core])

    async def _learn(self, asked: Mapping[str, Any]) -> None:
        """What a version reads that is about to be wanted. A replica that is just being started may have looked too early, and is told too."""
        query, version = str(asked["query"]), int(asked["version"])
        async with self._following:
            assembly = await asyncio.to_thread(assembly_with_versions, self.deployed)
            reading = assembly.later[query][version]
            sources = {stream: assembly.computed_from(stream) for one in reading.values() for stream in one.reads}
            for core in [core for core in self.host.cores if core.rpartition("@")[0] == query]:
                self.host.tell(core, Learned(version, reading, sources))

    async def _end(self, core: str) -> None:
        await self.host.end(core)
        self.stores.pop(core).close()
        self.evaluations.pop(core).close()
        self.events.note("left", core=core)

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = {"kind": "node", "outputs": {}, "left_out": {}, "not_started": dict(self.not_started)}
        spent = [evaluation.spent for evaluation in self.evaluations.values()]
        found["seconds_in_jobs"] = {
            lane: sum(one[lane == "tentative"] for one in spent) for lane in ("stable", "tentative")
        }
        ran = [evaluation.ran for evaluation in self.evaluations.values()]
        found["jobs"] = {lane: sum(one[lane == "tentative"] for one in ran) for lane in ("stable", "tentative")}
        for name, core in self.host.cores.items():
            assert isinstance(core, Replica)
            for stream, offer in core.offers(now := self.clock.now()).items():
                inputs = core.unions[stream].used.values()
                tentative = max(0, core.outlets[stream].newest + 1 - offer.frontier)
                found["outputs"][stream] = {
                    "query": name.rpartition("@")[0],
                    "state": RECOVERING if core.recovering else str(offer.state),
                    "fresh": offer.fresh,
                    "frontier": offer.frontier,
                    "tentative": tentative,
                    "waits_for": waits_for(core, stream),
                    "reads": lanes_of(inputs),
                    "misses": cut_off_of(inputs, core.monitor, now),
                    "computed": self._computed[name, stream],
                    "seconds_in": self._state_times.of(name, stream, now),
                }
            for (box, reason), count in self.evaluations[name].left_out.items():
                found["left_out"][f"{box}: {reason}"] = count
        return found

    def _observed(self, name: str, event: Event, effects: Sequence[Effect]) -> None:
        core = self.host.cores.get(name)
        if core is None:
            # It has just left.
            return
        assert isinstance(core, Replica)
        if isinstance(event, Evaluated):
            for stream, contents in event.contents.items():
                self._computed[name, stream] += sum(content.count for content in contents)
        for one in self._transitions.of(name, core, event):
            self._state_times.turned(name, one.stream, one.after, self.clock.now())
            told = {"state": one.after, "was": one.before, "by": one.by}
            self.recorder.turned.set()
            self.events.note("state", core=name, stream=one.stream, frontier=core.outlets[one.stream].frontier, **told)

    async def _why(self, asked: Mapping[str, Any]) -> str | None:
        for core in self.host.cores.values():
            assert isinstance(core, Replica)
            if asked["stream"] in core.unions:
                return str(why(core, str(asked["stream"]), self.clock.now()))
        return None


def _throw_away(folder: Path) -> None:
    CoreStore.throw_away(folder / "kept")
    shutil.rmtree(folder, ignore_errors=True)
