"""Python functions that raise: which calls count, and rows that are rejected for them, the same in every evaluation."""

from __future__ import annotations

import pytest

import auroral
from auroral.engine.compile import compile_program
from auroral.engine.evaluate import Limits
from auroral.engine.failures import UserCodeFailed
from auroral.engine.session import lane
from auroral.model.expression import Functions
from auroral.model.expression.evaluate import CallFailed
from auroral.model.expression.functions import make_function
from engine.evaluators import assert_same, by_batch, by_buckets, by_reference
from engine.running import rows, run_all

pytestmark = pytest.mark.spark

# (stime, v, d, k)
GIVEN = rows(
    (1, 7, 1, "a"), (2, 5, 0, "b"), (2, 6, 2, None), (3, None, None, "a"), (14, 3, 0, None), (14, 3, 0, None), (16, 0, 1, "b"),
    (25, 1, -1, "a"), (26, -4, 0, "a"), (27, 9, 3, "b"),
)  # fmt: skip
LONG = "much " * 60
WORDS = ["#12 of ${spark.master}", "<b>", "it's \\n", "\ud800\0", "", LONG, "ü😀"]


def functions() -> Functions:
    """Nested functions: Spark's workers get them by value and need no module of the tests."""
    words = WORDS

    def inverse(d):
        if d == 0:
            raise ValueError("no inverse")
        return None if d is None else 100 // d

    def even(v):
        if v is not None and v % 2:
            raise ArithmeticError(f"{v} is odd")
        return v

    def telling(v):
        raise LookupError(words[v])

    def typeless(v):
        return "text" if v == 7 else float(v) if v == 5 else v

    made = Functions()
    for call in (inverse, even, telling, typeless):
        made = made.plus(make_function(call.__name__, call, "int", "int"))
    return made.plus(make_function("halved", lambda v: None if v is None else v // 2, "int", "double"))


def started():
    d = auroral.diagram("failing", bucket="10us")
    return d, d.input("s", "v int, d int, k string")


@pytest.fixture(scope="module")
def lazy(spark, tmp_path_factory):
    d, s = started()
    s.map(
        "chosen",
        {"w": "if d != 0 then inverse(d) else 0", "x": "if d = 0 then -1 else if d > 1 then inverse(d - 1) else 2"},
    ).output()
    s.filter("both", "d != 0 and inverse(d) > 0").output()
    s.filter("either", "d = 0 or inverse(d) = 50").output()
    for stream in s.split("cases", ["d = 0", "inverse(d) > 40", "v > 0 and even(v - v % 2) > 0"], otherwise=True):
        stream.output()
    s.map("after", {"n": "if d != 0 then 100 % inverse(d) else d"}).aggregate(
        "sums", {"n": "sum(n)"}, window="20us"
    ).output()
    s.aggregate("args", {"n": "sum(if d != 0 then inverse(d) else 1)"}, window="20us").output()
    s.running("totals", {"n": "sum(if d != 0 then inverse(d) else 1)"}, by=["k"]).output()
    s.join(
        "pairs", s, on="left.k = right.k and even(left.v * 2) = right.v * 2", within="5us",
        columns={"v": "left.v", "w": "if right.d != 0 then inverse(right.d) else 0"},
    ).output()  # fmt: skip
    return run_all(spark, tmp_path_factory.mktemp("lazy"), d.check(functions()), {"s": GIVEN}, 30, first=0)


def test_a_branch_that_is_not_taken_cannot_fail(lazy):
    assert [row[1:] for row in lazy.outputs["chosen"][:3]] == [(100, 2), (0, -1), (50, 100)]
    assert lazy.outputs["sums"] and lazy.outputs["args"] and lazy.outputs["totals"]
    assert lazy.ledger == {}


def test_and_and_or_stop_where_they_are_decided(lazy):
    assert [row[2] for row in lazy.outputs["both"]] == [1, 2, 1, 3]
    assert [row[2] for row in lazy.outputs["either"]] == [0, 2, 0, 0, 0]


def test_a_case_is_reached_only_when_none_before_it_holds(lazy):
    assert len(lazy.outputs["cases.0"]) == 4 and len(lazy.outputs["cases.1"]) == 3
    assert [row[1] for row in lazy.outputs["cases.2"]] == [9]
    assert [row[1] for row in lazy.outputs["cases.else"]] == [None, 1]


def test_equalities_of_a_join_are_still_found(lazy):
    assert (1, 7, 100) in lazy.outputs["pairs"] and (26, -4, 0) in lazy.outputs["pairs"]


def rejecting():
    d, s = started()
    made = s.map("made", {"w": "inverse(d)", "e": "even(v)", "k": "k"}, on_error="reject")
    made.output()
    made.errors().output("made badly")
    s.map("counted", {"w": "inverse(inverse(d)) + 1"}, on_error="reject").output()
    held, rest = s.filter("held", "inverse(d) > 40 and even(v) != 6", otherwise=True, on_error="reject")
    held.output()
    rest.output()
    held.errors().output()
    first, second = s.split("cases", ["k = 'a'", "inverse(d) > 40"], on_error="reject")
    first.output()
    second.output()
    first.errors().output()
    s.map("told", {"v": "telling(abs(v) % 7)"}, on_error="reject").errors().output()
    s.map("typed", {"v": "typeless(v)", "h": "halved(v)"}, on_error="reject").errors().output()
    s.map("halves", {"h": "halved(v) / 2.0"}).output()
    # What comes out of such boxes goes on like any other stream, in its order.
    made.errors().running("so far", {"n": "count()", "last": "lastval(error)"}, by=["k"]).output()
    made.aggregate("sums", {"n": "sum(w)", "f": "firstval(k)"}, window="20us", advance="5us").output()
    made.errors().join(
        "both bad", held.errors(), on="left.v = right.v", within="3us", columns={"a": "left.error", "b": "right.error"}
    ).output()
    # A box behind slices reads what an earlier job gave.
    before = s.aggregate("before", {"n": "sum(d)"}, window="10us")
    before.map("behind", {"n": "inverse(int(n) - 1)"}, on_error="reject").errors().output()
    return d.check(functions())


@pytest.fixture(scope="module")
def rejected(spark, tmp_path_factory):
    return run_all(spark, tmp_path_factory.mktemp("rejected"), rejecting(), {"s": GIVEN}, 30, first=0)


def test_a_row_is_in_the_output_or_among_the_errors(rejected):
    assert [row[1:] for row in rejected.outputs["made"]] == [(50, 6, None), (None, None, "a"), (100, 0, "b")]
    odd, none = "even: ArithmeticError: {} is odd", "inverse: ValueError: no inverse"
    assert rejected.outputs["made badly"] == [
        (1, 7, 1, "a", odd.format(7)),
        (2, 5, 0, "b", none),
        (14, 3, 0, None, none),
        (14, 3, 0, None, none),
        (25, 1, -1, "a", odd.format(1)),
        (26, -4, 0, "a", none),
        (27, 9, 3, "b", odd.format(9)),
    ]


def test_rejected_rows_are_counted_without_an_error_stream_too(rejected):
    assert rejected.ledger == {
        ("made", "rejected"): 7,
        ("counted", "rejected"): 4,
        ("held", "rejected"): 5,
        ("cases", "rejected"): 3,
        ("told", "rejected"): 10,
        ("typed", "rejected"): 2,
        ("behind", "rejected"): 1,
    }


def test_only_calls_that_are_reached_count(rejected):
    # 'inverse(d) > 40' decides for d = -1 and 3, whose v is odd; the first case for the rows of 'a'.
    assert [row[1] for row in rejected.outputs["held.else"]] == [6, None, 1, 9]
    assert [row[1:3] for row in rejected.outputs["held.errors"]] == [(7, 1), (5, 0), (3, 0), (3, 0), (-4, 0)]
    assert [row[1] for row in rejected.outputs["cases.0"]] == [7, None, 1, -4]
    assert [row[1:3] for row in rejected.outputs["cases.errors"]] == [(5, 0), (3, 0), (3, 0)]


def test_error_texts_are_whole_and_short(rejected):
    told = {row[-1] for row in rejected.outputs["told.errors"]}
    assert told == {
        "telling: LookupError: #12 of ${spark.master}",
        "telling: LookupError: <b>",
        "telling: LookupError: it's \\n",
        "telling: LookupError: ??",
        "telling: LookupError",
        f"telling: LookupError: {LONG}"[:200],
        "telling: LookupError: ü😀",
        # abs(null) % 7 is null, and no place in a list.
        "telling: TypeError: list indices must be integers or slices, not NoneType",
    }


def test_a_result_of_another_type_is_an_error_and_not_null(rejected):
    assert [row[-1] for row in rejected.outputs["typed.errors"]] == [
        "typeless: TypeError: it gave 'text', which is not of type int",
        "typeless: TypeError: it gave 5.0, which is not of type int",
    ]
    assert [row[1] for row in rejected.outputs["halves"]][:3] == [1.5, 1.0, 1.5]


def test_streams_of_errors_go_on(rejected):
    assert [row[1:3] for row in rejected.outputs["so far"]][-3:] == [("a", 2), ("a", 3), ("b", 2)]
    assert rejected.outputs["sums"] and rejected.outputs["both bad"]
    assert rejected.outputs["behind.errors"] == [(19, 1, "inverse: ValueError: no inverse")]


@pytest.mark.parametrize("partitions", [1, 7])
def test_neither_cuts_nor_partitions_matter(spark, tmp_path, partitions):
    own, checked = lane(spark, {"spark.sql.shuffle.partitions": str(partitions)}), rejecting()
    expected = by_reference(checked, {"s": GIVEN}, 30)
    assert_same(expected, by_batch(own, checked, {"s": GIVEN}, 30, tmp_path / "batch"))
    for number, (cuts, limits) in enumerate([([0, 10, 20, 30], Limits()), ([0, 20, 30], Limits(2, 2))]):
        folder = tmp_path / str(number)
        assert_same(expected, by_buckets(own, checked, {"s": GIVEN}, cuts, folder, limits=limits))


@pytest.mark.parametrize(
    ("make", "function", "value"),
    [
        (lambda s: s.map("mine", {"w": "if d = 0 then inverse(d) else 0"}), "inverse", 0),
        (lambda s: s.filter("mine", "d = 0 and inverse(d) > 0"), "inverse", 0),
        (lambda s: s.split("mine", ["d != 0", "inverse(d) = 3"])[1], "inverse", 0),
        (lambda s: s.filter("mine", "inverse(d) > 0 and d != 0"), "inverse", 0),
        (lambda s: s.map("mine", {"w": "typeless(v)"}), "typeless", 7),
    ],
)  # fmt: skip
def test_what_is_reached_still_stops(spark, tmp_path, make, function, value):
    d, s = started()
    make(s).output()
    # The same function in a box that rejects is not to blame.
    s.map("other", {"w": "inverse(d)", "x": "typeless(v)"}, on_error="reject").output()
    checked = d.check(functions())
    with pytest.raises(CallFailed):
        by_reference(checked, {"s": GIVEN}, 30)
    said = rf"^box 'mine': function '{function}' of \({value},\) failed: (ValueError: no inverse|TypeError: it gave 'text')"
    with pytest.raises(UserCodeFailed, match=said):
        by_buckets(spark, checked, {"s": GIVEN}, [0, 30], tmp_path / "run")
    with pytest.raises(UserCodeFailed, match=said):
        by_batch(spark, checked, {"s": GIVEN}, 30, tmp_path / "batch")


def test_a_stop_says_the_whole_message(spark, tmp_path):
    d, s = started()
    s.map("mine", {"w": "telling(abs(v) % 7)"}).output()
    with pytest.raises(UserCodeFailed) as failed:
        by_buckets(spark, d.check(functions()), {"s": rows((1, 7, 1, "a"))}, [0, 10], tmp_path)
    assert "failed: LookupError: #12 of ${spark.master}, in the buckets" in str(failed.value)
    with pytest.raises(UserCodeFailed) as failed:
        by_buckets(spark, d.check(functions()), {"s": rows((1, 5, 1, "a"))}, [0, 10], tmp_path / "long")
    assert LONG in str(failed.value)


def test_what_decides_before_a_call_is_asked_first(spark, tmp_path):
    d, s = started()
    s.filter("few", "d > 1 and inverse(d) > 0 and even(v) > 0").output()
    program = compile_program(d.check(functions()), single=True)
    (text,) = [cte.select for step in program.steps for cte in step.ctes if cte.name == "few"]
    assert "WHERE (`d` > 1) IS NOT FALSE AND IF(" in text
    found = by_buckets(spark, d.check(functions()), {"s": GIVEN[:7]}, [0, 20], tmp_path)
    assert [row[1] for row in found.outputs["few"]] == [6]
