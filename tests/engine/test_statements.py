"""Statements as text, without Spark: what they name is there, and what a user wrote is never taken for a part of them."""

from __future__ import annotations

from collections import Counter

import pytest

import auroral
from auroral.engine.compile import compile_program
from auroral.engine.sqltext import Cte, inlined, needed, readable, relation, select
from engine.diagrams import random_case
from engine.dry import statements

SEEDS = 100
FORMS: dict[str, dict[str, bool]] = {"small": {"single": True}, "large": {}, "batch": {"batch": True}}


def test_no_statement_names_a_relation_that_is_not_there() -> None:
    """A job refuses to give Spark such a statement."""
    made = Counter[str]()
    for seed in range(SEEDS):
        case = random_case(seed)
        for name, form in FORMS.items():
            made[name] += len(statements(compile_program(case.checked, many_bins=False, **form), 0, case.bucket))
    assert all(made[name] >= SEEDS for name in FORMS)


def test_boxes_that_the_ledger_counts_rows_of_say_so() -> None:
    """The protocol has their buckets computed again, though they were guessed right."""
    counted: set[type] = set()
    for seed in range(SEEDS):
        checked = random_case(seed).checked
        boxes = {box.box.name: box.typed for box in checked.boxes}
        found = {type(boxes[name]): boxes[name] for name, _, _ in compile_program(checked).counts}
        assert all(typed.leaves_out for typed in found.values())
        counted |= found.keys()
    assert len(counted) > 4


def test_a_step_that_is_used_before_it_is_made_is_not_found() -> None:
    steps = [Cte("late", f"SELECT 1 FROM {relation('made')}"), Cte("made", "SELECT 2")]
    both = f"SELECT * FROM {relation('late')} JOIN {relation('made')}"
    assert needed(steps, both) == (steps, {"made"})
    assert needed(steps[::-1], both) == (steps[::-1], set())


def test_a_step_that_is_used_once_stands_where_it_is_used() -> None:
    steps = [
        Cte("a", f"SELECT * FROM {relation('view')}"),
        Cte("b", f"SELECT * FROM {relation('a')}"),
        Cte("c", f"SELECT * FROM {relation('b')} l JOIN {relation('b')} r"),
    ]
    assert inlined(steps, f"SELECT x FROM {relation('c')}") == (
        "WITH `b` AS (\n  SELECT * FROM (SELECT * FROM `view`)\n)\nSELECT x FROM (SELECT * FROM `b` l JOIN `b` r)"
    )


def test_a_large_job_gives_spark_a_step_that_many_read_once() -> None:
    """Not once for each output."""
    d = auroral.diagram("d", bucket="10us")
    read = d.input("in", "t long, b long", stime="t", unit="us").map("read", {"b": "b + 12345"})
    for bound in range(4):
        read.filter(f"above{bound}", f"b > {bound}").output()
    assert large_texts(d).count("12345") == 1


def test_a_relation_is_marked_as_one() -> None:
    with pytest.raises(AssertionError, match="neither a relation"):
        select(["x"], "`in`")


def large_texts(diagram: auroral.DiagramBuilder) -> str:
    return "\n".join(statements(compile_program(diagram.check()), 0, 10))


def test_a_text_that_looks_like_a_relation_is_text() -> None:
    d = auroral.diagram("d", bucket="10us")
    given = d.input("in", "t long, b long", stime="t", unit="us")
    given.filter("ts", "b > 0").output()
    given.map("lit", {"z": "'copied FROM `ts` by hand'"}).output()
    given.map("own", {"z": auroral.sql("'FROM `ts`' || b", "string")}).output()
    text = large_texts(d)
    assert "'copied FROM `ts` by hand' AS `z`" in text
    assert "'FROM `ts`' || (`b`)" in text


def test_names_that_differ_in_a_backtick_are_two_names() -> None:
    d = auroral.diagram("d", bucket="10us")
    given = d.input("in", "t long, b long", stime="t", unit="us")
    given.filter("hit", "b > 1").output()
    given.filter("hit`s", "b > 2").map("out", {"b": "b"}).output()
    *_, (kept, made) = [
        text.split("AS `b`\nFROM ") for text in statements(compile_program(d.check()), 0, 10) if "AS `b`" in text
    ]
    assert "`b` > 2L" in made and "`b` > 1L" not in kept + made


def test_lines_of_a_text_stay_as_they_are() -> None:
    """Also in a step that is not inlined, which is indented."""
    d = auroral.diagram("d", bucket="10us")
    given = d.input("in", "t long, b long", stime="t", unit="us")
    twice = given.map("twice", {"z": "'a\u2028b'", "y": auroral.sql("'c\nd\\\ne'", "string"), "b": "b"})
    twice.join("pairs", twice, on="left.b = right.b", within=("5us", "5us"), columns={"z": "left.z"}).output()
    text = "\n".join(statements(compile_program(d.check(), single=True), 0, 10))
    assert "`twice@past` AS (" in text
    assert "'a\u2028b'" in text and r"'c\u000ad\u000ae'" in text


def test_people_read_names_of_slots_and_relations() -> None:
    (made,) = [step for step in compile_program(random_case(0).checked).steps if step.name == "in0"]
    assert "FROM `in0@source`\nWHERE __stime >= :lo AND __stime < :hi" in readable(made.ctes[0].select)
