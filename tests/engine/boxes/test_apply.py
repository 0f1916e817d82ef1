"""Functions of DataFrames on Spark: what they see, where their results lie, and what is refused."""

from __future__ import annotations

import pytest

from auroral.engine.batch import Piece, SourceRows, run_batch
from auroral.engine.edgelog import STABLE, Segment
from auroral.engine.evaluate import Engine, Limits
from auroral.model.boxes.apply import Apply
from auroral.model.boxes.stateless import Filter
from auroral.model.diagram import Box
from auroral.model.errors import DiagramError
from auroral.model.schema import schema
from auroral.reference.apply import Stime
from engine.evaluators import assert_same, by_batch, by_buckets, by_reference, shown, source_table
from engine.running import checked_diagram, rows, run_all

pytestmark = pytest.mark.spark

GIVEN = rows((1, 1), (1, 1), (12, 2), (38, 3), (39, None))
OTHER = rows((2, 1), (25, 2))


def total(frame):
    from pyspark.sql import functions as sf

    return frame.agg(sf.sum("v").alias("v"))


def total_of_rows(given):
    values = [row.values[0] for row in given if row.values[0] is not None]
    return [(None, (sum(values) if values else None,))]


def same_rows(given):
    return [(row.stime, row.values) for row in given]


def joined_rows(given, other):
    return [(row.stime, row.values) for row in given if row.values[0] in [o.values[0] for o in other]]


@pytest.fixture(scope="module")
def outcome(spark, tmp_path_factory):
    fields = schema("v long")
    boxes = [
        Box("bucket", Apply(total, fields), ("s",), ("bucket",)),
        Box("horizon", Apply(total, fields, past=9), ("s",), ("horizon",)),
        Box("free", Apply(lambda frame: frame, fields, past=30, cut_free=True), ("s",), ("free",)),
        Box("distinct", Apply(lambda frame: frame.dropDuplicates(), fields, past=0), ("s",), ("distinct",)),
        Box("two", Apply(lambda a, b: a.join(b.select("v"), "v", "left_semi"), fields, 30), ("s", "o"), ("two",)),
        Box("after", Filter(("v > 1",)), ("horizon",), ("after",)),
        Box("again", Apply(total, fields, past=20), ("after",), ("again",)),
    ]
    functions = {
        "bucket": total_of_rows,
        "horizon": total_of_rows,
        "free": same_rows,
        "distinct": lambda given: list(dict.fromkeys(same_rows(given))),
        "two": joined_rows,
        "again": total_of_rows,
    }
    checked = checked_diagram({"s": "v int", "o": "v int"}, boxes)
    return run_all(spark, tmp_path_factory.mktemp("apply"), checked, {"s": GIVEN, "o": OTHER}, 50, functions)


def test_results_without_stime_lie_at_the_buckets_end(outcome):
    assert outcome.outputs["bucket"] == [(9, 2), (19, 2), (39, 3)]


def test_a_function_sees_its_horizon(outcome):
    assert outcome.outputs["horizon"] == [(9, 2), (19, 4), (29, 2), (39, 3), (49, 3)]


def test_rows_of_the_past_are_not_given_again(outcome):
    assert outcome.outputs["free"] == [(1, 1), (1, 1), (12, 2), (38, 3), (39, None)]
    assert outcome.outputs["distinct"] == [(1, 1), (12, 2), (38, 3), (39, None)]


def test_two_inputs(outcome):
    assert outcome.outputs["two"] == [(1, 1), (1, 1)]


def run_apply(spark, folder, spec):
    checked = checked_diagram({"s": "v int"}, [Box("mine", spec, ("s",), ("o",))])
    return by_buckets(spark, checked, {"s": GIVEN}, [0, 40], folder)


def test_a_missing_column_is_named(spark, tmp_path):
    spec = Apply(lambda frame: frame.selectExpr("v AS w", "1 AS u"), schema("v int, u int"))
    with pytest.raises(
        DiagramError, match=r"(?s)box 'mine'.*gives the columns w, u, without v.*stime and v int, u int"
    ):
        run_apply(spark, tmp_path, spec)


def test_a_column_of_another_type_is_refused_not_cast(spark, tmp_path):
    """A string where a number is declared would silently become NULL."""
    spec = Apply(lambda frame: frame.selectExpr("stime", "'x' AS v"), schema("v int"))
    with pytest.raises(DiagramError, match=r"(?s)box 'mine'.*column 'v' is a string.*int"):
        run_apply(spark, tmp_path, spec)


