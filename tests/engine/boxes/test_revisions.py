"""Rows that revise others, on Spark: the same as in the reference, whatever the cuts; see tests/reference/test_revisions.py for that."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from auroral.dpc.fragments import leading_to
from auroral.engine.compile import compile_program
from auroral.model.checking import check
from auroral.model.xml import read_diagram
from engine import revision_file
from engine.evaluators import assert_same, by_batch, by_buckets, by_reference
from engine.revising import BUCKET, BUCKETS, diagram, in_mode, random_sources, with_the_edge_of_the_history

pytestmark = pytest.mark.spark

SEED = 10
FIRST, UNTIL = -2 * BUCKET, BUCKETS * BUCKET
AT = 4 * BUCKET


def test_three_evaluators_agree_in_both_modes(spark: Any, tmp_path: Path) -> None:
    random = Random(SEED)
    built, sources = diagram(True, brief=True), random_sources(random)
    checked = built.check()
    del sources["c"]
    sources["a"] = with_the_edge_of_the_history(sources["a"], AT)
    expected = by_reference(checked, sources, UNTIL)
    marks = {str(row[-1]).split()[0] for name in ("means", "pairs", "shown") for row in expected.outputs[name]}
    assert all(rows for rows in expected.outputs.values()) and marks == {"None", "delete", "insert"}
    assert {reason for _, reason in expected.ledger} == {"unmatched", "unreadable", "expired", "ahead"}
    before = set(spark.sparkContext._jsc.getPersistentRDDs().keySet())
    assert_same(expected, by_batch(spark, checked, sources, UNTIL, tmp_path / "batch"))
    assert set(spark.sparkContext._jsc.getPersistentRDDs().keySet()) <= before, "what a job holds goes with it"
    # What the jobs of ranges have in common with the batch's is tried by other tests: one form of them, in the other mode, is enough here.
    upstream = check(in_mode(built.build(), "UPSTREAM"))
    cuts = [FIRST, AT, UNTIL]
    assert_same(expected, by_buckets(spark, upstream, sources, cuts, tmp_path / "small"))


def test_a_file_of_old_gives_the_same_on_spark(spark: Any, tmp_path: Path) -> None:
    """No field names a row there: its stime does."""
    checked = leading_to(check(read_diagram(revision_file.FILE).diagram).runnable(), ["totals", "most"])
    sources, until = {"ticks": revision_file.ticks()}, revision_file.UNTIL
    expected = by_reference(checked, sources, until)
    for rows in expected.outputs.values():
        assert {str(row[-1]).split()[0] for row in rows} == {"None", "delete", "insert"}
    assert {reason for _, reason in expected.ledger} == {"unmatched", "unreadable", "expired"}
    assert_same(expected, by_batch(spark, checked, sources, until, tmp_path / "batch"))
    cuts = [0, 15 * revision_file.SECOND, until]
    assert_same(expected, by_buckets(spark, checked, sources, cuts, tmp_path / "small"))


def test_upstream_the_history_is_where_rows_come_in() -> None:
    built = diagram(True).build()
    kept = {mode: compile_program(check(in_mode(built, mode))).kept for mode in ("UPSTREAM", "DOWNSTREAM")}
    names = {mode: {edge.name for edge in edges} for mode, edges in kept.items()}
    assert names["DOWNSTREAM"] - names["UPSTREAM"] == {"shown", "both"}
    assert names["UPSTREAM"] - names["DOWNSTREAM"] == set()
