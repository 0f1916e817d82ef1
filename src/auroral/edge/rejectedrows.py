"""The rows of a source that were rejected or refused: lines of JSON beside its log, each with its reason.

They are written before the record that says how long the file then is: what lies behind that length never came. Behind the first MOST_KEPT bytes,
an empty line stands for each row: rubbish without end must not fill the disk, and rows are counted all the same.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from auroral.edge.durable import sync_folder, write_at
from auroral.edge.ledger import Reason
from auroral.edge.records import DamagedSegment
from auroral.edge.refusals import Refused
from auroral.edge.spelling import json_lines

MOST_KEPT = 100_000_000
_AT_ONCE = 2**20


def append(path: Path, length: int, rejected: pa.Table, refused: Sequence[Refused]) -> int:
    """Write behind the first `length` bytes; gives the new length. Durable when this returns."""
    lines = "".join(refusal.to_json() + "\n" for refusal in refused)
    lines += json_lines(rejected) if rejected.num_rows else ""
    if not lines:
        return length
    fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    try:
        end = write_at(fd, length, _fitting(lines.encode(), MOST_KEPT - length))
    finally:
        os.close(fd)
    if length == 0:
        sync_folder(path.parent)
    return end


def _fitting(lines: bytes, room: int) -> bytes:
    if len(lines) <= room:
        return lines
    end = lines.rfind(b"\n", 0, max(0, room)) + 1
    return lines[:end] + b"\n" * lines.count(b"\n", end)


def read(path: Path, length: int) -> list[dict[str, Any]]:
    if not length:
        return []
    with path.open("rb") as file:
        return [json.loads(line) for line in file.read(length).splitlines() if line]


def count(path: Path, begin: int, end: int) -> int:
    """How many rows lie in these bytes: fewer than were logged where the file is cut short or gone."""
    if begin >= end or not path.exists():
        return 0
    found, left = 0, end - begin
    with path.open("rb") as file:
        file.seek(begin)
        while left and (read := file.read(min(left, _AT_ONCE))):
            found, left = found + read.count(b"\n"), left - len(read)
    return found


def first(path: Path) -> str | None:
    """The first row of all, as a person would read it."""
    try:
        with path.open("rb") as file:
            found: dict[str, Any] = json.loads(file.readline())
    except (OSError, ValueError):
        return None
    if found.pop("__reason", None) == Reason.REFUSED.value:
        return str(Refused(**found))
    return json.dumps(found, ensure_ascii=False)


def tidy(path: Path, length: int) -> None:
    """Cut off what a crash left behind the first `length` bytes."""
    found = path.stat().st_size if path.exists() else 0
    if found < length:
        raise DamagedSegment(path, found, f"the log of rejected rows had {length} bytes and is cut short")
    if found > length:
        os.truncate(path, length)
