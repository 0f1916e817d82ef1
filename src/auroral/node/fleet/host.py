"""Runs cores: tells them what happens, one event at a time, and carries out what they want, in its order.

Everything of a core happens in the event loop but what takes long: storing and evaluating have threads of their own. While something
is stored, what the core wants behind it waits, and the core goes on hearing of what happens; only the job that it wants with it begins at once.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from auroral.dpc.events import (
    Cancel,
    Deliver,
    DropStates,
    Effect,
    Evaluate,
    Evaluated,
    Event,
    Failed,
    Keep,
    KeepLayout,
    KeepPlan,
    Miss,
    SaveState,
    Send,
    Started,
    Truncate,
    WakeAt,
    Woken,
)
from auroral.dpc.values import GiveState, Message
from auroral.edge.durable import StorageError
from auroral.node.fleet.clock import Clock
from auroral.node.fleet.contents import as_sent, to_be_written
from auroral.wire.errors import WireError
from auroral.wire.transport import Transport

_log = logging.getLogger(__name__)

STORED = (Keep, KeepPlan, KeepLayout, SaveState, DropStates, Truncate, Deliver, Miss)
RETRY_STORING = 1.0
"""Seconds after which storing is tried again, where the disk is full or away."""
_LOOK_EVERY = 0.02


class Core(Protocol):
    def handle(self, event: Event, now: float) -> list[Effect]: ...


class Store(Protocol):
    """Blocking. What was carried out is durable."""

    def carry_out(self, effects: Sequence[Effect]) -> None: ...


class Jobs(Protocol):
    """Of one replica. Blocking; one that is tentative and one that is not may run at a time."""

    def run(self, asked: Evaluate) -> Evaluated: ...

    def cancel(self, asked: Evaluate) -> None:
        """From another thread. It may have ended."""


class JobCancelled(Exception):
    """The result of a job was not needed any more."""


Shown = Callable[[str, Effect], None]
Observed = Callable[[str, Event, Sequence[Effect]], None]


@dataclass(slots=True, eq=False)
class _Hosted:
    name: str
    core: Core
    store: Store | None
    jobs: Jobs | None
    waiting: deque[Effect] = field(default_factory=deque)
    storing: asyncio.Future[None] | None = None
    alarm: asyncio.TimerHandle | None = None
    wake_at: float = math.inf
    running: dict[int, Evaluate] = field(default_factory=dict)
    lanes: dict[bool, ThreadPoolExecutor] = field(default_factory=dict)
    """For tentative jobs, and for others."""
    over: bool = False


class Host:
    def __init__(self, clock: Clock, transport: Transport):
        self.clock, self.transport = clock, transport
        self.shown: list[Shown] = []
        """Shown every effect when it is carried out."""
        self.observed: list[Observed] = []
        """Shown every event with what the core wanted."""
        self.failed: Callable[[str, BaseException], None] | None = None
        """Told of a core, or of what runs it, that came upon something that must not be: it is not run any more, and neither should be its
        process. Whatever it was, a new life goes on from what is on disk."""
        self._hosted: dict[str, _Hosted] = {}
        self._draining = False
        self._disk = ThreadPoolExecutor(1, f"disk-{transport.node}")
        self._tasks: set[asyncio.Future[None]] = set()

    @property
    def cores(self) -> dict[str, Core]:
        return {name: hosted.core for name, hosted in self._hosted.items()}

    def start(
        self, name: str, core: Core, started: Started, store: Store | None = None, jobs: Jobs | None = None
    ) -> None:
        assert name not in self._hosted, f"{name} lives already"
        self._hosted[name] = _Hosted(name, core, store, jobs)
        self.transport.opened(name)
        self.tell(name, started)

    async def end(self, name: str) -> None:
        """What it wanted stored by now is."""
        hosted = self._hosted.pop(name)
        hosted.over = True
        self.transport.closed(name)
        if hosted.alarm is not None:
            hosted.alarm.cancel()
        for asked in hosted.running.values():
            if hosted.jobs is not None:
                hosted.jobs.cancel(asked)
        if hosted.storing is not None:
            await asyncio.wait([hosted.storing])
        for lane in hosted.lanes.values():
            await asyncio.to_thread(lane.shutdown)

    async def drain(self, within: float) -> None:
        """No job is begun any more; those that run may end, for so many seconds, and what comes of them is stored and sent."""
        self._draining = True
        loop = asyncio.get_running_loop()
        until = loop.time() + within
        while loop.time() < until and any(one.running or one.waiting for one in self._hosted.values() if not one.over):
            await asyncio.sleep(_LOOK_EVERY)

    async def stop(self) -> None:
        """To say so twice is no error."""
        for name in list(self._hosted):
            await self.end(name)
        await asyncio.to_thread(self._disk.shutdown)

    def tell(self, name: str, event: Event) -> None:
        """Nothing happens where no such core lives."""
        if (hosted := self._hosted.get(name)) is not None:
            self._tell(hosted, event)

    def _tell(self, hosted: _Hosted, event: Event) -> None:
        if hosted.over:
            return
        try:
            effects = hosted.core.handle(event, self.clock.now())
        except Exception as error:  # noqa: BLE001  whatever it was: half of what it wanted may be lost
            self._give_up(hosted, error)
            return
        for observer in self.observed:
            _looked(observer, hosted.name, event, effects)
        # What is computed is said no earlier for it. One job at most: behind a disk that is full, results would pile up.
        ahead = not hosted.waiting and hosted.storing is None
        for effect in effects:
            if isinstance(effect, WakeAt):
                # A core whose disk is slow is woken all the same.
                self._wake_at(hosted, effect.time)
            elif ahead and isinstance(effect, Evaluate | Cancel):
                self._carry_out(hosted, effect)
            else:
                hosted.waiting.append(effect)
        self._go_on(hosted)

    def _give_up(self, hosted: _Hosted, error: BaseException) -> None:
        _log.critical("%s cannot go on", hosted.name, exc_info=error, extra={"core": hosted.name})
        hosted.over = True
        self.transport.closed(hosted.name)
        if self.failed is not None:
            self.failed(hosted.name, error)

    # In their order

    def _go_on(self, hosted: _Hosted) -> None:
        while hosted.waiting and hosted.storing is None and not hosted.over:
            if isinstance(hosted.waiting[0], STORED) and hosted.store is not None:
                # All that waits to be stored, at once: what is stored too early does no harm.
                self._keep(hosted, [effect for effect in hosted.waiting if isinstance(effect, STORED)])
                return
            self._carry_out(hosted, hosted.waiting.popleft())

    def _keep(self, hosted: _Hosted, effects: list[Effect]) -> None:
        hosted.storing = asyncio.ensure_future(self._stored(hosted, effects))

    async def _stored(self, hosted: _Hosted, effects: list[Effect]) -> None:
        assert hosted.store is not None
        loop = asyncio.get_running_loop()
        while True:
            try:
                await loop.run_in_executor(self._disk, hosted.store.carry_out, effects)
                break
            except (OSError, StorageError) as error:
                # Nothing behind it is sent meanwhile: to others this core has failed, and they go on without it.
                about = {"core": hosted.name}
                _log.error("%s cannot store what it must keep, and waits: %s", hosted.name, error, extra=about)
                await asyncio.sleep(RETRY_STORING)
                if hosted.over:
                    return
            except Exception as error:  # noqa: BLE001  as with what a core comes upon
                self._give_up(hosted, error)
                return
        hosted.storing = None
        stored = {id(effect) for effect in effects}
        if hosted.over:
            return
        while hosted.waiting:
            effect = hosted.waiting[0]
            if isinstance(effect, STORED) and id(effect) not in stored:
                break
            self._carry_out(hosted, hosted.waiting.popleft())
        self._go_on(hosted)

    def _carry_out(self, hosted: _Hosted, effect: Effect) -> None:
        match effect:
            case Send(to, message):
                if (given := to_be_written(message)) is None:
                    self._send(hosted, to, message)
                else:
                    task = asyncio.ensure_future(self._write_and_send(hosted, to, given))
                    self._tasks.add(task)
                    task.add_done_callback(self._tasks.discard)
            case Evaluate():
                if not self._draining:
                    self._evaluate(hosted, effect)
            case Cancel(job):
                asked = hosted.running.get(job)
                if asked is not None and hosted.jobs is not None:
                    asyncio.get_running_loop().run_in_executor(None, hosted.jobs.cancel, asked)
            case _:
                pass
        for shown in self.shown:
            _looked(shown, hosted.name, effect)

    def _send(self, hosted: _Hosted, to: str, message: Message) -> None:
        try:
            self.transport.send(hosted.name, to, message)
        except WireError as error:
            _log.error("%s cannot say this to %s: %s", hosted.name, to, error, extra={"core": hosted.name})

    async def _write_and_send(self, hosted: _Hosted, to: str, message: GiveState) -> None:
        """Aside: a state of a million keys takes seconds to be written, and whatever is said meanwhile does not hang on it."""
        written = await asyncio.to_thread(as_sent, message)
        if not hosted.over:
            self._send(hosted, to, written)

    # Time

    def _wake_at(self, hosted: _Hosted, time: float) -> None:
        if time == hosted.wake_at:
            return
        if hosted.alarm is not None:
            hosted.alarm.cancel()
        hosted.wake_at = time
        if time < math.inf:
            loop = asyncio.get_running_loop()
            hosted.alarm = loop.call_at(self.clock.monotonic(time), self._wake, hosted)

    def _wake(self, hosted: _Hosted) -> None:
        if self.clock.now() < hosted.wake_at:
            # The loop's clock is coarser than ours.
            hosted.alarm = asyncio.get_running_loop().call_later(0.001, self._wake, hosted)
            return
        hosted.wake_at = math.inf
        self._tell(hosted, Woken())

    # Jobs

    def _evaluate(self, hosted: _Hosted, asked: Evaluate) -> None:
        assert hosted.jobs is not None, f"{hosted.name} has nothing to evaluate with"
        hosted.running[asked.job] = asked
        lane = hosted.lanes.get(asked.tentative)
        if lane is None:
            kind = "tentative" if asked.tentative else "stable"
            lane = hosted.lanes[asked.tentative] = ThreadPoolExecutor(1, f"{hosted.name}-{kind}")
        task = asyncio.ensure_future(asyncio.get_running_loop().run_in_executor(lane, hosted.jobs.run, asked))
        task.add_done_callback(partial(self._evaluated, hosted, asked))

    def _evaluated(self, hosted: _Hosted, asked: Evaluate, done: asyncio.Future[Evaluated]) -> None:
        del hosted.running[asked.job]
        if done.cancelled():
            return
        error = done.exception()
        if error is None:
            self._tell(hosted, done.result())
            return
        reason = f"{type(error).__name__}: {str(error)[:1000]}"
        if not hosted.over and not isinstance(error, JobCancelled):
            about = {"core": hosted.name, "stream": ", ".join(asked.outputs), "bucket": asked.begin}
            _log.warning("job %d of %s failed: %s", asked.job, hosted.name, reason, extra=about)
        self._tell(hosted, Failed(asked.job, reason))


def _looked(look: Callable[..., None], *seen: object) -> None:
    """Who only looks must not keep what is seen from happening."""
    try:
        look(*seen)
    except Exception:  # noqa: BLE001  told, whatever it was
        _log.exception("who looks at what happens failed")
