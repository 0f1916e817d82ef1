"""Filter, map, union, and boxes that change nothing."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from auroral.model.boxes.serialize import TypedSUnion
from auroral.model.boxes.stateless import TypedFilter, TypedIdentity, TypedMap, TypedUnion
from auroral.model.expression.singles import nearest_single
from auroral.model.stream import StreamType
from auroral.model.types import FieldType, Kind
from auroral.reference.exact import digits_of, ratio, scaled, unscaled
from auroral.reference.machine import Outlet
from auroral.reference.names import Reading
from auroral.reference.rows import Row, Value


class Stateless:
    """Boundaries mean nothing to a box that holds nothing back."""

    def on_boundary(self, stime: float) -> None:
        pass


class FilterMachine(Stateless):
    def __init__(self, box: TypedFilter, inputs: Sequence[StreamType], outlet: Outlet):
        self.box = box
        self.reading = Reading(inputs)
        self.outlet = outlet

    def on_row(self, port: int, row: Row) -> None:
        for output, predicate in enumerate(self.box.predicates):
            if self.reading.value(predicate, row) is True:
                self.outlet.emit(output, row)
                return
        if self.box.else_port:
            self.outlet.emit(len(self.box.predicates), row)


class MapMachine(Stateless):
    def __init__(self, box: TypedMap, inputs: Sequence[StreamType], outlet: Outlet):
        self.box = box
        self.reading = Reading(inputs)
        self.outlet = outlet

    def on_row(self, port: int, row: Row) -> None:
        values = tuple(self.reading.value(typed, row) for _, typed in self.box.columns)
        self.outlet.emit(0, Row(row.stime, values, row.order))


class UnionMachine(Stateless):
    """The order is (input, input 0's order columns, input 1's, ...), null in the columns of other inputs."""

    def __init__(self, box: TypedUnion, inputs: Sequence[StreamType], outlet: Outlet):
        self.output = 1 if isinstance(box, TypedSUnion) else 0
        self.inputs = inputs
        self.types = [field.type for field in box.outputs[self.output].schema.fields]
        self.outlet = outlet

    def on_row(self, port: int, row: Row) -> None:
        own = self.inputs[port].schema.fields
        values = tuple(widened(v, f.type, to) for v, f, to in zip(row.values, own, self.types, strict=True))
        order: list[Value] = [port]
        for number, stream in enumerate(self.inputs):
            order += row.order if number == port else [None] * len(stream.order)
        self.outlet.emit(self.output, Row(row.stime, values, tuple(order)))


class IdentityMachine(Stateless):
    def __init__(self, box: TypedIdentity, outlet: Outlet):
        self.box = box
        self.outlet = outlet

    def on_row(self, port: int, row: Row) -> None:
        self.outlet.emit(self.box.data_ports[port], row)


def widened(value: Value, own: FieldType, common: FieldType) -> Value:
    """`value` in the common type of a union's inputs, as `common_type` chooses it."""
    if value is None or own.kind is common.kind is not Kind.DECIMAL:
        return value
    if common.kind is Kind.DECIMAL:
        assert isinstance(value, int | Decimal)
        return scaled(unscaled(Decimal(value), digits_of(common)[1]), common)
    if not common.is_float:
        return value
    if isinstance(value, Decimal):
        return ratio(*value.as_integer_ratio())
    assert isinstance(value, int | float)
    return nearest_single(value) if common.kind is Kind.SINGLE else float(value)
