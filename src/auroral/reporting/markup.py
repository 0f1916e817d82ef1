"""HTML and SVG from Python: whatever is no markup is escaped, wherever it stands."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

_EMPTY = frozenset({"meta", "line", "rect", "path", "circle"})
_XML = dict.fromkeys(map(chr, (*range(9), 11, 12, *range(14, 32), 127, 0xFFFE, 0xFFFF, *range(0xD800, 0xE000))), "�")
_SHOWN = str.maketrans(_XML)
"""Characters that no page may have."""


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


Child = str | Markup | Iterable["Child"] | None


def tag(name: str, /, *children: Child, **attributes: object) -> Markup:
    """Attributes are named as in Python: `class_`, `stroke_width`; None leaves one out."""
    said = "".join(
        f' {key.strip("_").replace("_", "-")}="{text(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _EMPTY and not children:
        return Markup(f"<{name}{said}/>")
    return Markup(f"<{name}{said}>{joined(children)}</{name}>")


def joined(children: Child) -> Markup:
    match children:
        case None:
            return Markup()
        case Markup():
            return children
        case str():
            return text(children)
        case _:
            return Markup("".join(map(joined, children)))


def text(said: str) -> Markup:
    return Markup(escape(said.translate(_SHOWN), quote=True))


def table(
    head: Iterable[str], rows: Iterable[Iterable[Child]], counts: Iterable[int] = (), **attributes: object
) -> Markup:
    """`counts` are the columns that are set as numbers."""
    right = set(counts)

    def cells(kind: str, row: Iterable[Child]) -> list[Markup]:
        return [tag(kind, cell, class_="count" if at in right else None) for at, cell in enumerate(row)]

    body = [tag("tr", cells("td", row)) for row in rows]
    return tag("table", tag("thead", tag("tr", cells("th", head))), tag("tbody", body), **attributes)
