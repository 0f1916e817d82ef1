"""Small pieces of SQL text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

STIME = "__stime"
SEQ = "__seq"


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def string_literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


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


def columns(names: Iterable[str], prefix: str = "") -> list[str]:
    return [f"{prefix}{quoted(name)}" for name in names]


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
