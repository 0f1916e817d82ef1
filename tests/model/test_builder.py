"""The Python API: what a program says is what the diagram has, and mistakes are told at their own line."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import auroral as au
from auroral.model import types
from auroral.model.aggregates import REGISTERED
from auroral.model.boxes.aggregate import (
    Aggregate,
    TypedEventTimeAggregate,
    TypedFirstAligned,
    TypedLandmark,
    TypedRuns,
    TypedStimeAggregate,
)
from auroral.model.boxes.apply import Apply
from auroral.model.boxes.base import BoxClass
from auroral.model.boxes.combine import Combine
from auroral.model.boxes.drop import RandomDrop, WindowDrop
from auroral.model.boxes.join import ALL, Join, JoinBuffer, JoinKind, TypedJoin
from auroral.model.boxes.lrwaitfor import LRWaitFor
from auroral.model.boxes.resample import Resample
from auroral.model.boxes.sorting import BSort, WSort
from auroral.model.boxes.stateless import Delay, Filter, Map, Union
from auroral.model.boxes.waitfor import WaitFor
from auroral.model.boxes.xsection import XSection
from auroral.model.diagram import Box, Input, Late, Output, Stamp
from auroral.model.windows import (
    Alignment,
    EventTimeWindow,
    FieldWindow,
    Landmark,
    LatePolicy,
    Runs,
    StimeWindow,
    TupleWindow,
)

FLOWS = "ts timestamp, src string, dst string, port int, bytes long"
SECOND = 1_000_000


@pytest.fixture
def net() -> au.DiagramBuilder:
    return au.diagram("net", bucket="1s")


@pytest.fixture
def flows(net: au.DiagramBuilder) -> au.Stream:
    return net.input("flows", FLOWS, stime="ts")


def boxes(net: au.DiagramBuilder) -> dict[str, Box]:
    return {box.name: box for box in net.build().boxes}


def spec(net: au.DiagramBuilder, name: str) -> Any:
    return boxes(net)[name].spec


def problem(call: Any) -> au.Problem:
    with pytest.raises(au.DiagramError) as caught:
        call()
    (found,) = caught.value.problems
    return found


def test_the_whole_example(net, flows):
    other = net.input("other", {"src": "string", "level": "int"})
    web, rest = flows.split("by_port", ["port = 80 or port = 443"], otherwise=True)
    big = flows.filter("big", "bytes > 1000")
    load = big.map("slim", {"src": "src", "kb": "bytes / 1024"}).aggregate(
        "load", {"n": "count()", "kb": "sum(kb)"}, window="10s", advance="1s", by=["src"], start="since"
    )
    load.output("load", availability="3s")
    load.join("alarm", other, on="left.src = right.src", within="5s").output()
    web.union("all", rest).output()
    load.apply("top", lambda frame: frame, schema="src string, n long", horizon="10s").output()
    checked = net.check()
    assert checked == au.check(net) == au.check(net.build())
    assert str(checked.streams["load"].schema) == "src string, since timestamp, n long, kb long"
    assert (
        str(checked.streams["alarm"].schema)
        == "left_src string, since timestamp, n long, kb long, right_src string, level int"
    )
    assert not checked.warnings and not checked.blockers
    assert checked.box_class is BoxClass.WINDOW
    assert net.build().output("load") == Output("load", 3 * SECOND)


def test_streams_are_named_after_their_steps(net, flows):
    held, rest = flows.filter("big", "bytes > 1000", otherwise=True)
    parts = flows.split("ports", ["port = 80", "port = 443"])
    more = flows.split("more", ["port = 80", "port = 443"], otherwise=True)
    assert (held.name, rest.name) == ("big", "big.else")
    assert [part.name for part in parts] == ["ports.0", "ports.1"]
    assert [part.name for part in more] == ["more.0", "more.1", "more.else"]
    assert spec(net, "big") == Filter(("bytes > 1000",), True)
    assert boxes(net)["more"].outputs == ("more.0", "more.1", "more.else")
    net.check()


def test_a_stream_is_a_cheap_handle(net, flows):
    assert flows == au.Stream(net, "flows")
    assert repr(flows) == "Stream(name='flows')"
    assert flows.filter("a", "port = 1") != flows


def test_steps_go_into_the_query_around_them(net, flows):
    with net.query("q1"):
        a = flows.map("a", {"src": "src"})
        with net.query("q2"):
            a.map("b", {"src": "src"})
        a.map("c", {"src": "src"})
    a.map("d", {"src": "src"})
    with net.query("q1"):
        a.map("e", {"src": "src"})
    found = {query.name: [box.name for box in query.boxes] for query in net.build().queries}
    assert found == {"q1": ["a", "c", "e"], "q2": ["b"], "net": ["d"]}


def test_a_query_ends_with_its_block_also_when_that_fails(net, flows):
    with pytest.raises(KeyError), net.query("q1"):
        raise KeyError
    flows.map("a", {"src": "src"})
    assert [query.name for query in net.build().queries] == ["net"]


def test_building_is_a_snapshot(net, flows):
    before = net.build()
    flows.output()
    assert before.outputs == () and len(net.build().outputs) == 1
    assert au.as_diagram(before) is before
    assert au.as_diagram(net) == net.build()


@pytest.mark.parametrize(
    ("schema", "options", "expected"),
    [
        ("ts timestamp", {"stime": "ts"}, Stamp("ts", 1)),
        ("ts long", {"stime": "ts", "unit": "s"}, Stamp("ts", SECOND)),
        ("ts long", {"stime": "ts", "unit": "ms"}, Stamp("ts", 1000)),
        ("ts int", {"stime": "ts", "unit": "us"}, Stamp("ts", 1)),
        ("ts int", {}, Stamp()),
        (
            "ts timestamp",
            {"stime": "ts", "delay": "2s", "idle_after": timedelta(seconds=5)},
            Stamp("ts", 1, 2 * SECOND, 5 * SECOND),
        ),
    ],
)
def test_stamps_of_inputs(net, schema, options, expected):
    net.input("s", schema, **options)
    assert net.build().input("s") == Input("s", au.schema(schema), expected)


def test_late_rows_of_inputs(net):
    for late in Late:
        net.input(late.value, "v int", late=late.value)
    assert [given.late for given in net.build().inputs] == list(Late)


def test_windows(net, flows):
    calls = {"n": "count()"}
    flows.aggregate("a", calls, window="10s")
    flows.slide("s", calls, window="10s", advance="2s", by=("src",))
    flows.tumble("t", calls, window="10s", by=["src"])
    flows.tumble("u", calls, by=["src"])
    flows.running("r", calls, by=["src"], since=datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
    flows.running("r2", calls)
    flows.first_aligned("f", calls, window="10s", advance="5s", by=["src"])
    n = (("n", "count()"),)
    assert spec(net, "a") == Aggregate(n, StimeWindow(10 * SECOND, 10 * SECOND))
    assert spec(net, "s") == Aggregate(n, StimeWindow(10 * SECOND, 2 * SECOND), ("src",))
    assert spec(net, "t") == Aggregate(n, StimeWindow(10 * SECOND, 10 * SECOND), ("src",))
    assert spec(net, "u") == Aggregate(n, Runs(), ("src",))
    assert spec(net, "r").window == Landmark(SECOND)
    assert spec(net, "r2").window == Landmark(None)
    typed = {c.box.name: c.typed for c in net.check().boxes}
    for name, kind in {
        "a": TypedStimeAggregate,
        "s": TypedStimeAggregate,
        "t": TypedStimeAggregate,
        "u": TypedRuns,
        "r": TypedLandmark,
        "f": TypedFirstAligned,
    }.items():
        assert isinstance(typed[name], kind)
    first = typed["f"]
    assert isinstance(first, TypedFirstAligned)
    assert (first.size, first.advance) == (10 * SECOND, 5 * SECOND)
    assert str(first.outputs[0].schema) == "src string, ts timestamp, n long"


def test_windows_of_rows_and_of_values(net, flows):
    calls = {"n": "count()"}
    flows.aggregate_rows("r", calls, rows=60)
    flows.aggregate_rows("o", calls, rows=5, advance=2, by=["src"], on="bytes", slack=3, timeout="1500ms", start="low")
    flows.aggregate_values("v", calls, on="bytes", window=0.5)
    flows.aggregate_values("f", calls, on="ts", window=10, advance=5, aligned="first", slack=1, timeout="2s", start="w")
    n = (("n", "count()"),)
    assert spec(net, "r") == Aggregate(n, TupleWindow(60, 60))
    assert spec(net, "o") == Aggregate(n, TupleWindow(5, 2, 1.5, "bytes", 3), ("src",), "low")
    values = FieldWindow("bytes", 0.5, 0.5, Alignment.INDEPENDENT, by_values=True)
    assert spec(net, "v") == Aggregate(n, values)
    assert spec(net, "f") == Aggregate(n, FieldWindow("ts", 10, 5, Alignment.FIRST, 1, 2.0, by_values=True), (), "w")
    checked = net.check()
    assert not [w for w in checked.warnings if "goes by rows" in w.what] and not checked.blockers
    schemas = {name: str(checked.streams[name].schema) for name in "rovf"}
    assert schemas["r"] == "n long" and schemas["f"] == "w timestamp, n long"
    assert schemas["o"] == "src string, low long, n long"


@pytest.mark.parametrize(
    ("step", "options", "what"),
    [
        ("aggregate_rows", {"rows": 2.5}, "rows=2.5 is no number of things"),
        ("aggregate_rows", {"rows": 2, "slack": "1"}, "slack='1' is no number"),
        ("aggregate_values", {"on": "bytes", "window": "10s"}, "window is '10s'"),
        ("aggregate_values", {"on": "bytes", "window": 1, "aligned": "frist"}, "unknown alignment 'frist'"),
        ("aggregate_values", {"on": "bytes", "window": 1, "timeout": 3}, "timeout=3 is not a length of time"),
    ],
)
def test_wrong_windows_of_rows_and_of_values(flows, step, options, what):
    assert what in problem(lambda: getattr(flows, step)("w", {"n": "count()"}, **options)).what


@pytest.mark.parametrize(
    ("step", "options", "what"),
    [
        ("aggregate_rows", {"rows": 0}, "windows of size 0"),
        ("aggregate_rows", {"rows": 2, "slack": -1}, "slack is -1"),
        ("aggregate_values", {"on": "src", "window": 1}, "field 'src', which orders the rows, is a string"),
        ("aggregate_values", {"on": "byte", "window": 1}, "unknown field 'byte'"),
        ("aggregate_rows", {"rows": 100_001, "advance": 1}, "each row is in 100,001 of them at once"),
        (
            "aggregate_values",
            {"on": "bytes", "window": 1e6, "advance": 1e-6},
            "is in 1,000,000,000,000 of them at once",
        ),
        ("first_aligned", {"window": "1h", "advance": "1us"}, "is in 3,600,000,000 of them at once"),
        (
            "event_time_aggregate",
            {"window": "1h", "advance": "1us", "on": "ts", "lateness": "1s"},
            "windows of size 1h that begin every 1us",
        ),
    ],
)
def test_windows_of_rows_and_of_values_are_checked(net, flows, step, options, what):
    getattr(flows, step)("w", {"n": "count()"}, **options)
    assert what in problem(net.check).what


def test_first_aligned_windows_follow_an_integer_clock_through_a_map(net):
    rows = net.input("rows", "at long, v int", stime="at", unit="ms")
    renamed = rows.map("renamed", {"t": "at", "v": "v"})
    renamed.first_aligned("f", {"n": "count()"}, window="10s", advance="1s", start="began").output()
    (_, checked) = net.check().boxes
    assert isinstance(checked.typed, TypedFirstAligned)
    assert (checked.typed.size, checked.typed.advance) == (10 * SECOND, SECOND)
    assert str(checked.typed.outputs[0].schema) == "began long, n long"


def test_first_aligned_windows_need_a_clock_field(net):
    net.input("rows", "v int").first_aligned("f", {"n": "count()"}, window="10s")
    found = problem(net.check)
    assert "carries the stream's stime" in found.what
    assert found.next_step is not None and found.place.element == "step 'f'"


def test_event_time_windows(net, flows):
    calls = {"n": "count()"}
    options: dict[str, Any] = {"on": "ts", "window": "10s", "lateness": "5s"}
    flows.event_time_aggregate("ledger", calls, **options)
    results, late = flows.event_time_aggregate("side", calls, **options, late="side", advance="2s", by=["src"])
    flows.event_time_aggregate("correct", calls, **options, late="correct", correct_for="1min", ahead="0s")
    assert (results.name, late.name) == ("side", "side.late")
    assert spec(net, "ledger").window == EventTimeWindow(
        "ts", 10 * SECOND, 10 * SECOND, 5 * SECOND, LatePolicy.LEDGER, ahead=5 * SECOND
    )
    assert spec(net, "side").window.late is LatePolicy.SIDE
    assert spec(net, "correct").window == EventTimeWindow(
        "ts", 10 * SECOND, 10 * SECOND, 5 * SECOND, LatePolicy.CORRECT, 0, 60 * SECOND
    )
    checked = net.check()
    assert checked.streams["side.late"].schema == checked.streams["flows"].schema
    assert all(isinstance(c.typed, TypedEventTimeAggregate) for c in checked.boxes)


def test_joins(net, flows):
    other = net.input("other", FLOWS, stime="ts")
    flows.join("a", other, on="left.src = right.src", within="5s", columns={"s": "left.src"})
    flows.join("b", other, on="left.src = right.src", within=("5s", "2s"), how="left")
    flows.join("c", other, on="left.src = right.src", within="5s", how="right", unmatched_when_missing=True)
    typed = {c.box.name: c.typed for c in net.check().boxes}
    a, b, c = (typed[name] for name in "abc")
    assert isinstance(a, TypedJoin) and isinstance(b, TypedJoin) and isinstance(c, TypedJoin)
    assert (a.left_size, a.right_size, a.kind) == (5 * SECOND, 5 * SECOND, JoinKind.INNER)
    assert (b.left_size, b.right_size, b.kind) == (5 * SECOND, 2 * SECOND, JoinKind.LEFT)
    assert b.required == (True, True) and c.required == (False, True)
    assert isinstance(spec(net, "a"), Join) and boxes(net)["a"].inputs == ("flows", "other")


def test_steps_that_hold_rows_back(net, flows):
    other = net.input("other", FLOWS, stime="ts")
    flows.bsort("b", on=["bytes"], slack=3, by=["src"])
    flows.wsort("w", on=["port", "bytes"], timeout="1500ms")
    flows.waitfor("f", other, on="buffered.src = enabler.dst", timeout="5s")
    flows.resample("r", other, {"rate": "bytes"}, within="2s", by=["src"])
    flows.cross_section("x", {"mean": "avg(bytes)"}, across=["src"], within="1min")
    assert spec(net, "b") == BSort(("bytes",), 3, ("src",))
    assert spec(net, "w") == WSort(("port", "bytes"), 1.5)
    assert spec(net, "f") == WaitFor("buffered.src = enabler.dst", 5)
    assert spec(net, "r") == Resample((("rate", "bytes"),), 2 * SECOND, ("src",))
    assert spec(net, "x") == XSection((("mean", "avg(bytes)"),), ("src",), 60 * SECOND)
    checked = net.check()
    assert not checked.blockers
    assert str(checked.streams["x"].schema) == "mean double"
    assert str(checked.streams["r"].schema) == f"{checked.streams['flows'].schema}, rate double"
    assert checked.streams["f"].schema == checked.streams["flows"].schema


def test_steps_of_borealis_users(net, flows):
    other = net.input("other", FLOWS, stime="ts")
    flows.join_static("j", other, on="left.src = right.src", columns={"p": "right.port"})
    flows.combine("c", other, key="src", columns={"both": "flows.bytes + other.bytes"})
    flows.combine("twice", flows, key="src", columns={"both": "in0.bytes + in1.bytes"})
    flows.lrwaitfor("l", other, key="port", by=["src"], start=3, from_data=True)
    assert spec(net, "j") == Join(
        "left.src = right.src",
        JoinBuffer(0, tuples=True),
        ALL,
        (("p", "right.port"),),
        sides_named=True,
        type_name="joinstatic",
        looks=(True, False),
    )
    assert spec(net, "c") == Combine("src", (("both", "flows.bytes + other.bytes"),))
    assert spec(net, "l") == LRWaitFor("port", ("src",), 3, True)
    checked = net.check()
    assert not checked.blockers
    assert {str(checked.streams[name].schema) for name in ("c", "twice")} == {"both long"}
    assert checked.streams["l"].schema == checked.streams["flows"].schema


def test_joins_with_buffers_of_rows(net, flows):
    other = net.input("other", FLOWS, stime="ts")
    flows.join("a", other, on="true", rows=9)
    flows.join("b", other, on="true", rows=(None, 1), within=("5s", None), timeout="1min", looking="left")
    a, b = spec(net, "a"), spec(net, "b")
    assert (a.left, a.right) == (JoinBuffer(9, tuples=True), JoinBuffer(9, tuples=True))
    assert (b.left, b.right) == (JoinBuffer(5 * SECOND), JoinBuffer(1, tuples=True))
    assert (b.timeout, b.looks) == (60, (True, False))
    assert not net.check().blockers


def test_windows_of_rows_and_of_values_that_are_dropped(net, flows):
    flows.drop_windows("a", 0.5, rows=4, advance=2, by=["src"])
    flows.drop_windows("b", 0.5, on="bytes", window=2.5, batch=3)
    assert spec(net, "a") == WindowDrop(0.5, 1, 4, 2, None, ("src",), tuples=True)
    assert spec(net, "b") == WindowDrop(0.5, 3, 2.5, 2.5, "bytes", by_values=True)
    assert not net.check().blockers
    for wrong in ({"rows": 4, "window": "1s"}, {"rows": 4, "on": "bytes"}, {}, {"on": "bytes"}):
        assert "window=, or on= and window=, or rows=" in str(
            problem(lambda wrong=wrong: flows.drop_windows("c", 0.5, **wrong))
        )


def test_other_steps(net, flows):
    north = net.input("north", FLOWS, stime="ts")
    flows.union("all", north, flows)
    flows.drop("less", 0.25)
    flows.drop_windows("fewer", 0.5, window="10s", advance="5s", by=["src"], batch=3)
    flows.map("slim", {"up": au.sql("upper(src)", "string")})
    assert spec(net, "all") == Union() and boxes(net)["all"].inputs == ("flows", "north", "flows")
    assert spec(net, "less") == RandomDrop(0.25)
    assert spec(net, "fewer") == WindowDrop(0.5, 3, 10 * SECOND, 5 * SECOND, None, ("src",))
    assert spec(net, "slim") == Map((("up", au.sql("upper(src)", "string")),))
    net.check()


def top(frame, *more):
    return frame, more


def test_functions_of_data_frames(net, flows):
    wrapped = au.from_spark(top, schema={"src": "string"}, horizon="10s", cut_free=True)
    flows.apply("a", wrapped, flows)
    flows.apply("b", top, schema="src string")
    assert spec(net, "a") == Apply(top, au.schema("src string"), 10 * SECOND, True)
    assert spec(net, "a").function is top
    assert spec(net, "b") == Apply(top, au.schema("src string"), 0, False)
    assert boxes(net)["a"].inputs == ("flows", "flows")
    assert wrapped(1, 2) == (1, (2,))
    net.check()


def test_an_output_of_another_name_is_a_step_that_changes_nothing(net, flows):
    renamed = flows.output("all", availability="3s", schema=FLOWS)
    same = flows.output()
    assert (renamed.name, same) == ("all", flows)
    assert boxes(net) == {"all": Box("all", Delay(0), ("flows",), ("all",))}
    checked = net.check()
    assert checked.streams["all"] == checked.streams["flows"]


def test_places_are_the_users_lines(net, flows):
    line = sys._getframe().f_lineno
    flows.filter("a", "nowhere = 1")
    flows.event_time_aggregate("b", {"n": "count()"}, on="never", window="1s", lateness="1s")
    flows.slide("c", {"n": "total()"}, window="2s", advance="1s")
    flows.output("d", availability="0s")
    with pytest.raises(au.DiagramError) as caught:
        net.check()
    assert [p.place for p in caught.value.problems] == [
        au.Place(__file__, line + 1, "step 'a'"),
        au.Place(__file__, line + 2, "step 'b'"),
        au.Place(__file__, line + 3, "step 'c'"),
        au.Place(__file__, line + 4, "output 'd'"),
    ]
    assert str(caught.value).count(f"{__file__}:{line}") in (0, 1)


@pytest.mark.parametrize(
    ("mistake", "words"),
    [
        (lambda net, s: au.diagram(""), "the diagram's name is ''"),
        (lambda net, s: au.diagram("d", bucket=1), "bucket=1 is not a length of time"),
        (lambda net, s: net.input(3, "v int"), "the stream's name is 3"),
        (lambda net, s: net.input("i", 3), "of type int, is not a schema"),
        (lambda net, s: net.input("i", "v vector"), "'vector' is not a field type"),
        (lambda net, s: net.input("i", {"v": int}), "is not a field type"),
        (lambda net, s: net.input("i", "t long", stime="t"), "what it counts is not said"),
        (lambda net, s: net.input("i", "t timestamp", stime="t", unit="s"), "is a timestamp"),
        (lambda net, s: net.input("i", "t long", stime="t", unit="h"), "unit='h'"),
        (lambda net, s: net.input("i", "t long", delay="1s"), "about a stime field"),
        (lambda net, s: net.input("i", "t long", late="lose"), "unknown late policy 'lose'"),
        (lambda net, s: net.input("i", "t timestamp", stime="t", delay="-1s"), "delay='-1s'"),
        (lambda net, s: net.query(""), "the query's name is ''"),
        (lambda net, s: s.filter("f", 3), "the predicate is 3"),
        (lambda net, s: s.split("f", "port = 80"), "predicates are 'port = 80'"),
        (lambda net, s: s.split("f", ["port = 80", None]), "predicate 1 is None"),
        (lambda net, s: s.map("m", ["src"]), "columns are ['src']"),
        (lambda net, s: s.map("m", {"a": 1}), "columns['a'] is 1"),
        (lambda net, s: s.map("m", {1: "src"}), "a field of columns is 1"),
        (lambda net, s: s.union("u", "flows"), "'flows' is not a stream"),
        (lambda net, s: s.union("u", au.diagram("x").input("y", "v int")), "belongs to another diagram, 'x'"),
        (lambda net, s: s.aggregate("a", {"n": "count()"}, window="ten"), "window='ten'"),
        (lambda net, s: s.aggregate("a", {"n": "count()"}, window=timedelta(seconds=-1)), "not a length"),
        (lambda net, s: s.aggregate("a", ["count()"], window="1s"), "functions are ['count()']"),
        (lambda net, s: s.aggregate("a", {"n": len}, window="1s"), "functions['n'] is <built-in"),
        (lambda net, s: s.aggregate("a", {"n": "count()"}, window="1s", by="src"), "by='src'"),
        (lambda net, s: s.aggregate("a", {"n": "count()"}, window="1s", start=1), "start is 1"),
        (lambda net, s: s.running("a", {"n": "count()"}, since="today"), "since='today'"),
        (lambda net, s: s.running("a", {"n": "count()"}, since=datetime(2026, 1, 1)), "not a point in time"),  # noqa: DTZ001
        (
            lambda net, s: s.event_time_aggregate("a", {}, on="ts", window="1s", lateness="1s", late="x"),
            "unknown late policy 'x'",
        ),
        (lambda net, s: s.join("j", s, on="true", within="1s", how="outer"), "unknown kind of join 'outer'"),
        (lambda net, s: s.join("j", s, on="true", within=("1s", "1s", "1s")), "within="),
        (lambda net, s: s.join("j", s, on=None, within="1s"), "on is None"),
        (lambda net, s: s.join("j", s, on="true"), "the left side has neither"),
        (lambda net, s: s.join("j", s, on="true", rows=(1, 1), within=(None, "1s")), "the right side has both"),
        (lambda net, s: s.join("j", s, on="true", rows="many"), "rows='many' is no number"),
        (lambda net, s: s.join("j", s, on="true", rows=1, looking="up"), "unknown side that looks 'up'"),
        (lambda net, s: s.bsort("b", on="bytes", slack=1), "on='bytes' is not a list"),
        (lambda net, s: s.wsort("w", on=["bytes"], timeout=1), "timeout=1 is not a length of time"),
        (lambda net, s: s.waitfor("w", s, on="true", timeout="1s", on_error="reject"), "a waitfor cannot have"),
        (lambda net, s: s.resample("r", s, ["bytes"], within="1s"), "fields are ['bytes']"),
        (lambda net, s: s.cross_section("x", {"n": "count()"}, across="src"), "across='src' is not a list"),
        (lambda net, s: s.apply("f", "top", schema="v int"), "'top' is not a function"),
        (lambda net, s: s.apply("f", top), "has no schema"),
        (lambda net, s: s.apply("f", au.from_spark(top)), "has no schema"),
        (lambda net, s: s.apply("f", au.from_spark(top, schema="v int"), schema="v int"), "given twice"),
        (lambda net, s: s.drop("d", "half"), "rate is 'half'"),
        (lambda net, s: s.output("o", availability=3), "availability=3"),
        (lambda net, s: s.output(""), "the output's name is ''"),
        (lambda net, s: au.check("net"), "'net' is not a diagram"),
        (lambda net, s: s.filter("ms > 3"), "filter: missing a required argument: 'predicate'"),
        (lambda net, s: s.map("m", host="host"), "map: missing a required argument: 'columns'"),
        (lambda net, s: s.join("j", s, within="1s"), "join: missing a required"),
        (lambda net, s: s.aggregate("a", {"n": "count()"}, "10s"), "aggregate: too many positional arguments"),
        (
            lambda net, s: s.aggregate("a", {"n": "count()"}, window="10s", over="1s"),
            "unexpected keyword argument 'over'",
        ),
        (lambda net, s: net.input("i"), "input: missing a required argument: 'schema'"),
    ],
)
def test_mistakes_of_python_are_told_at_once(net, flows, mistake, words):
    found = problem(lambda: mistake(net, flows))
    assert words in found.what
    assert found.place.file == __file__ and found.place.line is not None


def test_a_call_that_lacks_something_shows_the_whole_call(net, flows):
    found = problem(lambda: flows.filter("ms > 3"))
    assert found.allowed == "filter(name, predicate, *, otherwise=False, on_error='stop')"


def test_lengths_are_told_as_they_were_written(net, flows):
    flows.aggregate("a", {"n": "count()"}, window="10s", advance="20s")
    flows.drop_windows("d", 0.5, window="10s", advance="1min")
    flows.map("m", {})
    with pytest.raises(au.DiagramError) as caught:
        net.check()
    aggregate, drop, slim = caught.value.problems
    assert aggregate.what == "the advance 20s is larger than the window size 10s"
    assert drop.what == "windows of size 10s that begin every 1min"
    assert not any("expression.0" in str(p) for p in (aggregate, drop, slim))


def test_a_misspelt_option_suggests_the_nearest(net, flows):
    found = problem(lambda: net.input("i", "t long", late="rejct"))
    assert found.allowed == "move, reject, drop"
    assert found.next_step == "did you mean 'reject'?"


def test_aggregates_of_users(net, flows):
    made = au.aggregate_function(
        "Spread",
        init=lambda: (None, None),
        incr=lambda state, value: state,
        final=lambda state: state[0],
        returns="double",
    )
    assert REGISTERED["spread"] is made and made.returns == types.DOUBLE
    flows.aggregate("a", {"d": "Spread(bytes)", "e": "spread(port)"}, window="1s").output()
    assert str(net.check().streams["a"].schema) == "d double, e double"


def test_wrong_aggregates_of_users_are_refused():
    with pytest.raises(au.DiagramError) as caught:
        au.aggregate_function("2x", init=1, incr=len, final=len, returns="list", combine=2)  # type: ignore[arg-type]
    assert len(caught.value.problems) == 4
    found = problem(lambda: au.aggregate_function("SUM", init=int, incr=max, final=int, returns="long", combine=max))
    assert "built-in" in found.what


def test_importing_auroral_needs_neither_spark_nor_arrow():
    heavy = "{'pyspark', 'pyarrow', 'pandas', 'py4j'}"
    code = f"import sys, auroral; found = {heavy} & set(sys.modules); assert not found, found"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_is_public_is_there_or_comes_with_the_app():
    lazy = {"run", "batch", "verify"}
    assert lazy <= set(au.__all__) and lazy <= set(dir(au))
    for name in set(au.__all__) - lazy:
        assert getattr(au, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        au.nothing  # noqa: B018
