"""Reference, bucketed Spark and batch Spark agree bit for bit on random diagrams, rows, cuts and partitions.

Some cases are always the same, others are drawn anew each time. A failing one is made smaller, then printed with a blob that
replays it; HYPOTHESIS_PROFILE=long draws many more.
"""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from auroral.engine import jobs
from auroral.engine.compile import compile_program
from auroral.engine.evaluate import Limits
from auroral.engine.judging import sql_expressions
from auroral.engine.relations import SliceEdge
from auroral.engine.session import lane
from auroral.model.aggregates import TypedAggregate
from auroral.model.boxes.aggregate_typed import TypedAggregateBox
from auroral.model.types import DOUBLE
from engine.diagrams import MOST_BOXES, Case, random_case
from engine.evaluators import assert_same, by_batch, by_buckets, by_reference
from engine.random_rows import MOST_ROWS

FIXED = (6, 146, 23, 115, 170, 110, 292)
"""They have every box in them."""
DRAWN = 400 if os.environ.get("HYPOTHESIS_PROFILE") == "long" else 5
"""The first is always the smallest, which has hardly anything in it."""
RANGES = {"small": 4, "large": 2, "mixed": 3}
"""At most so many."""

GENERATED = (130, 154, 0)
"""Among them sums of floating numbers and of decimals with 38 digits, windows, slices, joins and user aggregates."""

EVERY_BOX = {
    *("filter", "map", "union", "sunion", "soutput", "delay", "apply", "join", "random_drop", "window_drop", "SQL"),
    *("TypedStimeAggregate", "TypedEventTimeAggregate", "TypedLandmark", "TypedFirstAligned", "TypedRuns"),
    *("TypedValueWindows", "TypedTupleWindows", "TypedBufferJoin"),
    *("bsort", "wsort", "waitfor", "resample", "xsection"),
}
LESS_COMMON_TYPES = {"byte", "short", "date", "binary", "string(4)"}


@pytest.fixture(scope="module")
def partitioned(spark: Any) -> dict[int, Any]:
    return {n: lane(spark, {"spark.sql.shuffle.partitions": str(n)}) for n in (1, 7)}


@pytest.mark.spark
@pytest.mark.parametrize("seed", FIXED)
def test_three_evaluators_agree(partitioned: dict[int, Any], tmp_path: Path, seed: int) -> None:
    assert_agree_on_all_paths(partitioned, tmp_path, random_case(seed), Random(-seed), RANGES)


@pytest.mark.spark
@settings(
    max_examples=DRAWN,
    deadline=None,
    # Also where Hypothesis takes its profile for CI: what is drawn once only is found once only.
    derandomize=False,
    print_blob=True,
    report_multiple_bugs=False,
    # Without the explanation, which tries many more.
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)
@given(
    seed=st.integers(0, 2**32 - 1),
    boxes=st.integers(1, MOST_BOXES),
    rows=st.integers(0, MOST_ROWS),
    ranges=st.integers(1, 4),
)
def test_they_agree_on_new_cases(
    partitioned: dict[int, Any], tmp_path_factory: pytest.TempPathFactory, seed: int, boxes: int, rows: int, ranges: int
) -> None:
    """Fewer boxes, rows and ranges of the same seed are a part of the case, which is how it becomes smaller."""
    most = {name: min(ranges, usual) for name, usual in RANGES.items()}
    case = random_case(seed, boxes, rows)
    assert_agree_on_all_paths(partitioned, tmp_path_factory.mktemp("drawn"), case, Random(-seed), most)


@pytest.mark.spark
@pytest.mark.parametrize("seed", GENERATED)
@pytest.mark.usefixtures("generated_code")
def test_they_agree_where_spark_generates_code(partitioned: dict[int, Any], tmp_path: Path, seed: int) -> None:
    """Small jobs never do."""
    assert_agree(partitioned, tmp_path, random_case(seed), Random(-seed), {"large": Limits(0, 0)}, RANGES)


def assert_agree_on_all_paths(
    partitioned: dict[int, Any], folder: Path, case: Case, random: Random, ranges: dict[str, int]
) -> None:
    limits = {"small": Limits(), "large": Limits(0, 0), "mixed": random.choice([Limits(4, 12), Limits(2, 30)])}
    assert_agree(partitioned, folder, case, random, limits, ranges)


def assert_agree(
    partitioned: dict[int, Any],
    folder: Path,
    case: Case,
    random: Random,
    limits: dict[str, Limits],
    ranges: dict[str, int],
) -> None:
    """Of the reference, the batch run, and a run in ranges for each of the limits up to which jobs are small and middling."""
    expected = by_reference(case.without_sql, case.sources, case.until, case.functions)
    whole = by_batch(partitioned[random.choice([1, 7])], case.checked, case.sources, case.until, folder / "batch")
    assert_same(expected, whole, case.loose())
    for name, chosen in limits.items():
        spark, cuts = partitioned[random.choice([1, 7])], case.cuts(random, ranges[name])
        # Of what is in memory, relations of more rows than that are handed to Spark each by itself.
        with patch.object(jobs, "FEW_ROWS", jobs.FEW_ROWS if name == "small" else 4):
            found = by_buckets(spark, case.checked, case.sources, cuts, folder / name, limits=chosen)
        # Between evaluations on Spark nothing is loose.
        assert_same(whole, found)


def boxes_of(*seeds: int) -> set[str]:
    found = set()
    for checked in (random_case(seed).checked for seed in seeds):
        found |= {box.box.spec.type for box in checked.boxes} | {type(box.typed).__name__ for box in checked.boxes}
        found |= {"SQL"} if sql_expressions(checked) else set()
    return found


def calls_of(*seeds: int) -> list[TypedAggregate]:
    boxes = [box.typed for seed in seeds for box in random_case(seed).checked.boxes]
    return [call for box in boxes if isinstance(box, TypedAggregateBox) for call in box.functions]


def test_what_is_in_the_cases_that_are_always_the_same() -> None:
    """A change to how cases are drawn gives other ones."""
    assert boxes_of(*FIXED) >= EVERY_BOX
    assert {str(arg.type) for call in calls_of(*FIXED) for arg in call.args} >= LESS_COMMON_TYPES
    assert boxes_of(*GENERATED) >= {"TypedStimeAggregate", "TypedEventTimeAggregate", "TypedJoin"}
    summed = [call.args[0].type for call in calls_of(*GENERATED) if call.function == "sum"]
    assert DOUBLE in summed and any(type.precision == 38 for type in summed)
    assert any(call.user is not None for call in calls_of(*GENERATED))
    programs = [compile_program(random_case(seed).checked) for seed in GENERATED]
    assert any(isinstance(edge, SliceEdge) for program in programs for edge in program.kept)
