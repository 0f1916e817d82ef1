"""X8: diagrams from files and from Python are written as XML, and read again as the same diagrams."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import auroral
from auroral.model.boxes.splice import Splice
from auroral.model.boxes.stateless import Filter
from auroral.model.diagram import Box, Diagram, Query
from auroral.model.errors import DiagramError
from auroral.model.xml import read_diagram, same_diagram, write_diagram
from engine.diagrams import _drawn
from model.xml.compose import AGGREGATE, JOIN, SUNION, box, load
from model.xml.random_diagrams import diagrams
from model.xml.test_fuzz import RICH
from model.xml.test_sample import DIAGRAM


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(diagrams())
def test_any_diagram(diagram: Diagram) -> None:
    read = read_diagram(write_diagram(diagram)).diagram
    assert same_diagram(read, diagram)
    # What `same` is worth: all but places and the names of schemas is equal, as values are.
    assert replace(read, schemas=()) == diagram


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 100_000))
# Windows on several fields of an input that goes by the clock: whoever reads the file is asked whether that is meant.
@example(990)
@pytest.mark.filterwarnings("ignore:.*are on several of its fields:auroral.loading.LoadWarning")
def test_diagrams_of_the_python_api(seed: int) -> None:
    built = _drawn(seed, 4)[0].builder.build()
    applies = [one for one in built.boxes if one.spec.type == "apply"]
    bare = [one for one in built.boxes if one.spec.type == "sunion"]
    if applies or bare:
        with pytest.raises(DiagramError) as caught:
            built.to_xml()
        if applies:
            assert len(caught.value.problems) == len(applies)
            assert f"box {applies[0].name!r}" in str(caught.value) and "Python function" in str(caught.value)
        return
    again = auroral.load(built.to_xml())
    assert same_diagram(again, built)
    assert auroral.check(again).streams == auroral.check(built).streams


@pytest.mark.parametrize("text", [DIAGRAM, RICH.replace('<parameter name="expression.1" value="v*2"/>', "")])
def test_files_stay_in_the_words_of_borealis(text: str) -> None:
    first = read_diagram(text, "f.xml").diagram
    written = write_diagram(first, "f.xml", strict=True)
    assert "auroral" not in written
    assert written == write_diagram(first, "f.xml")
    assert same_diagram(read_diagram(written, "f.xml").diagram, first)


def test_a_name_is_written_where_the_file_has_another() -> None:
    diagram = read_diagram(DIAGRAM, "floods.xml").diagram
    assert 'auroral:name="floods"' in write_diagram(diagram, "other.xml")
    assert read_diagram(write_diagram(diagram, "other.xml"), "other.xml").diagram.name == "floods"
    assert "auroral:name" not in write_diagram(diagram, "elsewhere/floods.xml")
    assert read_diagram(write_diagram(diagram), "other.xml", name="mine").diagram.name == "mine"


def test_what_a_change_did_is_written() -> None:
    whole = load(
        box("aggregate", AGGREGATE, name="w"),
        '<modify box="w"><parameter name="advance" value="2"/><in stream="b"/></modify>',
    ).diagram
    written = write_diagram(whole)
    assert "modify" not in written and '<parameter name="advance" value="2"/>' in written
    assert next(read_diagram(written).diagram.boxes).inputs == ("b",)


def test_backslashes_are_written_as_borealis_has_them() -> None:
    diagram = load(box("filter", {"expression.0": r"k = 'a\b'"})).diagram
    assert next(diagram.boxes).spec == Filter((r"k = 'a\\b'",))
    assert r"""value="k = 'a\b'" """.strip() in write_diagram(diagram)


def test_a_bucket_and_a_bound_that_a_sunion_says_are_not_said_twice() -> None:
    serial = box("sunion", SUNION, outs=["c", "out"], name="s")
    diagram = load(serial, '<output stream="out"/>').diagram
    assert "auroral:bucket" not in write_diagram(diagram) and "auroral:avail" not in write_diagram(diagram)
    changed = replace(diagram, bucket=2_000_000, outputs=(replace(diagram.outputs[0], availability=None),))
    assert 'auroral:bucket="2s"' in write_diagram(changed)
    assert 'auroral:availability="none"' in write_diagram(changed)


def python_diagram() -> auroral.DiagramBuilder:
    made = auroral.diagram("Net", bucket="500ms", participant="acme")
    packets = made.input("Packets", "ts timestamp, Src string, n int", stime="ts", delay="2s", late="reject")
    other = made.input("other", "ts long, Src string, n int", stime="ts", unit="ms", idle_after="10s")
    high = packets.filter("High", auroral.sql("n BETWEEN 1 AND 9", "bool"))
    high.join("pairs", other, on="left.Src = right.Src", within=("1s", "2s"), how="left").output(availability="3s")
    high.event_time_aggregate("late", {"n": "count()"}, on="ts", window="10s", lateness="5s", late="side", by=["Src"])
    packets.tumble("runs", {"n": "count()"}, by=["Src"]).output(at_least=1, of=["Packets"])
    return made


def test_a_diagram_from_python() -> None:
    made = python_diagram()
    text = made.to_xml()
    for word in ('auroral:bucket="500ms"', 'auroral:participant="acme"', 'auroral:late="reject"', 'auroral:sql="bool"'):
        assert word in text
    assert auroral.load(text) == replace(made.build(), schemas=auroral.load(text).schemas)


def test_strict_names_what_borealis_cannot_read() -> None:
    with pytest.raises(DiagramError) as caught:
        python_diagram().to_xml(strict=True)
    said = str(caught.value)
    for word in ("auroral:bucket", "auroral:left-within", "auroral:stime", "'Packets'", "box 'runs': auroral:window"):
        assert word in said
    plain = auroral.diagram("plain")
    plain.input("a", "t int, k string(4)").filter("b", "t > 1").output()
    assert "auroral" not in plain.to_xml(strict=True)


def test_a_python_function_cannot_be_written() -> None:
    made = auroral.diagram("d")
    made.input("a", "v int").apply("same", lambda frame: frame, schema="v int").output()
    with pytest.raises(DiagramError) as caught:
        made.to_xml()
    (problem,) = caught.value.problems
    assert "box 'same'" in problem.what and "<lambda>" in problem.what
    assert problem.place.file is not None and problem.place.file.endswith("test_write.py")
    assert "package" in str(problem.next_step)


def test_what_the_system_inserts_cannot_be_written() -> None:
    diagram = Diagram("d", queries=(Query("q", (Box("b", Splice((1,)), ("x", "y"), ("z",)),)),))
    with pytest.raises(DiagramError, match="the system's own"):
        write_diagram(diagram)


def test_characters_that_xml_lacks_are_named() -> None:
    made = auroral.diagram("d")
    made.input("a", "k string").filter("f", "k = '\x01'").output()
    with pytest.raises(DiagramError, match=r"box 'f', parameter .* has the character U\+0001"):
        made.to_xml()


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ('auroral:bukket="1s"', "unknown attribute 'auroral:bukket' of <borealis> is ignored"),
        ('other:bucket="1s"', None),
    ],
)
def test_unknown_words_of_ours(attributes: str, said: str | None) -> None:
    warnings = load(box("union"), root=f"<borealis {attributes}>").warnings
    assert [w.what for w in warnings] == ([] if said is None else [said])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t.replace('"exact"', '"some"'), "auroral:case is 'some'"),
        (lambda t: t.replace('bucket="500ms"', 'bucket="500"'), "auroral:bucket is '500'"),
        (lambda t: t.replace('delay="2s"', 'delay="soon"'), "auroral:delay is 'soon'"),
        (lambda t: t.replace('late="reject"', 'late="eject"'), "auroral:late is 'eject'"),
        (lambda t: t.replace('availability="3s"', 'availability="3"'), "auroral:availability is '3'"),
        (lambda t: t.replace('at-least="1"', 'at-least="one"'), "auroral:at-least is 'one'"),
        (lambda t: t.replace('auroral:sql="bool"', 'auroral:sql="boo"'), "auroral:sql: 'boo' is not a field type"),
        (lambda t: t.replace('left-within" value="1s"', 'left-within" value="1"'), "'auroral:left-within' is '1'"),
        (lambda t: t.replace('value="event-time"', 'value="event"'), "parameter 'auroral:window' is 'event'"),
        (lambda t: t.replace("auroral:lateness", "auroral:latenes"), "'auroral:lateness' is needed"),
        (lambda t: t.replace('name="auroral:on" value="ts"', 'name="timeout" value="1"'), "'auroral:on' is needed"),
        (lambda t: t.replace('auroral:stime="ts" auroral:delay', "auroral:delay"), "about a stime field"),
        (lambda t: t.replace("auroral:idle-after", 'auroral:clock="1" auroral:idle-after'), "from the clock"),
        (lambda t: t.replace('<parameter name="out', '<parameter auroral:sql="int" name="out'), None),
    ],
)
def test_wrong_words_of_ours(change: Callable[[str], str], said: str | None) -> None:
    text = change(python_diagram().to_xml())
    if said is None:
        assert read_diagram(text).diagram
        return
    with pytest.raises(DiagramError) as caught:
        read_diagram(text)
    assert said in str(caught.value)


def test_spark_sql_only_where_a_box_takes_it() -> None:
    with pytest.raises(DiagramError, match=r"parameter 'aggregate-function\.0' cannot be Spark SQL"):
        load(box("aggregate", AGGREGATE).replace('value="count()"', 'value="count()" auroral:sql="long"'))


def test_borealis_parameters_need_not_stand_beside_ours() -> None:
    both = {"auroral:left-within": "1s", "right-order-by": "VALUES", "right-order-on-field": "t"}
    diagram = load(box("join", {"predicate": JOIN["predicate"], **both, "right-buffer-size": "2"}, ["a", "b"])).diagram
    assert same_diagram(read_diagram(write_diagram(diagram)).diagram, diagram)


def test_other_diagrams_are_not_the_same() -> None:
    one = python_diagram().build()
    others = [
        replace(one, name="other"),
        replace(one, bucket=1),
        replace(one, inputs=one.inputs[::-1]),
        replace(one, outputs=one.outputs[:1]),
        replace(one, queries=(replace(one.queries[0], boxes=one.queries[0].boxes[1:]),)),
    ]
    assert not any(same_diagram(one, other) for other in others)
    assert same_diagram(one, replace(one, schemas=(("x", one.inputs[0].schema),)))


def test_stimes_of_a_file_in_which_case_counts() -> None:
    text = python_diagram().to_xml()
    (given, _) = auroral.load(text, stime={"Packets": "ts"}).inputs
    assert given.stamp is not None and given.stamp.field == "ts"
    with pytest.raises(DiagramError, match="did you mean 'Packets'"):
        auroral.load(text, stime={"packets": "ts"})


@pytest.mark.parametrize("word", ["name", "participant"])
@pytest.mark.parametrize(("value", "said"), [(" ", "is empty"), ("x" * 300, "has 300 characters")])
def test_names_of_diagrams_are_names(word: str, value: str, said: str) -> None:
    with pytest.raises(DiagramError, match=f"'auroral:{word}' {said}"):
        load(box("union"), root=f'<borealis auroral:{word}="{value}">')


def test_blanks_around_the_name_of_a_diagram_stay() -> None:
    diagram = replace(load(box("union")).diagram, name=" d ", participant=" p ")
    again = read_diagram(write_diagram(diagram)).diagram
    assert (again.name, again.participant) == (" d ", " p ")
