"""A run as one watches it: a live table on a terminal, a plain line a second elsewhere, JSON lines for machines."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol, TextIO

from rich.console import Console
from rich.live import Live
from rich.table import Table

from auroral.commands.terminal import say
from auroral.node.status import Status

EVERY = 1.0
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Extra = Callable[[], Sequence[str]]
"""Further lines below a status, such as the last alerts."""


class Watch(Protocol):
    def __call__(self, status: Status, *, last: bool = False) -> None: ...


def no_lines() -> Sequence[str]:
    return ()


@contextmanager
def watching(to: TextIO, *, as_json: bool, title: str, extra: Extra = no_lines) -> Iterator[Watch]:
    """Gives a function to call often with the status; it decides when to show it."""
    began = time.monotonic()
    live: Live | None = None
    context: AbstractContextManager[Any] = nullcontext()
    if not as_json and to.isatty():
        context = live = Live(console=Console(file=to), auto_refresh=False, transient=False)
    shown = 0.0

    def watch(status: Status, *, last: bool = False) -> None:
        nonlocal shown
        seconds = time.monotonic() - began
        if not last and seconds - shown < (0.25 if live is not None else EVERY):
            return
        shown = seconds
        if live is not None:
            live.update(table(status, f"{title}, {seconds:.0f} s", extra()), refresh=True)
        elif as_json:
            event = {"event": "progress", "seconds": round(seconds, 3), **status.to_json()}
            say(json.dumps(event, ensure_ascii=False), to)
        else:
            say(line(status, seconds), to)

    with context:
        yield watch


def line(status: Status, seconds: float) -> str:
    parts = [
        f"{seconds:6.1f} s {status.state}",
        f"in {status.rows_in:,} rows ({status.in_rate:,.0f}/s)",
        f"out {', '.join(f'{stream} {rows:,}' for stream, rows in status.rows_out.items())}",
        f"frontier {instant(status.frontier)}",
        f"lag {lag(status)}",
    ]
    if status.ledger:
        parts.append(f"ledger: {status.ledger}")
    return "; ".join(parts)


def table(status: Status, title: str, extra: Sequence[str] = ()) -> Table:
    """The status as a table for a terminal."""
    shown = Table(title=title, title_justify="left", show_header=False, min_width=60)
    shown.add_column(style="bold")
    shown.add_column()
    shown.add_row("state", str(status.state))
    for stream, rows in status.rows_logged.items():
        shown.add_row(f"input {stream}", f"{rows:,} rows logged")
    shown.add_row("evaluated", f"{status.rows_in:,} rows, {status.in_rate:,.0f}/s; {status.buckets:,} buckets")
    for stream, rows in status.rows_out.items():
        shown.add_row(f"output {stream}", f"{rows:,} rows")
    shown.add_row("output rate", f"{status.out_rate:,.1f}/s")
    shown.add_row("frontier", f"{instant(status.frontier)}, lag {lag(status)}")
    shown.add_row("ledger", str(status.ledger))
    for text in (*status.notes, *extra):
        shown.add_row("", text)
    return shown


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
