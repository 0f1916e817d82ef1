"""The checker: types of all streams, all that is wrong at once, and what cannot run yet (X6, D12, D13)."""

import math
import pickle
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

import auroral as au
from auroral.model.boxes.aggregate import (
    Aggregate,
    TypedStimeAggregate,
    TypedTupleWindows,
    TypedValueWindows,
    WindowSample,
)
from auroral.model.boxes.apply import Apply
from auroral.model.boxes.base import BoxClass, BoxSpec
from auroral.model.boxes.combine import Combine
from auroral.model.boxes.drop import RandomDrop, WindowDrop
from auroral.model.boxes.join import Join, JoinBuffer, JoinKind, Kept, TypedBufferJoin, TypedJoin
from auroral.model.boxes.later import Later, TypedLater
from auroral.model.boxes.local_clock import local_clocks
from auroral.model.boxes.lrwaitfor import LRWaitFor
from auroral.model.boxes.resample import Resample
from auroral.model.boxes.revision import Revision
from auroral.model.boxes.serialize import SOutput, SUnion
from auroral.model.boxes.sorting import BSort, WSort
from auroral.model.boxes.stateless import Delay, Filter, Map, Union
from auroral.model.boxes.waitfor import WaitFor
from auroral.model.boxes.xsection import XSection
from auroral.model.checking import Checked, check
from auroral.model.diagram import DEFAULT_BUCKET, Box, Diagram, Input, Output, Query, Stamp
from auroral.model.errors import DiagramError, Place, Problem
from auroral.model.expression import Functions, default_functions
from auroral.model.expression.functions import make_function
from auroral.model.on_error import OnError
from auroral.model.schema import Field, Schema, schema
from auroral.model.types import LONG
from auroral.model.windows import (
    Alignment,
    EventTimeWindow,
    FieldWindow,
    Landmark,
    LatePolicy,
    Runs,
    StimeWindow,
    TupleWindow,
    Window,
)

ROWS = "ts timestamp, sec int, k string, v int, d double, raw binary"
COUNT = (("n", "count()"),)


def diagram(*boxes: Box, outputs: tuple[Output, ...] = (), stamp: Stamp | None = None, **more: Any) -> Diagram:
    """Boxes on the stream `s` of ROWS, in one query."""
    given = Input("s", schema(ROWS), stamp or Stamp("ts"))
    return Diagram("d", (given,), outputs, (Query("q", boxes),), **more)


def one(spec: BoxSpec, outputs: int = 1, inputs: int = 1, stamp: Stamp | None = None) -> Diagram:
    names = tuple(f"o{n}" for n in range(outputs))
    return diagram(Box("b", spec, ("s",) * inputs, names), stamp=stamp)


def problems(given: Diagram) -> tuple[Problem, ...]:
    with pytest.raises(DiagramError) as caught:
        check(given)
    return caught.value.problems


def problem(given: Diagram) -> Problem:
    (found,) = problems(given)
    return found


def typed(given: Diagram) -> Any:
    (checked,) = check(given).boxes
    return checked.typed


# What is wrong, and where


def test_loops_are_refused_by_name():
    found = problem(
        diagram(
            Box("a", Union(), ("s", "z"), ("x",)),
            Box("b", Union(), ("x",), ("y",)),
            Box("c", Union(), ("y",), ("z",), place=Place("f.xml", 7)),
            Box("after", Map((("nothing", "unknown"),)), ("z",), ("end",)),
            outputs=(Output("end"),),
        )
    )
    assert found.what == "the boxes a <- c <- b <- a form a loop"
    assert found.allowed == "diagrams without loops"


def test_a_box_that_reads_itself_is_a_loop():
    assert "a <- a" in problem(diagram(Box("a", Union(), ("s", "x"), ("x",)))).what


def test_deep_diagrams_are_no_problem():
    boxes = [Box("b0", Delay(0), ("s",), ("x0",))]
    boxes += [Box(f"b{n}", Delay(0), (f"x{n - 1}",), (f"x{n}",)) for n in range(1, 3000)]
    checked = check(diagram(*reversed(boxes), outputs=(Output("x2999"),)))
    assert [c.box.name for c in checked.boxes] == [box.name for box in boxes]


def test_unknown_streams_suggest_the_nearest():
    found = problem(
        diagram(
            Box("first", Delay(0), ("s",), ("slow",)),
            Box("b", Delay(0), ("slwo",), ("x",), place=Place("f.py", 3)),
            outputs=(Output("slow"), Output("x")),
        )
    )
    assert found == Problem("unknown stream 'slwo'", Place("f.py", 3), "s, slow, x", "did you mean 'slow'?")


def test_unknown_output_streams():
    found = problem(diagram(outputs=(Output("t"),)))
    assert found.what == "unknown stream 't'" and found.allowed == "s"


@pytest.mark.parametrize(
    ("spec", "inputs", "outputs"),
    [
        (Filter(("v > 1",)), 1, 2),
        (Filter(("v > 1",), True), 1, 1),
        (Filter(("v > 1",)), 2, 1),
        (Map((("a", "v"),)), 1, 2),
        (Map((("a", "v"),)), 0, 1),
        (Union(), 0, 1),
        (Union(), 2, 2),
        (Delay(0), 2, 1),
        (RandomDrop(0.5), 1, 2),
        (WindowDrop(0.5, 1, 10, 10), 2, 1),
        (Aggregate(COUNT, StimeWindow(1, 1)), 2, 1),
        (Aggregate(COUNT, StimeWindow(1, 1)), 1, 2),
        (Aggregate(COUNT, EventTimeWindow("ts", 1, 1, 0, LatePolicy.SIDE)), 1, 1),
        (Join("true", JoinBuffer(1), JoinBuffer(1)), 1, 1),
        (Apply(sorted, schema("v int")), 0, 1),
        (Apply(sorted, schema("v int")), 1, 2),
        (SUnion(100), 0, 2),
        (SUnion(100), 2, 5),
        (SOutput(), 2, 2),
    ],
)
def test_unconnected_and_superfluous_ports(spec, inputs, outputs):
    found = problem(one(spec, outputs, inputs))
    assert "input" in found.what or "output" in found.what
    assert found.allowed or found.next_step
    assert found.place == Place(element="box 'b'")


