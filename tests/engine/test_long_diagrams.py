"""A diagram of many boxes is one statement of many steps."""

from __future__ import annotations

import pytest

import auroral as au
from auroral.engine.sqltext import DEEPEST, Cte, inlined, relation, select
from auroral.model.checking import check
from auroral.reference.rows import Row
from engine.evaluators import assert_same, by_batch, by_reference

SECOND = 1_000_000


@pytest.mark.spark
def test_a_chain_of_many_aggregates(spark, tmp_path):
    """Most steps has the batch run: its sums take values of any magnitude."""
    net = au.diagram("long", bucket="1s")
    stream = net.input("in", "ts timestamp, x double", stime="ts")
    for number in range(12):
        stream = stream.aggregate(f"step {number}", {"x": "sum(x)"}, window="1s")
    stream.output()
    rows = [Row(i * SECOND // 3, (None, 0.1 * i), (i,)) for i in range(9)]
    checked, until = check(net.build()), 3 * SECOND
    expected = by_reference(checked, {"in": rows}, until)
    assert len(expected.outputs["step 11"]) == 3
    assert_same(expected, by_batch(spark, checked, {"in": rows}, until, tmp_path))


def test_steps_are_not_put_into_one_another_without_end():
    ctes = [Cte("0", "SELECT 1 AS x")]
    ctes += [Cte(f"{i}", select(["x"], relation(f"{i - 1}"))) for i in range(1, 200)]
    text = inlined(ctes, select(["x"], relation("199")))
    depth = deepest = 0
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        deepest = max(deepest, depth)
    # The parentheses of a step in WITH are one more.
    assert DEEPEST // 2 < deepest <= DEEPEST + 1
    assert text.count("SELECT") == 201
