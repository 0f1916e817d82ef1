"""Lines of CSV as rows of a schema, each with the line where it stands."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv

from auroral.edge.batches import Batch, InputError
from auroral.edge.conversion import from_text
from auroral.edge.refusals import Refused
from auroral.edge.textfiles import BOM, CutOff, Line, Source, finish

# A quote that is not closed within this much is taken for a stray one: its line is refused, not the file.
LONGEST_RECORD = 2**20
_OPENS = re.compile(rb'(?:^|,)"')
_CLOSES = re.compile(rb'(?:[^"]|"")*"(?!")')
_QUOTED = re.compile(rb'(^|,)"(?:[^"]|"")*"')


def csv_batches(chunks: Iterator[list[Line]], source: Source, skip: int) -> Iterator[Batch]:
    """`chunks` are runs of lines that become a batch each; the first line of all is the header."""
    header: list[str] | None = None
    row = 0
    held: list[Line] = []
    for chunk in _and_end(_cut_with(held, chunks)):
        records, held[:], stray = csv_records([*held, *chunk], at_end=not chunk)
        if header is None and records:
            header = _csv_header(records.pop(0), source)
        if skip > row:
            passed = min(skip - row, len(records))
            records, row = records[passed:], row + passed
        if records and header is not None:
            yield _csv_batch(records, stray, header, source, row)
            row += len(records)
    if header is None:
        raise InputError(
            f"{source.file} is empty\n    allowed: CSV with a header line\n    next: name the columns there"
        )


def _cut_with(held: list[Line], chunks: Iterable[list[Line]]) -> Iterator[list[Line]]:
    """Where they are cut off, so is what is held."""
    try:
        yield from chunks
    except CutOff as cut:
        raise CutOff(b"".join(text for _, text in held) + cut.rest) from cut


def _and_end(chunks: Iterable[list[Line]]) -> Iterator[list[Line]]:
    yield from (chunk for chunk in chunks if chunk)
    yield []


def csv_records(lines: list[Line], at_end: bool) -> tuple[list[Line], list[Line], set[int]]:
    """Join lines that a quoted line end holds together.

    Gives the records, the lines of one that is still open, and the line numbers of stray quotes.
    """
    records: list[Line] = []
    stray: set[int] = set()
    position = 0
    while position < len(lines):
        number, text = lines[position]
        position += 1
        if b'"' not in text:
            if text.strip(b"\r\n"):
                records.append((number, text))
            continue
        end, joined = position, [text]
        size = len(text)
        inside = _ends_inside_quotes(text, False)
        while inside and end < len(lines) and size < LONGEST_RECORD:
            joined.append(lines[end][1])
            size += len(lines[end][1])
            inside = _ends_inside_quotes(lines[end][1], True)
            end += 1
        if not inside:
            records.append((number, b"".join(joined)))
            position = end
        elif at_end or size >= LONGEST_RECORD:
            stray.add(number)
            records.append((number, text))
        else:
            return records, lines[position - 1 :], stray
    return records, [], stray


def _ends_inside_quotes(text: bytes, inside: bool) -> bool:
    """Whether quotes are open behind `text`. Only a quote at the start of a value opens, and a doubled one
    closes nothing."""
    position = 0
    while True:
        found = (_CLOSES.match if inside else _OPENS.search)(text, position)
        if found is None:
            return inside
        position, inside = found.end(), not inside


def _csv_header(record: Line, source: Source) -> list[str]:
    try:
        text = record[1].removeprefix(BOM).decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"{source.file}: the header is not UTF-8 ({error})\n    next: save the file as UTF-8"
        ) from error
    try:
        names = [name.strip() for name in next(csv.reader([text.rstrip("\r\n")]))]
    except csv.Error as error:
        what = "has a carriage return in it" if "\r" in text else f"cannot be read ({error})"
        raise InputError(
            f"{source.file}: the header {what}\n    allowed: lines that end with a line feed, or carriage return and line feed\n"
            f"    next: write the line ends anew, for example tr '\\r' '\\n' < {source.file} > lines.csv"
        ) from error
    names = source.declared(names)
    twice = sorted({name for name in names if names.count(name) > 1 and name in source.schema.names})
    if twice:
        raise InputError(
            f"{source.file}: the column {twice[0]!r} is there twice\n    next: give each column its own name"
        )
    source.check_names(names)
    return names


def _csv_batch(records: list[Line], stray: set[int], header: list[str], source: Source, first: int) -> Batch:
    refused: dict[int, Refused] = {}
    good: list[int] = []
    whole = f"row of {len(header)} columns"
    for index, (line, text) in enumerate(records):
        if stray and line in stray:
            why = "a quote is opened and not closed"
            refused[index] = source.refuse_line(line, first + index, text, whole, why)
        elif not text.isascii() and not _is_utf8(text):
            refused[index] = source.refuse_line(line, first + index, text, "UTF-8 text", "undecodable bytes")
        elif b"\r" in text and _stray_return(text):
            why = "a carriage return stands in it outside of quotes"
            refused[index] = source.refuse_line(line, first + index, text, whole, why)
        else:
            good.append(index)

    def wrong_width(row: pa_csv.InvalidRow) -> str:
        index = good[row.number - 1]
        line, text = records[index]
        why = f"it has {row.actual_columns}"
        refused[index] = source.refuse_line(line, first + index, text, whole, why)
        return "skip"

    columns = _parse_csv([records[index][1] for index in good], header, wrong_width)
    good = [index for index in good if index not in refused]
    if any(len(column) != len(good) for column in columns.values()):
        raise AssertionError(f"{source.file}: {len(good)} records gave another number of rows")
    arrow = source.arrow
    converted = [
        from_text(columns[header.index(f.name)], f.type, arrow.field(f.name).type) for f in source.schema.fields
    ]
    originals = [columns[header.index(f.name)] for f in source.schema.fields]
    lines = [records[index][0] for index in good]
    return finish(source, converted, originals, good, lines, refused, first, len(records))


def _stray_return(text: bytes) -> bool:
    """Whether there is a carriage return that pyarrow would take for the end of a row."""
    return b"\r" in _QUOTED.sub(rb"\1", text.rstrip(b"\r\n"))


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _parse_csv(texts: list[bytes], header: list[str], wrong_width: Any) -> dict[int, pa.Array]:
    if not texts:
        return {i: pa.array([], pa.string()) for i in range(len(header))}
    # The last line of a file may lack its end, and others may have too many; the joined text needs one for each.
    joined = b"".join(text.rstrip(b"\r\n") + b"\n" for text in texts)
    names = [str(i) for i in range(len(header))]
    table = pa_csv.read_csv(
        pa.BufferReader(joined),
        read_options=pa_csv.ReadOptions(use_threads=False, column_names=names, block_size=len(joined) + 1),
        parse_options=pa_csv.ParseOptions(newlines_in_values=True, invalid_row_handler=wrong_width),
        convert_options=pa_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            # "" is the empty string and nothing at all is null.
            quoted_strings_can_be_null=False,
        ),
    )
    return {i: _one_array(table.column(i)) for i in range(len(header))}


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
