"""Boxes that users write: a class states ports, parameters, the schema of the result and how it is computed.

@dataclass(frozen=True)
class TopN(Box):
    '''The n largest rows of each bucket.'''

    n: int
    by: FieldName

    def schema(self, rows):
        return rows

    def compute(self, rows):
        return rows.orderBy(rows[self.by].desc()).limit(self.n)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from enum import StrEnum
from typing import Annotated, Any, ClassVar, get_type_hints

from auroral.model.boxes.apply import Apply
from auroral.model.boxes.base import BoxFacts, Report, TypedBox, expect_ports
from auroral.model.duration import Duration, microseconds, spell
from auroral.model.errors import DiagramError, Problem
from auroral.model.packages import Kind as Offered
from auroral.model.packages import PackageError, loaded, offered
from auroral.model.schema import Schema, SchemaLike
from auroral.model.schema import schema as schema_from
from auroral.model.stream import StreamType

FieldName = Annotated[str, "a field"]
"""A parameter that names a field of the first input: it must be there."""
FieldNames = Annotated[tuple[str, ...], "fields"]
"""Several of them; in XML with commas between them."""
Length = Annotated[int, "a length of time"]
"""In microseconds; written as 10s, in XML and in Python."""


class Form(StrEnum):
    """What a parameter can be."""

    WHOLE = "a whole number"
    NUMBER = "a number"
    FLAG = "0 or 1"
    TEXT = "a text"
    FIELD = "a field"
    FIELDS = "fields, with commas between them"
    LENGTH = "a length of time, as 10s"


_FORMS: tuple[tuple[object, Form], ...] = (
    (FieldName, Form.FIELD),
    (FieldNames, Form.FIELDS),
    (Length, Form.LENGTH),
    (bool, Form.FLAG),
    (int, Form.WHOLE),
    (float, Form.NUMBER),
    (str, Form.TEXT),
)


class Box:
    """Base of users' boxes, which are frozen dataclasses: their fields are the parameters of the box.

    A value that cannot be is refused in `__post_init__`, and streams that do not fit in `schema`, each by a ValueError.
    """

    inputs: ClassVar[int] = 1
    """How many streams it reads; 0 for any number from 1 on."""
    cut_free: ClassVar[bool] = False
    """Whether many buckets in one call give the same rows as bucket by bucket, as for `apply`."""

    def schema(self, *streams: Schema) -> SchemaLike:
        """The fields of the result, without stime, from those of the inputs."""
        raise NotImplementedError

    def horizon(self) -> Duration | int:
        """How much of the past it sees besides the bucket, rounded up to whole buckets; a number counts microseconds."""
        return 0

    def compute(self, *frames: Any) -> Any:
        """A DataFrame for each input, with `stime`, to the DataFrame of the result: as a function that `apply` takes."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class BoxParameter:
    """A field of a box's class, as files and programs give it."""

    field: str
    form: Form
    default: Any = MISSING

    @property
    def name(self) -> str:
        """In XML."""
        return self.field.replace("_", "-")

    @property
    def required(self) -> bool:
        return self.default is MISSING

    def text(self, value: Any) -> str:
        """A value as XML has it."""
        match self.form:
            case Form.LENGTH:
                return spell(value)
            case Form.FLAG:
                return str(int(value))
            case Form.FIELDS:
                return ", ".join(value)
            case _:
                return str(value)


def parameters_of(made: type[Box]) -> tuple[BoxParameter, ...]:
    """Raises a TypeError where the class is none that a box can have."""
    if not getattr(getattr(made, "__dataclass_params__", None), "frozen", False):
        raise TypeError(f"{made.__qualname__} is no frozen dataclass: write @dataclass(frozen=True) above it")
    for method in ("schema", "compute"):
        if getattr(made, method) is getattr(Box, method):
            raise TypeError(f"{made.__qualname__} has no method {method!r}")
    hints = get_type_hints(made, include_extras=True)
    found = []
    for one in fields(made):  # type: ignore[arg-type]  # it is one, as was seen above
        form = next((form for kind, form in _FORMS if hints[one.name] == kind), None)
        if form is None:
            raise TypeError(
                f"{made.__qualname__}.{one.name} is of a type that no parameter has: int, float, bool, str, FieldName, FieldNames, Length"
            )
        default = one.default_factory() if one.default_factory is not MISSING else one.default
        found.append(BoxParameter(one.name, form, default))
    return tuple(found)


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
        how = "compute, over many buckets at once" if self.made.cut_free else "compute, for each bucket"
        return _facts(ports, how)

    def with_parameters(self, values: Mapping[str, Any]) -> UserBox:
        """Raises a ValueError that says which value cannot be."""
        return UserBox(self.name, self.made(**values), self.package)


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
        return Apply(self.box.compute, schema, past, type(self.box).cut_free).resolve(inputs, outputs, report)

    def _fields(self) -> Iterator[str]:
        for parameter in parameters_of(type(self.box)):
            value = getattr(self.box, parameter.field)
            if parameter.form is Form.FIELD:
                yield value
            elif parameter.form is Form.FIELDS:
                yield from value
