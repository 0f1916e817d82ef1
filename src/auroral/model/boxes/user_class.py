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

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from enum import StrEnum
from typing import Annotated, Any, ClassVar, get_type_hints

from auroral.model.duration import Duration, spell
from auroral.model.schema import Schema, SchemaLike

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


class FoldRow(dict[str, Any]):
    """The fields of a row that a `Fold` is handed, its stime, and the number of the input that it came from."""

    def __init__(self, fields: Iterable[tuple[str, Any]], stime: int, port: int):
        super().__init__(fields)
        self.stime, self.port = stime, port


class Fold(Box):
    """Base of users' boxes that keep a state, one for each key: what they give may depend on all rows of the past.

    A state is of plain values: None, bool, int, float, str, bytes, Decimal, and tuples, lists, dicts and sets of them. It is None before
    the first row of a key; a box that gives None has forgotten the key. Results are dicts with the fields of the result, and have the
    stime of the row, or that which was due less one microsecond. Nothing but the arguments may decide what a method gives.
    """

    def key(self) -> tuple[str, ...]:
        """The fields of every input whose values have a state of their own; without any, there is one for all rows."""
        return ()

    def row(self, state: Any, row: FoldRow) -> tuple[Any, Iterable[Mapping[str, Any]]]:
        """The state after a row, and results. Rows come in processing order: by stime, then by input."""
        raise NotImplementedError

    def due(self, state: Any) -> int | None:
        """The next stime at which `timeout` is to be called if no row comes before; later than that of the last call."""
        return None

    def timeout(self, state: Any, key: tuple[Any, ...], stime: int) -> tuple[Any, Iterable[Mapping[str, Any]]]:
        """The state after `stime`, which was due, and results."""
        raise NotImplementedError

    def horizon(self) -> Duration | int:
        """How long after the last row something may still be due: so long a run with --flush goes on behind its end."""
        return 0


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
    for method in ("schema", "row" if issubclass(made, Fold) else "compute"):
        if getattr(made, method) is getattr(Fold if method == "row" else Box, method):
            raise TypeError(f"{made.__qualname__} has no method {method!r}")
    if issubclass(made, Fold) and made.due is not Fold.due and made.timeout is Fold.timeout:
        raise TypeError(f"{made.__qualname__} has a method 'due' and no method 'timeout'")
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
