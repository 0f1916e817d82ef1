"""A run as one watches it: a live table on a terminal, a plain line a second elsewhere, JSON lines for machines."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TextIO

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from auroral.commands.terminal import say
from auroral.node.status import State, Status

EVERY = 1.0
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Extra = Callable[[], Sequence[str]]
"""Further lines below a status, such as the last alerts."""
Total = Callable[[], int | None]
"""How many rows there are in all, where that is known."""


def no_lines() -> Sequence[str]:
    return ()


def no_total() -> int | None:
    return None


@dataclass(slots=True)
class Watch:
    """To be called often with the status; it decides when to show it."""

    to: TextIO
    as_json: bool
    title: str
    extra: Extra
    total: Total
    live: Live | None
    began: float = field(default_factory=time.monotonic)
    _shown: float = 0.0
    _noted: set[str] = field(default_factory=set)

    def __call__(self, status: Status, *, last: bool = False) -> None:
        seconds = time.monotonic() - self.began
        if not last and seconds - self._shown < (0.25 if self.live is not None else EVERY):
            return
        self._shown = seconds
        if self.live is not None:
            shown = table(status, f"{self.title}, {seconds:.0f} s", self.extra(), self.total())
            self.live.update(shown, refresh=True)
        elif self.as_json:
            event = {"event": "progress", "seconds": round(seconds, 3), **status.to_json(), "rows_total": self.total()}
            say(json.dumps(event, ensure_ascii=False), self.to)
        else:
            say(line(status, seconds), self.to)
            self._say_notes(status)

    def _say_notes(self, status: Status) -> None:
        """Each once: a table shows them all the time, lines pass by."""
        for text in status.notes:
            if text not in self._noted:
                self._noted.add(text)
                say(f"note: {text}", self.to)

    def note(self, text: str) -> None:
        """A line of its own, said at once."""
        if self.live is not None:
            self.live.console.print(text)
        elif self.as_json:
            say(json.dumps({"event": "note", "text": text}, ensure_ascii=False), self.to)
        else:
            say(text, self.to)


@contextmanager
def watching(
    to: TextIO, *, as_json: bool, title: str, extra: Extra = no_lines, total: Total = no_total
) -> Iterator[Watch]:
    """A live table on a terminal, with a bar where the `total` of rows is known; lines elsewhere."""
    if as_json or not to.isatty():
        yield Watch(to, as_json, title, extra, total, None)
        return
    with Live(console=Console(file=to), auto_refresh=False, transient=False) as live:
        yield Watch(to, as_json, title, extra, total, live)


def line(status: Status, seconds: float) -> str:
    parts = [
        f"{seconds:6.1f} s {status.state}{what(status)}",
        f"in {status.rows_in:,} rows ({status.in_rate:,.0f}/s)",
        f"out {', '.join(f'{stream} {rows:,}' for stream, rows in status.rows_out.items())}",
        f"frontier {instant(status.frontier)}",
        f"lag {lag(status)}",
    ]
    if status.ledger:
        parts.append(f"ledger: {status.ledger}")
    if status.retries:
        parts.append(f"jobs run again: {status.retries}")
    return "; ".join(parts)


def what(status: Status) -> str:
    """What a run is at, or waits for, in words behind its state."""
    doing = status.doing
    if doing is not None:
        slow = ", slow while Spark warms up" if doing.first else ""
        # A run that is resumed first evaluates again what the engine must know.
        how = {State.STARTING: ", evaluating again", State.STOPPING: " after"}.get(status.state, "")
        return f"{how} {doing.buckets:,} buckets with {doing.rows:,} rows for {doing.seconds:.0f} s{slow}"
    named = [f"{stream} (at {instant(at)})" if at is not None else stream for stream, at in status.waiting_for.items()]
    return f" for input {', '.join(named)}" if named else ""


def table(status: Status, title: str, extra: Sequence[str] = (), total: int | None = None) -> Table:
    """The status as a table for a terminal."""
    shown = Table(title=title, title_justify="left", show_header=False, min_width=60)
    shown.add_column(style="bold")
    shown.add_column()
    shown.add_row("state", f"{status.state}{what(status)}")
    if total:
        shown.add_row("done", _bar(status, total))
    for stream, rows in status.rows_logged.items():
        shown.add_row(f"input {stream}", f"{rows:,} rows logged")
    shown.add_row("evaluated", f"{status.rows_in:,} rows, {status.in_rate:,.0f}/s; {status.buckets:,} buckets")
    for stream, rows in status.rows_out.items():
        shown.add_row(f"output {stream}", f"{rows:,} rows")
    shown.add_row("output rate", f"{status.out_rate:,.1f}/s")
    shown.add_row("frontier", f"{instant(status.frontier)}, lag {lag(status)}")
    shown.add_row("ledger", str(status.ledger))
    if status.retries:
        shown.add_row("jobs run again", str(status.retries))
    for text in (*status.notes, *extra):
        shown.add_row("", text)
    return shown


def _bar(status: Status, total: int) -> Table:
    """How much of all rows is evaluated. Only a finished run is through: rows that were refused are never evaluated."""
    finished = status.state is State.FINISHED
    done = total if finished else min(status.rows_in, total * 99 // 100)
    row = Table.grid(padding=(0, 1))
    row.add_row(ProgressBar(total=total, completed=done, width=30), f"{100 * done // total} %")
    return row


def lag(status: Status) -> str:
    return "-" if status.lag is None else f"{status.lag / 1e6:.1f} s"


def instant(stime: int | None) -> str:
    """A point of stime as a date where it is one that a person would write."""
    if stime is None:
        return "-"
    try:
        moment = _EPOCH + timedelta(microseconds=stime)
    except OverflowError:
        return f"{stime} us"
    return moment.strftime("%Y-%m-%d %H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"