@pytest.mark.parametrize(
    ("spec", "what"),
    [
        (Filter(("vv > 1",)), "predicate 0: unknown field 'vv'"),
        (Filter(("v",)), "predicate 0 is of type int"),
        (Filter(("k > 1",)), "predicate 0: "),
        (Filter(()), "needs at least one predicate"),
        (Map(()), "needs at least one output field"),
        (Map((("a", "raw + 1"),)), "field 'a': "),
        (Map((("a", "v +"),)), "field 'a': "),
        (Map((("a", "v"), ("a", "k"))), "field 'a' is there twice"),
        (Map((("__a", "v"),)), "field name '__a' is reserved"),
        (Aggregate((), StimeWindow(1, 1)), "needs at least one function"),
        (Aggregate(COUNT, StimeWindow(0, 1)), "windows of size 0us that begin every 1us"),
        (Aggregate(COUNT, StimeWindow(1, 2)), "advance 2us is larger"),
        (Aggregate(COUNT, StimeWindow(1, 1), ("kk",)), "unknown field 'kk'"),
        (Aggregate((("n", "sum(k)"),), StimeWindow(1, 1)), "sum of a string"),
        (Aggregate((("n", "max(raw)"),), StimeWindow(1, 1)), "max of a binary"),
        (Aggregate((("n", "sum(v, v)"),), StimeWindow(1, 1)), "takes one argument, not 2"),
        (Aggregate((("n", "summ(v)"),), StimeWindow(1, 1)), "unknown aggregate function 'summ'"),
        (Aggregate((("n", "sum(w)"),), StimeWindow(1, 1)), "aggregate 'n': unknown field 'w'"),
        (Aggregate((("k", "count()"),), StimeWindow(1, 1), ("k",)), "field 'k' is there twice"),
        (Aggregate(COUNT, StimeWindow(1, 1), start="n"), "field 'n' is there twice"),
        (Aggregate(COUNT, Landmark(), start="a"), "no start to name"),
        (Aggregate(COUNT, Runs(), start="a"), "no start to name"),
        (Aggregate(COUNT, FieldWindow("tt", 1, 1)), "unknown field 'tt'"),
        (Aggregate(COUNT, EventTimeWindow("k", 1, 1, 0)), "the event time 'k' is a string"),
        (Aggregate(COUNT, EventTimeWindow("t", 1, 1, 0)), "unknown field 't'"),
        (Aggregate(COUNT, EventTimeWindow("ts", 1, 1, -1)), "lateness, ahead and correct_for"),
        (Aggregate(COUNT, EventTimeWindow("ts", 1, 1, 0, LatePolicy.CORRECT)), "late='correct'"),
        (Aggregate(COUNT, EventTimeWindow("ts", 1, 1, 0, correct_for=1)), "late='ledger'"),
        (RandomDrop(1.5), "drop_rate is 1.5"),
        (RandomDrop(math.nan), "drop_rate is nan"),
        (WindowDrop(0.5, 1, 10, 20), "windows of size 10us that begin every 20us"),
        (WindowDrop(0.5, 1, math.inf, 20), "windows of size inf that begin every 20us"),
        (WindowDrop(0.5, 0, 10, 10), "0 windows stay or go together"),
        (WindowDrop(0.5, 1, 10, 10, group_by=("kk",)), "unknown field 'kk'"),
        (Delay(-1), "delay-ms is -1"),
        (SUnion(0), "interval is 0"),
        (Apply(sorted, schema("v int"), past=-1), "the horizon is -1"),
        (Apply(3, schema("v int")), "3 is not a function"),  # type: ignore[arg-type]
    ],
)
def test_parameters_are_checked(spec, what):
    found = problem(one(spec, 2 if isinstance(spec, SUnion) else len(getattr(spec, "predicates", " ")) or 1))
    assert what in found.what
    assert found.place == Place(element="box 'b'")


@pytest.mark.parametrize(
    ("join", "what"),
    [
        (Join("left.v", JoinBuffer(1), JoinBuffer(1)), "predicate is of type int"),
        (Join("v = 1", JoinBuffer(1), JoinBuffer(1)), "in several inputs"),
        (Join("true", JoinBuffer(-1), JoinBuffer(1)), "the left buffer size is -1"),
        (Join("true", JoinBuffer(1), JoinBuffer(math.nan)), "the right buffer size is nan"),
        (Join("true", JoinBuffer(1, "tt"), JoinBuffer(1)), "unknown field 'tt'"),
        (Join("true", JoinBuffer(1), JoinBuffer(1), (("a", "left.w"),)), "unknown field of left 'w'"),
    ],
)
def test_parameters_of_joins_are_checked(join, what):
    assert what in problem(one(join, inputs=2)).what


@pytest.mark.parametrize("alignment", Alignment)
@pytest.mark.parametrize(
    ("size", "advance"), [(4e-7, 4e-7), (1, 4e-7), (math.inf, 1), (math.nan, 1), (2, math.nan), (1e300, 1)]
)
def test_field_windows_are_at_least_a_microsecond_and_finite(alignment, size, advance):
    found = problem(one(Aggregate(COUNT, FieldWindow("ts", size, advance, alignment))))
    assert "windows of size" in found.what


@pytest.mark.parametrize("alignment", Alignment)
def test_field_windows_on_integers_that_are_not_whole_lose_the_time(alignment):
    window = Box("w", Aggregate(COUNT, FieldWindow("sec", 1.5, 1, alignment)), ("s",), ("x",))
    checked = check(diagram(window, stamp=Stamp("sec", 1_000_000)))
    assert checked.runnable() and not checked.streams["x"].clocks
    whole = replace(window, spec=Aggregate(COUNT, FieldWindow("sec", 2, 1, Alignment.INDEPENDENT)))
    assert check(diagram(whole, stamp=Stamp("sec", 1_000_000))).streams["x"].clocks


