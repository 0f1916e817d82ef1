"""The rows that a table has before the first bucket."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from auroral.model.errors import DiagramError, Place, Problem, unknown_name
from auroral.model.expression.typed import Value
from auroral.model.expression.uservalues import as_result
from auroral.model.schema import Schema
from auroral.model.tables import Contents


def contents_of(
    schema: Schema, keys: Iterable[str], rows: Iterable[Mapping[str, object]], place: Place, origin: str = ""
) -> Contents | None:
    """Rows as plain values in the order of the schema; None where there are none. A field that a row has not is null there.

    No two may have the same `keys`: one of them would be lost.
    """
    converters = [(f.name, as_result(f.type)) for f in schema.fields]
    positions = [schema.names.index(key) for key in keys if key in schema.names]
    seen: dict[tuple[Value, ...], int] = {}
    found, problems = [], list[Problem]()
    for number, given in enumerate(rows):
        row: object = given
        if not isinstance(row, Mapping):
            problems.append(_odd_row(f"row {number} of the contents is {row!r}", place))
            break
        problems += [unknown_name("field", str(n), schema.names, place) for n in row if n not in schema.names]
        values = []
        for name, convert in converters:
            try:
                values.append(convert(row.get(name)))
            except (TypeError, ValueError, OverflowError) as error:
                said = str(error).removeprefix("it gave ")
                problems.append(_odd_row(f"row {number} of the contents, field {name!r}: {said}", place))
        if problems:
            break  # the first row that is wrong is enough
        # NaN is one key, though it is not equal to itself.
        key = tuple("NaN" if values[at] != values[at] else values[at] for at in positions)
        if key and seen.setdefault(key, number) != number:
            said = ", ".join(f"{schema.names[at]} {values[at]!r}" for at in positions)
            what = f"rows {seen[key]} and {number} of the contents have one key: {said}"
            problems = [
                Problem(what, place, "rows whose keys differ", "leave one of them out, or add a field to the key")
            ]
            break
        found.append(tuple(values))
    if problems:
        raise DiagramError(problems)
    return Contents(tuple(found), origin) if found else None


def _odd_row(what: str, place: Place) -> Problem:
    return Problem(what, place, "rows as dicts from field to value, of the fields' types", "mend the contents")
