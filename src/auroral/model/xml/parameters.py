"""The parameters of one box: looked up by name, folded, converted; what is wrong is noted at its line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeVar

from auroral.model.boxes.base import Source
from auroral.model.duration import microseconds
from auroral.model.errors import DiagramError, nearest
from auroral.model.expression import SqlExpression, parse
from auroral.model.types import FieldType, UnknownType, allowed_types, parse_type
from auroral.model.written import Written
from auroral.model.xml.folding import EXPRESSIONS, NAMES, ONCE_LOWERED, fold_expression
from auroral.model.xml.notes import Notes
from auroral.model.xml.read import Element

# Windows of more than this many seconds do not fit into microseconds of 64 bits.
LARGEST = 9_000_000_000_000

SQL = "auroral:sql"
"""On a parameter: its value is Spark SQL that gives this type."""

E = TypeVar("E", bound=StrEnum)

_NUMBERED = re.compile(r"(.+)\.(0|[1-9][0-9]{0,5})")


@dataclass(frozen=True, slots=True)
class Shape:
    """The parameters of a box type; `expression.N` stands for a run expression.0, expression.1, ...

    With `known=False` nothing certain is known of them, and any is taken.
    """

    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    known: bool = True
    ours: tuple[str, ...] = ()
    """Those that Borealis does not know; may be left out, all of them."""
    instead: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By a parameter of ours, those that need not be there beside it."""
    sql: tuple[str, ...] = ()
    """Base names of those whose value may be Spark SQL."""
    idle: Mapping[str, str] = field(default_factory=dict)
    """Those that load and have no effect, with the reason."""
    packaged: bool = False
    """Whether a package's class says what its parameters are: then Borealis' rules for their values and names are none of theirs."""


def base(name: str) -> str:
    """The name without its number."""
    numbered = _NUMBERED.fullmatch(name)
    return numbered[1] if numbered else name