@pytest.mark.parametrize(
    "window", [FieldWindow("k", 3, 1), FieldWindow("k", 3, 1, by_values=True), TupleWindow(3, 1, field="k")]
)
def test_rows_are_ordered_on_numbers_and_timestamps(window):
    found = problem(one(Aggregate(COUNT, window)))
    assert "field 'k', which orders the rows, is a string" in found.what and found.next_step


@pytest.mark.parametrize("window", [FieldWindow("v", 3, 1, timeout=math.inf), TupleWindow(3, 1, timeout=-1.0)])
def test_timeouts_are_lengths_of_stime(window):
    assert "the timeout is" in problem(one(Aggregate(COUNT, window))).what


def test_a_timeout_that_cannot_come_first_is_a_warning():
    late = one(Aggregate(COUNT, FieldWindow("ts", 3, 1, Alignment.INDEPENDENT, timeout=3.0)))
    assert isinstance(typed(late), TypedStimeAggregate)
    assert any("timeout 3 does nothing" in warning.what for warning in check(late).warnings)
    early = one(Aggregate(COUNT, FieldWindow("ts", 3, 1, Alignment.INDEPENDENT, timeout=2.5)))
    found = typed(early)
    assert isinstance(found, TypedValueWindows) and not found.not_stime
    assert (found.size, found.advance, found.timeout) == (3_000_000, 1_000_000, 2_500_000)


def test_unions_need_one_schema():
    slim = Box("slim", Map((("v", "v"),)), ("s",), ("a",))
    text = Box("text", Map((("v", "k"),)), ("s",), ("b",))
    wide = Box("wide", Map((("v", "d"),)), ("s",), ("c",))
    assert "has the fields (v int)" in problem(diagram(slim, Box("u", Union(), ("s", "a"), ("x",)))).what
    clash = problem(diagram(slim, text, Box("u", Union(), ("a", "b"), ("x",))))
    assert "'v' is int on input 0 and string on input 1" in clash.what and clash.next_step
    widened = check(diagram(slim, wide, Box("u", Union(), ("a", "c"), ("x",))))
    assert str(widened.streams["x"].schema) == "v double"


def test_the_stime_field_of_an_input():
    assert problem(one(Delay(0), stamp=Stamp("tss"))).next_step == "did you mean 'ts'?"
    assert "stime field 'k' is a string" in problem(one(Delay(0), stamp=Stamp("k"))).what


def test_bucket_and_availability_are_above_zero():
    found = problems(diagram(outputs=(Output("s", 0),), bucket=0))
    assert [p.allowed for p in found] == ["above 0", "above 0"]


def test_everything_wrong_is_told_at_once():
    found = problems(
        diagram(
            Box("a", Filter(("vv > 1", "kk = 1")), ("s",), ("a0", "a1"), place=Place("f.py", 1)),
            Box("b", Map((("x", "zz"), ("y", "1 +"))), ("s",), ("b0",), place=Place("f.py", 2)),
            Box("c", Aggregate((("n", "sum(k)"),), StimeWindow(0, 1)), ("s",), ("c0",), place=Place("f.py", 3)),
            Box("d", Delay(0), ("gone",), ("d0",), place=Place("f.py", 4)),
            Box("on_a", Map((("x", "unknown"),)), ("a0",), ("x",), place=Place("f.py", 5)),
            outputs=(Output("nowhere", place=Place("f.py", 6)), Output("b0", place=Place("f.py", 7))),
        )
    )
    # Nothing is said of output b0, which could not be typed. A wrong filter still passes rows on: on_a.
    assert sorted(p.place.line or 0 for p in found) == [1, 1, 2, 2, 3, 3, 4, 5, 6]


def test_all_that_is_wrong_with_one_aggregate():
    found = problems(one(Aggregate((("n", "cout()"), ("m", "sum(k)")), StimeWindow(1, 2), ("kk",))))
    assert len(found) == 4


def test_boxes_behind_a_wrong_one_are_still_read():
    found = problems(
        diagram(
            Box("m", Map((("a", "zz"),)), ("s",), ("x",)),
            Box("f", Filter(("a >", "unknown = 1")), ("x",), ("y", "y1"), place=Place("f.py", 1)),
            Box("n", Map((("a", "1 +"), ("b", "unknown"))), ("y",), ("z",), place=Place("f.py", 2)),
            Box("g", Aggregate((("n", "sum("),), StimeWindow(1, 1)), ("z",), ("w",), place=Place("f.py", 3)),
            Box("j", Join("=", JoinBuffer(1), JoinBuffer(1)), ("z", "s"), ("v",), place=Place("f.py", 4)),
        )
    )
    assert [p.place.line for p in found] == [None, 1, 2, 3, 4]
    assert found[1].what.startswith("predicate 0: ") and found[2].what.startswith("field 'a': ")


def test_names_are_unique():
    found = problems(
        Diagram(
            "d",
            (Input("s", schema(ROWS)),),
            (Output("x"), Output("y")),
            (
                Query("q", (Box("a", Delay(0), ("s",), ("x",)), Box("a", Delay(0), ("s",), ("y",)))),
                Query("q", (Box("b", Delay(0), ("s",), ("s",)),)),
            ),
        )
    )
    assert [p.what.partition(", also")[0] for p in found] == [
        "stream 's' is produced twice",
        "box name 'a' is used twice",
        "query name 'q' is used twice",
    ]


def test_a_stream_is_an_output_once():
    found = problem(diagram(outputs=(Output("s"), Output("s", 5))))
    assert found.what == "stream 's' is an output twice"


def test_declared_schemas_of_outputs():
    box = Box("m", Map((("k", "k"), ("v", "v"))), ("s",), ("m",))

    def declared(text: str) -> Diagram:
        return diagram(box, outputs=(Output("m", schema=schema(text)),))

    for fits in ("k string, v int", "k string(8), v long", "k string, v double"):
        check(declared(fits))
    for differs in (
        "k string",
        "v int, k string",
        "k int, v int",
        "k string, w int",
        "k string, v int, x int",
    ):
        found = problem(declared(differs))
        assert f"declared as ({differs}) but carries (k string, v int)" in found.what