def test_a_narrower_number_is_taken(spark, tmp_path):
    spec = Apply(lambda frame: frame.selectExpr("stime", "CAST(v AS SMALLINT) AS v"), schema("v int"))
    assert run_apply(spark, tmp_path, spec).outputs["o"] == [(1, 1), (1, 1), (12, 2), (38, 3), (39, None)]


def test_cut_free_needs_stimes(spark, tmp_path):
    spec = Apply(lambda frame: frame.select("v"), schema("v int"), cut_free=True)
    with pytest.raises(DiagramError, match=r"box 'mine' is cut_free, but its function gives no stime"):
        run_apply(spark, tmp_path, spec)


def test_a_function_that_throws_is_named_with_its_range(spark, tmp_path):
    def broken(frame):
        raise KeyError("no such thing")

    with pytest.raises(Exception, match=r"(?s)box 'mine'.*broken.*no such thing.*\[0, 10\)") as caught:
        run_apply(spark, tmp_path, Apply(broken, schema("v int")))
    assert isinstance(caught.value.__cause__, KeyError)


def test_what_is_no_data_frame_is_refused(spark, tmp_path):
    with pytest.raises(DiagramError, match=r"(?s)box 'mine'.*gives a NoneType.*a DataFrame"):
        run_apply(spark, tmp_path, Apply(lambda frame: None, schema("v int")))


def test_an_engine_goes_on_after_a_failed_range(spark, tmp_path):
    """What failed leaves no half of a range behind: once the cause is gone, the same range gives its rows."""
    well = {"fixed": False}

    def moody(frame):
        if not well["fixed"]:
            raise ValueError("not today")
        return frame

    boxes = [Box("mine", Apply(moody, schema("v int"), 5), ("s",), ("o",))]
    engine = Engine(spark, checked_diagram({"s": "v int"}, boxes), tmp_path)
    engine.offer("s", Segment(0, 40, STABLE, len(GIVEN), source_table(engine.source("s"), GIVEN)))
    with pytest.raises(Exception, match="not today"):
        engine.evaluate(0, 40)
    well["fixed"] = True
    assert len(shown(engine.evaluate(0, 40).outputs["o"].load(engine.small.outputs[0]))) == len(GIVEN)


# Stimes of other types, of other names, and those that no bucket gives


def stamped(expression):
    """The rows with another stime."""
    return lambda frame: frame.selectExpr(f"{expression} AS stime", "v")


def rows_stamped(stime):
    """The same for the reference; `stime` gives that of a row, or None where it is NULL."""

    def function(given):
        found = [(stime(row), row.values) for row in given]
        return [(Stime.NULL if at is None else at, values) for at, values in found]

    return function


NULL_AT_2 = (stamped("IF(v = 2, NULL, stime)"), lambda row: None if row.values[0] == 2 else row.stime)
FAR_AT_3 = (stamped("stime + IF(v = 3, 1000, 0)"), lambda row: row.stime + 1000 * (row.values[0] == 3))
BACK_AT_3 = (stamped("stime - IF(v = 3, 40, 0)"), lambda row: row.stime - 40 * (row.values[0] == 3))
BACK_BY_5 = (stamped("stime - 5"), lambda row: row.stime - 5)
ON_BY_5 = (stamped("stime + 5"), lambda row: row.stime + 5)
ON_BY_11 = (stamped("stime + 11"), lambda row: row.stime + 11)

PLACED = {
    # An identity, though as a timestamp.
    "timestamps": (stamped("timestamp_micros(stime)"), lambda row: row.stime, 0, False),
    "nulls": (*NULL_AT_2, 0, False),
    "nulls free": (*NULL_AT_2, 0, True),
    "nulls of a horizon": (*NULL_AT_2, 20, False),
    "nulls of a horizon, free": (*NULL_AT_2, 20, True),
    "far": (*FAR_AT_3, 0, False),
    "before": (*BACK_AT_3, 10, False),
    "moved back": (*BACK_BY_5, 20, False),
    "moved on": (*ON_BY_5, 10, False),
    "moved far on": (*ON_BY_11, 4, False),
}


