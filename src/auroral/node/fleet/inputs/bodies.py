"""Rows of the body of a request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import pyarrow as pa

from auroral.edge.batches import Batch, InputError
from auroral.edge.csvfiles import csv_batches
from auroral.edge.jsonarrays import elements, in_lines
from auroral.edge.jsonfiles import json_batches
from auroral.edge.textfiles import Line
from auroral.edge.textfiles import Source as Text

LINES, JSON, CSV = "application/x-ndjson", "application/json", "text/csv"
TYPES = {LINES: LINES, "application/jsonl": LINES, "application/json-lines": LINES, JSON: JSON, CSV: CSV}
MOST_REFUSED = 10_000
"""Rows of one body."""


def read_body(body: bytes, kind: str, text: Text) -> Batch:
    """All rows of a body of one of these types."""
    if kind == CSV:
        batches = csv_batches(_in_parts(_lines(body)), text, 0)
    elif kind == JSON and not in_lines(body):
        batches = json_batches(_in_parts(elements(body, text.file)), text, 0)
    else:
        batches = json_batches(_in_parts(_lines(body)), text, 0)
    found, refused = [], 0
    for batch in batches:
        found.append(batch)
        refused += len(batch.refused)
        if refused > MOST_REFUSED:
            # What is kept of rubbish is many times its size.
            raise InputError(
                f"more than {MOST_REFUSED} rows of the body are none; one of them: {batch.refused[-1]}\n"
                f"    allowed: {MOST_REFUSED} in a body\n    next: check what is sent, and its Content-Type"
            )
    rows = pa.concat_tables([text.arrow.empty_table(), *(batch.rows for batch in found)])
    return Batch(rows, 0, sum(batch.read for batch in found), tuple(one for batch in found for one in batch.refused))


def _lines(body: bytes) -> Iterator[Line]:
    return ((number, line + b"\n") for number, line in enumerate(body.split(b"\n"), 1))


def _in_parts(lines: Iterable[Line]) -> Iterator[list[Line]]:
    rest = iter(lines)
    while part := list(islice(rest, MOST_REFUSED)):
        yield part