def test_numbers_that_are_declared_as_others_are_told():
    mean = Box("b", Aggregate((("m", "avg(v)"), ("n", "count()")), StimeWindow(10, 10), ("k",)), ("s",), ("o",))
    declared = Output("o", schema=schema("k string(9), m int, n long"), place=Place("f.xml", 3))
    (found,) = check(diagram(mean, outputs=(declared,))).warnings
    assert "declared with the field (m int) and carries (m double)" in found.what
    assert (found.place.line, "int(m)" in (found.next_step or "")) == (3, True)


# What passes


def test_the_order_of_boxes_is_topological():
    checked = check(
        diagram(
            Box("last", Union(), ("b", "a"), ("x",)),
            Box("second", Delay(0), ("a",), ("b",)),
            Box("first", Delay(0), ("s",), ("a",)),
            outputs=(Output("x"),),
        )
    )
    order = [c.box.name for c in checked.boxes]
    assert order == ["first", "second", "last"]
    found = checked.producer("b")
    assert found is not None and found[0].box.name == "second" and found[1] == 0
    assert checked.producer("s") is None


def test_unread_streams_are_a_warning():
    boxes = (Box("b", Delay(0), ("s",), ("o0",)), Box("c", Delay(0), ("s",), ("o1",)))
    (warning,) = check(diagram(*boxes, outputs=(Output("o1"),))).warnings
    assert warning.what == "stream 'o0' is read by no box and is no output"


def test_a_diagram_without_outputs_is_a_warning():
    (warning,) = check(one(Delay(0))).warnings
    assert "has no output" in warning.what and warning.next_step
    assert warning.allowed == "streams that nothing reads: o0"


def test_control_streams_are_the_systems_own():
    boxes = (Box("u", SUnion(100), ("s", "s"), ("c", "d")), Box("o", SOutput(), ("d",), ("c2", "out")))
    assert check(diagram(*boxes, outputs=(Output("out"),))).warnings == ()
    (warning,) = check(diagram(*boxes)).warnings
    assert warning.allowed == "streams that nothing reads: out"


@pytest.mark.parametrize("name", ["", "__a", "a\nb", "a${b}"])
def test_what_is_wrong_with_a_name_says_what_to_do(name: str):
    with pytest.raises(DiagramError) as refused:
        Schema((Field(name, LONG),))
    assert all(found.allowed and found.next_step for found in refused.value.problems)
    if "\n" in name:
        spec = Delay(0)
        with pytest.raises(DiagramError) as refused:
            check(diagram(Box(name, spec, ("s",), ("o",)), Box("b", spec, ("s",), (name,)), outputs=(Output("o"),)))
        found = [problem for problem in refused.value.problems if "control characters" in problem.what]
        assert [problem.what.split()[0] for problem in found] == ["stream", "box"]
        assert all(problem.allowed and problem.next_step for problem in found)


@pytest.mark.parametrize(
    ("spec", "inputs", "box_class", "past"),
    [
        (Filter(("v > 1",)), 1, BoxClass.MAP, 0),
        (Map((("a", "v"),)), 1, BoxClass.MAP, 0),
        (Union(), 2, BoxClass.MAP, 0),
        (RandomDrop(0.5), 1, BoxClass.MAP, 0),
        (WindowDrop(0.5, 1, 10, 10), 1, BoxClass.MAP, 0),
        (Join("true", JoinBuffer(3), JoinBuffer(4)), 2, BoxClass.WINDOW, 7),
        (Apply(sorted, schema("v int"), 1), 1, BoxClass.WINDOW, DEFAULT_BUCKET),
        (Apply(sorted, schema("v int"), 2 * DEFAULT_BUCKET), 1, BoxClass.WINDOW, 2 * DEFAULT_BUCKET),
        (Aggregate(COUNT, StimeWindow(10, 5)), 1, BoxClass.WINDOW, 10),
        (Aggregate(COUNT, FieldWindow("ts", 10, 5, Alignment.INDEPENDENT)), 1, BoxClass.WINDOW, 10_000_000),
        (Aggregate(COUNT, EventTimeWindow("ts", 10, 5, 3, ahead=2)), 1, BoxClass.WINDOW, 15),
    ],
)
def test_classes_and_horizons(spec, inputs, box_class, past):
    box = typed(one(spec, inputs=inputs))
    assert (box.box_class, box.past, box.convergent) == (box_class, past, True)


@pytest.mark.parametrize(
    "window",
    [
        FieldWindow("ts", 10, 5, Alignment.FIRST),
        StimeWindow(10, 5, Alignment.FIRST),
        Landmark(),
        Runs(),
    ],
)
def test_d12_an_aggregate_without_independent_alignment_is_a_fold_and_not_convergent(window: Window):
    checked = check(one(Aggregate(COUNT, window, ("k",))))
    (box,) = checked.boxes
    assert box.typed.box_class is BoxClass.FOLD and box.typed.order_sensitive
    assert not box.typed.convergent and not checked.convergent
    assert checked.box_class is BoxClass.FOLD


def test_the_class_of_a_diagram_is_its_hardest():
    assert check(diagram()).box_class is BoxClass.MAP and check(diagram()).convergent
    window = Box("w", Aggregate(COUNT, StimeWindow(1, 1), start="at"), ("s",), ("x",))
    fold = Box("f", Aggregate((("m", "max(n)"),), Landmark()), ("x",), ("y",))
    assert check(diagram(window)).box_class is BoxClass.WINDOW
    assert check(diagram(window, fold)).box_class is BoxClass.FOLD


