"""The process of an input: takes rows, logs them, and gives closed buckets to all who read them."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from auroral.dpc.events import Effect, Pause
from auroral.dpc.source import Source as SourceCore
from auroral.dpc.why import why
from auroral.edge.durable import StorageError
from auroral.edge.intake import Format, Way, parse_intake
from auroral.model.errors import AuroralError
from auroral.node.feeds import Feed, make_feed, wall_clock
from auroral.node.fleet.inputs.feeding import Feeding
from auroral.node.fleet.inputs.folder import FolderInput
from auroral.node.fleet.inputs.lines import LineInput
from auroral.node.fleet.inputs.requests import HttpInput
from auroral.node.fleet.inputs.tail import TailInput
from auroral.node.fleet.process import Process
from auroral.node.fleet.sourceproxy import SourceProxy, closed_buckets
from auroral.node.localclock import Reached, clock_feed
from auroral.node.runfolder import RunFolder
from auroral.node.source import Source

_log = logging.getLogger(__name__)
AHEAD = 3600 * 1_000_000
"""Microseconds that a row may be ahead of the clock, where rows come as they arise: one far in the future would close all buckets up to it."""
_TICKS = 10
"""Looks at the clock in a bucket."""


class SourceProcess(Process):
    async def prepare(self) -> None:
        given = self.deployed.checked.diagram.input(self.name)
        assert given is not None
        bucket = self.deployed.checked.diagram.bucket
        folder = RunFolder.look(self.deployed.folder).source(self.name)
        self.intake = parse_intake(self.name, self.deployed.agreed.inputs[self.name])
        ahead = AHEAD if self.intake.live else None
        self.source = await asyncio.to_thread(Source, given, bucket, folder, None, ahead)
        self.doing |= {"pause": self._pause, "resume": self._resume, "why": self._why}
        if self.intake.way is Way.STDIN:
            self.doing |= {"end": self._end}
        self.opened.callback(self.source.close)
        # What is said of the end comes after all else has ended.
        self.opened.push_async_callback(self.host.stop)
        self._stop, self._woken, self._loop = threading.Event(), asyncio.Event(), asyncio.get_running_loop()
        self.proxy: SourceProxy | None = None
        self.listening: LineInput | HttpInput | None = None
        if self.intake.listens:
            # Here, so that an address that is taken is said before anything begins.
            self.listening = self._listening()
            self.opened.callback(self.listening.stop)

    def _listening(self) -> LineInput | HttpInput:
        if self.intake.way is Way.HTTP:
            return HttpInput(self.source, self.intake.endpoint, wall_clock, self.wake)
        # Of standard input it is seen when it comes.
        form = None if self.intake.way is Way.STDIN else self.intake.format or Format.JSON
        return LineInput(self.source, self.intake.endpoint, wall_clock, self.wake, form, self._cut_off)

    def _feed(self) -> Feed:
        """What brings rows by itself, from where the log ends."""
        where = Path(self.intake.where)
        match self.intake.way:
            case Way.FOLDER:
                return Feed(self.name, FolderInput(self.source, where, wall_clock, self._note).run)
            case Way.TAIL:
                form = self.intake.format or Format.JSON
                return Feed(self.name, TailInput(self.source, where, form, wall_clock, self._note).run)
            case Way.CLOCK:
                return clock_feed(self.source, self._reached(), wall_clock, self.deployed.checked.diagram.bucket)
            case _:
                return make_feed(self.source, self.intake.spec(self.name), wall_clock)

    def _reached(self) -> Callable[[], Reached]:
        """How far the inputs are that are no clocks. All sources of a deployment are on one machine, and note what they close."""
        inputs, bucket = self.deployed.agreed.inputs, self.deployed.checked.diagram.bucket
        folder, first = RunFolder.look(self.deployed.folder), self.deployed.first
        others = [folder.source(name) for name, how in inputs.items() if parse_intake(name, how).way is not Way.CLOCK]

        def reached() -> Reached:
            closed = max(map(closed_buckets, others), default=0)
            return Reached((first + closed) * bucket if closed else None)

        return reached

    def _cut_off(self, detail: str) -> None:
        self.refusals.note("not whole", f"{self.name}: {detail}")
        _log.warning("%s: %s", self.name, detail, extra={"stream": self.name})

    def _note(self, detail: str) -> None:
        self.events.note("input", stream=self.name, detail=detail)
        _log.warning("%s: %s", self.name, detail, extra={"stream": self.name})

    async def begin(self) -> None:
        deployed, assembly = self.deployed, self.deployed.assembly
        bucket, first = deployed.checked.diagram.bucket, deployed.first
        self.core = assembly.source_core(self.name)
        self.proxy = SourceProxy(self.host, self.core, self.source, bucket, first)
        self.host.shown += [self.proxy.shown, self._full]
        started = await asyncio.to_thread(self.proxy.started)
        self.host.start(self.core, assembly.source(self.name, deployed.layout), started, self.proxy)
        if self.listening is not None:
            self.listening.start()
        elif self.intake.way is not Way.PROGRAM:
            Feeding(
                self._feed,
                self._stop,
                self.wake,
                lambda error: self._soon(lambda: self._input_failed(error)),
                lambda error: self._soon(lambda: self._failed(self.name, error)),
            ).start()
        self.in_the_background(self._tick(self.proxy, bucket / 1e6 / _TICKS))
        self.opened.callback(self._stop.set)

    def _full(self, core: str, effect: Effect) -> None:
        """D72: said to who looks at the deployment; who sends rows notices by itself."""
        if isinstance(effect, Pause) and effect.paused:
            detail = "those who read it are so far behind that no more is kept for them (--keep): rows are taken again when there is room"
            self.events.note("full", stream=self.name, detail=detail)
        elif isinstance(effect, Pause):
            self.events.note("has room", stream=self.name)

    def wake(self) -> None:
        """From any thread: rows were taken."""
        self._soon(self._woken.set)

    def ask_to_end(self) -> None:
        """From any thread."""
        self._soon(self.ended.set)

    def _soon(self, do: Callable[[], None]) -> None:
        with suppress(RuntimeError):
            # The loop of a process that has ended has nobody to tell.
            self._loop.call_soon_threadsafe(do)

    def _input_failed(self, error: AuroralError) -> None:
        """What came before it is logged, and nothing behind it is: to the others this input has failed."""
        self.events.note("input failed", stream=self.name, detail=str(error))
        if self.proxy is not None:
            self.proxy.failed = str(error)

    async def _tick(self, proxy: SourceProxy, every: float) -> None:
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), every)
            self._woken.clear()
            try:
                await proxy.advance(wall_clock())
            except StorageError as error:
                # Nothing is given that is not logged. When there is room, it goes on.
                _log.error("%s cannot log, and waits: %s", self.name, error, extra={"stream": self.name})
                await asyncio.sleep(1)

    def status(self) -> dict[str, Any]:
        state = self.source.state
        found: dict[str, Any] = {"kind": "source", "rows": state.rows, "boundary": state.boundary, "ended": state.ended}
        found["ledger"] = {row.reason: row.count for row in state.ledger.rows()}
        if self.proxy is not None:
            found |= {"closed": self.proxy.closed, "paused": not self.source.room.is_set(), "silent": self.proxy.silent}
            found["failed"] = self.proxy.failed
            found |= {"takes": self.intake.words, "lines": self.intake.where if self.intake.listens else None}
        return found

    def _begun(self) -> SourceProxy:
        if self.proxy is None:
            raise AuroralError(f"source {self.name!r} has not begun")
        return self.proxy

    async def _end(self, asked: Mapping[str, Any]) -> None:
        """Whoever hands on standard input has come to its end."""
        await asyncio.to_thread(self.source.end)
        self._woken.set()

    async def _pause(self, asked: Mapping[str, Any]) -> None:
        self._begun().silent = True
        self.events.note("paused")
        self.recorder.turned.set()

    async def _resume(self, asked: Mapping[str, Any]) -> None:
        self._begun().silent = False
        self.events.note("resumed")
        self.recorder.turned.set()

    async def _why(self, asked: Mapping[str, Any]) -> str | None:
        core = self.host.cores[self.core]
        assert isinstance(core, SourceCore)
        return str(why(core, self.name, self.clock.now())) if asked["stream"] == self.name else None
