"""Errors of the user's functions as values in SQL.

Spark calls Python functions for all rows, also in a branch that is not taken. So they never raise there: each gives a struct of
its result and what failed, and what is written here says which of the failures count: those of calls that are reached.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from auroral.model.expression.typed import Choice, Infix, Invoke, Typed, children, user_functions
from auroral.model.types import FieldType, Kind


class Writer(Protocol):
    def value(self, node: Typed) -> str:
        """The value of an expression, for rows where no call in it failed."""

    def call(self, node: Invoke) -> str:
        """What the user's function gave: a struct."""


VALUE, ERROR, WHY = "v", "e", "why"
"""The fields of what a guarded function gives: its result (a time as a number), or an error as a rejected row has it and as a stop says it."""


@dataclass(frozen=True, slots=True)
class AsNumber:
    """How values of a type travel to Python and back as whole numbers, in SQL."""

    to_number: str
    from_number: str
    type: str


TIMES = {
    Kind.TIMESTAMP: AsNumber("unix_micros", "timestamp_micros", "BIGINT"),
    Kind.DATE: AsNumber("unix_date", "date_from_unix_date", "INT"),
}
"""Spark itself would convert them by the time zone of the worker's machine, and fail beyond the year 9999."""


def result_type(returns: FieldType) -> str:
    value = TIMES[returns.kind].type if returns.kind in TIMES else returns.spark
    return f"STRUCT<{VALUE}: {value}, {ERROR}: STRING, {WHY}: STRING>"


@dataclass(frozen=True, slots=True)
class Errors:
    """Which error of a call, ERROR or WHY, an expression has."""

    writer: Writer
    part: str

    def first(self, node: Typed) -> str | None:
        """The first error among the calls that are reached, NULL where none failed; None where there are no calls."""
        if not user_functions(node):
            return None
        match node:
            case Choice():
                return first_of([self.first(node.condition), self._branches(node)])
            case Infix(op="and" | "or"):
                return first_of([self.first(node.left), self._unless_decided(node)])
            case Invoke(function=function) if function is not None:
                return first_of([*map(self.first, node.args), f"{self.writer.call(node)}.{self.part}"])
            case _:
                return first_of(map(self.first, children(node)))

    def _branches(self, node: Choice) -> str | None:
        then, otherwise = self.first(node.then), self.first(node.otherwise)
        if then is None and otherwise is None:
            return None
        condition = self.writer.value(node.condition)
        return f"CASE WHEN {condition} THEN {then or 'NULL'} ELSE {otherwise or 'NULL'} END"

    def _unless_decided(self, node: Infix) -> str | None:
        right = self.first(node.right)
        if right is None:
            return None
        decided = "FALSE" if node.op == "and" else "TRUE"
        return f"CASE WHEN ({self.writer.value(node.left)}) IS NOT {decided} THEN {right} END"


def first_of(errors: Iterable[str | None]) -> str | None:
    """The first error of several; None where none of them is possible."""
    found = [error for error in errors if error is not None]
    return f"coalesce({', '.join(found)})" if len(found) > 1 else found[0] if found else None


def or_stop(error: str | None, text: str, spark: str) -> str:
    """`text`, of type `spark`, or the end of the job where there is an error."""
    return text if error is None else f"IF({error} IS NULL, {text}, CAST(raise_error({error}) AS {spark}))"