def test_a_window_on_the_start_of_windows_is_on_stime_again():
    first = Box("first", Aggregate(COUNT, StimeWindow(10, 10), start="at"), ("s",), ("x",))
    window = FieldWindow("at", 20e-6, 20e-6, Alignment.INDEPENDENT)
    second = Box("second", Aggregate((("n", "sum(n)"),), window), ("x",), ("y",))
    (_, checked) = check(diagram(first, second)).boxes
    assert isinstance(checked.typed, TypedStimeAggregate)
    # at = start of a window of 10, whose result is at start + 9.
    assert (checked.typed.size, checked.typed.phase) == (20, 9)


@pytest.mark.parametrize(
    "spec",
    [
        Filter(("s.v > 1",)),
        Map((("t", "s.ts"), ("v", "s.v * v"))),
        Aggregate((("n", "sum(s.v)"),), StimeWindow(10, 10)),
    ],
)
def test_fields_may_be_written_with_the_stream_that_the_box_reads(spec):
    stream = check(one(spec)).streams["o0"]
    assert not isinstance(spec, Map) or [clock.name for clock in stream.clocks] == ["t"]


def test_another_stream_before_a_field_is_refused():
    found = problem(one(Filter(("other.v > 1",))))
    assert "the only input here is 's'" in found.what and found.allowed and found.next_step == "write v"
    assert "unknown field of s 'w'" in problem(one(Filter(("s.w > 1",)))).what


def test_required_ports():
    assert typed(one(Union(), inputs=2)).required == (False, False)
    assert typed(one(Join("true", JoinBuffer(1), JoinBuffer(1)), inputs=2)).required == (True, True)


@pytest.mark.parametrize(
    ("spec", "inputs", "what"),
    [
        (BSort((), 1), 1, "a sort needs a field"),
        (BSort(("v",), -1), 1, "slack is -1"),
        (BSort(("v",), 1, ("kk",)), 1, "unknown field 'kk'"),
        (WSort(("vv",), 1.0), 1, "unknown field 'vv'"),
        (WSort(("v",), 0.0), 1, "the timeout is 0"),
        (WaitFor("v = 1", 1.0), 2, "in several inputs"),
        (WaitFor("buffered.v", 1.0), 2, "predicate is of type int"),
        (WaitFor("true", 1.0), 1, "waitfor has 1 input"),
        (Resample((), 1), 2, "needs at least one field"),
        (Resample((("x", "k"),), 1), 2, "field 'k' is a string"),
        (Resample((("v", "v"),), 1), 2, "field 'v' is there twice"),
        (Resample((("x", "v"),), -1), 2, "within is -1"),
        (XSection((), ("k",)), 1, "at least one function"),
        (Combine("k", (("a", "in0.v"),)), 1, "combine has 1 input streams"),
        (Combine("kk", (("a", "in0.v"),)), 2, "unknown field 'kk'"),
        (Combine("k", ()), 2, "combine has no expression"),
        (Combine("k", (("a", "in2.v"),)), 2, "in2"),
        (LRWaitFor("k"), 2, "field 'k', which orders the rows, is a string"),
        (LRWaitFor("v", ("kk",)), 2, "unknown field 'kk'"),
        (LRWaitFor("v", (), math.inf), 2, "start-key-value is inf"),
        (XSection(COUNT, ()), 1, "at least one field to go across"),
        (XSection((("n", "sum(k)"),), ("k",)), 1, "sum"),
    ],
)
def test_wrong_boxes_that_go_by_rows(spec, inputs, what):
    # What is wrong with a field that both inputs lack is said of both.
    assert all(what in found.what for found in problems(one(spec, inputs=inputs)))


# What passes and does not run yet


def test_boxes_of_later_releases_pass_and_block():
    checked = check(diagram(Box("b", Later("sweeper"), ("s",), ("o0",)), outputs=(Output("o0"),)))
    (blocker,) = checked.blockers
    assert blocker.what.startswith("box 'b' does not run yet: Borealis put it there by itself")
    assert blocker.allowed and blocker.next_step
    with pytest.raises(DiagramError, match="does not run yet"):
        checked.runnable()


def test_what_reads_an_unknown_result_is_not_judged_and_not_left_out():
    reader = Box("reader", Map((("a", "whatever"),)), ("o0",), ("x",))
    unknown = Box("b", Later("sweeper"), ("s",), ("o0",))
    checked = check(diagram(unknown, reader, outputs=(Output("x"), Output("o0"))))
    assert [(c.box.name, type(c.typed)) for c in checked.boxes] == [("b", TypedLater), ("reader", TypedLater)]
    assert [blocker.what.split("'")[1] for blocker in checked.blockers] == ["b"]


def test_all_that_does_not_run_yet_is_said_at_once_also_behind_one_another():
    first = Box("first", Later("sweeper"), ("s",), ("o0",))
    between = Box("between", Filter(("known_to_nobody > 1",)), ("o0",), ("o1",))
    second = Box("second", Later("revisionmap"), ("o1", "s"), ("o2",))
    checked = check(diagram(first, between, second, outputs=(Output("o2"),)))
    assert [blocker.what.split(":")[0] for blocker in checked.blockers] == [
        "box 'first' does not run yet",
        "box 'second' does not run yet",
    ]


FIRST = Aggregate(COUNT, FieldWindow("sec", 10, 10, Alignment.FIRST), ("k",))


