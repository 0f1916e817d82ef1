"""Connection points: what they say, in Python and XML, and which streams they make outputs of."""

from __future__ import annotations

import pytest

import auroral
from auroral.model.boxes.stateless import Delay
from auroral.model.diagram import ConnectionPointView
from auroral.model.history import Retention, kept_streams, retention, with_kept_streams
from auroral.model.xml import read_diagram
from auroral.model.xml.same import same_diagram

SCHEMA = auroral.schema("ts timestamp, n long, name string")


def kept() -> auroral.DiagramBuilder:
    d = auroral.diagram("d")
    calls = d.input("calls", SCHEMA, stime="ts").keep("raw")
    calls.filter("slow", "n > 3").keep("recent", last="5s", radius="1s").filter("slower", "n > 9").output()
    return d


def test_what_is_kept_is_an_output_and_an_input_has_a_step_for_it() -> None:
    diagram = kept().check().diagram
    assert [(o.stream, o.kept) for o in diagram.outputs] == [("slower", False), ("raw", True), ("slow", True)]
    assert [(one.view.name, one.stream) for one in kept_streams(diagram)] == [("raw", "raw"), ("recent", "slow")]
    (step,) = [box for box in diagram.boxes if box.name == "raw"]
    assert (step.inputs, step.spec) == (("calls",), Delay(0))
    assert with_kept_streams(diagram) == diagram, "once is enough"
    assert kept().check().warnings == ()


def test_what_is_kept_answers_when_the_outputs_do_that_are_made_of_it() -> None:
    d = auroral.diagram("d")
    calls = d.input("calls", SCHEMA).keep("raw")
    slow = calls.filter("slow", "n > 3").keep("recent")
    slow.filter("late", "n > 5").output(availability="9s")
    slow.filter("soon", "n > 7").output(availability="4s")
    calls.filter("apart", "n < 0").keep("alone")
    bounds = {output.stream: output.availability for output in d.check().diagram.outputs}
    assert bounds == {"late": 9_000_000, "soon": 4_000_000, "raw": 4_000_000, "slow": 4_000_000, "apart": None}


def test_a_name_that_is_taken_is_not_taken_twice() -> None:
    d = auroral.diagram("d")
    d.input("calls", SCHEMA).keep("slow").filter("slow", "n > 3").output()
    diagram = d.check().diagram
    assert [o.stream for o in diagram.outputs] == ["slow", "slow.kept"]
    assert [one.stream for one in kept_streams(diagram)] == ["slow.kept"]
    assert with_kept_streams(diagram) == diagram
    alone = auroral.diagram("alone")
    alone.input("calls", SCHEMA).keep("all")
    assert [query.name for query in alone.check().diagram.queries] == ["all"]


def test_python_and_xml_say_the_same() -> None:
    diagram = kept().build()
    assert diagram.views == (
        ConnectionPointView("raw", "calls"),
        ConnectionPointView("recent", "slow", "stime", None, -5_000_000, 0, 1_000_000),
    )
    text = diagram.to_xml()
    assert '<range start="-5000000" end="0"/>' in text
    read = read_diagram(text).diagram
    assert same_diagram(read, diagram)
    assert [o.stream for o in auroral.check(read).diagram.outputs] == ["slower", "raw", "slow"]


@pytest.mark.parametrize(
    ("view", "keeps"),
    [
        (ConnectionPointView("v", "s"), Retention()),
        (ConnectionPointView("v", "s", None, 7), Retention(rows=7)),
        (ConnectionPointView("v", "s", "n", 7, radius=2), Retention(rows=9)),
        (ConnectionPointView("v", "s", None, None, -5, 0, 1), Retention(rows=6)),
        (ConnectionPointView("v", "s", "n", None, -5, 9), Retention(span=5, order="n")),
        (ConnectionPointView("v", "s", "ts", None, -5, 0, 3), Retention(span=8, order="ts")),
        (ConnectionPointView("v", "s", "stime", None, -5, 0), Retention(span=5)),
        (ConnectionPointView("v", "s", "n", None, 3, 9), Retention(span=0, order="n")),
        # Wrong ones let nothing go, or go by what is right in them.
        (ConnectionPointView("v", "s", "name", None, -5, 0), Retention()),
        (ConnectionPointView("v", "s", "nosuch", 4), Retention(rows=4)),
    ],
)
def test_how_much_a_view_keeps(view: ConnectionPointView, keeps: Retention) -> None:
    assert retention(view, SCHEMA) == keeps


def test_views_that_are_wrong_are_warned_of_and_the_rest_runs() -> None:
    text = """<borealis>
      <schema name="row"><field name="n" type="int"/><field name="s" type="string" size="4"/></schema>
      <input stream="a" schema="row"/><output stream="o"/>
      <box name="x" type="union"><in stream="a" connection_point_view="v"/><out stream="o"/></box>
      <connection_point_view name="v" stream="o"><order field="s"/><range start="-5" end="0"/></connection_point_view>
      <connection_point_view name="v" stream="o"><range start="5" end="0"/></connection_point_view>
    </borealis>"""
    checked = auroral.check(read_diagram(text).diagram).runnable()
    told = [problem.what for problem in checked.warnings]
    assert any("'s' is a string(4)" in one and "none is let go" in one for one in told)
    assert any("'v', which is of 'o': it reads 'a'" in one for one in told)
    assert any("twice" in one for one in told) and any("ends before it begins" in one for one in told)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"rows": 3, "last": "1s"}, "both rows and last"),
        ({"by": "n"}, "by is given without last"),
        ({"rows": 0}, "rows=0"),
        ({"last": "soon"}, "last='soon' is not a length of time"),
        ({"last": -3, "by": "n"}, "last=-3"),
        ({"last": 60}, "last=60 is not a length of time"),
        ({"last": "1h", "radius": 60}, "radius=60 is not a length of time"),
        ({"rows": 5, "radius": "1s"}, "radius='1s' is no number"),
    ],
)
def test_what_cannot_be_kept(arguments: dict[str, object], says: str) -> None:
    stream = auroral.diagram("d").input("s", SCHEMA)
    with pytest.raises(auroral.DiagramError, match=says):
        stream.keep("v", **arguments)  # type: ignore[arg-type]
