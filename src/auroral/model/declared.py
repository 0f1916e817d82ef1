"""Outputs whose schema is declared: it is compared with what the stream carries."""

from __future__ import annotations

from auroral.model.diagram import Output
from auroral.model.errors import Place, Problem
from auroral.model.revisions import REVISED
from auroral.model.schema import Schema
from auroral.model.stream import StreamType
from auroral.model.types import Kind


def against_declared(
    output: Output, declared: Schema, stream: StreamType, place: Place
) -> tuple[list[Problem], list[Problem]]:
    """What is wrong with the declaration, and what is odd about it.

    Names must be the same. Strings may differ in size, and numbers in type, which is odd. Borealis wanted equal types; but its
    averages and sums of integers are integers, and so files declare them, and ours are not.
    """
    found = stream.schema
    odd: list[Problem] = []
    if stream.kept is not None and declared.get(REVISED) is None:
        found = Schema(tuple(field for field in found.fields if field.name != REVISED))
        what = f"output {output.stream!r} is declared without {REVISED!r}, and rows have it: they may be revised"
        odd.append(Problem(what, place, "declarations with it and without", f"declare it as a string, {REVISED}"))
    if not _fits(declared, found):
        wrong = Problem(
            f"output {output.stream!r} is declared as ({declared}) but carries ({found})",
            place,
            allowed="the fields that the stream carries, with the same names in the same order",
            next_step="mend the declaration, or leave it out: the schema follows from the diagram",
        )
        return [wrong], []
    pairs = zip(declared.fields, found.fields, strict=True)
    return [], odd + [
        Problem(
            f"output {output.stream!r} is declared with the field ({said}) and carries ({has}): rows have the latter",
            place,
            allowed="other types of numbers, which change nothing",
            next_step=f"declare it as {has.type}" + _converting(said.type.kind, has.name),
        )
        for said, has in pairs
        if said.type.kind is not has.type.kind
    ]


def _converting(kind: Kind, name: str) -> str:
    # Nothing converts to decimals.
    return "" if kind is Kind.DECIMAL else f", or convert it in a map before, as in {kind.value}({name})"


def _fits(declared: Schema, found: Schema) -> bool:
    if declared.names != found.names:
        return False
    return all(
        a.type.kind is b.type.kind or (a.type.is_numeric and b.type.is_numeric)
        for a, b in zip(declared.fields, found.fields, strict=True)
    )