def placed_boxes(*names):
    return [
        Box(n, Apply(f, schema("v int"), past, free), ("s",), (n,)) for n in names for f, _, past, free in [PLACED[n]]
    ]


def placed_diagram():
    boxes = placed_boxes(*PLACED)
    boxes.append(Box("pairs", Apply(earlier_of_pairs, schema("v int"), 20), ("s",), ("pairs",)))
    boxes.append(Box("shares", Apply(seen_with_each, schema("n long"), 20), ("s",), ("shares",)))
    return checked_diagram({"s": "v int"}, boxes)


def earlier_of_pairs(frame):
    """Pairs of rows, at the earlier one's stime: most of them lie before the bucket in which they are complete."""
    other = frame.selectExpr("stime AS later", "v AS w")
    return frame.join(other, frame.stime < other.later).selectExpr("stime", "w AS v")


def seen_with_each(frame):
    """Each row with the number of rows seen, which changes with every bucket."""
    from pyspark.sql import Window
    from pyspark.sql import functions as sf

    return frame.select("stime", sf.count("*").over(Window.partitionBy(sf.lit(1))).alias("n"))


FUNCTIONS = {
    **{n: rows_stamped(stime) for n, (_, stime, _, _) in PLACED.items()},
    "pairs": lambda given: [(a.stime, b.values) for a in given for b in given if a.stime < b.stime],
    "shares": lambda given: [(row.stime, (len(given),)) for row in given],
}


