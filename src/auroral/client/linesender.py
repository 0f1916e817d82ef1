"""Text of rows, as it comes through a pipe, to an input of a deployment: lines of JSON, or CSV with a header."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from auroral.client.sender import AT_ONCE, RowsRefused, Sender
from auroral.edge.batches import InputError
from auroral.edge.csvfiles import csv_records
from auroral.edge.textfiles import BOM, Line

_READ = 1 << 16


class LineSender(Sender):
    """To a source that takes standard input. Each connection begins with what comes, and with CSV the header: one that was killed can read
    what comes behind it."""

    def __init__(self, address: str, header: bytes = b"", *, patience: float | None = None):
        super().__init__(address, patience=patience)
        self._preface = b"csv\n" + header if header else b"json\n"
        self.left_out: dict[str, int] = {}
        """Rows that the source left out, by reason."""

    def send_lines(self, records: Sequence[bytes]) -> int:
        """Each of them one row; gives the position behind them. Rows that are left out are counted, and hold up nobody."""
        for begin in range(0, len(records), AT_ONCE):
            self._send(records[begin : begin + AT_ONCE])
        try:
            return self._sent()
        except RowsRefused as refused:
            for reason, count in refused.left_out.items():
                self.left_out[reason] = self.left_out.get(reason, 0) + count
            return self.position


class Records:
    """The records of what comes through a pipe, as it comes. `header` is that of CSV; empty where the text is JSON, and before anything came.

    A record that spans several lines is kept together. One that is not whole at the end, for want of a closing quote, is an error: nobody
    can know what it was to be.
    """

    def __init__(self, descriptor: int, called: str = "standard input"):
        self._descriptor, self._called = descriptor, called
        self.header, self.json = b"", True

    def __iter__(self) -> Iterator[list[bytes]]:
        """As many as are there, whenever some are."""
        held: list[Line] = []
        begun = False
        for lines in self._lines():
            records, held = self._cut([*held, *lines], begun, at_end=False)
            if records and not begun:
                begun, records = True, self._without_header(records)
            if records:
                yield records
        records, _ = self._cut(held, begun, at_end=True)
        if records and not begun:
            records = self._without_header(records)
        if records:
            yield records

    def _cut(self, lines: list[Line], begun: bool, at_end: bool) -> tuple[list[bytes], list[Line]]:
        """Whole records, and the lines of one that is not whole yet."""
        if not begun:
            lines = _without_blanks(lines)
            self.json = bool(lines) and lines[0][1].lstrip().startswith(b"{")
        if self.json:
            return [text for _, text in lines if text.strip()], []
        records, held, stray = csv_records(lines, at_end)
        if stray:
            raise InputError(
                f"{self._called}: line {min(stray)} has a quote that is not closed\n"
                "    allowed: CSV in which quotes are closed\n    next: mend that line, and send what comes from there on again"
            )
        return [text for _, text in records], held

    def _without_header(self, records: list[bytes]) -> list[bytes]:
        if self.json:
            return records
        self.header = records[0]
        return records[1:]

    def _lines(self) -> Iterator[list[Line]]:
        rest, number = b"", 1
        while data := os.read(self._descriptor, _READ):
            *whole, rest = (rest + data).split(b"\n")
            yield [(number + i, line + b"\n") for i, line in enumerate(whole)]
            number += len(whole)
        if rest:
            # Its end is that of the text.
            yield [(number, rest + b"\n")]


def _without_blanks(lines: list[Line]) -> list[Line]:
    """In front of the first record, with what some programs begin a text with."""
    for at, (number, text) in enumerate(lines):
        known = text.removeprefix(BOM if number == 1 else b"")
        if known.strip():
            return [(number, known), *lines[at + 1 :]]
    return []
