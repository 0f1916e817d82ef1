"""The names that an expression may use."""

from __future__ import annotations

from dataclasses import dataclass

from auroral.model.errors import Problem, unknown_name
from auroral.model.expression.syntax import Name
from auroral.model.schema import Schema
from auroral.model.types import LONG, FieldType

STIME = "stime"


@dataclass(frozen=True, slots=True)
class Scope:
    """The inputs of a box by qualifier; that of a box with one input has none (None).

    `called` is the stream that such an input is: its fields may be written with it. Each input also has the pseudo-field `stime`, in microseconds, unless a field of that name hides it.
    """

    inputs: tuple[tuple[str | None, Schema], ...]
    called: str | None = None
    timeless: tuple[str, ...] = ()
    """Inputs whose rows have no stime: those of a table."""
    meant: str | None = None
    """The input that a name without one is of, where several have it: in SQL, the table."""

    @staticmethod
    def of(schema: Schema, called: str | None = None) -> Scope:
        """The scope of a box with one input."""
        return Scope(((None, schema),), called)

    @staticmethod
    def named(**inputs: Schema) -> Scope:
        """The scope of a box with several inputs, such as `Scope.named(left=a, right=b)`."""
        return Scope(tuple(inputs.items()))

    def find(self, name: Name) -> tuple[str | None, FieldType] | Problem:
        """The input that the name belongs to and its type there, or what is wrong with it."""
        if name.qualifier is not None:
            return self._find_in(name.qualifier, name.name)
        found = [(q, t) for q, schema in self.inputs if (t := schema.get(name.name)) is not None]
        if not found and name.name == STIME:
            found = [(q, LONG) for q, _ in self.inputs if q not in self.timeless]
        if len(found) > 1 and self.meant is not None:
            found = [one for one in found if one[0] == self.meant] or found
        if len(found) == 1:
            return found[0]
        if not found:
            return unknown_name("field", name.name, self._known())
        several = [f"{q}.{name.name}" for q, _ in found]
        return Problem(
            f"the field {name.name!r} is in several inputs",
            allowed=", ".join(several),
            next_step=f"say which, for example {several[0]}",
        )

    def _find_in(self, qualifier: str, field: str) -> tuple[str | None, FieldType] | Problem:
        for given, schema in self.inputs:
            if qualifier == (self.called if given is None else given):
                timed = given not in self.timeless
                found = schema.get(field) or (LONG if field == STIME and timed else None)
                known = _names(schema) if timed else list(schema.names)
                return (given, found) if found else unknown_name(f"field of {qualifier}", field, known)
        qualifiers = [q for q, _ in self.inputs if q is not None]
        if qualifiers:
            return unknown_name("input", qualifier, qualifiers)
        if self.called is None:
            what, allowed = (
                f"{qualifier}.{field}: the only input here has no name of its own",
                "fields without a stream",
            )
        else:
            what, allowed = f"{qualifier}.{field}: the only input here is {self.called!r}", f"fields of {self.called!r}"
        return Problem(what, allowed=allowed, next_step=f"write {field}")

    def _known(self) -> list[str]:
        return list(dict.fromkeys(name for _, schema in self.inputs for name in _names(schema)))


def _names(schema: Schema) -> list[str]:
    return [*schema.names] if STIME in schema.names else [*schema.names, STIME]
