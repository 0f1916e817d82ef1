"""Parquet files, and folders of them, as rows of a schema."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from auroral.edge.batches import Batch, InputError
from auroral.edge.conversion import from_arrow
from auroral.edge.pyvalues import python_value
from auroral.edge.refusals import Refused, shown
from auroral.edge.textfiles import Source
from auroral.model.schema import Field
from auroral.model.types import Kind


def parquet_batches(path: Path, source: Source, batch_rows: int, skip: int) -> Iterator[Batch]:
    """All files of `path` are looked at before the first row is read from any."""
    files = _files(path)
    for file in files:
        _check(file, replace(source, file=str(file)))
    row = 0
    for file in files:
        count = pq.read_metadata(file).num_rows
        if row + count <= skip:
            row += count
            continue
        yield from _file_batches(file, replace(source, file=str(file)), batch_rows, row, max(skip - row, 0))
        row += count


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    # As Spark does: names with an underscore or a dot in front are not data.
    files = sorted(
        file for file in path.rglob("*.parquet") if not any(p[0] in "._" for p in file.relative_to(path).parts)
    )
    if not files:
        raise InputError(
            f"{path} has no Parquet file\n    allowed: a folder of *.parquet files\n    next: check the path"
        )
    return files


def _check(file: Path, source: Source) -> None:
    try:
        found = pq.read_schema(file)
    except UnicodeEncodeError as error:
        raise InputError(
            f"{file}: the name is not UTF-8, and such Parquet files cannot be opened\n    next: rename the file"
        ) from error
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(
            f"{file} is no readable Parquet file: {str(error).splitlines()[0]}\n"
            "    allowed: a whole file; one that is still being written has no footer yet\n"
            "    next: wait until it is written, or write it again; nothing was read from it"
        ) from error
    names = source.declared(found.names)
    source.check_names(names)
    for field in source.schema.fields:
        _check_type(file, field, found.field(names.index(field.name)).type)


def _check_type(file: Path, field: Field, found: pa.DataType) -> None:
    if pa.types.is_timestamp(found) and found.unit == "ns" and field.type.kind is Kind.TIMESTAMP:
        raise InputError(
            f"{file}: column {field.name!r} has nanosecond timestamps, which would have to be cut\n"
            "    allowed: timestamps in seconds, milliseconds or microseconds\n"
            "    next: write the file with microseconds: pyarrow coerce_timestamps='us', or in Spark "
            "spark.sql.parquet.outputTimestampType=TIMESTAMP_MICROS"
        )
    if not _converts(field, found.value_type if pa.types.is_dictionary(found) else found):
        raise InputError(
            f"{file}: column {field.name!r} is {found}, which does not convert to {field.type}\n"
            f"    allowed: for {field.type}, a column of that type or of text\n"
            "    next: change the schema to the file's type, or write the file again"
        )


def _converts(field: Field, found: pa.DataType) -> bool:
    kind = field.type.kind
    text = pa.types.is_string(found) or pa.types.is_large_string(found) or pa.types.is_string_view(found)
    if kind is Kind.BINARY:
        return bool(pa.types.is_binary(found) or pa.types.is_large_binary(found) or text)
    if text or pa.types.is_null(found):
        return True
    if field.type.is_integer:
        return bool(pa.types.is_integer(found))
    if field.type.is_float:
        return bool(pa.types.is_integer(found) or pa.types.is_floating(found))
    if kind is Kind.DECIMAL:
        return bool(pa.types.is_integer(found) or pa.types.is_decimal(found))
    if kind is Kind.TIMESTAMP:
        return bool(pa.types.is_timestamp(found) or found == pa.int64())
    if kind is Kind.DATE:
        return bool(pa.types.is_date(found))
    return bool(kind is Kind.BOOL and pa.types.is_boolean(found))


def _file_batches(file: Path, source: Source, batch_rows: int, first: int, skip: int) -> Iterator[Batch]:
    """Batches of one file whose rows are numbered from `first` on, without its first `skip` rows."""
    done = 0
    with pq.ParquetFile(file) as opened:
        written = opened.schema_arrow.names
        columns = [
            name for name, known in zip(written, source.declared(written), strict=True) if known in source.schema.names
        ]
        groups = list(range(opened.num_row_groups))
        while groups and done + opened.metadata.row_group(groups[0]).num_rows <= skip:
            done += opened.metadata.row_group(groups.pop(0)).num_rows
        try:
            for found in opened.iter_batches(batch_rows, row_groups=groups, columns=columns):
                if done + found.num_rows > skip:
                    start = max(skip - done, 0)
                    rows = found.slice(start).rename_columns(source.declared(found.schema.names))
                    yield _batch(source, rows, first + done + start, done + start)
                done += found.num_rows
        except (pa.ArrowInvalid, OSError) as error:
            raise InputError(
                f"{file}: row {done + 1} and those behind it cannot be read: {str(error).splitlines()[0]}\n"
                f"    next: write the file again, then start the same command to go on behind row {done}"
            ) from error


def _batch(source: Source, found: pa.RecordBatch, first: int, in_file: int) -> Batch:
    arrow = source.arrow
    columns = []
    refused: dict[int, Refused] = {}
    for field in source.schema.fields:
        given = _plain(found.column(field.name))
        converted = from_arrow(given, field.type, arrow.field(field.name).type)
        columns.append(converted.column)
        for bad in converted.bad:
            value = shown(python_value(given, bad.index))
            row, line = first + bad.index, in_file + bad.index + 1
            refusal = Refused(source.file, line, row, field.name, value, str(field.type), bad.why)
            refused.setdefault(bad.index, refusal)
    table = pa.Table.from_arrays(columns, schema=arrow)
    if refused:
        keep = np.ones(found.num_rows, dtype=bool)
        keep[list(refused)] = False
        table = table.filter(pa.array(keep))
    return Batch(table, first, found.num_rows, tuple(refused[index] for index in sorted(refused)))


def _plain(column: pa.Array) -> pa.Array:
    """Without the encodings that Parquet files bring along."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_large_string(column.type) or pa.types.is_string_view(column.type):
        column = column.cast(pa.string())
    return column
