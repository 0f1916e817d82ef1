"""A batch run over a piece of the input gives what one over all of it gives from there on, on random diagrams.

HYPOTHESIS_PROFILE=long tries many more.
"""

import os
from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from auroral.engine.batch import BatchResult, Piece, SourceRows, fold_states, run_batch
from auroral.engine.compile import compile_program
from auroral.node.ranges import Limits, piece_start
from engine.diagrams import Case, random_case
from engine.evaluators import Outcome, assert_same, read_files, shown, source_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]

# With and without folds, windows before and behind them, joins, drops and functions; each longer than its horizon.
DEFAULT = [14, 198, 362, 431, 577]


def seeds() -> list[int]:
    if os.environ.get("HYPOTHESIS_PROFILE") != "long":
        return DEFAULT
    limits = {seed: Limits.of(random_case(seed).checked) for seed in range(200)}
    # A fold over windows of a fold is never verified in pieces.
    return [seed for seed, limit in limits.items() if limit.restorable or not limit.folds]


def given(case: Case, begin: int) -> dict[str, SourceRows]:
    """Rows from `begin` on alone: those before it are pruned."""
    edges = {edge.name.removesuffix("@source"): edge for edge in compile_program(case.checked, batch=True).sources}
    return {
        name: SourceRows([source_table(edges[name], [row for row in rows if row.stime >= begin])])
        for name, rows in case.sources.items()
    }


def outcome(result: BatchResult, since: int, before: dict[tuple[str, str], int]) -> Outcome:
    outputs = {
        name: [row for row in shown(read_files(files)) if row[0] >= since] for name, files in result.outputs.items()
    }
    return Outcome(outputs, dict(Counter(result.counts) - Counter(before)))


def states_at(spark: "SparkSession", case: Case, limits: Limits, at: int, random: Random, folder: Path) -> bytes | None:
    """Fold state at `at`, in one go or by way of an earlier state, as verifications one after the other have it."""
    if at == case.first:
        return None
    piece = Piece(case.first, case.first, folds_from=case.first)
    between = random.choice(range(case.first, at, case.bucket))
    if between > case.first:
        states = fold_states(spark, case.checked, given(case, case.first), piece, between, folder / "between")
        begin = max(case.first, between - limits.past)
        piece = Piece(begin, begin, folds_from=between, states=states)
    return fold_states(spark, case.checked, given(case, piece.begin), piece, at, folder / "at")


@pytest.mark.parametrize("seed", seeds())
def test_a_piece_gives_what_the_whole_gives_from_there_on(spark: "SparkSession", tmp_path: Path, seed: int) -> None:
    random, case = Random(-seed), random_case(seed)
    limits = Limits.of(case.checked)
    flush = random.random() < 0.5
    since = random.choice(range(case.until - 4 * case.bucket, case.until, case.bucket))
    at, begin = piece_start(case.first, since, limits)
    assert limits.past < since - case.first or seed not in DEFAULT
    everything = given(case, case.first)
    whole = run_batch(spark, case.checked, everything, case.until, flush, tmp_path / "whole")
    before = run_batch(spark, case.checked, everything, since, False, tmp_path / "before")
    piece = Piece(begin, since)
    if limits.folds:
        piece = Piece(begin, since, at, states_at(spark, case, limits, at, random, tmp_path))
    part = run_batch(spark, case.checked, given(case, begin), case.until, flush, tmp_path / "part", piece=piece)
    assert_same(outcome(whole, since, dict(before.counts)), outcome(part, since, {}))
