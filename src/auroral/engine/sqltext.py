"""Small pieces of SQL text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

STIME = "__stime"
SEQ = "__seq"


def quoted(name: str) -> str:
    assert "\x00" not in name, "the model refuses such names"
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


def slot(name: str) -> str:
    """Stands in a program's text for what differs from range to range. No name and no literal can hold the mark."""
    return f"\x00{name}\x00"


_SLOT = re.compile("\x00([^\x00]*)\x00")

LO, HI = slot("lo"), slot("hi")
"""The range of stime that is evaluated: its first microsecond, and the first one behind it."""


def filled(text: str, values: Mapping[str, str]) -> str:
    """The text with a value in place of each slot."""
    return _SLOT.sub(lambda found: values[found[0]], text)


def with_slots_named(text: str) -> str:
    """The text for people, with :lo in place of the slot lo."""
    return _SLOT.sub(r":\1", text)


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
        body = "\n  ".join(self.select.strip().splitlines())
        return f"{quoted(self.name)} AS (\n  {body}\n)"


def select(items: Iterable[str], source: str, *rest: str) -> str:
    return "\n".join([f"SELECT {', '.join(items)}", f"FROM {source}", *(part for part in rest if part)])


def aliased(values: Iterable[tuple[str, str]]) -> list[str]:
    """`value AS name` for each value and name."""
    return [f"{value} AS {name}" for value, name in values]


def group_by(names: Iterable[str]) -> str:
    return "GROUP BY " + ", ".join(names)


def columns(names: Iterable[str]) -> list[str]:
    return [quoted(name) for name in names]


def needed(ctes: Sequence[Cte], final: str) -> list[Cte]:
    """The steps that `final` depends on: fewer steps are planned faster."""
    wanted, text = [], final
    for cte in reversed(ctes):
        if quoted(cte.name) in text:
            wanted.append(cte)
            text += cte.select
    return wanted[::-1]


def inlined(ctes: Sequence[Cte], final: str) -> str:
    """The same statement with each step that is used once in the place where it is used: Spark analyses that much faster."""
    texts = [cte.select for cte in ctes] + [final]
    kept = []
    for number, cte in enumerate(ctes):
        # As a relation: a column may have the same name.
        used = re.compile(rf"(?<=\b(?:FROM|JOIN)\s){re.escape(quoted(cte.name))}")
        users = [i for i in range(number + 1, len(texts)) for _ in used.finditer(texts[i])]
        if len(users) == 1:
            body = f"({texts[number]})"
            texts[users[0]] = used.sub(lambda _, body=body: body, texts[users[0]])  # type: ignore[misc]
        else:
            kept.append(Cte(cte.name, texts[number]))
    return with_ctes(kept, texts[-1])


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