@pytest.mark.parametrize(
    ("before", "field", "why", "instead"),
    [
        ((), "d", "field 'd' of input 's' is a double", "declare it as long or timestamp"),
        ((), "v", "input 's' takes its stime from the field 'sec'", "--stime s=v"),
        ((Filter(("true",)), Delay(1)), "v", "input 's' takes its stime from the field 'sec'", "--stime s=v"),
        ((Map((("t", "sec + 1"),)),), "t", "box 'b0' computes 't' as 'sec + 1'", "pass a stime field on as it is"),
        ((Map((("t", "v"),)), Union()), "t", "input 's' takes its stime from the field 'sec'", "--stime s=v"),
        ((FIRST, Filter(("n > 1",))), "sec", "aggregate 'b0', whose windows begin with", "to 1 in box 'b0'"),
        ((FIRST,), "n", "not the field that its windows are on", "order on the field that the windows of box 'b0'"),
        ((Aggregate(COUNT, FieldWindow("v", 3, 1)),), "v", "'b0', whose windows are not on stime", "said of box 'b0'"),
        ((BSort(("v",), 3),), "sec", "comes out of bsort 'b0', where a row goes on later", "add a map behind 'b0'"),
        ((Revision(Map((("t", "v * 2"),))),), "t", "computes 't' as 'v * 2'", "in box 'b0'"),
    ],
)
def test_the_box_that_loses_the_time_is_named(before, field, why, instead):
    boxes = [Box(f"b{n}", spec, ("s" if n == 0 else f"o{n - 1}",), (f"o{n}",)) for n, spec in enumerate(before)]
    last = "s" if not before else f"o{len(before) - 1}"
    windows = Box("windows", Aggregate((("rows", "count()"),), FieldWindow(field, 3, 1)), (last,), ("x",))
    given = diagram(*boxes, windows, stamp=Stamp("sec", 1_000_000), outputs=(Output("x"),))
    warning = check(given).warnings[-1]
    assert warning.what.startswith("box 'windows' goes by rows, not by time: ")
    assert f"it is on {field!r}, which does not carry the stime of {last!r}: " in warning.what and why in warning.what
    assert instead in warning.next_step
    assert warning.allowed.startswith(f"fields of {last!r} that do: ")