class Parameters:
    """Where a value is missing or cannot be read, the result is None and `failed` is set."""

    def __init__(self, owner: Element, shape: Shape, notes: Notes, changes: Iterable[Element] = ()):
        self.owner = owner
        self.shape = shape
        self.notes = notes
        self.failed = False
        self.given: dict[str, Element] = {}
        for element in owner.all("parameter"):
            self._take(element, changed=False)
        for element in changes:
            self._take(element, changed=True)
        # Borealis took an empty value of what need not be there for none at all.
        if not shape.packaged:
            self.given = {
                name: e for name, e in self.given.items() if name not in shape.optional or e.attributes["value"].strip()
            }
        self.sql = {name: found for name, e in self.given.items() if (found := self._sql_type(name, e)) is not None}
        self.values = {name: Written(self._folded(name, e), notes.place(e)) for name, e in self.given.items()}
        if shape.known:
            self._check_names()

    def _take(self, element: Element, *, changed: bool) -> None:
        name = self.notes.word(element, "name")
        if name is None or "value" not in element.attributes:
            self.failed = True
            return
        if name in self.given and not changed:
            what = f"parameter {name!r} is there twice, also in line {self.given[name].line}; this one counts"
            self.notes.warn(element, what, next_step="remove one of them")
        self.given[name] = element

    def _check_names(self) -> None:
        names = (*self.shape.required, *self.shape.optional, *self.shape.ours)
        spared = {name for given, rest in self.shape.instead.items() if given in self.given for name in rest}
        needed = (name for name in self.shape.required if name not in spared)
        missing = {name.replace(".N", ".0"): name for name in needed if not self._has(name)}
        for given, element in self.given.items():
            if given in names or self._is_numbered(given, names):
                continue
            if self.notes.full and not missing:
                continue
            written = [name.replace(".N", ".0") for name in names]
            meant = nearest(given, written) or next((w for w in written if base(w) == given), None)
            if meant in missing:
                del missing[meant]
                what = f"parameter {given!r} is unknown, and {meant!r} is required and missing"
                self._error(element, what, ", ".join(names), f"did you mean {meant!r}?")
            else:
                self.notes.warn(
                    element,
                    f"unknown parameter {given!r} is ignored",
                    ", ".join(names) if names else "no parameters",
                    f"did you mean {meant!r}?" if meant else None,
                )
        for first in missing:
            after_gap = [name for name in self.given if base(name) == base(first) and name != base(name)]
            hint = (
                f"numbers start at 0; {after_gap[0]!r} is there"
                if after_gap
                else f'add <parameter name="{first}" value="..."/>'
            )
            self._error(
                self.owner, f"parameter {first!r} is required and missing", allowed=", ".join(names), next_step=hint
            )

    def _has(self, name: str) -> bool:
        return name.replace(".N", ".0") in self.given

    @staticmethod
    def _is_numbered(given: str, names: Sequence[str]) -> bool:
        return base(given) != given and f"{base(given)}.N" in names

    def _error(self, element: Element, what: str, allowed: str, next_step: str) -> None:
        self.failed = True
        self.notes.error(element, what, allowed, next_step)

    def fail(self, what: str, allowed: str, next_step: str, *, at: str | None = None) -> None:
        """Something is wrong with the box; `at` names the parameter that shows it."""
        self._error(self.given.get(at or "", self.owner), what, allowed, next_step)

    def warn(self, name: str, what: str, next_step: str | None = None) -> None:
        self.notes.warn(self.given.get(name, self.owner), what, next_step=next_step)

    def text(self, name: str) -> Written | None:
        """The value with its case as rule 2 has it; None where the parameter is missing."""
        return self.values.get(name)

    def _folded(self, name: str, element: Element) -> str:
        value = element.attributes["value"]
        if self.notes.exact or name in self.sql:
            return value
        if base(name) in NAMES and not self.shape.packaged:
            return value.strip().lower()
        if base(name) not in EXPRESSIONS or self.shape.packaged:
            return value.strip()
        folded, kept = fold_expression(value)
        if kept and base(name) in ONCE_LOWERED:
            self.notes.warn(
                element,
                f"{name}: the text {', '.join(kept[:3])} keeps its case; Borealis turned it to lower case",
                next_step="write it in lower case if the data is",
            )
        return folded.strip()

    def _sql_type(self, name: str, element: Element) -> FieldType | None:
        said = element.attributes.get(SQL)
        if said is None:
            return None
        try:
            found = parse_type(said[:200])
        except UnknownType as error:
            self._error(element, f"{SQL}: {error}", allowed_types(), next_step="write the type that the SQL gives")
            return None
        if base(name) not in self.shape.sql:
            where = ", ".join(self.shape.sql) or "no parameter of this box"
            self._error(element, f"parameter {name!r} cannot be Spark SQL", where, next_step=f"leave {SQL} out")
            return None
        return found

    def whole(self, name: str, low: int = 0, high: int = LARGEST) -> int | None:
        value = self.text(name)
        if value is None:
            return None
        number = self.notes.whole(self.given[name], f"parameter {name!r}", value, low, high)
        self.failed |= number is None
        return number

    def number(self, name: str, low: float, high: float = LARGEST, *, above: bool = False) -> float | None:
        """A number from `low` to `high`; with `above`, larger than `low`."""
        value = self.text(name)
        if value is None:
            return None
        allowed = f"a number above {low}, at most {high}" if above else f"a number from {low} to {high}"
        number = self.notes.number(self.given[name], f"parameter {name!r}", value, low, high, allowed)
        if number is not None and above and number <= low:
            self._error(self.given[name], f"parameter {name!r} is {value!r}", allowed, next_step="mend the value")
        self.failed |= number is None
        return number

    def choice(self, name: str, allowed: tuple[str, ...]) -> str | None:
        """One of the words `allowed`, in any case."""
        value = self.text(name)
        if value is None:
            return None
        found = next((word for word in allowed if word.lower() == value.lower()), None)
        if found is None:
            meant = nearest(value.lower(), [word.lower() for word in allowed])
            hint = (
                f"did you mean {next(w for w in allowed if w.lower() == meant)!r}?" if meant else "choose one of these"
            )
            self._error(self.given[name], f"parameter {name!r} is {value[:60]!r}", " or ".join(allowed), hint)
        return found

    def one_of(self, name: str, kinds: type[E], otherwise: E) -> E:
        found = self.choice(name, tuple(kinds))
        return otherwise if found is None else kinds(found)

    def length(self, name: str) -> int | None:
        """A length of time, in microseconds."""
        value = self.text(name)
        if value is None:
            return None
        try:
            return microseconds(value)
        except ValueError:
            allowed = "a number and a unit, as 500ms, 10s or 5min"
            self._error(self.given[name], f"parameter {name!r} is {value[:60]!r}", allowed, "mend the length")
            return None

    def flag(self, name: str) -> bool | None:
        value = self.text(name)
        if value is None:
            return None
        found = self.notes.flag(self.given[name], f"parameter {name!r}", value)
        self.failed |= found is None
        return found

    def names(self, name: str) -> tuple[str, ...]:
        """A list of names, with commas between them; or one a parameter, where names have commas themselves."""
        value = self.text(name)
        if value is None and f"auroral:{name}.N" in self.shape.ours:
            return self.run(f"auroral:{name}")
        if value is None:
            return ()
        return tuple(Written(part.strip(), value.place) for part in value.split(",") if part.strip())

    def source(self, name: str) -> Source | None:
        """An expression, or the Spark SQL that stands in its place."""
        if name in self.sql:
            return SqlExpression(self.sql[name], str(self.values[name]))
        return self.expression(name)

    def sources(self, name: str) -> tuple[Source, ...]:
        found = (self.source(f"{name}.{number}") for number in range(len(self.run(name))))
        return tuple(one for one in found if one is not None)

    def columns(self, values: str, fields: str) -> tuple[tuple[str, Source], ...]:
        """Runs of numbered expressions, and of the names of the fields that they become."""
        expressions, names = self.sources(values), self.run(fields)
        if len(expressions) != len(names) and not self.failed:
            short, other = (values, fields)[:: 1 if len(expressions) < len(names) else -1]
            count = min(len(expressions), len(names))
            self.fail(
                f"there is a parameter '{other}.{count}' but no '{short}.{count}'",
                "one output field name for each expression",
                at=f"{other}.{count}",
                next_step=f'add <parameter name="{short}.{count}" value="..."/>',
            )
        return tuple(zip(names, expressions, strict=False))

    def expression(self, name: str, read: Callable[[str], object] = parse) -> str | None:
        """An expression that `read` can read: here, so that an error has the parameter's line."""
        value = self.text(name)
        try:
            if value is not None:
                read(value)
        except DiagramError as error:
            self.failed = True
            place = self.notes.place(self.given[name])
            for problem in error.problems:
                self.notes.add(replace(problem, what=f"parameter {name!r}: {problem.what}", place=place))
        return value

    def expressions(self, name: str, read: Callable[[str], object] = parse) -> tuple[str, ...]:
        values = self.run(name)
        for number in range(len(values)):
            self.expression(f"{name}.{number}", read)
        return values

    def run(self, name: str) -> tuple[str, ...]:
        """The values of name.0, name.1, ... Rule 5: up to the first gap; a warning tells what comes after."""
        values: list[str] = []
        while (value := self.text(f"{name}.{len(values)}")) is not None:
            values.append(value)
        for given, element in self.given.items():
            numbered = _NUMBERED.fullmatch(given)
            if values and numbered and numbered[1] == name and int(numbered[2]) > len(values):
                self.notes.warn(
                    element,
                    f"parameter {given!r} is ignored: there is no '{name}.{len(values)}' before it",
                    next_step="number the parameters without a gap",
                )
        return tuple(values)

    def names_of(self, count: int, name: str, whose: str) -> list[str | None]:
        """The value of name.N for each of `count` parameters `whose`.N, None where it is left out: such a name makes no gap."""
        for given, element in self.given.items():
            numbered = _NUMBERED.fullmatch(given)
            if numbered and numbered[1] == name and int(numbered[2]) >= count:
                self.notes.warn(
                    element,
                    f"parameter {given!r} is ignored: there is no '{whose}.{numbered[2]}' that it names",
                    next_step="give both the same number",
                )
        return [self.text(f"{name}.{number}") for number in range(count)]

    def rest(self, *used: str) -> tuple[tuple[str, str], ...]:
        """All parameters but those whose base names are given, as they count."""
        return tuple((name, value) for name, value in self.values.items() if base(name) not in used)
