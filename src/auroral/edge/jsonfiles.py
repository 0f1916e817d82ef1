"""Lines of JSON objects as rows of a schema, each with the line where it stands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from auroral.edge.batches import Batch
from auroral.edge.columnnames import SameField, as_declared
from auroral.edge.conversion import from_json
from auroral.edge.refusals import Refused
from auroral.edge.textfiles import BOM, Line, Source, finish
from auroral.model.types import Kind


def json_batches(chunks: Iterator[list[Line]], source: Source, skip: int) -> Iterator[Batch]:
    """`chunks` are runs of lines that become a batch each. A field that a row does not have is null in it."""
    row = 0
    exact = any(field.type.kind is Kind.DECIMAL for field in source.schema.fields)
    decoder = json.JSONDecoder(parse_float=Decimal if exact else None)
    for chunk in chunks:
        records = [(line, text) for line, text in chunk if text.strip()]
        if skip > row:
            passed = min(skip - row, len(records))
            records, row = records[passed:], row + passed
        if not records:
            continue
        batch = _json_batch(records, decoder, source, row)
        row += len(records)
        yield batch


def _json_batch(records: list[Line], decoder: json.JSONDecoder, source: Source, first: int) -> Batch:
    refused: dict[int, Refused] = {}
    good: list[int] = []
    objects: list[dict[str, Any]] = []
    for index, (line, text) in enumerate(records):
        try:
            value = decoder.decode(text.removeprefix(BOM).decode().strip())
        except (ValueError, RecursionError) as error:
            refused[index] = source.refuse_line(line, first + index, text, "JSON object", str(error))
            continue
        if not isinstance(value, dict):
            refused[index] = source.refuse_line(line, first + index, text, "JSON object", type(value).__name__)
            continue
        if source.any_case:
            # Row by row: each has its own names.
            try:
                value = dict(zip(as_declared(value, source.schema, any_case=True), value.values(), strict=True))
            except SameField as error:
                refused[index] = source.refuse_line(line, first + index, text, "row", str(error))
                continue
        good.append(index)
        objects.append(value)
    if first == 0 and objects:
        _check_json_names(objects, source)
    arrow = source.arrow
    originals = [[row.get(f.name) for row in objects] for f in source.schema.fields]
    converted = [
        from_json(values, f.type, arrow.field(f.name).type)
        for values, f in zip(originals, source.schema.fields, strict=True)
    ]
    lines = [records[index][0] for index in good]
    return finish(source, converted, originals, good, lines, refused, first, len(records))


def _check_json_names(objects: list[dict[str, Any]], source: Source) -> None:
    found = list(dict.fromkeys(name for row in objects for name in row))
    extra = [name for name in found if name not in source.schema.names]
    if source.any_names:
        source.warn_extra(extra)
    # The few rows that a pipe has given so far may well lack a field that later ones have, unless a name
    # looks misspelt.
    elif not source.live or extra:
        source.check_names(found)
