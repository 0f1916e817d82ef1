"""Filter, map, union, delay, sunion and soutput on Spark."""

from __future__ import annotations

import math
import time

import pytest

from auroral.engine.edgelog import STABLE, Segment
from auroral.engine.evaluate import Engine
from auroral.model.boxes.serialize import SOutput, SUnion
from auroral.model.boxes.stateless import Delay, Filter, Map, Union
from auroral.model.diagram import Box
from engine.evaluators import by_batch, source_table
from engine.running import checked_diagram, rows, run_all

pytestmark = pytest.mark.spark

INPUTS = {"s": "i int, x double, k string", "w": "i short, x single, k string"}
SOURCES = {
    "s": rows(
        (-7, 1, 0.0, "a"), (3, 0, -0.0, "ü"), (3, None, math.nan, None), (12, -5, 2.5, "😀"), (12, -5, 2.5, "😀")
    ),
    "w": rows((3, 7, 0.5, "b"), (11, None, None, "")),
}


@pytest.fixture(scope="module")
def outcome(spark, tmp_path_factory):
    boxes = [
        Box("cases", Filter(("i > 0", "i = 0 or x > 2"), else_port=True), ("s",), ("first", "second", "rest")),
        Box("no else", Filter(("k = 'ü'",)), ("s",), ("only",)),
        Box("mapped", Map((("half", "10 / i"), ("back", "1 / x"), ("at", "stime"), ("kk", "k + k"))), ("s",), ("m",)),
        Box("both", Union(), ("s", "w"), ("u",)),
        Box("twice", Union(), ("s", "s"), ("uu",)),
        Box("later", Delay(1), ("s",), ("late",)),
        Box("su", SUnion(100), ("s", "w"), ("control", "sunion")),
        Box("so", SOutput(), ("sunion",), ("socontrol", "soutput")),
    ]
    shown = ["first", "second", "rest", "only", "m", "u", "uu", "late", "sunion", "soutput"]
    checked = checked_diagram(INPUTS, boxes, shown)
    return run_all(spark, tmp_path_factory.mktemp("stateless"), checked, SOURCES, 20)


def test_filter_is_a_case_statement(outcome):
    assert outcome.outputs["first"] == [(-7, 1, 0.0, "a")]
    # NULL > 0 and NULL = 0 do not hold; NaN > 2 does.
    twice = [(12, -5, 2.5, "😀")] * 2
    assert repr(outcome.outputs["second"]) == repr([(3, None, math.nan, None), (3, 0, -0.0, "ü"), *twice])
    assert outcome.outputs["rest"] == []
    assert outcome.outputs["only"] == [(3, 0, -0.0, "ü")]


def test_a_division_by_zero_does_not_stop_a_stream(outcome):
    found = [(half, back) for _, half, back, *_ in outcome.outputs["m"]]
    assert repr(found) == repr([(10, math.inf), (None, math.inf), (None, math.nan), (-2, 0.4), (-2, 0.4)])


def test_map_sees_stime(outcome):
    assert [row[3] for row in outcome.outputs["m"]] == [-7, 3, 3, 12, 12]


def test_union_widens_and_keeps_duplicates(outcome):
    assert [row[1:] for row in outcome.outputs["u"] if row[3] in ("b", "")] == [(7, 0.5, "b"), (None, None, "")]
    assert len(outcome.outputs["u"]) == 7 and len(outcome.outputs["uu"]) == 10


def test_delay_and_sunion_leave_rows_as_they_are(outcome):
    assert repr(outcome.outputs["late"]) == repr(sorted_rows(SOURCES["s"]))
    assert repr(outcome.outputs["sunion"]) == repr(outcome.outputs["soutput"]) == repr(outcome.outputs["u"])


def delaying(milliseconds):
    return checked_diagram({"s": "i int"}, [Box("slow", Delay(milliseconds), ("s",), ("o",))])


def test_a_delay_costs_engine_time_for_each_row(spark, tmp_path):
    engine, given = Engine(spark, delaying(500), tmp_path), rows((11, 1), (12, 2), (13, 3), (14, 4))
    seconds = []
    # The first range has no rows, and warms Spark up.
    for lo in (0, 10):
        within = [row for row in given if lo <= row.stime < lo + 10]
        engine.offer("s", Segment(lo, lo + 10, STABLE, len(within), source_table(engine.source("s"), within)))
        began = time.monotonic()
        result = engine.evaluate(lo, lo + 10)
        seconds.append(time.monotonic() - began)
    assert result.outputs["o"].rows == 4
    assert seconds[1] >= 4 * 0.5


def test_a_batch_does_not_spend_the_delay(spark, tmp_path):
    began = time.monotonic()
    assert by_batch(spark, delaying(60_000), {"s": rows((1, 7))}, 10, tmp_path).outputs["o"] == [(1, 7)]
    assert time.monotonic() - began < 60


def sorted_rows(given):
    from auroral.reference.rows import canonical_key

    return [(row.stime, *row.values) for row in sorted(given, key=canonical_key)]
