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
from engine.diagrams import Case, random_case
from engine.evaluators import assert_same, by_batch, by_buckets, by_reference

pytestmark = pytest.mark.spark

DEFAULT, LONG = 14, 400
RANGES = {"small": 4, "large": 2, "mixed": 3}
"""At most so many."""

GENERATED = (8, 29, 34)
"""Among them sums of floating numbers and of decimals with 38 digits, windows, slices, joins and user aggregates."""


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
    mixed = random.choice([4, 12])
    assert_agree(partitioned, tmp_path, random_case(seed), random, {"small": 10_000, "large": 0, "mixed": mixed})


@pytest.mark.parametrize("seed", GENERATED)
@pytest.mark.usefixtures("generated_code")
def test_they_agree_where_spark_generates_code(partitioned: dict[int, Any], tmp_path: Path, seed: int) -> None:
    """Small jobs never do."""
    assert_agree(partitioned, tmp_path, random_case(seed), Random(-seed), {"large": 0})


def assert_agree(partitioned: dict[int, Any], folder: Path, case: Case, random: Random, limits: dict[str, int]) -> None:
    """Of the reference, the batch run, and a run in ranges for each of the limits up to which jobs are small."""
    expected = by_reference(case.checked, case.sources, case.until, case.functions)
    whole = by_batch(partitioned[random.choice([1, 7])], case.checked, case.sources, case.until, folder / "batch")
    assert_same(expected, whole, case.loose())
    for name, limit in limits.items():
        spark, cuts = partitioned[random.choice([1, 7])], case.cuts(random, RANGES[name])
        found = by_buckets(spark, case.checked, case.sources, cuts, folder / name, small_limit=limit)
        # Between evaluations on Spark nothing is loose.
        assert_same(whole, found)
