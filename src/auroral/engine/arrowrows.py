"""Rows as Arrow tables: types of Spark columns, canonical order, one tagged table for many relations, logical hashes."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from auroral.engine.sqltext import STIME, UNKNOWN, Column, unquoted

_SCALARS = {
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "STRING": pa.string(),
    "TIMESTAMP": pa.timestamp("us", tz="UTC"),
    "BOOLEAN": pa.bool_(),
    "DATE": pa.date32(),
    "BINARY": pa.binary(),
}


def arrow_type(spark: str) -> pa.DataType:
    """The Arrow type that a column of a Spark type travels in."""
    if spark == UNKNOWN:
        return pa.null()
    if spark in _SCALARS:
        return _SCALARS[spark]
    if match := re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", spark):
        return pa.decimal128(int(match[1]), int(match[2]))
    if spark.startswith("ARRAY<"):
        return pa.list_(arrow_type(spark[6:-1]))
    if spark.startswith("STRUCT<"):
        fields = (part.split(":", 1) for part in _split(spark[7:-1]))
        return pa.struct([pa.field(unquoted(name.strip()), arrow_type(kind.strip())) for name, kind in fields])
    raise ValueError(f"no Arrow type for {spark}")


def _split(fields: str) -> list[str]:
    """The fields of a struct type, cut at commas that are in no bracket and no quoted name."""
    parts, depth, start, quoted = [], 0, 0, False
    for at, char in enumerate(fields):
        quoted ^= char == "`"
        if not quoted:
            depth += (char in "<(") - (char in ">)")
            if char == "," and depth == 0:
                parts.append(fields[start:at])
                start = at + 1
    return [*parts, fields[start:]]


def arrow_schema(columns: Sequence[Column]) -> pa.Schema:
    return pa.schema([pa.field(c.name, arrow_type(c.type)) for c in columns])


def empty(columns: Sequence[Column]) -> pa.Table:
    return arrow_schema(columns).empty_table()


def from_python(values: list[Any], kind: pa.DataType) -> pa.Array:
    """An array from plain values; timestamps and dates may be whole numbers of their unit."""
    if pa.types.is_timestamp(kind):
        return pa.array(values, pa.int64()).cast(kind)
    if pa.types.is_date32(kind):
        return pa.array(values, pa.int32()).cast(kind)
    return pa.array(values, kind)


def as_declared(table: pa.Table, columns: Sequence[Column]) -> pa.Table:
    """The table with exactly these columns and types, whatever small differences its way brought (string views, zones)."""
    schema = arrow_schema(columns)
    if table.schema.equals(schema):
        return table
    return table.select(schema.names).cast(schema)


def between(table: pa.Table, lo: int, hi: int) -> pa.Table:
    stime = table.column(STIME)
    return table.filter(pc.and_(pc.greater_equal(stime, lo), pc.less(stime, hi)))


def canonical(table: pa.Table) -> pa.Table:
    """Rows in output order: stime, then all columns in order; nulls first, NaN last, -0.0 before 0.0 where all else is equal."""
    return sorted_by(table, table.column_names)


def sorted_by(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """Rows in the order of these columns, in the same manner."""
    keys: list[tuple[str, str]] = []
    sortable: dict[str, pa.ChunkedArray] = {}
    signs: list[pa.ChunkedArray] = []

    def add(values: Any) -> None:
        name = f"k{len(keys)}"
        sortable[name] = values
        keys.append((name, "ascending"))

    for column in table.select(names).columns:
        if column.null_count:
            add(pc.is_valid(column).cast(pa.int8()))
        kind = column.type
        if pa.types.is_floating(kind):
            add(pc.is_nan(column).fill_null(False).cast(pa.int8()))
            signs.append(column)
            # Arrow sorts NaN by itself; a plain number in its place leaves the order to the key above.
            column = pc.if_else(
                pc.is_nan(column).fill_null(False), pa.scalar(0, kind), pc.add(column, pa.scalar(0, kind))
            )
        elif pa.types.is_boolean(kind):
            column = column.cast(pa.int8())
        add(column)
    for column in signs:
        zero_below = pc.and_(pc.equal(column, 0), pc.less(pc.divide(pa.scalar(1, column.type), column), 0))
        add(pc.invert(pc.fill_null(zero_below, False)).cast(pa.int8()))
    order = pc.sort_indices(pa.table(sortable), sort_keys=keys)
    return table.take(order)


def tagged(relations: Mapping[str, pa.Table]) -> pa.Table:
    """One table for all: `__edge` says which relation a row is of, one nullable struct column for each holds it.

    Handing Spark one table costs some 15 ms however many relations are in it, several tables cost that each. Fields of structs
    are c0, c1, ..: Spark stumbles over some names there that it takes as columns.
    """
    total = sum(table.num_rows for table in relations.values())
    numbers, structs, names, offset = [], [], [], 0
    for number, table in enumerate(relations.values()):
        rows = table.num_rows
        numbers.append(pa.repeat(pa.scalar(number, pa.int32()), rows))
        kind = pa.struct([pa.field(f"c{i}", type) for i, type in enumerate(table.schema.types)])
        before, after = pa.nulls(offset, kind), pa.nulls(total - offset - rows, kind)
        structs.append(pa.chunked_array([before, *_structs(table, kind), after], kind))
        names.append(f"e{number}")
        offset += rows
    edge = pa.chunked_array(numbers, pa.int32())
    return pa.table([edge, *structs], ["__edge", *names]).combine_chunks()


def _structs(table: pa.Table, kind: pa.DataType) -> list[pa.Array]:
    arrays = [pa.StructArray.from_arrays(list(b.columns), fields=list(kind)) for b in table.to_batches()]
    return arrays or [pa.nulls(0, kind)]


def untagged(table: pa.Table, relations: Sequence[Sequence[Column]]) -> list[pa.Table]:
    """The relations of a tagged result, in their order."""
    edge = table.column("__edge")
    return [
        flattened(table.filter(pc.equal(edge, number)).column(f"e{number}"), columns)
        for number, columns in enumerate(relations)
    ]


def flattened(structs: pa.ChunkedArray, columns: Sequence[Column]) -> pa.Table:
    """A column of structs as a table; the fields are these columns, in order."""
    if len(structs) == 0:
        return empty(columns)
    found = pa.table(structs.combine_chunks().flatten(), [c.name for c in columns])
    return found if any(c.type == UNKNOWN for c in columns) else as_declared(found, columns)


def logical_hash(table: pa.Table) -> str:
    """A hash of the rows in canonical order, independent of chunks, dictionaries and null padding."""
    return sequence_hash(canonical(table))


def sequence_hash(table: pa.Table) -> str:
    """The same of the rows in the order that they are in."""
    ordered = table.combine_chunks()
    digest = hashlib.blake2b(digest_size=16)
    digest.update(str(ordered.schema).encode())
    for column in ordered.columns:
        chunk = as_numbers(column.chunk(0) if column.num_chunks else pa.array([], column.type))
        valid = pc.is_valid(chunk).cast(pa.int8())
        digest.update(valid.to_numpy(zero_copy_only=False).tobytes())
        if pa.types.is_floating(chunk.type) or pa.types.is_integer(chunk.type):
            filled = pc.fill_null(chunk, pa.scalar(0, chunk.type))
            if pa.types.is_floating(chunk.type):
                # There are many NaNs, and which one a sum gives depends on the processor.
                filled = pc.if_else(pc.is_nan(filled), pa.scalar(math.nan, chunk.type), filled)
            digest.update(filled.to_numpy(zero_copy_only=False).tobytes())
        else:
            for value in chunk.to_pylist():
                text = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
                digest.update(len(text).to_bytes(8, "big") + text)
    return digest.hexdigest()


def as_numbers(chunk: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Timestamps and dates as whole numbers: Python's own end with the year 9999."""
    if pa.types.is_timestamp(chunk.type):
        return chunk.cast(pa.int64())
    return chunk.cast(pa.int32()) if pa.types.is_date32(chunk.type) else chunk
