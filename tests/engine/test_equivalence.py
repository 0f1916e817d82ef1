"""Reference, bucketed Spark and batch Spark agree bit for bit on random diagrams, rows, cuts and partitions.

A failing case is run again with AURORAL_SEEDS=<seed>; HYPOTHESIS_PROFILE=long runs many more.
"""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from typing import Any

import pytest

from auroral.engine.session import lane
from engine.diagrams import random_case
from engine.evaluators import assert_same, by_batch, by_buckets, by_reference

pytestmark = pytest.mark.spark

DEFAULT, LONG = 14, 400


def seeds() -> list[int]:
    if named := os.environ.get("AURORAL_SEEDS"):
        first, _, last = named.partition("-")
        return list(range(int(first), int(last or first) + 1))
    return list(range(LONG if os.environ.get("HYPOTHESIS_PROFILE") == "long" else DEFAULT))


@pytest.fixture(scope="module")
def partitioned(spark: Any) -> dict[int, Any]:
    return {n: lane(spark, {"spark.sql.shuffle.partitions": str(n)}) for n in (1, 7)}


@pytest.mark.parametrize("seed", seeds())
def test_three_evaluators_agree(partitioned: dict[int, Any], tmp_path: Path, seed: int) -> None:
    random = Random(-seed)
    case = random_case(seed)
    expected = by_reference(case.checked, case.sources, case.until, case.functions)
    whole = by_batch(partitioned[random.choice([1, 7])], case.checked, case.sources, case.until, tmp_path / "batch")
    assert_same(expected, whole, case.loose())
    for name, limit, most in (("small", 10_000, 4), ("large", 0, 2), ("mixed", random.choice([4, 12]), 3)):
        spark, cuts = partitioned[random.choice([1, 7])], case.cuts(random, most)
        found = by_buckets(spark, case.checked, case.sources, cuts, tmp_path / name, small_limit=limit)
        # Between evaluations on Spark nothing is loose.
        assert_same(whole, found)
