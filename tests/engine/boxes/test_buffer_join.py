"""Joins with buffers of rows and of values, with timeouts and with sides that do not look, against the reference and on Spark."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from auroral.engine.compile import Compiler
from auroral.engine.foldboxes import fold_box
from auroral.model.boxes.join import ALL, Join, JoinBuffer, TypedBufferJoin
from auroral.model.checking import Checked
from auroral.model.diagram import Box
from auroral.reference.names import Reading
from auroral.reference.rows import Row
from engine.pure_folds import Behind, assert_fold_agrees
from engine.running import checked_diagram, rows, run_all

LEFT, RIGHT = "k string, i int, d decimal(5,2)", "k string, x double, at timestamp"
COLUMNS = (("l", "left.i"), ("r", "right.x"), ("gap", "right.stime - left.stime"))
SAME = "left.k = right.k"


def rows_of(count: int) -> JoinBuffer:
    return JoinBuffer(count, tuples=True)


JOINS = {
    "rows": Join(SAME, rows_of(3), rows_of(2), COLUMNS),
    "none kept": Join(SAME, rows_of(0), rows_of(4), COLUMNS),
    "values": Join(SAME, JoinBuffer(5, "i"), JoinBuffer(1.5, "x"), COLUMNS),
    "mixed": Join("left.i < right.x", JoinBuffer(7, "d"), rows_of(3), COLUMNS),
    "time and rows": Join(SAME, JoinBuffer(6), rows_of(3), COLUMNS),
    "time and values": Join(
        "left.stime <= right.stime and left.k = right.k", JoinBuffer(6), JoinBuffer(2e-5, "at"), COLUMNS
    ),
    "timeout": Join(SAME, rows_of(9), JoinBuffer(3, "x"), COLUMNS, timeout=8e-6),
    "left only": Join(SAME, rows_of(3), rows_of(3), COLUMNS, looks=(True, False)),
    "right only": Join(SAME, rows_of(3), rows_of(3), COLUMNS, looks=(False, True)),
    "static": Join(SAME, rows_of(0), ALL, COLUMNS, looks=(True, False)),
    "static of all": Join("left.i > right.x", rows_of(0), ALL, COLUMNS, looks=(True, False)),
    "time and all": Join(f"{SAME} and left.i > right.x", JoinBuffer(6), ALL, COLUMNS, timeout=3e-5),
}
BY_KEY = ("static", "time and all")
"""Of which rows with another key are nothing to a row."""


def random_sources(random: Random) -> dict[str, list[Row]]:
    def stimes() -> list[int]:
        return sorted(random.randrange(-10, 60) for _ in range(40))

    def key() -> Any:
        return random.choice(["a", "b", "", None])

    left = [
        (t, key(), random.choice([t + random.randint(-8, 8), None]), random.choice([t // 7, None])) for t in stimes()
    ]
    xs = [float("nan"), float("inf"), None]
    right = [(t, key(), random.choice([t / 4, t / 4 - 1, *xs]), t + random.randint(-9, 9)) for t in stimes()]
    return {"a": rows(*left), "b": rows(*right)}


def diagram(*names: str) -> Checked:
    boxes = [Box("b" if len(names) == 1 else name, JOINS[name], ("a", "b"), (name,)) for name in names]
    return checked_diagram({"a": LEFT, "b": RIGHT}, boxes)


def matching(checked: Checked) -> Behind:
    """What SQL does behind the fold: the predicate, and the columns."""
    (box,) = checked.boxes
    typed = box.typed
    assert isinstance(typed, TypedBufferJoin)
    reading = Reading([checked.streams[s] for s in ("a", "b")], ("left", "right"))

    def pair(given: Row) -> Row | None:
        # Each side has stime, a source's sequence number, and three fields.
        half = [Row(v[0], v[2:], v[1:2]) for v in (given.values[:5], given.values[5:])]
        if reading.value(typed.predicate, *half) is not True:
            return None
        values = tuple(reading.value(expression, *half) for _, expression in typed.columns)
        return Row(given.stime, values, (*half[0].order, *half[1].order))

    return pair


@pytest.mark.parametrize("name", JOINS)
def test_what_buffers_hold_is_the_same_however_ranges_are_cut(name):
    found = 0
    for seed in range(15):
        random, checked = Random(seed), diagram(name)
        assert isinstance(checked.boxes[0].typed, TypedBufferJoin)
        keys = slice(0, 1 if name in BY_KEY else 0)
        outcome = assert_fold_agrees(
            checked,
            random_sources(random),
            *(-10, 80, random),
            lambda _, row, keys=keys: (row.values[keys], row.values),
            matching(checked),
        )
        found += len(outcome.outputs[name])
    assert found


@pytest.mark.parametrize("name", JOINS)
def test_a_bucket_costs_the_keys_that_it_touches_where_rows_stay_whatever_else_comes(name):
    checked = diagram(name)
    compiler = Compiler(checked, single=True, batch=False)
    compiler._needs()
    made = fold_box(checked.boxes[0], compiler)
    assert made is not None
    assert bool(made.layout.keys) == (name in BY_KEY)


@pytest.mark.spark
def test_buffers_are_the_same_everywhere(spark, tmp_path):
    checked = diagram("rows", "mixed", "time and values", "timeout", *BY_KEY)
    outcome = run_all(spark, tmp_path, checked, random_sources(Random(1)), 80, first=-10)
    assert all(outcome.outputs.values())


@pytest.mark.spark
def test_timeouts_and_sides_that_do_not_look_of_joins_within_stime(spark, tmp_path):
    def box(name: str, **options: Any) -> Box:
        return Box(name, Join(SAME, JoinBuffer(6), JoinBuffer(4), COLUMNS, **options), ("a", "b"), (name,))

    boxes = [
        box("short", timeout=3e-6),
        box("left looks", looks=(True, False)),
        box("right looks", looks=(False, True)),
        box("neither", looks=(False, False)),
    ]
    checked = checked_diagram({"a": LEFT, "b": RIGHT}, boxes)
    sources = {
        "a": rows((0, "k", 1, None), (10, "k", 2, None), (20, "k", 3, None)),
        "b": rows((2, "k", 0.5, None), (3, "k", 1.5, None), (8, "k", 2.5, None), (20, "k", 3.5, None)),
    }
    outcome = run_all(spark, tmp_path, checked, sources, 40, first=0)
    pairs = {name: [(row[1], row[2]) for row in found] for name, found in outcome.outputs.items()}
    assert pairs["short"] == [(1, 0.5), (2, 2.5), (3, 3.5)]
    assert pairs["left looks"] == [(2, 2.5)], "of equal stimes the left row comes first"
    assert pairs["right looks"] == [(1, 0.5), (1, 1.5), (3, 3.5)]
    assert pairs["neither"] == []
