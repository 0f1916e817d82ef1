"""Rows that come as lines over TCP: JSON, or CSV with a header as the first line of each connection.

Each batch of lines is logged durably and then answered with one line, `{"rows": N}`: so many rows of the input are behind it, refused ones
included. Where rows of the batch were left out, `left_out` counts them by reason. Who is cut off asks by connecting again: the first line
that comes is `{"rows": N}`, with all that had reached the source by then, and says how many rows to leave out; `left_out_in_all` counts
those of them that were left out, which it may not have heard of. A sender that does not care
(`nc`) need not read the answers. What cannot be taken ends the connection with `{"error": TEXT}`, and `"retry": true` where the same rows
may be taken later. A last line without an end is taken where it is a whole JSON object. Else its sender may have been cut off: it is not
taken, which is told.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

from auroral.edge.batches import InputError
from auroral.edge.csvfiles import csv_batches
from auroral.edge.intake import Format
from auroral.edge.jsonfiles import json_batches
from auroral.edge.refusals import shown
from auroral.edge.textfiles import CutOff, Line
from auroral.edge.textfiles import Source as Text
from auroral.model.deployment import Endpoint
from auroral.model.errors import AuroralError
from auroral.node.fleet.inputs.guests import Guest, Guests
from auroral.node.fleet.inputs.taking import Clock, error_said, said_of, so_far, take
from auroral.node.source import Source

_log = logging.getLogger(__name__)
MOST_LINE = 1 << 20
MOST_SENDERS = 64
MOST_WORD = 16
READERS = {Format.JSON: json_batches, Format.CSV: csv_batches}
_AT_ONCE = 1 << 18
_FULL = f"{MOST_SENDERS} senders are connected\n    allowed: {MOST_SENDERS} at a time\n    next: let others end first"


class LineInput:
    """`woken` is called after each batch. Without a form, the first line of each connection says which it has."""

    def __init__(
        self,
        source: Source,
        listen: Endpoint,
        clock: Clock,
        woken: Callable[[], None],
        form: Format | None = Format.JSON,
        note: Callable[[str], None] = _log.warning,
    ):
        self.source, self.clock, self.woken, self.form, self.note = source, clock, woken, form, note
        full = _line({"error": _FULL, "retry": True})
        self.guests = Guests(source.input.stream, listen, MOST_SENDERS, self._serve, full)
        self.start, self.stop, self.endpoint = self.guests.start, self.guests.stop, self.guests.endpoint

    def _serve(self, guest: Guest) -> None:
        try:
            self.guests.wait_for_older(guest)
            guest.say(_line(so_far(self.source)))
            text = Text(guest.peer, self.source.input.schema, self.source.input.any_case, any_names=True)
            form, lines = _formed(guest, self.form)
            for batch in READERS[form](lines, text, 0):
                taken = take(self.source, batch, self.clock)
                self.woken()
                guest.say(_line(said_of(taken, batch)))
        except CutOff as cut:
            if cut.rest:
                self.note(f"lines from {guest.peer}: {_not_whole(cut.rest)}")
                guest.part(_line({"error": _not_whole(cut.rest)}))
        except Exception as error:  # noqa: BLE001  whatever it is, who sent the rows is told
            # Nothing of the batch was taken: it may be sent again.
            unforeseen = None if isinstance(error, OSError | AuroralError) else error
            _log.warning(
                "lines from %s for %r end: %s", guest.peer, self.source.input.stream, error, exc_info=unforeseen
            )
            guest.part(_line(error_said(error)))


def _formed(guest: Guest, form: Format | None) -> tuple[Format, Iterator[list[Line]]]:
    """The lines of a connection, and what they are."""
    first = b""
    while form is None:
        data = guest.read(_AT_ONCE)
        said, end, rest = (first + data).partition(b"\n")
        if end and said.decode(errors="replace") in [*Format]:
            form, first = Format(said.decode()), rest
        elif end or not data or len(said) > MOST_WORD:
            raise InputError(
                f"lines that begin with {shown(said.decode(errors='replace'))!r}\n    allowed: a first line that says {' or '.join(Format)}\n"
                "    next: this address is for standard input of `auroral up`; begin a deployment with tcp: for others"
            )
        else:
            first = said
    return form, _lines(guest, form, first)


def _lines(guest: Guest, form: Format, first: bytes = b"") -> Iterator[list[Line]]:
    """Whole lines, as many as have come."""
    rest, number = b"", 0
    while data := first or guest.read(_AT_ONCE):
        first = b""
        *whole, rest = (rest + data).split(b"\n")
        if len(rest) > MOST_LINE:
            raise InputError(
                f"a line of more than {MOST_LINE} bytes\n    allowed: one row a line, each of them shorter\n"
                "    next: end each row with a line feed; leave out what makes it so long"
            )
        if whole:
            yield [(number + i, line + b"\n") for i, line in enumerate(whole, 1)]
            number += len(whole)
    if form is Format.JSON and _is_object(rest):
        yield [(number + 1, rest)]
        rest = b""
    raise CutOff(rest)


def _is_object(text: bytes) -> bool:
    """No part of an object is one: so nothing of it is missing."""
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _not_whole(rest: bytes) -> str:
    return (
        f"the connection ended within a row: {shown(rest.decode(errors='replace'))!r} ({len(rest)} bytes) is not taken\n"
        "    allowed: rows that end with a line feed, and in CSV quotes that are closed\n"
        "    next: send that again, with an end"
    )


def _line(said: dict[str, Any]) -> bytes:
    return json.dumps(said).encode() + b"\n"
