"""The engine as the runner sees it: a range and the logs of its sources go in, output tables come out."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from auroral.engine.arrowrows import canonical
from auroral.engine.edgelog import STABLE, Segment, parquet_segment
from auroral.engine.evaluate import MIDDLE_BYTES, Engine
from auroral.engine.foldstates import FoldStates
from auroral.model.checking import Checked
from auroral.model.parquet_layout import stored_layout
from auroral.node.account import Counts
from auroral.node.source import Source

Session: TypeAlias = Any
"""A SparkSession. Only the engine may import pyspark, so that it has no name here."""


@dataclass(frozen=True, slots=True)
class Evaluated:
    """Rows of each output in canonical order, `__stime` first; the engine's counts; and how many rows went in."""

    outputs: Mapping[str, pa.Table]
    counts: Counts
    rows_in: int


class Evaluator(Protocol):
    """Ranges must follow one another, from the first one or from `restart` on."""

    def run(self, lo: int, hi: int, sources: Mapping[str, Source]) -> Evaluated: ...

    def restart(self) -> None:
        """Forget all that was read. Fold state stays."""

    @property
    def states(self) -> FoldStates:
        """Of all folds, at the end of the ranges so far."""
        ...

    def load(self, states: FoldStates) -> None: ...


class EngineEvaluator:
    """The engine on Spark. `folder` is for what may be deleted."""

    def __init__(self, session: Session, checked: Checked, folder: Path):
        self._session = session
        self._checked = checked
        # Spark takes a relative name to be of the folder that it was started in, which this process may have left.
        self._folder = folder.absolute()
        self._numbers = 0
        self._engine = self._new()

    def run(self, lo: int, hi: int, sources: Mapping[str, Source]) -> Evaluated:
        rows_in, together = 0, sum(source.rows_between(lo, hi) for source in sources.values())
        for stream, source in sources.items():
            segment = self._segment(source, lo, hi, together <= self._engine.limits.middle)
            rows_in += segment.rows
            self._engine.offer(stream, segment)
        evaluation = self._engine.evaluate(lo, hi)
        edges = {edge.name: edge for edge in self._engine.small.outputs}
        outputs = {}
        for stream, segment in evaluation.outputs.items():
            table = segment.load(edges[stream])
            outputs[stream] = table if segment.table is not None else canonical(table)
            for folder in {Path(path).parent for path, _ in segment.files}:
                shutil.rmtree(folder)
        return Evaluated(outputs, evaluation.counts, rows_in)

    def restart(self) -> None:
        states = self._engine.states
        self._engine.log.clear()
        self._engine = self._new()
        self._engine.states = states

    @property
    def states(self) -> FoldStates:
        return self._engine.states

    def load(self, states: FoldStates) -> None:
        self._engine.states = states.indexed(self._engine.bucket)

    def _new(self) -> Engine:
        self._numbers += 1
        return Engine(self._session, self._checked, self._folder / f"edges-{self._numbers}")

    def _segment(self, source: Source, lo: int, hi: int, in_memory: bool) -> Segment:
        if in_memory and (rows := source.read(lo, hi)).nbytes <= MIDDLE_BYTES:
            return Segment(lo, hi, STABLE, rows.num_rows, rows)
        whole = source.whole_files(lo, hi)
        files = [self._linked(part.path) for part in whole]
        rest = source.read_but(lo, hi, whole)
        if not files and rest.num_rows <= self._engine.limits.small:
            return Segment(lo, hi, STABLE, rest.num_rows, rest)
        if rest.num_rows:
            files.append(self._path())
            pq.write_table(rest, files[-1], **stored_layout(rest.schema))
        return parquet_segment(lo, hi, STABLE, files)

    def _linked(self, path: Path) -> Path:
        """The same file under a name that the engine may remove."""
        link = self._path()
        try:
            os.link(path, link)
        except OSError:
            # Not every file system has links.
            shutil.copyfile(path, link)
        return link

    def _path(self) -> Path:
        self._numbers += 1
        folder = self._folder / "sources"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{self._numbers:08}.parquet"
