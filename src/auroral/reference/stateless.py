"""Filter, map, union, and boxes that change nothing."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from auroral.model.boxes.serialize import TypedSUnion
from auroral.model.boxes.splice import TypedSplice
from auroral.model.boxes.stateless import TypedFilter, TypedIdentity, TypedMap, TypedUnion
from auroral.model.decimals import digits_of, scaled, unscaled
from auroral.model.expression.evaluate import CallFailed
from auroral.model.expression.singles import nearest_single
from auroral.model.on_error import OnError
from auroral.model.stream import StreamType
from auroral.model.types import FieldType, Kind
from auroral.reference.exact import ratio
from auroral.reference.machine import REJECTED, Outlet
from auroral.reference.names import Reading
from auroral.reference.revised import left_over
from auroral.reference.rows import Row, Value


class Stateless:
    """Boundaries mean nothing to a box that holds nothing back."""

    def on_boundary(self, stime: float) -> None:
        pass


class Rejecting(Stateless):
    """A box that gives out a row as a whole or, where a function fails and the box says so, rejects it."""

    def __init__(self, box: TypedFilter | TypedMap, inputs: Sequence[StreamType], outlet: Outlet):
        self.on_error, self.error_port = box.on_error, box.error_port
        self.reading = Reading(inputs)
        self.outlet = outlet

    def given(self, row: Row) -> tuple[int, Row] | None:
        """The port that the row goes to, and what of it."""
        raise AssertionError("told by each box")

    def on_row(self, port: int, row: Row) -> None:
        try:
            found = self.given(row)
        except CallFailed as failed:
            if self.on_error is OnError.STOP:
                raise
            self.outlet.count(REJECTED)
            found = None
            if self.error_port is not None:
                found = self.error_port, Row(row.stime, (*row.values, str(failed)), row.order)
        if found is not None:
            self.outlet.emit(*found)


class FilterMachine(Rejecting):
    def __init__(self, box: TypedFilter, inputs: Sequence[StreamType], outlet: Outlet):
        super().__init__(box, inputs, outlet)
        self.box = box

    def given(self, row: Row) -> tuple[int, Row] | None:
        for output, predicate in enumerate(self.box.predicates):
            if self.reading.value(predicate, row) is True:
                return output, row
        return (len(self.box.predicates), row) if self.box.else_port else None


class MapMachine(Rejecting):
    def __init__(self, box: TypedMap, inputs: Sequence[StreamType], outlet: Outlet):
        super().__init__(box, inputs, outlet)
        self.columns = box.columns

    def given(self, row: Row) -> tuple[int, Row] | None:
        return 0, self.mapped(row)

    def mapped(self, row: Row) -> Row:
        return Row(row.stime, tuple(self.reading.value(typed, row) for _, typed in self.columns), row.order)


class RevisedMapMachine(MapMachine):
    """A revision of which a map shows nothing is none: what is taken back and given again at once cancels out."""

    def __init__(self, box: TypedMap, inputs: Sequence[StreamType], outlet: Outlet):
        super().__init__(box, inputs, outlet)
        self.stream = box.outputs[0]
        self.made: list[Row] = []

    def given(self, row: Row) -> tuple[int, Row] | None:
        self.made.append(self.mapped(row))
        return None

    def on_boundary(self, stime: float) -> None:
        over = [row for row in self.made if row.stime < stime]
        self.made = [row for row in self.made if row.stime >= stime]
        self.outlet.rows[0] += left_over(over, self.stream)


class UnionMachine(Stateless):
    """The order is (input, input 0's order columns, input 1's, ...), null in the columns of other inputs."""

    def __init__(self, box: TypedUnion, inputs: Sequence[StreamType], outlet: Outlet):
        self.output = 1 if isinstance(box, TypedSUnion) else 0
        self.box = box
        self.inputs = inputs
        self.types = [field.type for field in box.outputs[self.output].schema.fields]
        self.outlet = outlet

    def on_row(self, port: int, row: Row) -> None:
        if isinstance(self.box, TypedSplice):
            since, until = self.box.span(port)
            if (since is not None and row.stime < since) or (until is not None and row.stime >= until):
                return
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
