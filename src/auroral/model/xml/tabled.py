"""Boxes of Borealis files that work on tables, and locks."""

from __future__ import annotations

from collections.abc import Callable

from auroral.model.boxes.base import BoxSpec
from auroral.model.boxes.locks import Lock, Unlock
from auroral.model.boxes.tables import Delete, Exists, Insert, Select, Update
from auroral.model.tablesql import parse_sql
from auroral.model.xml.parameters import Parameters, Shape

_UPDATES = ("output-expression.N", "output-field-name.N")
_NO_PASS = {
    "pass-input": "the row that came in is on no output of this box",
    "pass-deletions": "only a delete takes rows out",
    "pass-on-no-results": "only a select has results to lack",
    "pass-result-sizes": "only a select has results to count",
    **dict.fromkeys(_UPDATES, "only an update has results of its own"),
}


def _table_shape(*used: str) -> Shape:
    """Of a table box. Each takes the parameters of all, as in Borealis; those that are not `used` change nothing."""
    idle = {name: why for name, why in _NO_PASS.items() if name not in used}
    return Shape(("sql",), tuple(_NO_PASS), idle=idle, sql=("output-expression",) if _UPDATES[0] in used else ())


_LOCK = Shape(("lockset", "key"), ours=("auroral:key.N",), instead={"auroral:key.0": ("key",)})

TABLE_SHAPES = {
    "lock": _LOCK,
    "unlock": _LOCK,
    "insert": _table_shape("pass-input"),
    "update": _table_shape("pass-input", *_UPDATES),
    "delete": _table_shape("pass-input", "pass-deletions"),
    "select": _table_shape("pass-on-no-results", "pass-result-sizes"),
    "exists": _table_shape(),
}


def _table_box(make: Callable[..., BoxSpec], *flags: str) -> Callable[[Parameters, int], BoxSpec]:
    """The maker of a table box whose further parameters are `flags`, in the order of its spec."""

    def made(parameters: Parameters, _inputs: int) -> BoxSpec:
        sql = parameters.expression("sql", parse_sql)
        return make(sql or "", *(bool(parameters.flag(name)) for name in flags))

    return made


def _update(parameters: Parameters, _inputs: int) -> BoxSpec:
    sql, passes = parameters.expression("sql", parse_sql), bool(parameters.flag("pass-input"))
    columns = parameters.columns("output-expression", "output-field-name")
    return Update(sql or "", passes, columns)


def _lock(make: Callable[..., BoxSpec]) -> Callable[[Parameters, int], BoxSpec]:
    def made(parameters: Parameters, _inputs: int) -> BoxSpec:
        return make(str(parameters.text("lockset") or ""), parameters.names("key"))

    return made


TABLE_MAKERS: dict[str, Callable[[Parameters, int], BoxSpec]] = {
    "insert": _table_box(Insert, "pass-input"),
    "select": _table_box(Select, "pass-on-no-results", "pass-result-sizes"),
    "update": _update,
    "delete": _table_box(Delete, "pass-deletions", "pass-input"),
    "exists": _table_box(Exists),
    "lock": _lock(Lock),
    "unlock": _lock(Unlock),
}