@pytest.fixture(scope="module")
def placed(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("placed")
    return run_all(spark, folder, placed_diagram(), {"s": GIVEN}, 50, FUNCTIONS, large=False)


def test_large_jobs_place_and_reject_them_as_small_ones_do(spark, tmp_path):
    checked = checked_diagram(
        {"s": "v int"}, placed_boxes("nulls", "nulls of a horizon, free", "moved back", "moved on")
    )
    expected = by_reference(checked, {"s": GIVEN}, 50, FUNCTIONS)
    assert len(expected.ledger) == 3
    assert_same(expected, by_buckets(spark, checked, {"s": GIVEN}, [0, 50], tmp_path, limits=Limits(0, 0)))


def test_a_timestamp_is_taken_for_what_it_says(placed):
    assert placed.outputs["timestamps"] == [(1, 1), (1, 1), (12, 2), (38, 3), (39, None)]


def test_results_that_no_bucket_can_give_are_rejected_and_counted_once(placed):
    """However many buckets see their row, and however ranges are cut."""
    for name in ("nulls", "nulls free", "nulls of a horizon", "nulls of a horizon, free"):
        assert placed.outputs[name] == [(1, 1), (1, 1), (38, 3), (39, None)], name
    assert placed.outputs["far"] == placed.outputs["before"] == [(1, 1), (1, 1), (12, 2), (39, None)]
    assert placed.outputs["moved back"] == [(33, 3), (34, None)]
    assert placed.ledger == {
        ("nulls", "rejected"): 1,
        ("nulls free", "rejected"): 1,
        ("nulls of a horizon", "rejected"): 1,
        ("nulls of a horizon, free", "rejected"): 1,
        ("far", "rejected"): 1,
        ("before", "rejected"): 1,
        # Row 39: behind its bucket by as much as the horizon is.
        ("moved far on", "rejected"): 1,
        # Rows 1, 1 and 12: what they give lies in the bucket before theirs.
        ("moved back", "rejected"): 3,
        # Each row 1 with 12; 12 with 38 and 39 is two buckets away, but within the horizon.
        ("pairs", "rejected"): 4,
    }


def test_results_of_later_buckets_are_left_to_them(placed):
    assert placed.outputs["moved on"] == [(6, 1), (6, 1), (17, 2), (43, 3), (44, None)]


def test_a_horizon_is_whole_buckets_so_that_nothing_left_to_a_later_bucket_is_lost(placed):
    """A bucket that saw 4 us of the one before would not see what rows 1 give at 12."""
    assert placed.outputs["moved far on"] == [(12, 1), (12, 1), (23, 2), (49, 3)]


def test_earlier_results_that_newer_rows_change_are_not_rejected(placed):
    assert placed.outputs["shares"] == [(1, 2), (1, 2), (12, 3), (38, 3), (39, 3)]
    assert placed.outputs["pairs"] == [(38, None)]


def test_a_piece_counts_what_is_new_in_it(spark, tmp_path):
    """Of rows that the batch run reads only as the past of its piece, the piece before has counted the results."""
    checked = checked_diagram(
        {"s": "v int"}, placed_boxes("nulls free", "nulls of a horizon, free", "moved back", "far")
    )
    edge = Engine(spark, checked, tmp_path / "unused").source("s")
    given = rows((1, 2), (12, 2), (15, 3), (32, 2))

    def counted(first, piece=None):
        sources = {"s": SourceRows([source_table(edge, [row for row in given if row.stime >= first])])}
        return run_batch(spark, checked, sources, 40, False, tmp_path / str(first), piece=piece).counts

    whole = {"nulls free": 3, "nulls of a horizon, free": 3, "moved back": 3, "far": 1}
    assert counted(0) == {(name, "rejected"): n for name, n in whole.items()}
    later = {"nulls free": 1, "nulls of a horizon, free": 1, "moved back": 1}
    assert counted(10, Piece(begin=10, since=30)) == {(name, "rejected"): n for name, n in later.items()}


def test_a_field_may_be_called_stime(spark, tmp_path):
    """Then the stime is called __stime, on the way out as on the way in."""
    fields = schema("stime timestamp, v int")
    boxes = [
        Box("same", Apply(lambda frame: frame, fields), ("s",), ("same",)),
        Box("bare", Apply(lambda frame: frame.drop("__stime"), fields), ("s",), ("bare",)),
        Box("other", Apply(lambda frame: frame, schema("v int")), ("s",), ("other",)),
    ]
    functions = {
        "same": same_rows,
        "bare": lambda given: [(None, row.values) for row in given],
        "other": lambda given: [(row.stime, row.values[1:]) for row in given],
    }
    given = rows((1, 500, 1), (12, 600, 2))
    checked = checked_diagram({"s": "stime timestamp, v int"}, boxes)
    found = run_all(spark, tmp_path, checked, {"s": given}, 20, functions)
    assert found.outputs["same"] == [(1, 500, 1), (12, 600, 2)]
    assert found.outputs["bare"] == [(9, 500, 1), (19, 600, 2)]
    assert found.outputs["other"] == [(1, 1), (12, 2)]


@pytest.mark.parametrize("expression", ["CAST(stime AS DOUBLE)", "CAST(stime AS STRING)", "current_date()"])
def test_a_stime_of_another_type_is_refused(spark, tmp_path, expression):
    with pytest.raises(DiagramError, match=r"(?s)box 'mine'.*column 'stime' is a .*a long, in microseconds.*next: "):
        run_apply(spark, tmp_path, Apply(stamped(expression), schema("v int")))


def test_a_column_twice_is_refused(spark, tmp_path):
    spec = Apply(lambda frame: frame.selectExpr("stime", "v", "stime"), schema("v int"))
    with pytest.raises(DiagramError, match=r"box 'mine': its function gives the columns stime, v, stime, stime twice"):
        run_apply(spark, tmp_path, spec)


def test_many_calls_reject_as_few_do(spark, tmp_path):
    """Behind CALLS_A_PLAN buckets, results are fetched in between."""
    boxes = [Box("mine", Apply(stamped("IF(v = 2, NULL, stime)"), schema("v int"), past=30), ("s",), ("o",))]
    checked = checked_diagram({"s": "v int"}, boxes)
    found = by_buckets(spark, checked, {"s": GIVEN}, [0, 200], tmp_path)
    assert found.outputs["o"] == [(1, 1), (1, 1), (38, 3), (39, None)]
    assert found.ledger == {("mine", "rejected"): 1}


def test_a_long_gap_is_no_work(spark, tmp_path):
    """A hundred thousand buckets, of which four have a row in their horizon."""
    calls = []

    def noted(frame):
        calls.append(1)
        return frame

    boxes = [Box("mine", Apply(noted, schema("v int"), past=10), ("s",), ("o",))]
    checked = checked_diagram({"s": "v int"}, boxes)
    end = 1_000_000
    found = by_batch(spark, checked, {"s": rows((1, 1), (end - 15, 2))}, end, tmp_path)
    assert found.outputs["o"] == [(1, 1), (end - 15, 2)]
    # Of the four, each is also asked what the rows before its bucket give.
    assert len(calls) == 8
