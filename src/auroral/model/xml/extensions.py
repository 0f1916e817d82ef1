"""What Auroral adds to Borealis' files: attributes, parameters and one element whose names begin with `auroral:`.

They say what Borealis' own words cannot: lengths of buckets, stimes of inputs, bounds of outputs, windows on stime. Borealis itself
cannot read them. With `auroral:case="exact"` on the root, names and expressions count as they are written; without it, rule 2
holds, which takes all names in lower case.
"""

from __future__ import annotations

from auroral.model.diagram import Input, Late, Output, Stamp
from auroral.model.duration import microseconds
from auroral.model.xml.notes import Notes
from auroral.model.xml.parameters import LARGEST
from auroral.model.xml.read import Element

PREFIX = "auroral:"
NAMESPACE = "urn:auroral:xml"
CASE, EXACT = f"{PREFIX}case", "exact"
NEVER = "none"
"""The bound of an output that waits as long as it takes."""

_LENGTHS = "a number and a unit, as 500ms, 10s or 5min"


def is_exact(root: Element, notes: Notes) -> bool:
    said = root.attributes.get(CASE)
    if said is not None and said.strip() != EXACT:
        notes.error(root, f"{CASE} is {said[:60]!r}", EXACT, "write that, or leave it out: then case does not count")
    return said is not None


def ours(element: Element, name: str) -> str | None:
    return element.attributes.get(PREFIX + name)


def own_name(root: Element, word: str, notes: Notes) -> str | None:
    """A name that is no name of Borealis': it stays as it is written."""
    return None if notes.name(root, PREFIX + word) is None else ours(root, word)


def length(element: Element, name: str, notes: Notes) -> int | None:
    """Microseconds, where the attribute says any."""
    text = ours(element, name)
    if text is None:
        return None
    try:
        return microseconds(text)
    except ValueError:
        notes.error(element, f"{PREFIX}{name} is {text[:60]!r}", _LENGTHS, "mend it, or leave it out")
        return None


def with_stamp(given: Input, element: Element, notes: Notes) -> Input:
    """The input with what its element says of stimes and late rows."""
    field = notes.name(element, f"{PREFIX}stime")
    clock = ours(element, "clock")
    unit, delay, idle_after = (length(element, name, notes) for name in ("unit", "delay", "idle-after"))
    if field is None and (unit, delay, idle_after) != (None, None, None):
        notes.error(
            element,
            f"{PREFIX}unit, {PREFIX}delay and {PREFIX}idle-after are about a stime field, and there is none",
            f"these with {PREFIX}stime",
            f'add {PREFIX}stime="FIELD"',
        )
    if field is not None and clock is not None:
        notes.error(
            element, "the stime comes from a field and from the clock", "one of them", f"leave {PREFIX}clock out"
        )
    stamp = None
    if field is not None:
        stamp = Stamp(field, 1 if unit is None else unit, delay or 0, idle_after)
    elif clock is not None and notes.flag(element, f"{PREFIX}clock", clock):
        stamp = Stamp()
    any_case = ours(element, "any-case")
    return Input(
        given.stream,
        given.schema,
        stamp,
        _late(element, notes),
        given.node,
        given.place,
        given.any_case if any_case is None else bool(notes.flag(element, f"{PREFIX}any-case", any_case)),
    )


def _late(element: Element, notes: Notes) -> Late:
    said = ours(element, "late")
    if said is None:
        return Late.MOVE
    if said not in list(Late):
        notes.error(element, f"{PREFIX}late is {said[:60]!r}", ", ".join(Late), "choose one of these")
        return Late.MOVE
    return Late(said)


def with_bound(output: Output, element: Element, notes: Notes) -> Output:
    """The output with what its element says of tentative answers."""
    bound: int | None = output.availability
    if ours(element, "availability") == NEVER:
        bound = None
    elif ours(element, "availability") is not None:
        bound = length(element, "availability", notes)
    least = ours(element, "at-least")
    sites = (notes.name(site, "stream") for site in element.all(f"{PREFIX}of"))
    return Output(
        output.stream,
        bound,
        output.schema,
        output.place,
        None if least is None else notes.whole(element, f"{PREFIX}at-least", least, 1, LARGEST),
        tuple(site for site in sites if site is not None),
    )
