"""auroral.sql(text, type) on Spark: the declared type holds, comments end where they end, and Spark's refusals are plain."""

from __future__ import annotations

import logging
import re
import threading
from types import SimpleNamespace

import pytest
from pyspark.errors import AnalysisException
from pyspark.logger import PySparkLogger

from auroral.engine.evaluate import Engine, Limits
from auroral.engine.judging import judge
from auroral.model.boxes.aggregate import Aggregate
from auroral.model.boxes.join import Join, JoinBuffer, JoinKind
from auroral.model.boxes.stateless import Filter, Map
from auroral.model.diagram import Box
from auroral.model.errors import DiagramError
from auroral.model.expression import sql
from auroral.model.windows import StimeWindow
from engine.evaluators import assert_same, by_batch, by_buckets
from engine.running import checked_diagram, rows

pytestmark = pytest.mark.spark

FIELDS = "v double, host string, ts timestamp"
GIVEN = rows((1, 0.5, "a:lo", 0), (2, 1.5, "B", 86_400_000_000), (13, 2.5, None, None), (14, 3.5, "${x}`", 5))


@pytest.fixture(scope="module")
def outcome(spark, tmp_path_factory):
    texts = {
        "whole": ("v", "int"),
        "text": ("v -- as text, and not a )", "string"),
        "up": ("upper(/* the host's */ host)", "string"),
        "year": ("extract(year FROM ts) + stime", "long"),
        "odd": ("coalesce(host, r'\\d`' || ':lo ${y} FROM `ts`')", "string"),
        "none": ("host", "int"),
        "some": ("transform(array(v, 1), v -> v + 1)[1]", "double"),
    }
    boxes = [
        Box("m", Map(tuple((name, sql(*given)) for name, given in texts.items())), ("ts",), ("m",)),
        Box("f", Filter((sql("v > 1 -- large ones", "bool"), sql("host = 'a:lo'", "bool"))), ("ts",), ("f", "g")),
        Box("a", Aggregate((("s", "sum(whole)"),), StimeWindow(20, 20)), ("m",), ("a",)),
        Box(
            "j",
            Join(
                sql("left.v < right.v AND left.stime <= right.stime", "bool"),
                JoinBuffer(3),
                JoinBuffer(3),
                (("sum", sql("left.v + coalesce(right.v, 0D)", "double")),),
                JoinKind.LEFT,
            ),
            ("ts", "ts"),
            ("j",),
        ),
    ]
    # The input is called like a field: `FROM ts` inside an expression is not the stream.
    checked = checked_diagram({"ts": FIELDS}, boxes)
    folder = tmp_path_factory.mktemp("sql")
    found = by_buckets(spark, checked, {"ts": GIVEN}, [0, 10, 20], folder / "small")
    assert_same(found, by_buckets(spark, checked, {"ts": GIVEN}, [0, 20], folder / "large", limits=Limits(0, 0)))
    assert_same(found, by_batch(spark, checked, {"ts": GIVEN}, 20, folder / "batch"))
    return found


def test_the_declared_type_holds(outcome):
    odd = "\\d`:lo ${y} FROM `ts`"
    assert outcome.outputs["m"] == [
        (1, 0, "0.5", "A:LO", 1971, "a:lo", None, 2.0),
        (2, 1, "1.5", "B", 1972, "B", None, 2.0),
        (13, 2, "2.5", None, None, odd, None, 2.0),
        (14, 3, "3.5", "${X}`", 1984, "${x}`", None, 2.0),
    ]
    assert outcome.outputs["a"] == [(19, 0 + 1 + 2 + 3)]


def test_a_comment_ends_with_the_text(outcome):
    assert [row[0] for row in outcome.outputs["f"]] == [2, 13, 14]
    assert [row[0] for row in outcome.outputs["g"]] == [1]


def test_both_sides_of_a_join(outcome):
    assert outcome.outputs["j"] == [(2, 2.0), (5, 1.5), (14, 6.0), (17, 3.5)]


