"""Reading input files as batches of rows of a declared schema.

| name | format |
|---|---|
| `*.csv` | CSV, UTF-8, with a header; columns found by name; nothing at all is null, `""` an empty string |
| `*.jsonl`, `*.ndjson`, `*.json` | one JSON object a line; up to 64 MB also one array of objects, or objects over several lines |
| `*.parquet`, a folder | Parquet, a folder's files in the order of their names |
| `-` | standard input: JSON lines if the first character is `{`, CSV otherwise; handed on as it comes |

A row with a value that does not convert is refused, with file, line, field, value and type, and the others go
on.
"""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, TextIO

from auroral.edge.batches import Batch, InputError, MissingColumns
from auroral.edge.csvfiles import csv_batches
from auroral.edge.jsonarrays import ALLOWED, advice, element_lines, head_of, in_lines
from auroral.edge.jsonfiles import json_batches
from auroral.edge.pacing import Due, InputSpec, InputSpecError, paced, parse_input_spec
from auroral.edge.parquetfiles import parquet_batches
from auroral.edge.refusals import Refused
from auroral.edge.textfiles import BOM, ExtraColumns, Line, Source
from auroral.model.schema import Schema

__all__ = [
    "BATCH_ROWS",
    "Batch",
    "Due",
    "ExtraColumns",
    "InputError",
    "InputSpec",
    "InputSpecError",
    "MissingColumns",
    "Refused",
    "paced",
    "parse_input_spec",
    "read_batches",
]

BATCH_ROWS = 10_000
CSV = (".csv",)
JSON = (".jsonl", ".ndjson", ".json")
PARQUET = (".parquet",)
_PIPE_READ = 2**18


def read_batches(
    path: str | Path,
    schema: Schema,
    *,
    skip: int = 0,
    batch_rows: int = BATCH_ROWS,
    stdin: BinaryIO | None = None,
    any_case: bool = False,
) -> Iterator[Batch]:
    """Batches of the rows of `path` behind its first `skip` rows, refused ones counted.

    With `any_case`, columns are found by name in any case. A file that cannot be read, or lacks a column, is refused here, before the first batch. For `-`, `stdin`
    may stand in.
    """
    if str(path) == "-":
        source = Source("standard input", schema, any_case, live=True)
        return _pipe_batches(stdin or standard_input(), source, batch_rows, skip)
    path = Path(path)
    _must_be_readable(path)
    suffix = path.suffix.lower()
    source = Source(str(path), schema, any_case)
    if path.is_dir() or suffix in PARQUET:
        return _primed(parquet_batches(path, source, batch_rows, skip))
    if suffix in CSV:
        return _primed(csv_batches(_file_lines(path, batch_rows), source, skip))
    if suffix in JSON:
        read = _file_lines if in_lines(head_of(path)) else element_lines
        return _primed(json_batches(read(path, batch_rows), source, skip))
    raise InputError(
        f"{path}: the format of a {suffix or 'nameless'} file is not known\n"
        f"    allowed: {', '.join((*CSV, *JSON, *PARQUET))}, a folder of Parquet files, - (standard input)\n"
        "    next: rename the file to what it is"
    )


def standard_input() -> BinaryIO:
    """Standard input, or why there is none to read."""
    given: TextIO | None = sys.stdin
    if given is None:
        raise InputError(
            "standard input is closed, as a service or `<&-` starts a program\n"
            "    allowed: rows on a pipe, or from a file\n"
            "    next: give the program something to read, as in ... | auroral run, or name a file in the place of -"
        )
    return given.buffer


def _must_be_readable(path: Path) -> None:
    try:
        if path.is_dir():
            os.listdir(path)
        else:
            path.open("rb").close()
    except OSError as error:
        next_step = "check the path"
        if isinstance(error, PermissionError):
            next_step = f"give yourself the right to read it, for example chmod u+r {path}"
        elif "@" in path.name and path.with_name(path.name.rpartition("@")[0]).exists():
            next_step = f"write a speed as a number, as in {path.name.rpartition('@')[0]}@10x, or leave it out"
        elif path.parent.is_dir() and (there := sorted(p.name for p in path.parent.iterdir())):
            next_step = f"check the path; {path.parent} has {', '.join(there[:8])}{', ...' if there[8:] else ''}"
        raise InputError(f"{path} cannot be read: {error.strerror}\n    next: {next_step}") from error


def _primed(batches: Iterator[Batch]) -> Iterator[Batch]:
    """Read the first batch at once, so that errors of the whole file are raised where it is opened."""
    first = next(batches, None)
    return iter(()) if first is None else _rejoined(first, batches)


def _rejoined(first: Batch, rest: Iterator[Batch]) -> Iterator[Batch]:
    yield first
    yield from rest


def _file_lines(path: Path, batch_rows: int) -> Iterator[list[Line]]:
    with path.open("rb") as file:
        chunk: list[Line] = []
        for line in enumerate(file, start=1):
            chunk.append(line)
            if len(chunk) >= batch_rows:
                yield chunk
                chunk = []
        yield chunk


def _pipe_batches(pipe: BinaryIO, source: Source, batch_rows: int, skip: int) -> Iterator[Batch]:
    chunks = _pipe_lines(pipe, batch_rows)
    head: list[Line] = []
    for chunk in chunks:
        head += chunk
        text = b"".join(text for _, text in head).removeprefix(BOM).lstrip()
        if text:
            if text.startswith((b"{", b"[{", b"[\n", b"[ ", b"[]")) and not in_lines(text):
                raise InputError(
                    f"standard input is a JSON array, or has objects over several lines\n{ALLOWED}, as they come; or CSV\n"
                    f"    next: send it through jq: {advice('FILE')}"
                )
            read = json_batches if text.startswith(b"{") else csv_batches
            yield from read(_with_head(head, chunks), source, skip)
            return


def _with_head(head: list[Line], rest: Iterator[list[Line]]) -> Iterator[list[Line]]:
    yield head
    yield from rest


def _pipe_lines(pipe: BinaryIO, batch_rows: int) -> Iterator[list[Line]]:
    """Lines as they come: a chunk ends when there are enough rows or nothing more is waiting."""
    fd = pipe.fileno()
    number = 1
    rest = b""
    chunk: list[Line] = []
    while read := os.read(fd, _PIPE_READ):
        *whole, rest = (rest + read).split(b"\n")
        chunk += [(number + i, line + b"\n") for i, line in enumerate(whole)]
        number += len(whole)
        if chunk and (len(chunk) >= batch_rows or not _waiting(fd)):
            yield chunk
            chunk = []
    if rest:
        chunk.append((number, rest))
    yield chunk


def _waiting(fd: int) -> bool:
    ready, _, _ = select.select([fd], [], [], 0)
    return bool(ready)
