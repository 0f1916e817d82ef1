"""Texts and names that could be taken for parts of a statement: they are text, on every path."""

from __future__ import annotations

import pytest

import auroral
from auroral.engine.evaluate import Limits
from auroral.model.boxes.drop import RandomDrop
from auroral.model.errors import DiagramError, Place
from engine.evaluators import assert_same, by_batch, by_buckets, by_reference
from engine.running import rows
from engine.stateless_steps import ODD, ODD_NAMES

pytestmark = pytest.mark.spark

UNTIL = 20


def odd_diagram():
    d = auroral.diagram("odd", bucket="10us")
    fields = {"t": "long", "host": "string", **dict.fromkeys(ODD_NAMES, "int")}
    given = d.input("in:lo", fields, stime="t", unit="us")
    hit = given.filter("hit:hi", " or ".join(f"host = '{text}'" for text in ODD))
    hit.output()
    hit.aggregate("sum AS x", {":hi": "count()", "g0": "max(host)"}, window="20us", advance="10us", by=ODD[:1]).output()
    hit.map("tagged`", {name: f"'{text}'" for name, text in zip(ODD_NAMES, ODD[::-1], strict=False)}).output()
    (kept,) = d.add(":first(sum AS x)", RandomDrop(0.5), (hit,), ("kept",), Place())
    kept.output()
    return d.check()


def test_odd_texts_are_texts(spark, tmp_path):
    checked = odd_diagram()
    hosts = [*ODD, "db:lox", "other"]
    given = {"in:lo": rows(*((i, i, host, *range(len(ODD_NAMES))) for i, host in enumerate(hosts)))}
    expected = by_reference(checked, given, UNTIL)
    assert len(expected.outputs["hit:hi"]) == len(ODD)
    assert_same(expected, by_buckets(spark, checked, given, [0, 10, 20], tmp_path / "small"))
    assert_same(expected, by_buckets(spark, checked, given, [0, 10, 20], tmp_path / "large", limits=Limits(0, 0)))
    assert_same(expected, by_batch(spark, checked, given, UNTIL, tmp_path / "batch"))


def test_texts_and_names_that_look_like_relations(spark, tmp_path):
    """Each output is made by a statement of its own, and reads less than all streams."""
    d = auroral.diagram("odd", bucket="10us")
    given = d.input("in", "t long, b long", stime="t", unit="us")
    given.filter("ts", "b > 0").output()
    given.map("texts", {"z": "'copied FROM `ts` by hand, it''s\u2028so'"}).output()
    given.filter("hit", "b > 1").output()
    given.filter("hit`s", "b > 2").map("named", {"b": "b"}).output()
    checked = d.check()
    sources = {"in": rows((1, 1, 1), (2, 2, 2), (13, 13, 3))}
    expected = by_reference(checked, sources, UNTIL)
    assert [row[1] for row in expected.outputs["texts"]] == ["copied FROM `ts` by hand, it's\u2028so"] * 3
    assert expected.outputs["named"] == [(13, 3)]
    assert_same(expected, by_buckets(spark, checked, sources, [0, 20], tmp_path / "small"))
    assert_same(expected, by_buckets(spark, checked, sources, [0, 20], tmp_path / "large", limits=Limits(0, 0)))
    assert_same(expected, by_batch(spark, checked, sources, UNTIL, tmp_path / "batch"))


def test_names_with_variables_are_refused():
    with pytest.raises(DiagramError, match="stands for variables"):
        auroral.diagram("odd").input("in", {"${user.name}": "int"})


@pytest.mark.parametrize("kind", ["stream", "box"])
def test_names_like_those_of_steps_are_refused(kind):
    names = {"stream": "in", "box": "b"} | {kind: "b@past"}
    d = auroral.diagram("odd", bucket="10us")
    d.add(names["box"], RandomDrop(0.5), (d.input(names["stream"], "x int"),), ("out",), Place())[0].output()
    with pytest.raises(DiagramError, match=f"{kind} name 'b@past' has an @"):
        d.check()


@pytest.mark.parametrize("kind", ["field", "stream", "box"])
def test_names_with_control_characters_are_refused(kind):
    names = {"field": "x", "stream": "in", "box": "b"} | {kind: "a\x00lo\x00"}

    def checked():
        d = auroral.diagram("odd", bucket="10us")
        given = d.input(names["stream"], {names["field"]: "int"})
        given.filter(names["box"], "stime > 0").output()
        return d.check()

    with pytest.raises(DiagramError, match="control characters"):
        checked()
