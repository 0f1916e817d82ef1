"""What CSV and JSON text have in common: lines with their numbers go in, rows of a schema come out."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from auroral.edge.batches import Batch, InputError, MissingColumns
from auroral.edge.columnnames import SameField, as_declared
from auroral.edge.conversion import Converted
from auroral.edge.refusals import Refused, shown
from auroral.model.schema import Schema, arrow_schema

BOM = b"\xef\xbb\xbf"
Line = tuple[int, bytes]


class ExtraColumns(UserWarning):
    """A file has columns that the schema does not declare; they are ignored."""


class CutOff(Exception):
    """Lines ended where more may have been to come. `rest` is what had come of rows that are not known to be whole."""

    def __init__(self, rest: bytes):
        self.rest = rest


@dataclass(frozen=True, slots=True)
class Source:
    """Where text comes from and what it should hold. `live` is text that is still being written, as on a
    pipe. With `any_names`, JSON objects are taken whatever fields they have: their sender is far away, and the
    text may be cut anywhere."""

    file: str
    schema: Schema
    any_case: bool = False
    live: bool = False
    any_names: bool = False

    @property
    def arrow(self) -> pa.Schema:
        return arrow_schema(self.schema)

    def refuse_line(self, line: int, row: int, text: bytes, kind: str, why: str) -> Refused:
        return Refused(self.file, line, row, None, shown(text.decode(errors="replace").rstrip("\r\n")), kind, why)

    def declared(self, found: Sequence[str]) -> list[str]:
        """Names of columns as the schema spells them."""
        try:
            return as_declared(found, self.schema, self.any_case)
        except SameField as error:
            raise InputError(
                f"{self.file}: the columns {error}\n    allowed: one column for each field\n"
                "    next: rename one of the two, or leave it out"
            ) from error

    def check_names(self, found: Sequence[str]) -> None:
        missing = [name for name in self.schema.names if name not in found]
        if missing:
            raise MissingColumns(self.file, missing, found)
        self.warn_extra([name for name in found if name not in self.schema.names])

    def warn_extra(self, extra: Sequence[str]) -> None:
        if extra:
            what = f"{self.file}: columns that the schema does not declare are ignored: {', '.join(extra)}"
            warnings.warn(what, ExtraColumns, stacklevel=2)


def finish(
    source: Source,
    converted: Sequence[Converted],
    originals: Sequence[Sequence[Any]],
    good: list[int],
    lines: list[int],
    refused: dict[int, Refused],
    first: int,
    read: int,
) -> Batch:
    """Put the columns together, without the rows of which a value did not convert. One refusal a row: the
    first field's."""
    out: set[int] = set()
    for field, column, values in zip(source.schema.fields, converted, originals, strict=True):
        for bad in column.bad:
            if bad.index in out:
                continue
            out.add(bad.index)
            value = values[bad.index]
            text = shown(value.as_py() if isinstance(value, pa.Scalar) else value)
            row = good[bad.index]
            kind = str(field.type)
            refused[row] = Refused(source.file, lines[bad.index], first + row, field.name, text, kind, bad.why)
    table = pa.Table.from_arrays([column.column for column in converted], schema=source.arrow)
    if out:
        keep = np.ones(len(good), dtype=bool)
        keep[list(out)] = False
        table = table.filter(pa.array(keep))
    return Batch(table, first, read, tuple(refused[index] for index in sorted(refused)))
