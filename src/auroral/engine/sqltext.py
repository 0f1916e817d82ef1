"""Small pieces of SQL text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

STIME = "__stime"
SEQ = "__seq"
ROWS = "__n"
"""How many rows a group has, in states that can be subtracted."""

UNKNOWN = ""
"""The type of a column that only Spark knows."""

ColumnText = Callable[[str | None, str], str]
"""Gives the text of a field's column by qualifier and name."""


def quoted(name: str) -> str:
    assert not _MARKS.search(name), "the model refuses such names"
    return "`" + name.replace("`", "``") + "`"


def unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


_ESCAPED = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def string_literal(text: str) -> str:
    """A string literal, for sessions with `spark.sql.parser.escapedStringLiterals=false`."""
    # Digits after a zero character would make an octal escape of \\0; and Spark substitutes variables such as
    # ${env:HOME} in the whole text of a statement, string literals included.
    escaped = re.sub(r"[\\'\n\r\t]", lambda found: _ESCAPED[found[0]], text)
    escaped = re.sub(r"[\x00-\x1f\x7f]|\$(?=\{)", lambda found: f"\\u{ord(found[0]):04x}", escaped)
    return f"'{escaped}'"


# Slots and relations are marked in a program's text with characters that no name and no literal of a user can hold.
_SLOT = re.compile("\x00([^\x00]*)\x00")
_RELATION = re.compile("\x02([^\x03]*)\x03")
_MARKS = re.compile("[\x00\x02\x03]")


def slot(name: str) -> str:
    """Stands in a program's text for what differs from range to range."""
    return f"\x00{name}\x00"


def relation(name: str) -> str:
    """Stands in a program's text for a step or a view, which a column or a string of the same name is not."""
    assert not _MARKS.search(name), "the model refuses such names"
    return f"\x02{name}\x03"


def _with_relations(text: str, bodies: Mapping[str, str]) -> str:
    return _RELATION.sub(lambda found: bodies.get(found[1]) or quoted(found[1]), text)


LO, HI = slot("lo"), slot("hi")
"""The range of stime that is evaluated: its first microsecond, and the first one behind it."""


def filled(text: str, values: Mapping[str, str]) -> str:
    """The text with a value in place of each slot."""
    return _SLOT.sub(lambda found: values[found[0]], text)


def readable(text: str) -> str:
    """The text for people, with :lo in place of the slot lo."""
    return _SLOT.sub(r":\1", _with_relations(text, {}))


def order_column(position: int) -> str:
    """The name of a column that carries part of a stream's order key."""
    return f"__k{position}"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of an edge: its name and Spark type."""

    name: str
    type: str

    def ddl(self) -> str:
        return f"{quoted(self.name)} {self.type}"


@dataclass(frozen=True, slots=True)
class Cte:
    """One named step of a statement."""

    name: str
    select: str

    def __str__(self) -> str:
        # Not `splitlines`: a string may hold other line ends than ours.
        body = "\n  ".join(self.select.strip().split("\n"))
        return f"{quoted(self.name)} AS (\n  {body}\n)"


def select(items: Iterable[str], source: str, *rest: str) -> str:
    assert source.startswith(("\x02", "(")), f"{source} is neither a relation(name) nor a subquery"
    return "\n".join([f"SELECT {', '.join(items)}", f"FROM {source}", *(part for part in rest if part)])


def aliased(values: Iterable[tuple[str, str]]) -> list[str]:
    """`value AS name` for each value and name."""
    return [f"{value} AS {name}" for value, name in values]


def group_by(names: Iterable[str]) -> str:
    return "GROUP BY " + ", ".join(names)


def columns(names: Iterable[str]) -> list[str]:
    return [quoted(name) for name in names]


def needed(ctes: Sequence[Cte], final: str) -> tuple[list[Cte], set[str]]:
    """The steps that `final` depends on (fewer steps are planned faster), and what no step before its user defines: views."""
    steps, wanted = [], set(_RELATION.findall(final))
    for cte in reversed(ctes):
        if cte.name in wanted:
            steps.append(cte)
            wanted.remove(cte.name)
            wanted.update(_RELATION.findall(cte.select))
    return steps[::-1], wanted


def shared(ctes: Sequence[Cte], finals: Iterable[str]) -> list[Cte]:
    """The steps that other steps and `finals` read more than once between them, each behind those that it reads."""
    uses = _uses(ctes, finals)
    return [cte for cte in ctes if uses[cte.name] > 1]


def _uses(ctes: Sequence[Cte], finals: Iterable[str]) -> Counter[str]:
    return Counter(name for text in (*(cte.select for cte in ctes), *finals) for name in _RELATION.findall(text))


DEEPEST = 40
"""Selects within one another: Spark's parser ends with a stack overflow at some hundred."""


def inlined(ctes: Sequence[Cte], final: str) -> str:
    """The statement with each step that is used once in the place where it is used: Spark analyses that much faster."""
    uses = _uses(ctes, [final])
    kept: list[Cte] = []
    bodies: dict[str, str] = {}
    depths: dict[str, int] = {}
    for cte in ctes:
        body = _with_relations(cte.select, bodies)
        # At most: those of the step itself may also stand side by side.
        depth = cte.select.count("SELECT") + max((depths.get(n, 0) for n in _RELATION.findall(cte.select)), default=0)
        if uses[cte.name] == 1 and depth <= DEEPEST:
            bodies[cte.name], depths[cte.name] = f"({body})", depth
        else:
            kept.append(Cte(cte.name, body))
    return with_ctes(kept, _with_relations(final, bodies))


def with_ctes(ctes: Sequence[Cte], final: str) -> str:
    if not ctes:
        return final
    return "WITH " + ",\n".join(str(cte) for cte in ctes) + "\n" + final


def floor_div(value: str, divisor: int) -> str:
    """Floor division of BIGINTs: SQL's own cuts towards zero, which would fold times before 1970 into one window."""
    return f"(({value}) - pmod({value}, {divisor}L)) DIV {divisor}L" if divisor != 1 else f"({value})"


def falls_below(hashed: str, rate: float) -> str:
    """Whether the low 32 bits of a hash fall into the lowest `rate` of their range."""
    return f"CAST({hashed} & 4294967295L AS DOUBLE) < {rate * 2**32!r}D"


def struct_type(columns: Iterable[Column]) -> str:
    return "STRUCT<" + ", ".join(f"{quoted(c.name)}: {c.type}" for c in columns) + ">"