@pytest.mark.parametrize(
    ("text", "type", "said"),
    [
        ("fooo(v)", "int", r"Cannot resolve routine `fooo`"),
        ("array(v)", "int", r'cannot cast "ARRAY<DOUBLE>" to "INT"'),
        ("v +", "int", r"Syntax error at or near '\)'"),
        ("upper(host, v)", "string", r"The `upper` requires 1 parameters? but the actual number is 2"),
        ("v.x", "int", r"Can't extract a value from"),
    ],
)
def test_what_spark_refuses_is_one_plain_error_before_any_row(spark, tmp_path, text, type, said):
    checked = checked_diagram({"s": FIELDS}, [Box("mine", Map((("m", sql(text, type)),)), ("s",), ("o",))])
    with pytest.raises(DiagramError, match=r"box 'mine': Spark refuses the SQL expression") as caught:
        Engine(spark, checked, tmp_path)
    (problem,) = caught.value.problems
    assert problem.allowed and problem.next_step
    assert re.search(said, problem.what)
    assert "\n" not in problem.what and "Project" not in problem.what and "SQLSTATE" not in problem.what


def test_all_refused_expressions_are_named_at_once(spark, tmp_path):
    columns = (("a", sql("nofunc(v)", "int")), ("b", sql("array(v)", "int")), ("c", sql("v", "int")))
    checked = checked_diagram({"s": FIELDS}, [Box("mine", Map(columns), ("s",), ("o",))])
    with pytest.raises(DiagramError) as caught:
        Engine(spark, checked, tmp_path)
    assert len(caught.value.problems) == 2


@pytest.mark.parametrize(
    ("text", "type"),
    [
        ("'today'", "timestamp"),
        ("ts > 'tomorrow UTC'", "bool"),
        ("CAST(concat('to', 'day') AS date)", "date"),
        ("to_timestamp('12:30')", "timestamp"),
        ("v + unix_micros(timestamp('T12:30'))", "double"),
    ],
)
def test_a_text_that_says_only_a_part_of_a_time_is_refused(spark, tmp_path, text, type):
    checked = checked_diagram({"s": FIELDS}, [Box("mine", Map((("m", sql(text, type)),)), ("s",), ("o",))])
    with pytest.raises(DiagramError, match="it is not a function of the row alone"):
        Engine(spark, checked, tmp_path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("'2026-01-01'", 1_767_225_600_000_000),
        ("CAST(host AS timestamp)", 1_779_019_200_000_000),
        ("'epoch'", 0),
        ("CAST(NULL AS string)", None),
    ],
)
def test_a_text_that_says_all_of_a_time_is_taken(spark, tmp_path, text, expected):
    checked = checked_diagram({"s": FIELDS}, [Box("m", Map((("m", sql(text, "timestamp")),)), ("s",), ("o",))])
    given = {"s": rows((1, 0.5, "2026-05-17 12:00", 0))}
    assert by_buckets(spark, checked, given, [0, 10], tmp_path).outputs["o"] == [(1, expected)]


def test_refusals_of_others_are_logged_as_ever(tmp_path):
    """Judging keeps pyspark from logging in its own thread alone."""
    logger, heard = PySparkLogger.getLogger("SQLQueryContextLogger"), []
    handler = logging.Handler()
    handler.emit = lambda record: heard.append(record.getMessage())
    logger.addHandler(handler)

    def refuse(_):
        other = threading.Thread(target=logger.exception, args=("theirs",), kwargs={"errorClass": "X"})
        other.start()
        other.join()
        logger.exception("ours", errorClass="X")
        raise AnalysisException("refused")

    try:
        checked = checked_diagram({"s": FIELDS}, [Box("m", Map((("m", sql("v", "int")),)), ("s",), ("o",))])
        with pytest.raises(DiagramError, match="refused"):
            judge(SimpleNamespace(sql=refuse), checked)
        logger.exception("later", errorClass="X")
    finally:
        logger.removeHandler(handler)
    assert heard == ["theirs", "later"]
