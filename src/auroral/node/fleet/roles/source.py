"""The process of an input: takes rows, logs them, and gives closed buckets to all who read them."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from auroral.dpc.source import Source as SourceCore
from auroral.dpc.why import why
from auroral.edge.durable import StorageError
from auroral.model.deployment import endpoint
from auroral.model.errors import AuroralError
from auroral.node.feeds import Feed, make_feed, wall_clock
from auroral.node.fleet.lineinput import LineInput
from auroral.node.fleet.process import Process
from auroral.node.fleet.sourceproxy import SourceProxy
from auroral.node.runfolder import RunFolder
from auroral.node.source import Source

_log = logging.getLogger(__name__)
LINES = "tcp:"
"""How an input is written whose rows come as lines over TCP."""
_TICKS = 10
"""Looks at the clock in a bucket."""


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
        self.host.start(self.core, assembly.source(self.name, deployed.layout), started, self.proxy)
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
