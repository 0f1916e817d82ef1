"""Users' boxes that keep a state: what they are handed and what they give, as plain values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from auroral.model.boxes.base import BoxClass, Report, TypedBox
from auroral.model.boxes.user_class import Fold, FoldRow
from auroral.model.expression.uservalues import as_arguments, as_result
from auroral.model.schema import Schema
from auroral.model.stream import StreamType
from auroral.model.types import LONG, FieldType

Values = Sequence[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedUserFold(TypedBox):
    """Rows of all inputs go to `fold` in processing order, with the state of their `key`.

    The order key of a result: the input that its row came from, or -1 at a time that was due; that row's order key, among those of all
    inputs; the key; and its number among the results of one call.
    """

    fold: Fold
    key: tuple[str, ...]
    inputs: tuple[StreamType, ...]
    methods: tuple[Callable[..., Any], ...] = field(compare=False)
    """What the box does, besides what it is told: by these it is seen that it was mended."""

    def order(self, port: int, order: Values, key: Values, number: int) -> tuple[Any, ...]:
        parts = (order if n == port else (None,) * len(one.order) for n, one in enumerate(self.inputs))
        return (port, *(part for one in parts for part in one), *key, number)


def typed_fold(
    fold: Fold, schema: Schema, key: tuple[str, ...], waits: int, inputs: Sequence[StreamType], report: Report
) -> TypedUserFold | None:
    known = [report.field(name, stream) for stream in inputs for name in key]
    if not all(known):
        return None
    types = [inputs[0].schema[name] for name in key]
    for name in key:
        others = {stream.schema[name] for stream in inputs}
        if len(others) > 1:
            report.add(
                f"the key {name!r} is {' and '.join(sorted(map(str, others)))}",
                allowed="the same type on all inputs",
                next_step="convert it with maps before this box",
            )
            return None
    order = (LONG, *(part for stream in inputs for part in stream.order), *types, LONG)
    return TypedUserFold(
        outputs=(StreamType(schema, (), order),),
        box_class=BoxClass.FOLD,
        required=(True,) * len(inputs),
        order_sensitive=True,
        waits=waits,
        fold=fold,
        key=key,
        inputs=tuple(inputs),
        methods=(fold.row, fold.due, fold.timeout),
    )


class After(NamedTuple):
    """A key's state after a call, what is due next, and the results."""

    state: Any
    due: int | None
    results: list[tuple[Any, ...]]


@dataclass(slots=True)
class FoldCalls:
    """Calls the user's methods with values as Python has them, and refuses what they must not give."""

    typed: TypedUserFold
    _arguments: list[Callable[[Values], Values]] = field(init=False)
    _key: Callable[[Values], Values] = field(init=False)
    _results: list[tuple[str, Callable[[Any], Any]]] = field(init=False)

    def __post_init__(self) -> None:
        self._arguments = [as_arguments(_types(stream)) for stream in self.typed.inputs]
        schema = self.typed.inputs[0].schema
        self._key = as_arguments([schema[name] for name in self.typed.key])
        self._results = [(one.name, as_result(one.type)) for one in self.typed.outputs[0].schema.fields]

    def row(self, state: Any, port: int, stime: int, values: Values) -> After:
        names = self.typed.inputs[port].schema.names
        given = FoldRow(zip(names, self._arguments[port](values), strict=True), stime, port)
        return self._after(self.typed.fold.row(state, given), "row", stime)

    def timeout(self, state: Any, key: Values, stime: int) -> After:
        return self._after(self.typed.fold.timeout(state, tuple(self._key(key)), stime), "timeout", stime)

    def due(self, state: Any) -> int | None:
        return None if state is None else self.typed.fold.due(state)

    def _after(self, given: Any, method: str, stime: int) -> After:
        if not isinstance(given, tuple) or len(given) != 2:
            raise TypeError(f"{method} gave {given!r}; it is to give a pair: the state, and a list of results")
        state, results = given
        due = self.due(state)
        if due is not None and (type(due) is not int or due <= stime):
            raise ValueError(f"due gave {due!r} after {method} at {stime}; allowed: None, or a later stime, as an int")
        return After(state, due, [self._values(one) for one in _listed(results, method)])

    def _values(self, given: Any) -> tuple[Any, ...]:
        names = [name for name, _ in self._results]
        if not isinstance(given, Mapping) or set(given) != set(names):
            raise TypeError(f"it gave {given!r}; a result is a dict with {', '.join(names)}")
        return tuple(convert(given[name]) for name, convert in self._results)


def _listed(results: Any, method: str) -> Iterable[Any]:
    if results is None or isinstance(results, Mapping | str) or not isinstance(results, Iterable):
        raise TypeError(f"{method} gave {results!r} as its results; write a list of dicts, [] for none")
    return results


def _types(stream: StreamType) -> list[FieldType]:
    return [one.type for one in stream.schema.fields]
