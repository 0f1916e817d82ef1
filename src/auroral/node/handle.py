"""The handle of a run, as a program holds it: pushing, subscribing, watching, stopping."""

from __future__ import annotations

import shutil
import threading
import time
import warnings
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import TracebackType

import pyarrow as pa

from auroral.edge.client import Boundary, End, Event, Insertion
from auroral.edge.ledger import Ledger
from auroral.edge.pyvalues import python_values
from auroral.edge.revisedview import standing
from auroral.model.errors import AuroralError
from auroral.node.feeds import Feed, refuse_unknown
from auroral.node.jobwatch import JobWatch
from auroral.node.pushed import Rows, pushed_table
from auroral.node.runner import Runner
from auroral.node.runstatus import nothing_taken
from auroral.node.source import RunStopped, Source
from auroral.node.status import Progress, State, Status
from auroral.node.waiting import waited_for

_BETWEEN_CANCELS = 0.1
_LONGEST_CANCEL = 10.0
_LONGEST_ABANDON = 5.0


class AppError(AuroralError):
    """A use of a running diagram that makes no sense."""


class NothingTaken(UserWarning):
    """Every row of an input was refused or rejected: the run has finished, but hardly as it was meant."""


class App:
    """A diagram that runs. Like a StreamingQuery: it has a status, progress, and can be waited for and stopped."""

    def __init__(self, runner: Runner, feeds: Sequence[Feed], temporary: bool, jobs: JobWatch | None = None):
        self._runner = runner
        self._jobs = jobs or JobWatch(runner.limits.bucket)
        self._fed = {feed.stream for feed in feeds}
        self.folder = runner.folder.path
        # Threads end with the process: to be cut off at any moment is what run folders are made for.
        self._thread = threading.Thread(target=_work, args=(runner,), name="auroral-engine", daemon=True)
        if temporary:
            # Also where a program just ends.
            weakref.finalize(self, _abandon, runner, self._thread)
        self._thread.start()
        for feed in feeds:
            name = f"auroral-input-{feed.stream}"
            threading.Thread(target=_feed, args=(runner, feed), name=name, daemon=True).start()

    def push(self, stream: str, rows: Rows) -> int:
        """Hand rows to an input: dicts, a pyarrow Table or a pandas DataFrame. They are durable when this returns.

        Gives how many are in the stream now; others are in the ledger. Wrong rows raise, and none is taken.
        """
        source = self._pushable(stream)
        taken = source.take(pushed_table(source.input, rows), self._runner.clock())
        self._runner.wake()
        return taken

    def advance(self, stream: str) -> None:
        """Let the boundary of an input follow the clock now, where it is stamped so or has been idle."""
        self._pushable(stream).advance(self._runner.clock())
        self._runner.wake()

    def close(self, stream: str | None = None) -> None:
        """No more rows come for this input, or for any that rows are pushed to. Its last bucket is closed."""
        for name in [stream] if stream is not None else [s for s in self._runner.sources if s not in self._fed]:
            self._pushable(name).end()
        self._runner.wake()

    def subscribe(self, stream: str, timeout: float | None = None, since: int | None = None) -> Iterator[Event]:
        """The events of an output from its beginning, or from stime `since` on, and on as they come.

        Ends after `End`; or quietly, when there was nothing new for `timeout` seconds. A subscriber that is
        slow delays only itself.
        """
        return self._events(self._output(stream), timeout, since)

    def table(self, stream: str, *, revised: bool = False) -> pa.Table:
        """All stable rows of an output so far, in canonical order, their stime first. With `revised`, for a stream whose rows may be
        revised: the rows that stand, each at the stime that it belongs to."""
        log = self._runner.outputs.logs[self._output(stream)]
        rows = log.read(None, log.frontier) if log.frontier is not None else log.read()
        return standing(rows) if revised else rows

    @property
    def status(self) -> Status:
        """How far the run is, what it is doing and takes of the machine, and, where it waits, for which inputs."""
        status = self._runner.status()
        if status.state is State.WAITING:
            spans = {stream: source.span() for stream, source in self._runner.sources.items()}
            status = replace(status, waiting_for=waited_for(spans, self._runner.limits.bucket))
        if status.state.is_active and self._runner.stopping.is_set():
            status = replace(status, state=State.STOPPING)
        return replace(status, doing=self._jobs.doing, footprint=self._jobs.footprint())

    @property
    def progress(self) -> list[Progress]:
        """The last ranges that were evaluated, oldest first."""
        with self._runner.changed:
            return list(self._runner.recent)

    @property
    def ledger(self) -> Ledger:
        """Every row that was late, rejected, refused or shed, counted by stream or box and reason."""
        return self._runner.ledger

    @property
    def frontier(self) -> int | None:
        """The first stime that is not final yet."""
        return self._runner.account.frontier

    @property
    def is_active(self) -> bool:
        return self._thread.is_alive()

    @property
    def exception(self) -> BaseException | None:
        """What the run failed with, or None."""
        return None if self.is_active else self._runner.error

    @property
    def untaken(self) -> list[str]:
        """Inputs that have ended without one row in the stream, though rows came: which, how many, and why."""
        return nothing_taken(self._runner.sources.values())

    def await_termination(self, timeout: float | None = None) -> bool:
        """Wait until all input has ended and is evaluated, or the run is stopped; True if that is so.

        Raises what the run failed with.
        """
        self._thread.join(timeout)
        if not self.is_active and self._runner.error is not None:
            raise self._runner.error
        for text in () if self.is_active else self.untaken:
            warnings.warn(text, NothingTaken, stacklevel=2)
        return not self.is_active

    def stop(self, drain: bool = True) -> None:
        """Stop cleanly; with `drain`, after evaluating the buckets that are closed. The folder can be resumed."""
        self._runner.request_stop(drain)
        self.await_termination()

    def request_stop(self, drain: bool = True) -> None:
        """Ask the run to stop, as `stop` does, and return at once."""
        self._runner.request_stop(drain)

    def cancel(self, timeout: float | None = None) -> bool:
        """Stop now: the job that is running is given up, and nothing of it is kept. The folder can be resumed.

        True when the run has ended; False when it has not within `timeout` seconds. What it failed with is in
        `exception`.
        """
        self._runner.request_stop(drain=False)
        deadline = None if timeout is None else time.monotonic() + timeout
        while self.is_active and (deadline is None or time.monotonic() < deadline):
            # Again and again: a job that is just about to start is not there to be cancelled yet.
            self._jobs.cancel()
            self._thread.join(_BETWEEN_CANCELS)
        return not self.is_active

    def __enter__(self) -> App:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.stop()
        elif isinstance(error, KeyboardInterrupt):
            # Whoever presses Ctrl-C does not want to wait for a job.
            self.cancel(_LONGEST_CANCEL)
        else:
            self._runner.request_stop(drain=False)
            self._thread.join()

    def _events(self, stream: str, timeout: float | None, since: int | None) -> Iterator[Event]:
        log, changed = self._runner.outputs.logs[stream], self._runner.changed
        names = log.schema.names
        at = since
        while True:
            deadline = None if timeout is None else time.monotonic() + timeout
            with changed:
                # The state first: what was committed before the end is then seen before the end.
                while (active := self._runner.state.is_active) and not _beyond(log.frontier, at):
                    left = None if deadline is None else deadline - time.monotonic()
                    if left is not None and left <= 0:
                        return
                    changed.wait(left)
            frontier = log.frontier
            if frontier is not None and _beyond(frontier, at):
                for piece in log.pieces(at, frontier):
                    for values in zip(*(python_values(column) for column in piece.columns), strict=True):
                        yield Insertion(values[0], dict(zip(names, values[1:], strict=True)))
                yield Boundary(frontier)
                at = frontier
            elif not active:
                if self._runner.error is not None:
                    raise self._runner.error
                yield End(self._runner.account.finished)
                return

    def _pushable(self, stream: str) -> Source:
        if stream in self._fed:
            raise AppError(
                f"input {stream!r} has its rows from elsewhere\n    next: leave it out of inputs=... to push"
            )
        if self.exception is not None:
            raise self.exception
        refuse_unknown("input", [stream], list(self._runner.sources))
        return self._runner.sources[stream]

    def _output(self, stream: str) -> str:
        refuse_unknown("output", [stream], list(self._runner.outputs.logs))
        return stream


def _work(runner: Runner) -> None:
    try:
        runner.run()
    # Kept in `runner.error`, and raised where somebody waits for the run.
    except BaseException:  # noqa: BLE001
        return


def _abandon(runner: Runner, thread: threading.Thread) -> None:
    """Remove the folder of a run that nobody holds any more. While it goes on, it would make files there anew."""
    runner.request_stop(drain=False)
    if thread is not threading.current_thread():
        thread.join(_LONGEST_ABANDON)
    shutil.rmtree(runner.folder.path, ignore_errors=True)


def _feed(runner: Runner, feed: Feed) -> None:
    try:
        feed.run(runner.stopping, runner.wake)
    except RunStopped:
        # It brings these rows again when the run is resumed.
        return
    # A thread has nobody to raise to: the run fails with it, unless it is about to stop anyway.
    except BaseException as error:  # noqa: BLE001
        if runner.stopping.is_set():
            what = next(iter(str(error).splitlines()), "")
            runner.sources[feed.stream].notes.append(
                f"input {feed.stream!r} failed while the run was stopping: {type(error).__name__}: {what}"
            )
        else:
            runner.fail(error)


def _beyond(frontier: int | None, at: int | None) -> bool:
    return frontier is not None and (at is None or frontier > at)
