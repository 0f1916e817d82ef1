"""One node that runs one diagram: as buckets close on all inputs, they are evaluated and committed, in order.

Everything that the run knows is in its folder. After SIGKILL at any moment, a new Runner on the same folder
goes on as if nothing had been: rows are logged before they are used, outputs committed before they count.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa

from auroral.edge.ledger import Ledger
from auroral.edge.sinks import output_schema
from auroral.edge.stamping import STIME
from auroral.model.schema import Schema
from auroral.node.account import Account
from auroral.node.committing import Outputs
from auroral.node.evaluator import Evaluated, Evaluator
from auroral.node.feeds import Clock
from auroral.node.ranges import Limits, SourceSpan, Step, closed_until, first_bucket, next_step, rebuild
from auroral.node.runfolder import RunFolder
from auroral.node.snapshots import Snapshots
from auroral.node.source import Source
from auroral.node.status import Progress, State, Status

SNAPSHOT_BUCKETS = 256
RECENT = 100
_RATE_SECONDS = 10.0
_LONGEST_WAIT = 0.25


def wall_clock() -> int:
    return time.time_ns() // 1000


@dataclass(frozen=True, slots=True)
class _Mark:
    at: float
    rows_in: int
    rows_out: int


class Runner:
    """`run` does the work, in one thread; everything else may be called from any thread.

    `changed` is notified whenever there is something new: rows logged, a range committed, the end.
    """

    def __init__(
        self,
        folder: RunFolder,
        evaluator: Callable[[], Evaluator],
        outputs: Mapping[str, str] | None = None,
        *,
        clock: Clock = wall_clock,
        snapshot_buckets: int = SNAPSHOT_BUCKETS,
    ):
        self.folder = folder
        self.clock = clock
        self.limits = Limits.of(folder.checked)
        self.changed = threading.Condition()
        self.state = State.STARTING
        self.error: BaseException | None = None
        self.recent: deque[Progress] = deque(maxlen=RECENT)
        self.snapshots = Snapshots(folder.state)
        self._make_evaluator = evaluator
        self._snapshot_buckets = snapshot_buckets
        self._snapshot_at: int | None = None
        self._stop: threading.Event = threading.Event()
        self._drain = True
        self._marks: deque[_Mark] = deque()
        self.sources: dict[str, Source] = {}
        diagram = folder.checked.diagram
        with ExitStack() as opened:
            for given in diagram.inputs:
                source = Source(given, diagram.bucket, folder.source(given.stream))
                opened.callback(source.close)
                self.sources[given.stream] = source
            self.outputs = Outputs(folder, outputs or {})
            opened.callback(self.outputs.close)
            self._opened = opened.pop_all()

    @property
    def account(self) -> Account:
        return self.outputs.account

    @property
    def ledger(self) -> Ledger:
        """All rows that did not go the ordinary way, at sources and in boxes."""
        ledger = self.account.ledger()
        for source in self.sources.values():
            ledger = ledger.merge(source.state.ledger)
        return ledger

    def wake(self) -> None:
        with self.changed:
            self.changed.notify_all()

    def request_stop(self, drain: bool = True) -> None:
        """Stop soon; with `drain`, after all closed buckets are evaluated."""
        self._drain = drain
        self._stop.set()
        self.wake()

    @property
    def stopping(self) -> threading.Event:
        return self._stop

    def run(self) -> None:
        """Until all input has ended and is evaluated, a stop is requested, or something fails."""
        try:
            # Nothing is left to do for a run that has finished, so no engine is started for it.
            if not self.account.finished:
                self._work(self._make_evaluator())
            end = State.FINISHED if self.account.finished else State.STOPPED
        except BaseException as error:
            self.error = error
            end = State.FAILED
            raise
        finally:
            self.close()
            self._enter(end)

    def close(self) -> None:
        self._opened.close()
        self.folder.close()

    def fail(self, error: BaseException) -> None:
        """Something that brings rows has failed: the run stops, and says why."""
        if self.error is None:
            self.error = error
        self.request_stop(drain=False)

    def _work(self, evaluator: Evaluator) -> None:
        if not self._rebuild(evaluator):
            if self.error is not None:
                raise self.error
            return
        while not self._stop.is_set() or self._drain:
            self._advance()
            # Looked at once: an input that ends a moment later may have brought rows just before.
            spans = self._spans()
            step = self._next(spans)
            if step is not None:
                self._enter(State.STOPPING if self._stop.is_set() else State.EVALUATING)
                self._do(evaluator, step)
            elif all(span.ended for span in spans):
                self.outputs.finish()
                break
            elif self._stop.is_set():
                break
            else:
                self._enter(State.WAITING)
                self._wait()
        if self.error is not None:
            raise self.error
        self._snapshot(evaluator)

    def _rebuild(self, evaluator: Evaluator) -> bool:
        """Bring the engine to the frontier, giving nothing out; False where it must stop at once."""
        start, frontier = self.account.start, self.account.frontier
        if start is None or frontier is None or start == frontier:
            return True
        states = self.snapshots.readable(self.snapshots.stimes()) if self.limits.folds else {}
        plan = rebuild(start, frontier, self.limits, states)
        at = plan.begin
        if plan.snapshot is not None:
            if not self._replay(evaluator, at, plan.snapshot):
                return False
            evaluator.load(states[plan.snapshot])
            at = self._snapshot_at = plan.snapshot
        return self._replay(evaluator, at, frontier)

    def _replay(self, evaluator: Evaluator, at: int, end: int) -> bool:
        while (step := self._step(at, end)) is not None:
            if self._stop.is_set() and not self._drain:
                return False
            if step.skip:
                evaluator.restart()
            else:
                evaluator.run(step.lo, step.hi, self.sources)
            at = step.hi
        return True

    def _advance(self) -> None:
        for source in self.sources.values():
            if source.needs_clock and not self._stop.is_set():
                source.advance(self.clock())

    def _next(self, spans: list[SourceSpan]) -> Step | None:
        if self.account.start is None:
            start = first_bucket(spans, self.limits.bucket)
            if start is None:
                return None
            self.outputs.begin(start)
        limit = closed_until(spans, self.limits.bucket)
        if limit is None:
            return None
        if all(span.ended for span in spans):
            self.outputs.note_end(limit)
            if self.folder.settings.flush:
                limit += self.limits.flush
        assert self.account.frontier is not None
        return self._step(self.account.frontier, limit)

    def _step(self, lo: int, limit: int) -> Step | None:
        sources = self.sources.values()

        def next_row(stime: int) -> int | None:
            found = [at for source in sources if (at := source.next_row(stime)) is not None]
            return min(found, default=None)

        def rows(lo: int, hi: int) -> int:
            return sum(source.rows_between(lo, hi) for source in sources)

        return next_step(lo, limit, self.limits, rows, next_row)

    def _do(self, evaluator: Evaluator, step: Step) -> None:
        began = time.monotonic()
        if step.skip:
            evaluator.restart()
            result = Evaluated({stream: _nothing(log.schema) for stream, log in self.outputs.logs.items()}, {}, 0)
        else:
            result = evaluator.run(step.lo, step.hi, self.sources)
        written = self.outputs.commit(step.lo, step.hi, result)
        if self._snapshot_at is None:
            self._snapshot_at = self.account.start
        if step.hi - (self._snapshot_at or 0) >= self._snapshot_buckets * self.limits.bucket:
            self._snapshot(evaluator)
        now = time.monotonic()
        with self.changed:
            self.recent.append(
                Progress(
                    self.account.jobs,
                    step.lo,
                    step.hi,
                    (step.hi - step.lo) // self.limits.bucket,
                    result.rows_in,
                    written,
                    now - began,
                    datetime.now(UTC).isoformat(timespec="milliseconds"),
                )
            )
            self._marks.append(_Mark(now, result.rows_in, sum(written.values())))
            self.changed.notify_all()

    def _snapshot(self, evaluator: Evaluator) -> None:
        frontier, start = self.account.frontier, self.account.start
        if not self.limits.folds or frontier is None or frontier == start or frontier == self._snapshot_at:
            return
        self.snapshots.save(frontier, evaluator.dump())
        self.snapshots.prune(frontier - self.limits.past)
        self._snapshot_at = frontier

    def _spans(self) -> list[SourceSpan]:
        return [source.span() for source in self.sources.values()]

    def _wait(self) -> None:
        with self.changed:
            # What came between looking and waiting is found after the wait's short timeout at the latest.
            self.changed.wait(min(_LONGEST_WAIT, max(0.01, self.limits.bucket / 4e6)))

    def _enter(self, state: State) -> None:
        if state is not self.state:
            with self.changed:
                self.state = state
                self.changed.notify_all()

    def status(self) -> Status:
        account = self.account
        newest = [s.state.stamp.newest_stime for s in self.sources.values()]
        reached = max((stime for stime in newest if stime is not None), default=None)
        lag = None if reached is None or account.frontier is None else max(0, reached + 1 - account.frontier)
        start, frontier = account.start, account.frontier
        done = 0 if start is None or frontier is None else (frontier - start) // self.limits.bucket
        in_rate, out_rate = self._rates()
        return Status(
            self.state,
            frontier,
            {stream: source.state.rows for stream, source in self.sources.items()},
            account.rows_in,
            self.outputs.rows,
            done,
            lag,
            in_rate,
            out_rate,
            self.ledger,
            tuple(self.snapshots.notes),
        )

    def _rates(self) -> tuple[float, float]:
        with self.changed:
            now = time.monotonic()
            while self._marks and self._marks[0].at < now - _RATE_SECONDS:
                self._marks.popleft()
            if not self._marks:
                return 0.0, 0.0
            seconds = min(_RATE_SECONDS, max(now - self._marks[0].at, self.recent[-1].seconds, 0.001))
            rows_in = sum(mark.rows_in for mark in self._marks)
            rows_out = sum(mark.rows_out for mark in self._marks)
            return rows_in / seconds, rows_out / seconds


def _nothing(schema: Schema) -> pa.Table:
    fields = list(output_schema(schema))
    return pa.schema([pa.field(STIME, pa.int64()), *fields[1:]]).empty_table()
