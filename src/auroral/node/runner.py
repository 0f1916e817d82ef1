"""One node that runs one diagram: as buckets close on all inputs, they are evaluated and committed, in order.

Everything that the run knows is in its folder. After SIGKILL at any moment, a new Runner on the same folder
goes on as if nothing had been: rows are logged before they are used, outputs committed before they count.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime

from auroral.edge.ledger import Ledger
from auroral.engine.failures import may_pass
from auroral.model.errors import AuroralError
from auroral.node.account import Account
from auroral.node.committing import Outputs
from auroral.node.course import WHOLE, CourseWriter
from auroral.node.evaluator import Evaluated, Evaluator
from auroral.node.feeds import Clock, wall_clock
from auroral.node.jobwatch import Cancelled
from auroral.node.ranges import Limits, SourceSpan, Step, closed_until, first_bucket, next_step
from auroral.node.restoring import restore
from auroral.node.runfolder import RunFolder
from auroral.node.runstatus import ledger_of, status_of
from auroral.node.snapshots import Snapshots
from auroral.node.source import Source
from auroral.node.standing import kept_from
from auroral.node.status import Progress, Rates, State, Status
from auroral.node.storeddiagram import replaced_notes

SNAPSHOT_BUCKETS = 256
RECENT = 100
_LONGEST_WAIT = 0.25
_log = logging.getLogger(__name__)


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
        self.retries = 0
        """Jobs that failed and were run again."""
        self.snapshots = Snapshots(folder.state)
        self._renewed = replaced_notes(folder.path)
        self._make_evaluator = evaluator
        self._snapshot_buckets = snapshot_buckets
        self._snapshot_at: int | None = None
        self._woken = False
        self._stop: threading.Event = threading.Event()
        self._drain = True
        self._rates = Rates()
        self.sources: dict[str, Source] = {}
        diagram = folder.checked.diagram
        with ExitStack() as opened:
            opened.callback(folder.close)
            used = Account.load(folder.account).frontier
            for given in diagram.inputs:
                source = Source(given, diagram.bucket, folder.source(given.stream), used)
                opened.callback(source.close)
                self.sources[given.stream] = source
            self.outputs = Outputs(folder, outputs or {})
            opened.callback(self.outputs.close)
            self._course = CourseWriter(folder.path)
            opened.callback(self._course.flush)
            self._opened = opened.pop_all()

    @property
    def account(self) -> Account:
        return self.outputs.account

    @property
    def ledger(self) -> Ledger:
        """All rows that did not go the ordinary way, at sources and in boxes."""
        return ledger_of(self.account, self.sources.values())

    def wake(self) -> None:
        with self.changed:
            self._woken = True
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
        began = time.time()
        self._course.begin(WHOLE, began)
        try:
            # Nothing is left to do for a run that has finished, so no engine is started for it.
            if not self.account.finished:
                self._persist()
            end = State.FINISHED if self.account.finished else State.STOPPED
        except Cancelled:
            end = State.STOPPED if self.error is None else State.FAILED
        except BaseException as error:
            self.error = error
            end = State.FAILED
            raise
        finally:
            self._course.end(WHOLE, began, time.time(), state=end, failed=_in_a_line(self.error))
            self._enter(self._closed(end))

    def _closed(self, end: State) -> State:
        """How the run ends once everything is closed. Never raises: somebody may be waiting for the end."""
        try:
            if end is State.FAILED:
                self.outputs.discard_empty()
            self.close()
        except (OSError, AuroralError) as error:
            self.error = self.error or error
            return State.FAILED
        return end

    def close(self) -> None:
        self._opened.close()

    def fail(self, error: BaseException) -> None:
        """Something that brings rows has failed: the run stops, and says why."""
        if self.error is None:
            self.error = error
        self.request_stop(drain=False)

    def _persist(self) -> None:
        """Work; and where Spark fails, go on from the frontier with a new engine, as a resumed run does.

        A job that fails a second time will fail a third time: that is the data's fault.
        """
        failed_at: int | None = None
        while True:
            try:
                return self._work(self._make_evaluator())
            except Exception as error:
                frontier = self.account.frontier
                what = next(iter(str(error).splitlines()), "")
                if self._given_up(error):
                    _log.warning("a job failed while the run was stopping: %s: %s", type(error).__name__, what)
                    raise Cancelled from error
                if not may_pass(error) or frontier == failed_at:
                    raise
                failed_at = frontier
                self.retries += 1
                self._course.add(WHOLE, time.time(), {"jobs run again": 1})
                _log.warning(
                    "a job from stime %s on failed and is run again: %s: %s", frontier, type(error).__name__, what
                )

    def _given_up(self, error: Exception) -> bool:
        """Whether Spark went because the run was to end: who stops a service tells its program and its Java alike."""
        return self._stop.is_set() and not self._drain and (may_pass(error) or isinstance(error, ConnectionError))

    def _work(self, evaluator: Evaluator) -> None:
        if not self._rebuild(evaluator):
            if self.error is not None:
                raise self.error
            return
        while not self._stop.is_set() or self._drain:
            self._woken = False
            self._advance()
            # Looked at once: an input that ends a moment later may have brought rows just before.
            spans = self._spans()
            step = self._next(evaluator, spans)
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
                self.outputs.publish_if_due()
                self._wait()
        if self.error is not None:
            raise self.error
        self._snapshot(evaluator)

    def _rebuild(self, evaluator: Evaluator) -> bool:
        """Bring the engine to the frontier, giving nothing out; False where it must stop at once."""
        start, frontier = self.account.start, self.account.frontier
        if start is None or frontier is None or start == frontier:
            return True
        pruned = kept_from(source.log for source in self.sources.values())
        plan, state = restore(self.folder, start, frontier, self.limits, self.snapshots, pruned)
        at = plan.begin
        if plan.snapshot is not None and state is not None:
            if not self._replay(evaluator, at, plan.snapshot):
                return False
            evaluator.load(state)
            at = self._snapshot_at = plan.snapshot
        return self._replay(evaluator, at, frontier)

    def _replay(self, evaluator: Evaluator, at: int, end: int) -> bool:
        while (step := self._step(evaluator, at, end)) is not None:
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

    def _next(self, evaluator: Evaluator, spans: list[SourceSpan]) -> Step | None:
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
        return self._step(evaluator, self.account.frontier, limit)

    def _step(self, evaluator: Evaluator, lo: int, limit: int) -> Step | None:
        sources = self.sources.values()

        def next_row(stime: int) -> int | None:
            found = [at for source in sources if (at := source.next_row(stime)) is not None]
            return min(found, default=None)

        def rows(lo: int, hi: int) -> int:
            return sum(source.rows_between(lo, hi) for source in sources)

        return next_step(lo, limit, self.limits, rows, next_row, lambda: evaluator.states.next_due)

    def _do(self, evaluator: Evaluator, step: Step) -> None:
        began = time.monotonic()
        if step.skip:
            evaluator.restart()
            result = Evaluated({stream: log.no_rows() for stream, log in self.outputs.logs.items()}, {}, 0)
        else:
            result = evaluator.run(step.lo, step.hi, self.sources)
        written = self.outputs.commit(step.lo, step.hi, result)
        for source in self.sources.values():
            source.settle(step.hi)
        if self._snapshot_at is None:
            self._snapshot_at = self.account.start
        if step.hi - (self._snapshot_at or 0) >= self._snapshot_buckets * self.limits.bucket:
            self._snapshot(evaluator)
        now = time.monotonic()
        gave = {f"out {stream}": rows for stream, rows in written.items()}
        counts = {"jobs": 1, "buckets": (step.hi - step.lo) // self.limits.bucket, "in": result.rows_in, **gave}
        self._course.add(WHOLE, time.time(), counts, job=now - began)
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
            self._rates.add(now, now - began, result.rows_in, sum(written.values()))
            self.changed.notify_all()

    def _snapshot(self, evaluator: Evaluator) -> None:
        frontier, start = self.account.frontier, self.account.start
        if not self.limits.snapshots or frontier is None or frontier == start or frontier == self._snapshot_at:
            return
        self.snapshots.save(frontier, evaluator.states)
        self.snapshots.prune(frontier - self.limits.past)
        self._snapshot_at = frontier

    def _spans(self) -> list[SourceSpan]:
        return [source.span() for source in self.sources.values()]

    def _wait(self) -> None:
        """Until something comes, also if it came since it was last looked; or until the clock may have closed a bucket."""
        with self.changed:
            self.changed.wait_for(lambda: self._woken, min(_LONGEST_WAIT, max(0.01, self.limits.bucket / 4e6)))

    def _enter(self, state: State) -> None:
        if state is not self.state:
            with self.changed:
                self.state = state
                self.changed.notify_all()

    def status(self) -> Status:
        with self.changed:
            rates = self._rates.at(time.monotonic())
        notes = (*self._renewed, *self.snapshots.notes)
        bucket, rows = self.limits.bucket, self.outputs.rows
        return status_of(self.state, self.account, self.sources, rows, bucket, rates, notes, self.retries)


def _in_a_line(error: BaseException | None) -> str:
    return "" if error is None else f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}"[:500]
