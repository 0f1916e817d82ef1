"""Small diagrams for tests. Lines 1-4 are the head; what a test adds starts at line 5."""

from collections.abc import Mapping, Sequence
from xml.sax.saxutils import quoteattr

import pytest

from auroral.model.boxes.base import BoxSpec
from auroral.model.errors import DiagramError, Problem
from auroral.model.xml import Loaded, read_diagram

HEAD = (
    "<borealis>\n"
    '<schema name="row"><field name="t" type="int"/><field name="k" type="string" size="4"/>'
    '<field name="v" type="double"/></schema>\n'
    '<schema name="none"/>\n'
    '<input stream="a" schema="row"/><input stream="b" schema="row"/>\n'
)

AGGREGATE = {
    "window-size": "10",
    "advance": "5",
    "window-size-by": "VALUES",
    "order-by": "FIELD",
    "order-on-field": "t",
    "aggregate-function.0": "count()",
}
JOIN = {
    "predicate": "left.k = right.k",
    "left-order-by": "VALUES",
    "left-buffer-size": "3",
    "left-order-on-field": "t",
    "right-order-by": "VALUES",
    "right-buffer-size": "4",
    "right-order-on-field": "t",
}
SUNION = {"interval": "100", "location": "input", "stagger": "0", "max-delay.0": "500"}


def diagram(*body: str, root: str = "<borealis>") -> str:
    return HEAD.replace("<borealis>", root) + "\n".join(body) + "\n</borealis>\n"


def box(
    type_name: str,
    parameters: Mapping[str, str] | None = None,
    ins: Sequence[str] = ("a",),
    outs: Sequence[str] = ("out",),
    name: str = "it",
    extra: str = "",
) -> str:
    """A box over several lines: itself, its streams, then one line for each parameter."""
    streams = "".join(f'<in stream="{s}"/>' for s in ins) + "".join(f'<out stream="{s}"/>' for s in outs)
    lines = [f'<box name="{name}" type="{type_name}" {extra}>', streams]
    for key, value in (parameters or {}).items():
        lines.append(f"<parameter name={quoteattr(key)} value={quoteattr(value)}/>")
    return "\n".join([*lines, "</box>"])


def load(*body: str, root: str = "<borealis>") -> Loaded:
    return read_diagram(diagram(*body, root=root), "f.xml")


def spec(
    type_name: str,
    parameters: Mapping[str, str] | None = None,
    ins: Sequence[str] = ("a",),
    outs: Sequence[str] = ("out",),
) -> BoxSpec:
    """The spec of the only box of a diagram."""
    (found,) = load(box(type_name, parameters, ins, outs)).diagram.boxes
    return found.spec


def problems(*body: str, root: str = "<borealis>") -> tuple[Problem, ...]:
    with pytest.raises(DiagramError) as caught:
        load(*body, root=root)
    return caught.value.problems


def problem(*body: str, root: str = "<borealis>") -> Problem:
    """The only problem of a diagram."""
    found = problems(*body, root=root)
    assert len(found) == 1, "\n".join(map(str, found))
    return found[0]


def warning(*body: str, root: str = "<borealis>") -> Problem:
    found = load(*body, root=root).warnings
    assert len(found) == 1, "\n".join(map(str, found))
    return found[0]


def without(parameters: Mapping[str, str], *names: str) -> dict[str, str]:
    return {name: value for name, value in parameters.items() if name not in names}
