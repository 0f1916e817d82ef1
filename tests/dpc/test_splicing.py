"""Versions of a query, one after the other, as one diagram."""

from __future__ import annotations

from dataclasses import replace

import auroral
from auroral.dpc.fragments import cut
from auroral.dpc.splicing import spliced
from auroral.model.builder import DiagramBuilder
from auroral.model.checking import Checked
from auroral.model.steps import Stream
from auroral.model.xml import read_deployment
from auroral.reference.evaluate import evaluate
from auroral.reference.rows import Row

S = 1_000_000
ROWS = [Row(t * S // 4, (t,), (t,)) for t in range(40)]
START, END = 5 * S, 10 * S
DEPLOYED = """<deploy>
  <node endpoint=":15000" query="first"/><node endpoint=":15100" query="second"/>
</deploy>"""
Found = list[tuple[int, tuple[object, ...]]]


def kept(d: DiagramBuilder, low: int, rate: float) -> Stream:
    with d.query("first"):
        return d.input("a", "n int").filter("high", f"n >= {low}").drop("kept", rate)


def summed(d: DiagramBuilder, rows: Stream) -> None:
    with d.query("second"):
        rows.aggregate("sums", {"total": "sum(n)"}, window="3s", advance="1s").output()


def version(low: int, rate: float) -> Checked:
    d = auroral.diagram("d", bucket="1s")
    summed(d, kept(d, low, rate))
    return d.check()


def outputs(checked: Checked, rows: list[Row], stream: str = "sums", name: str = "a") -> Found:
    return [(row.stime, row.values) for row in evaluate(checked, {name: rows}, END).streams[stream]]


def by_time(before: Found, after: Found) -> Found:
    return [one for one in before if one[0] < START] + [one for one in after if one[0] >= START]


def test_a_whole_diagram_in_two_versions():
    before, after = version(0, 0.5), version(7, 0.25)
    fragments, later = cut(before), cut(after)
    found = spliced(before, fragments, {"n": [(START, later.all[0])]})
    expected = by_time(outputs(before, ROWS), outputs(after, ROWS))
    assert outputs(found, ROWS) == expected
    assert outputs(before, ROWS) != expected != outputs(after, ROWS)


def test_a_window_behind_it_sees_both():
    before, after = version(0, 0.5), version(7, 0.25)
    fragments, later = (cut(one, read_deployment(DEPLOYED)) for one in (before, after))
    found = spliced(before, fragments, {"first": [(START, later.all[0])]})

    def alone(low: int, rate: float) -> Found:
        d = auroral.diagram("d", bucket="1s")
        kept(d, low, rate).output()
        return outputs(d.check(), ROWS, "kept")

    between = [Row(stime, values, (n,)) for n, (stime, values) in enumerate(by_time(alone(0, 0.5), alone(7, 0.25)))]
    d = auroral.diagram("d", bucket="1s")
    summed(d, d.input("kept", "n int"))
    assert outputs(found, ROWS) == outputs(d.check(), between, name="kept")


def test_a_version_may_read_another_stream():
    def reading(name: str) -> Checked:
        d = auroral.diagram("d", bucket="1s")
        inputs = {one: d.input(one, "n int") for one in ("a", "b")}
        with d.query("first"):
            inputs["a"].filter("low", "n < 20").output()
            inputs["b"].filter("kept", "n > 1").output()
        with d.query("second"):
            inputs[name].aggregate("sums", {"total": "sum(n)"}, window="3s", advance="1s").output()
        return d.check()

    def given(checked: Checked) -> Found:
        other = [replace(row, values=(100,)) for row in ROWS]
        found = evaluate(checked, {"a": ROWS, "b": other}, END).streams["sums"]
        return [(row.stime, row.values) for row in found]

    before, after = reading("a"), reading("b")
    fragments, later = (cut(one, read_deployment(DEPLOYED)) for one in (before, after))
    (second,) = (one for one in later.all if one.name == "second")
    found = spliced(before, fragments, {"second": [(START, second)]})
    assert given(found) == by_time(given(before), given(after))
