"""Boxes of users' classes, under the names that packages give them, as parts of a diagram."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from auroral.model.boxes.apply import Apply
from auroral.model.boxes.base import MOVED_BY_ROWS, BoxFacts, Report, TypedBox, expect_ports
from auroral.model.boxes.user_class import Box, BoxParameter, Fold, Form, parameters_of
from auroral.model.boxes.user_fold import typed_fold
from auroral.model.duration import microseconds
from auroral.model.errors import DiagramError, Problem
from auroral.model.packages import Kind as Offered
from auroral.model.packages import PackageError, loaded, offered
from auroral.model.schema import schema as schema_from
from auroral.model.stream import StreamType


@dataclass(frozen=True, slots=True)
class BoxType:
    """A class of boxes under the name that files call it; `package` is where it comes from, None for a class of a program's own."""

    name: str
    made: type[Box]
    package: str | None
    parameters: tuple[BoxParameter, ...]

    @property
    def meaning(self) -> str:
        return (self.made.__doc__ or "").strip().partition("\n")[0]

    @property
    def facts(self) -> BoxFacts:
        """Its row in a table of boxes."""
        ports = f"{self.made.inputs or 'N'} in (required), 1 out"
        if issubclass(self.made, Fold):
            return _fold_facts(ports)
        how = "compute, over many buckets at once" if self.made.cut_free else "compute, for each bucket"
        return _facts(ports, how)

    def with_parameters(self, values: Mapping[str, Any]) -> UserBox:
        """Raises a ValueError that says which value cannot be."""
        return self.with_box(self.made(**values))

    def with_box(self, box: Box) -> UserBox:
        return (UserFoldBox if isinstance(box, Fold) else UserBox)(self.name, box, self.package)


def _facts(ports: str, compiles_to: str) -> BoxFacts:
    return BoxFacts(
        box_class="window",
        ports=ports,
        closing_event="the bucket's end",
        result_stime="as compute gives it; without one, the bucket's end - 1 us",
        order_key="all columns",
        state="rows of one horizon",
        horizon="as the box says, in whole buckets",
        deterministic=True,
        convergent=True,
        repeatable=False,
        compiles_to=compiles_to,
    )


def _fold_facts(ports: str) -> BoxFacts:
    return replace(
        MOVED_BY_ROWS,
        ports=ports,
        closing_event="a row, or the boundary past what is due",
        result_stime="the row's; what is due - 1 us",
        order_key="input, the row's, key, number",
        state="as the box says, per key",
    )


def packaged_box(name: str, taken: str | None = None) -> BoxType | None:
    """The box type of that name that an installed package offers; `taken` as for `offered`."""
    offer = offered(Offered.BOX, name, taken)
    if offer is None:
        return None
    allowed = "a subclass of auroral.extend.Box"
    made = loaded(offer, type, allowed)
    what = f"{offer}: {made.__qualname__}"
    if not issubclass(made, Box):
        raise PackageError([Problem(f"{what} is no box", allowed=allowed, next_step="mend the package's entry point")])
    try:
        return BoxType(name, made, offer.package, parameters_of(made))
    except (TypeError, NameError) as error:
        next_step = f"mend the class, in {offer.where}"
        raise PackageError([Problem(f"{offer}: {error}", allowed=allowed, next_step=next_step)]) from error


def own_type(made: type[Box]) -> BoxType:
    """The type of a class that no package offers."""
    return BoxType(made.__name__, made, None, parameters_of(made))


@dataclass(frozen=True, slots=True)
class UserBox:
    """A box of a user's class. Another version of its package is no other box."""

    type_name: str
    box: Box
    package: str | None = field(default=None, compare=False, repr=False)

    type: ClassVar[str] = "user"
    facts: ClassVar[BoxFacts] = _facts("as the box says", "compute")

    def given(self) -> Iterator[tuple[BoxParameter, Any]]:
        """What the box was told, where it is not said by default."""
        for parameter in parameters_of(type(self.box)):
            value = getattr(self.box, parameter.field)
            if parameter.required or value != parameter.default:
                yield parameter, value

    def resolve(self, inputs: Sequence[StreamType], outputs: int, report: Report) -> TypedBox | None:
        wanted = type(self.box).inputs or max(1, len(inputs))
        if not expect_ports(report, self.type_name, inputs, outputs, wanted, 1):
            return None
        known = [report.field(name, inputs[0]) for name in self._fields()]
        if not all(known):
            return None
        try:
            schema = schema_from(self.box.schema(*(stream.schema for stream in inputs)))
            horizon = self.box.horizon()
            past = horizon if isinstance(horizon, int) else microseconds(horizon)
            key = tuple(self.box.key()) if isinstance(self.box, Fold) else ()
        except DiagramError as error:
            report.problems += [
                Problem(f"{self.type_name}: {p.what}", report.place, p.allowed, p.next_step) for p in error.problems
            ]
            return None
        except Exception as error:  # noqa: BLE001  code of a user's, which may raise anything
            said = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
            report.add(
                f"{self.type_name}: {said}",
                allowed=f"what this box takes: auroral boxes {self.type_name}",
                next_step="give it other streams or parameters, or mend the box",
            )
            return None
        if isinstance(self.box, Fold):
            return typed_fold(self.box, schema, key, past, inputs, report)
        return Apply(self.box.compute, schema, past, type(self.box).cut_free).resolve(inputs, outputs, report)

    def _fields(self) -> Iterator[str]:
        for parameter in parameters_of(type(self.box)):
            value = getattr(self.box, parameter.field)
            if parameter.form is Form.FIELD:
                yield value
            elif parameter.form is Form.FIELDS:
                yield from value


class UserFoldBox(UserBox):
    """One that keeps a state."""

    facts: ClassVar[BoxFacts] = _fold_facts("as the box says")
