"""No text, however mangled, gives a traceback or hangs: a value or a DiagramError, in bounded time."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from auroral.model.checking import check
from auroral.model.deployment import Deployment
from auroral.model.errors import DiagramError
from auroral.model.placement import check_deployment
from auroral.model.xml import Loaded, read_deployment, read_diagram
from auroral.model.xml.boxes import SHAPES
from auroral.model.xml.vocabulary import DEPLOYMENT as DEPLOYMENT_WORDS
from auroral.model.xml.vocabulary import DIAGRAM as DIAGRAM_WORDS
from model.xml.compose import AGGREGATE, JOIN, box, diagram
from model.xml.test_sample import DEPLOYMENT, DIAGRAM

# Far above what any of it takes: this catches what grows without bound, not a busy machine.
SECONDS = 30.0

RICH = diagram(
    '<query name="q" update_queue="1" queue_type="3">',
    box("filter", {"expression.0": "v > 1 and K = 'X'", "pass-on-false-port": "1"}, outs=["f", "g"], name="f"),
    box(
        "map",
        {"expression.0": "t", "output-field-name.0": "t", "expression.1": "v*2"},
        ins=["f"],
        outs=["m"],
        name="m",
    ),
    box("join", {**JOIN, "out-field.0": "left.v", "out-field-name.0": "v"}, ["a", "b"], ["j"], "j"),
    box("aggregate", {**AGGREGATE, "group-by": "k"}, ["g"], ["w"], "w"),
    '<table name="s" schema="row"><key field="k"/></table>',
    '<box name="ins" type="insert"><in stream="a"/><access table="s"/>',
    '<parameter name="sql" value="insert into s values (input.t, input.k, input.v)"/></box>',
    "</query>",
    '<connection_point_view name="v" stream="a"><order field="t"/>',
    '<range start="1" end="2"/></connection_point_view>',
    '<modify box="w"><parameter name="advance" value="2"/></modify>',
    '<output stream="w"/><output stream="j"/>',
)
TEXTS = (DIAGRAM, DEPLOYMENT, RICH)
SAMPLE = read_diagram(DIAGRAM).diagram
WORDS = sorted(
    {*DIAGRAM_WORDS, *DEPLOYMENT_WORDS, *SHAPES}
    | {name for tag in (*DIAGRAM_WORDS.values(), *DEPLOYMENT_WORDS.values()) for name in (*tag.required, *tag.optional)}
    | {
        p.replace(".N", f".{n}")
        for shape in SHAPES.values()
        for p in (*shape.required, *shape.optional)
        for n in (0, 1)
    }
)
VALUES = st.one_of(
    st.sampled_from(WORDS),
    st.sampled_from(
        ["", "0", "-1", "1e400", "9" * 40, "nan", "0x10", "١", "((((", "'", "a,b,,", "x.y", "[", "true", "::"]
    ),
    st.text(max_size=20),
)


@st.composite
def mangled(draw: st.DrawFn) -> bytes:
    text = draw(st.sampled_from(TEXTS)).encode()
    for _ in range(draw(st.integers(1, 6))):
        text = draw(st.sampled_from(MUTATIONS))(draw, text)
    return text


def _span(draw: st.DrawFn, text: bytes) -> tuple[int, int]:
    first, second = draw(st.integers(0, len(text))), draw(st.integers(0, 200))
    return first, min(first + second, len(text))


def _cut(draw: st.DrawFn, text: bytes) -> bytes:
    start, end = _span(draw, text)
    return text[:start] + text[end:]


def _truncate(draw: st.DrawFn, text: bytes) -> bytes:
    return text[: draw(st.integers(0, len(text)))]


def _duplicate(draw: st.DrawFn, text: bytes) -> bytes:
    start, end = _span(draw, text)
    return text[:end] + text[start:end] + text[end:]


def _bytes(draw: st.DrawFn, text: bytes) -> bytes:
    at = draw(st.integers(0, len(text)))
    return text[:at] + draw(st.binary(max_size=8)) + text[at:]


def _lines(draw: st.DrawFn, text: bytes) -> bytes:
    """Swap two lines: mostly still well-formed."""
    lines = text.split(b"\n")
    one, other = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
    lines[one], lines[other] = lines[other], lines[one]
    return b"\n".join(lines)


def _drop_line(draw: st.DrawFn, text: bytes) -> bytes:
    lines = text.split(b"\n")
    del lines[draw(st.integers(0, len(lines) - 1))]
    return b"\n".join(lines)


def _value(draw: st.DrawFn, text: bytes) -> bytes:
    """Another value, or another name, between two quotes: well-formed, and wrong."""
    parts = text.split(b'"')
    if len(parts) > 2:
        new = draw(VALUES).replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
        parts[draw(st.integers(0, len(parts) // 2 - 1)) * 2 + 1] = new.encode("utf-8", "replace")
    return b'"'.join(parts)


def _attribute(draw: st.DrawFn, text: bytes) -> bytes:
    name, value = draw(st.sampled_from(WORDS)), draw(st.sampled_from(WORDS))
    at = text.find(b"/>", draw(st.integers(0, len(text))))
    return text if at < 0 else text[:at] + f' {name}="{value}"'.encode() + text[at:]


def _word(draw: st.DrawFn, text: bytes) -> bytes:
    one, other = (draw(st.sampled_from(WORDS)).encode() for _ in range(2))
    return text.replace(one, other)


MUTATIONS: list[Callable[[st.DrawFn, bytes], bytes]] = [
    *(_cut, _truncate, _duplicate, _bytes),
    *(_lines, _drop_line, _value, _attribute, _word, _value, _attribute, _value),
]


def value_of(call: Callable[[], Any]) -> Any:
    """What the call returns, or the problems of its DiagramError; any other exception fails the test."""
    try:
        return call()
    except DiagramError as error:
        return error.problems


def survives(text: bytes | str) -> None:
    started = time.monotonic()
    read = value_of(lambda: read_diagram(text, "fuzz.xml"))
    if isinstance(read, Loaded):
        assert value_of(lambda: check(read.diagram))
    else:
        assert read
        assert all(str(problem) for problem in read)
    deployed = value_of(lambda: read_deployment(text, "fuzz.xml"))
    if isinstance(deployed, Deployment):
        assert value_of(lambda: check_deployment(deployed, SAMPLE))
    else:
        assert deployed
    assert time.monotonic() - started < SECONDS


@pytest.mark.slow
@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(mangled())
def test_mangled_files(text: bytes) -> None:
    survives(text)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200) | st.text(max_size=200))
def test_any_text(text: bytes | str) -> None:
    survives(text)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "<borealis>" + "".join(f"<zzz{n}/>" for n in range(20_000)) + "</borealis>",
        "<borealis>" + "<input stream='a' schema='b'/>" * 20_000 + "</borealis>",
        "<borealis " + "x" * 60_000 + "='y'/>",
        diagram(*(box("union", ins=[f"s{n}"], outs=[f"s{n + 1}"], name=f"b{n}") for n in range(3000))),
        diagram(*(box("union", ins=["a"], outs=["s"], name="same") for n in range(3000))),
        diagram(box("filter", {"expression.0": "(" * 30_000})),
        diagram(box("filter", {"expression.0": "not " * 10_000 + "true"})),
        diagram(box("filter", {f"expression.{n}": "v > 1" for n in range(9000)})),
        diagram(box("filter", {f"expresion.{n}": "v > 1" for n in range(9000)})),
        diagram(box("aggregate", {**AGGREGATE, "group-by": "k," * 20_000})),
        "<!DOCTYPE borealis SYSTEM 'x'><borealis>" + "<!--" * 100_000,
        "<!DOCTYPE borealis SYSTEM 'x'><borealis><?x " + "<!--" * 100_000 + "?></borealis>",
        "<!DOCTYPE borealis SYSTEM '" + "<!--" * 100_000 + "'><borealis/>",
        "<borealis>" + ("<input " + " ".join(f"strea{n}=''" for n in range(90)) + "/>") * 4000 + "</borealis>",
        "<borealis>" + ("<query name='q' " + " ".join(f"nod{n}=''" for n in range(90)) + "/>") * 4000 + "</borealis>",
        diagram(*(box("union", ins=[f"nowhere{n}"], outs=[f"s{n}"], name=f"b{n}") for n in range(3000))),
        "<!DOCTYPE borealis SYSTEM 'x'><borealis>" + "<!-- -->" * 100_000 + "</borealis>",
    ],
    ids=lambda text: text[:40] if isinstance(text, str) else None,
)
def test_files_made_to_be_slow(text: str) -> None:
    survives(text)
