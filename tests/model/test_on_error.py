"""`on_error`: which boxes may reject rows, and what their error streams are."""

from __future__ import annotations

import pytest

import auroral
from auroral.model.errors import DiagramError
from auroral.model.expression import Functions
from auroral.model.expression.functions import make_function
from auroral.model.on_error import LONGEST, OnError, error_text

KNOWN = Functions().plus(make_function("f", lambda v: v, "int", "int"))


def started():
    d = auroral.diagram("d")
    return d, d.input("s", "t timestamp, v int", stime="t")


def refused(make) -> str:
    with pytest.raises(DiagramError) as error:
        make()
    (problem,) = error.value.problems
    assert problem.place.element
    return str(error.value)


def test_the_error_stream_has_the_row_and_what_failed():
    d, s = started()
    made = s.map("m", {"w": "f(v)"}, on_error="reject")
    errors = made.errors()
    errors.output()
    made.output()
    checked = d.check(KNOWN)
    assert errors.name == "m.errors"
    assert str(checked.streams["m.errors"].schema) == "t timestamp, v int, error string"
    # It is still a stream of that input: windows on its stime field are windows on stime.
    assert checked.streams["m.errors"].clocks == checked.streams["s"].clocks
    assert checked.streams["m.errors"].order == checked.streams["s"].order
    assert str(checked.streams["m"].schema) == "w int"
    assert not checked.warnings


def test_it_is_one_more_output_only_when_asked_for():
    d, s = started()
    held, rest = s.filter("h", "f(v) > 1", otherwise=True, on_error="reject")
    cases = s.split("c", ["v > 1", "f(v) > 1"], on_error="reject")
    assert [box.outputs for box in d.build().boxes] == [("h", "h.else"), ("c.0", "c.1")]
    assert held.errors() == rest.errors() and cases[0].errors() == cases[1].errors()
    assert [box.outputs for box in d.build().boxes] == [("h", "h.else", "h.errors"), ("c.0", "c.1", "c.errors")]
    typed = [box.typed for box in d.check(KNOWN).boxes]
    assert [(box.on_error, box.error_port) for box in typed] == [(OnError.REJECT, 2), (OnError.REJECT, 2)]


def test_a_step_that_stops_has_no_errors():
    _, s = started()
    stopping = s.map("m", {"w": "f(v)"})
    assert "it has on_error='stop'" in refused(stopping.errors)
    assert "'s' has no stream of errors" in refused(s.errors)


def test_nothing_is_rejected_where_nothing_can_fail():
    for make in (
        lambda s: s.map("m", {"w": "v / 0"}, on_error="reject"),
        lambda s: s.filter("m", "v > 0", on_error="reject"),
        lambda s: s.filter("m", auroral.sql("v > 0", "bool"), on_error="reject"),
    ):
        d, s = started()
        make(s).output()
        message = refused(lambda d=d: d.check(KNOWN))
        assert "no expression here calls a Python function" in message and "leave on_error out" in message


def test_a_field_called_error_is_in_the_way_of_the_error_stream_only():
    d = auroral.diagram("d")
    made = d.input("s", "v int, error string").map("m", {"w": "f(v)"}, on_error="reject")
    made.output()
    d.check(KNOWN)
    made.errors().output()
    assert "rename the field" in refused(lambda: d.check(KNOWN))


@pytest.mark.parametrize(
    "make",
    [
        lambda s, on: s.aggregate("a", {"n": "count()"}, window="1s", on_error=on),
        lambda s, on: s.slide("a", {"n": "count()"}, window="2s", advance="1s", on_error=on),
        lambda s, on: s.tumble("a", {"n": "count()"}, on_error=on),
        lambda s, on: s.running("a", {"n": "count()"}, on_error=on),
        lambda s, on: s.first_aligned("a", {"n": "count()"}, window="1s", on_error=on),
        lambda s, on: s.event_time_aggregate("a", {"n": "count()"}, on="t", window="1s", lateness="1s", on_error=on),
        lambda s, on: s.join("a", s, on="left.v = right.v", within="1s", on_error=on),
        lambda s, on: s.apply("a", lambda frame: frame, schema="v int", on_error=on),
    ],
)
def test_other_steps_only_stop(make):
    _, s = started()
    message = refused(lambda: make(s, "reject"))
    assert "cannot have on_error='reject'" in message and "allowed: on_error='stop'" in message
    assert "with on_error='reject' before it" in message
    make(s, "stop")


def test_an_unknown_policy_is_named():
    _, s = started()
    assert "unknown on_error 'rejct'" in refused(lambda: s.map("m", {"w": "f(v)"}, on_error="rejct"))
    assert "unknown on_error 'skip'" in refused(lambda: s.apply("a", len, schema="v int", on_error="skip"))


def test_what_reads_the_errors_of_a_wrong_box_is_not_blamed():
    d, s = started()
    bad = s.filter("h", "f(w) > 1", on_error="reject").errors()
    bad.map("m", {"e": "error"}).output()
    assert "unknown field 'w'" in refused(lambda: d.check(KNOWN))


def test_pictures_say_which_boxes_reject():
    d, s = started()
    s.map("m", {"w": "f(v)"}, on_error="reject")
    assert "w#59; rejects rows that fail" in d.to_mermaid()


class Speechless(Exception):
    def __str__(self):
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("bad\nvalue"), "f: ValueError: bad\nvalue"),
        (KeyError("k"), "f: KeyError: 'k'"),
        (ValueError(), "f: ValueError"),
        (ValueError("\ud800\0"), "f: ValueError: ??"),
        (ValueError("<function f at 0x7f00aa> is odd"), "f: ValueError: <function f> is odd"),
        (Speechless(), "f: Speechless"),
        (ValueError("x" * 500), ("f: ValueError: " + "x" * 500)[:LONGEST]),
    ],
)
def test_error_texts_are_the_same_wherever_they_are_made(error, text):
    assert error_text("f", error) == text and len(text) <= 200