def test_rows_that_a_map_rejects_lost_their_time_before_it():
    """They have the fields that they came with, of which the map need not know."""
    mapped = Box("mapped", Map((("t", "inverse(v)"),), OnError.REJECT), ("s",), ("t", "wrong"))
    windows = Box("windows", Aggregate((("rows", "count()"),), FieldWindow("v", 3, 1)), ("wrong",), ("x",))
    given = diagram(mapped, windows, stamp=Stamp("sec", 1_000_000), outputs=(Output("t"), Output("x")))
    inverse = make_function("inverse", lambda n: 1 // n, "int", "int")
    (warning,) = check(given, Functions({"inverse": inverse})).warnings
    assert "input 's' takes its stime from the field 'sec'" in warning.what


def test_windows_of_values_that_are_asked_for_are_not_warned_of():
    assert not typed(one(Aggregate(COUNT, FieldWindow("v", 3, 1, by_values=True)))).not_stime


def test_after_a_join_the_time_is_copied_from_stime():
    pairs = Box("pairs", Join("true", JoinBuffer(1), JoinBuffer(1), (("sec", "left.sec"),)), ("s", "s"), ("p",))
    windows = Box("w", Aggregate(COUNT, FieldWindow("sec", 3, 1)), ("p",), ("x",))
    (warning,) = check(diagram(pairs, windows, outputs=(Output("x"),))).warnings
    assert "join 'pairs'" in warning.what and "whose expression is stime" in warning.next_step
    copied = Box("copied", Map((("at", "stime"),)), ("p",), ("q",))
    mended = Box("w", Aggregate(COUNT, FieldWindow("at", 3_000, 1_000, Alignment.INDEPENDENT)), ("q",), ("x",))
    checked = check(diagram(pairs, copied, mended))
    assert not checked.blockers
    (window,) = [c.typed for c in checked.boxes if isinstance(c.typed, TypedStimeAggregate)]
    assert (window.size, window.advance, window.phase) == (3_000, 1_000, 0)


def test_streams_that_are_made_twice_are_not_followed_around():
    boxes = (
        Box("a1", Delay(0), ("s",), ("y",)),
        Box("w", Aggregate(COUNT, FieldWindow("v", 3, 1)), ("y",), ("x",)),
        Box("a2", Delay(0), ("z",), ("y",)),
        Box("b", Delay(0), ("y",), ("z",)),
    )
    assert any("produced twice" in found.what for found in problems(diagram(*boxes)))


def test_both_sides_of_a_join_are_told():
    pairs = Join("true", JoinBuffer(1, "v"), JoinBuffer(1, "d"))
    left, right = (w for w in check(one(pairs, inputs=2)).warnings if "goes by rows" in w.what)
    assert "it is on 'v'" in left.what and "it is on 'd'" in right.what


def test_what_buffers_of_a_join_hold():
    found = typed(one(Join("true", JoinBuffer(2.5, "d"), JoinBuffer(3, tuples=True), timeout=1.5), inputs=2))
    assert isinstance(found, TypedBufferJoin)
    assert found.buffers == (Kept(field="d", size=Fraction(5, 2)), Kept(rows=3)) and found.timeout == 1_500_000
    assert found.outputs[0].order == (LONG, LONG, LONG, LONG)
    timed = typed(one(Join("true", JoinBuffer(2, "ts"), JoinBuffer(7, tuples=True)), inputs=2))
    assert isinstance(timed, TypedBufferJoin)
    assert timed.buffers[0] == Kept(time=2_000_000) and not timed.not_stime


@pytest.mark.parametrize(
    ("options", "sizes", "past"),
    [
        ({}, (30, 40), 70),
        ({"timeout": 35e-6}, (30, 34), 64),
        ({"looks": (False, True)}, (30, 0), 30),
        ({"looks": (True, False)}, (-1, 40), 40),
    ],
)
def test_timeouts_and_sides_that_do_not_look_shorten_the_wait(options, sizes, past):
    found = typed(one(Join("true", JoinBuffer(30), JoinBuffer(40), **options), inputs=2))
    assert isinstance(found, TypedJoin)
    assert ((found.left_size, found.right_size), found.past) == (sizes, past)


@pytest.mark.parametrize(
    ("join", "what"),
    [
        (Join("true", JoinBuffer(1, tuples=True), JoinBuffer(1), kind=JoinKind.LEFT), "no partner is never known"),
        (Join("true", JoinBuffer(1.5, tuples=True), JoinBuffer(1)), "the left buffer size is 1.5"),
        (Join("true", JoinBuffer(1), JoinBuffer(1, "k")), "field 'k', which orders the rows, is a string"),
        (Join("true", JoinBuffer(1), JoinBuffer(1), timeout=-1.0), "the timeout is -1"),
    ],
)
def test_wrong_buffers(join, what):
    assert what in problem(one(join, inputs=2)).what


def test_one_stream_of_an_sunion_is_followed_by_itself():
    split = Box("split", SUnion(1), ("s", "other"), ("control", "one", "two"))
    windows = Box("w", Aggregate(COUNT, FieldWindow("v", 3, 1)), ("two",), ("x",))
    given = diagram(split, windows)
    other = Input("other", schema("ts timestamp, v int"), Stamp("ts"))
    warnings = check(replace(given, inputs=(*given.inputs, other))).warnings
    assert any("input 'other' takes its stime from the field 'ts'" in warning.what for warning in warnings)


def test_functions_of_borealis_users_block_until_they_are_registered():
    columns = (("minute", "LRSecToMin(sec)"), ("wrong", "lrother(nothing)"))
    assert "unknown field 'nothing'" in problem(one(Map(columns))).what
    given = one(Map(columns[:1]))
    (blocker,) = check(given).blockers
    assert "does not run yet" in blocker.what and "'lrsectomin' is not built in" in blocker.what
    assert 'register_function("lrsectomin"' in blocker.next_step and "--functions" in blocker.next_step
    made = make_function("LRSecToMin", lambda s: s // 60, "int", "int")
    assert not check(given, default_functions().plus(made)).blockers


def test_aggregates_of_borealis_users_block_until_they_are_registered():
    given = one(Aggregate((("alarms", "FidAlarms(v)"), ("n", "count()")), StimeWindow(10, 10)))
    checked = check(given)
    (blocker,) = checked.blockers
    assert "aggregate function 'fidalarms' is not built in" in blocker.what
    assert 'aggregate_function("fidalarms"' in blocker.next_step
    assert [c.box.name for c in checked.boxes] == ["b"]


def test_impure_functions_block():
    columns = (("a", "rand()"), ("b", "now()"))
    checked = check(one(Map(columns)))
    assert [blocker.what.split("calls ")[1].split("(")[0] for blocker in checked.blockers] == ["now", "rand"]
    assert all(blocker.allowed and blocker.next_step for blocker in checked.blockers)
    with pytest.raises(DiagramError, match="differs from run to run"):
        checked.runnable()


def test_what_runs_is_runnable():
    checked = check(one(Delay(0)))
    assert checked.runnable() is checked


# Windows that were shed


def aggregate_after(*between: Box, window: Window | None = None, by: tuple[str, ...] = ("k",)) -> Checked:
    drop = Box("drop", WindowDrop(0.5, 2, 10, 5, group_by=("k",)), ("s",), ("x0",))
    spec = Aggregate(COUNT, window or StimeWindow(10, 5), by)
    last = Box("sum", spec, (f"x{len(between)}",), ("out",))
    return check(diagram(drop, *between, last, outputs=(Output("out"),)))


def samples(checked: Checked) -> tuple[WindowSample, ...]:
    found = checked.boxes[-1].typed
    assert isinstance(found, TypedStimeAggregate)
    return found.kept_windows


@pytest.mark.parametrize(
    "between",
    [
        (),
        (Box("f", Filter(("v > 1",)), ("x0",), ("x1",)),),
        (Box("m", Map((("k", "k"), ("w", "v"))), ("x0",), ("x1",)), Box("d", Delay(0), ("x1",), ("x2",))),
        (Box("r", RandomDrop(0.1), ("x0",), ("x1",)), Box("u", Union(), ("x1", "x1"), ("x2",))),
    ],
)
def test_an_aggregate_knows_the_windows_that_were_dropped(between):
    checked = aggregate_after(*between)
    assert set(samples(checked)) == {WindowSample("drop", 0.5, 2)}
    assert not checked.warnings


@pytest.mark.parametrize(("window", "by"), [(StimeWindow(10, 10), ("k",)), (StimeWindow(10, 5), ())])
def test_other_windows_than_those_dropped_are_a_warning(window, by):
    checked = aggregate_after(window=window, by=by)
    assert samples(checked) == ()
    (warning,) = checked.warnings
    assert "its results will be partial" in warning.what and warning.next_step


@pytest.mark.parametrize(
    ("window", "step"),
    [
        (FieldWindow("sec", 10, 5, Alignment.FIRST), "independent-window-alignment"),
        (EventTimeWindow("ts", 10_000_000, 5_000_000, 0), "windows of stime"),
    ],
)
def test_windows_that_cannot_be_those_dropped_are_a_warning(window, step):
    """Which windows a first row begins, or an event time falls into, a window_drop does not know."""
    drop = Box("drop", WindowDrop(0.5, 1, 10, 5, "sec", ("k",)), ("s",), ("x0",))
    last = Box("sum", Aggregate(COUNT, window, ("k",)), ("x0",), ("out",))
    stamp = Stamp("sec", 1_000_000)
    (warning,) = check(diagram(drop, last, outputs=(Output("out"),), stamp=stamp)).warnings
    assert "its results will be partial" in warning.what and step in (warning.next_step or "")
    none = Box("drop", WindowDrop(0.0, 1, 10, 5, "sec", ("k",)), ("s",), ("x0",))
    assert check(diagram(none, last, outputs=(Output("out"),), stamp=stamp)).warnings == ()


OF_ROWS = WindowDrop(0.5, 2, 10, 5, group_by=("k",), tuples=True)
OF_VALUES = WindowDrop(0.5, 2, 10, 5, "v", ("k",), by_values=True, seed="other")
SAME = Box("m", Map((("k", "k"), ("v", "v"))), ("x0",), ("x1",))
FEWER = Box("f", Filter(("v > 1",)), ("x0",), ("x1",))
AGAIN = Box("again", replace(OF_ROWS, rate=0.1), ("x0",), ("x1",))


@pytest.mark.parametrize(
    ("drop", "between", "window", "same"),
    [
        (OF_ROWS, (), TupleWindow(10, 5), True),
        (OF_ROWS, (SAME,), TupleWindow(10, 5), True),
        (OF_ROWS, (FEWER,), TupleWindow(10, 5), False),
        (OF_ROWS, (AGAIN,), TupleWindow(10, 5), False),
        (OF_ROWS, (), TupleWindow(10, 10), False),
        (OF_ROWS, (), TupleWindow(10, 5, timeout=1), False),
        (OF_ROWS, (), TupleWindow(10, 5, field="v"), False),
        (OF_VALUES, (), FieldWindow("v", 10, 5, Alignment.INDEPENDENT, by_values=True), True),
        (OF_VALUES, (FEWER,), FieldWindow("v", 10, 5, Alignment.INDEPENDENT, by_values=True), True),
        (OF_VALUES, (), FieldWindow("v", 10, 5, Alignment.FIRST, by_values=True), False),
        (OF_VALUES, (), TupleWindow(10, 5), False),
        (OF_ROWS, (), StimeWindow(10, 5), False),
    ],
)
def test_windows_that_rows_close_know_what_was_dropped_or_are_a_warning(drop, between, window, same):
    last = Box("sum", Aggregate(COUNT, window, ("k",)), (f"x{len(between)}",), ("out",))
    checked = check(diagram(Box("drop", drop, ("s",), ("x0",)), *between, last, outputs=(Output("out"),)))
    found = checked.boxes[-1].typed
    assert isinstance(found, TypedStimeAggregate | TypedTupleWindows | TypedValueWindows)
    assert found.kept_windows == ((WindowSample(drop.seed or "drop", 0.5, 2),) if same else ())
    partial = [warning for warning in checked.warnings if "its results will be partial" in warning.what]
    assert len(partial) == (0 if same else 1 + (AGAIN in between))


@pytest.mark.parametrize(
    ("spec", "what"),
    [
        (WindowDrop(0.5, 1, 2.5, 1, tuples=True), "windows of size 2.5 that begin every 1"),
        (WindowDrop(0.5, 1, 10, 20, "v"), "windows of size 10 that begin every 20"),
        (WindowDrop(0.5, 1, 10, 5, "k"), "field 'k', which orders the rows, is a string"),
        (WindowDrop(0.5, 1, 10, 5, "w"), "unknown field 'w'"),
        (WindowDrop(0.5, 1, 10**9, 1, tuples=True), "each row is in 1,000,000,000 of them at once"),
    ],
)
def test_wrong_windows_of_rows_and_values_to_drop(spec, what):
    (found,) = problems(one(spec))
    assert what in found.what and found.allowed and found.next_step


@pytest.mark.parametrize(
    ("made", "what"),
    [
        (
            lambda s, c: s.aggregate_rows("b", {"n": "count()"}, rows=3, clock=c),
            "without a timeout that closes anything",
        ),
        (
            lambda s, c: s.aggregate_rows("b", {"n": "count()"}, rows=3, timeout="5s", clock=s),
            "the clock has the fields",
        ),
        (lambda s, c: s.wsort("b", on=["w"], timeout="5s", clock=c), "unknown field 'w'"),
    ],
)
def test_wrong_timeouts_by_a_local_clock(made, what):
    d = au.diagram("d")
    made(d.input("s", "k string, v int"), d.local_clock()).output()
    with pytest.raises(DiagramError) as caught:
        d.check()
    (found,) = caught.value.problems
    assert what in found.what and found.allowed and found.next_step


def test_a_local_clock_is_an_input_that_the_machine_feeds():
    d = au.diagram("d")
    s, clock = d.input("s", "k string, v int"), d.local_clock("time")
    s.aggregate_rows("b", {"n": "count()"}, rows=3, by=["k"], timeout="5s", clock=clock).output()
    s.wsort("w", on=["v"], timeout="1s", by=["k"], clock=clock).output()
    s.aggregate_values("x", {"n": "count()"}, on="v", window=2, timeout="1s", clock=clock).output()
    checked = d.check()
    assert local_clocks(checked.diagram) == ("time",)
    assert {box.typed.box_class for box in checked.boxes} == {BoxClass.FOLD}
    assert not checked.warnings and not checked.blockers


def test_a_dropped_window_on_a_field_of_no_time_is_a_warning():
    """As one that is aggregated: most windows of old files are of time."""
    said = "box 'b' goes by rows, not by time: it is on 'v', which does not carry the stime of 's'"
    assert [warning for warning in check(one(WindowDrop(0.5, 1, 10, 5, "v"))).warnings if said in warning.what]
    by_values = check(one(WindowDrop(0.5, 1, 10, 5, "v", by_values=True))).warnings
    assert not [warning for warning in by_values if "goes by rows" in warning.what]


def test_a_drop_that_goes_by_another_name_is_known_by_it():
    """Else the aggregate would leave out other windows than those that were dropped."""
    drop = Box("drop", WindowDrop(0.5, 2, 10, 5, group_by=("k",), seed="before"), ("s",), ("x0",))
    last = Box("sum", Aggregate(COUNT, StimeWindow(10, 5), ("k",)), ("x0",), ("out",))
    assert samples(check(diagram(drop, last, outputs=(Output("out"),)))) == (WindowSample("before", 0.5, 2),)


def test_groups_that_a_map_changes_are_other_groups():
    changed = Box("m", Map((("k", 'k + "x"'),)), ("x0",), ("x1",))
    assert samples(aggregate_after(changed)) == ()


def test_two_drops_in_series_both_count():
    again = Box("again", WindowDrop(0.1, 1, 10, 5, group_by=("k",)), ("x0",), ("x1",))
    assert samples(aggregate_after(again)) == (WindowSample("drop", 0.5, 2), WindowSample("again", 0.1, 1))


def test_checked_diagrams_can_be_sent_elsewhere():
    checked = check(one(Map((("a", "v + 1"),))))
    assert pickle.loads(pickle.dumps(checked)) == checked


def test_functions_of_users_are_looked_up():
    @au.function("int -> int", name="check_twice")
    def twice(value: int) -> int:
        return 2 * value

    assert str(typed(one(Map((("a", "check_twice(v)"),)))).outputs[0].schema) == "a int"
