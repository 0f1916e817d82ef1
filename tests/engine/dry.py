"""Jobs without Spark: each statement is put together, and nothing is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from unittest.mock import MagicMock

import pyarrow as pa
import pytest

from auroral.engine import jobs
from auroral.engine.applying import ApplyBox, Statement
from auroral.engine.arrowrows import empty
from auroral.engine.compile import Program, Step
from auroral.engine.fetching import Fetch
from auroral.engine.relations import SliceEdge, kept_name
from auroral.engine.slice_reads import slots


@dataclass(frozen=True, slots=True)
class _Applied:
    """An `apply` box whose function is not called."""

    box: ApplyBox

    def frames(self, statement: Statement, lo: int, hi: int) -> Mapping[str, Any]:
        for relation in self.box.relations:
            statement(f"SELECT * FROM {relation} WHERE __stime < {hi}L")
        return {self.box.output: MagicMock(), self.box.rejected: MagicMock()}


def statements(program: Program, lo: int, hi: int) -> list[str]:
    """The text of all statements of a job for [lo, hi), over nothing that was kept."""
    spark = MagicMock()
    dry = replace(program, steps=tuple(map(_without_calls, program.steps)))
    leaves = {kept_name(edge): jobs.Leaf(edge.columns) for edge in program.edges}
    slices = [edge for edge in program.kept if isinstance(edge, SliceEdge)]
    texts = {slot: text for edge in slices for slot, text in slots(edge, lo, hi, program.single).items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs._Job, "_fetched", _nothing)
        jobs.run_program(spark, dry, leaves, lo, hi, None if program.single else lambda _: Path(mkdtemp()), texts)
    return [call.args[0] for call in spark.sql.call_args_list]


def _without_calls(step: Step) -> Step:
    return replace(step, python=_Applied(step.python)) if isinstance(step.python, ApplyBox) else step


def _nothing(job: jobs._Job, wanted: Sequence[Fetch]) -> list[pa.Table]:
    if wanted:
        job.statement("\nUNION ALL\n".join(one.text for one in wanted))
    return [empty(one.columns) for one in wanted]
