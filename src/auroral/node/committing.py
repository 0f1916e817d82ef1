"""Writing what a range gave: the run's own outputs, then the user's, then the account. Resumed in that order."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType

from auroral.edge.commits import commit_path
from auroral.edge.sinks import LINE_SUFFIXES, OutputError, Sink, StandardOutput, open_sink
from auroral.edge.stamping import STIME
from auroral.model.schema import Schema
from auroral.node.account import Account
from auroral.node.evaluator import Evaluated
from auroral.node.history import Histories
from auroral.node.merging import merge
from auroral.node.outputlog import OutputLog
from auroral.node.runfolder import RunFolder

PUBLISH_EVERY = 2.0
"""Seconds between what connection points show and what they show next, at least."""


def check_new(paths: Iterable[str]) -> None:
    """Refuse outputs that a new run could not write, as `open_sink` will find them, without making anything yet."""
    for path in (Path(path) for path in paths if path != "-"):
        if path.suffix.lower() not in (*LINE_SUFFIXES, ".parquet"):
            open_sink(path, Schema(()))
        folder = next(parent for parent in path.absolute().parents if parent.exists())
        if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
            why = "it may not be written by you" if folder.is_dir() else "it is a file"
            raise OutputError(
                f"{path} cannot be written: {folder}: {why}\n"
                "    allowed: an output in a folder that is there or can be made\n"
                "    next: choose another folder, or mend its permissions"
            )
        there = any(path.iterdir()) if path.is_dir() else path.exists() and path.stat().st_size > 0
        commit = commit_path(path)
        if there or commit.exists():
            files = f"{path} and {commit.name}" if commit.exists() and commit.parent != path else str(path)
            raise OutputError(
                f"{path} is there already, and this is a new run\n"
                "    allowed: a name that does not exist yet, or the output of the run that is resumed\n"
                f"    next: choose another output, or remove {files}; to go on with a run: auroral run --resume FOLDER"
            )


class Outputs:
    """All outputs of a run. The run's own copy is the measure: the user's files are brought up to it."""

    def __init__(self, folder: RunFolder, wanted: Mapping[str, str]):
        self.folder = folder
        self.account = Account.load(folder.account)
        self.logs: dict[str, OutputLog] = {}
        self._sinks: dict[str, Sink] = {}
        streams = folder.checked.streams
        with ExitStack() as opened:
            for output in folder.checked.diagram.outputs:
                schema = streams[output.stream].schema
                log = OutputLog.open(folder.output(output.stream), schema, folder.settings.run)
                opened.callback(log.close)
                self.logs[output.stream] = log
            for stream, path in wanted.items():
                sink = open_sink(path, streams[stream].schema, owner=folder.settings.run)
                opened.callback(sink.close)
                opened.push(partial(_discard_on_failure, sink))
                self._sinks[stream] = sink
                self._catch_up(sink, self.logs[stream])
            self.histories = Histories(folder, self.logs, wanted)
            self._published, self._closed = time.monotonic(), False
            self._opened = opened.pop_all()

    @property
    def rows(self) -> dict[str, int]:
        return {stream: log.rows for stream, log in self.logs.items()}

    def begin(self, start: int) -> None:
        """The run's first bucket, durable before anything is given out."""
        self.account = replace(self.account, start=start, frontier=start)
        self.account.save(self.folder.account)

    def commit(self, lo: int, hi: int, result: Evaluated) -> dict[str, int]:
        """Make a range's rows and counts durable; gives the rows of each output that were new."""
        written = {}
        for stream, log in self.logs.items():
            rows = result.outputs[stream]
            written[stream] = log.append(lo, hi, rows)
            if stream in self._sinks:
                self._sinks[stream].append(lo, hi, rows)
        self.account = self.account.evaluated(hi, result.rows_in, result.counts)
        self.account.save(self.folder.account)
        self.publish_if_due()
        return written

    def publish_if_due(self) -> None:
        """Also when nothing comes for a while: what came before is not to wait for it."""
        if time.monotonic() - self._published >= PUBLISH_EVERY:
            self._publish()

    def _publish(self) -> None:
        for stream in self.histories.streams:
            merge(self.logs[stream])
        self.histories.publish()
        self._published = time.monotonic()

    def note_end(self, end: int | None) -> None:
        """All input has ended, at this boundary. Durable before anything behind it is given out."""
        if end != self.account.end:
            self.account = replace(self.account, end=end)
            self.account.save(self.folder.account)

    def finish(self) -> None:
        if not self.account.finished:
            self.account = replace(self.account, finished=True)
            self.account.save(self.folder.account)

    def discard_empty(self) -> None:
        """Remove the user's outputs that nothing was ever written to; resuming makes them again."""
        for sink in self._sinks.values():
            sink.discard_empty()

    def close(self) -> None:
        with self._opened:
            if not self._closed:
                self._closed = True
                self._publish()

    def _catch_up(self, sink: Sink, log: OutputLog) -> None:
        """A user's file that lags behind, or is new, gets from the run's own copy what it lacks."""
        if log.frontier is None:
            return
        if isinstance(sink, StandardOutput):
            # Nobody knows what was read of a pipe: it goes on with what is new.
            sink.frontier = log.frontier
            return
        low = self.account.start if sink.frontier is None else sink.frontier
        assert low is not None, "outputs have rows only after the first bucket was chosen"
        for high, rows in log.ranges(low):
            sink.append(low, high, rows.rename_columns([STIME, *log.schema.names]))
            low = high


def _discard_on_failure(
    sink: Sink, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
) -> None:
    if kind is not None:
        sink.discard_empty()
