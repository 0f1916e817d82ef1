"""An engine for tests of the runner alone: it passes the rows of one input on, and counts what it is asked."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq

from auroral.engine.batch import BatchResult, Piece, SourceRows
from auroral.engine.foldstates import FoldStates
from auroral.engine.keyedstate import content_of, entry, state_of
from auroral.model.checking import Checked
from auroral.node import pieces, verify
from auroral.node.evaluator import Evaluated
from auroral.node.report import Report
from auroral.node.runfolder import RunFolder
from auroral.node.runner import Runner
from auroral.node.source import Source

B = 1_000_000
"""The bucket of all diagrams here, in microseconds."""


@dataclass
class PassOn:
    """Gives the rows of every input to every output, and keeps as its state how many there were."""

    outputs: tuple[str, ...] = ("out",)
    fields: tuple[str, ...] = ("ts", "v")
    calls: list[tuple[int, int]] = field(default_factory=list)
    restarts: int = 0
    seen: int = 0
    loaded: list[int] = field(default_factory=list)
    before: Callable[[int, int], None] = lambda lo, hi: None

    def run(self, lo: int, hi: int, sources: Mapping[str, Source]) -> Evaluated:
        self.before(lo, hi)
        self.calls.append((lo, hi))
        tables = [source.read(lo, hi).select(["__stime", *self.fields]) for source in sources.values()]
        rows = pa.concat_tables(tables).sort_by([("__stime", "ascending"), ("v", "ascending")])
        self.seen += rows.num_rows
        return Evaluated(dict.fromkeys(self.outputs, rows), {("box", "late"): rows.num_rows}, rows.num_rows)

    def restart(self) -> None:
        self.restarts += 1

    known: FoldStates = field(default_factory=lambda: counted(0))

    @property
    def states(self) -> FoldStates:
        self.known = counted(self.seen, self.known)
        return self.known

    def load(self, states: FoldStates) -> None:
        self.known, self.seen = states.indexed(B), count_in(states)
        self.loaded.append(self.seen)


def counted(rows: int, before: FoldStates | None = None) -> FoldStates:
    """The state of one fold: one key has seen so many rows, others none. What changes of it is little, so that snapshots are of that."""
    state = before.of("box@state") if before else state_of((f"{i}".encode(), b"nn") for i in range(30)).indexed(B)
    return FoldStates({"box@state": state.updated({b"k": entry(None, rows)})})


def count_in(states: FoldStates) -> int:
    rows: int = content_of(states.of("box@state").entries[b"k"])
    return rows


def runner_in(folder: Path, checked: Checked, engine: PassOn, flush: bool = False, **options: object) -> Runner:
    claimed = RunFolder.claim(folder, checked, {}, {}, flush)
    return Runner(claimed, lambda: engine, **options)  # type: ignore[arg-type]


def rows(*stimes: float) -> pa.Table:
    """Rows at these seconds of stime; `v` numbers them."""
    ts = pa.array([round(s * B) for s in stimes], pa.int64())
    return pa.table({"ts": ts, "v": pa.array(range(len(stimes)), pa.int64())})


def passed_on(
    session: None,
    checked: Checked,
    sources: Mapping[str, SourceRows],
    until: int,
    flush: bool,
    scratch: Path,
    piece: Piece | None = None,
) -> BatchResult:
    """What `PassOn` gives, in one batch."""
    tables = [table for rows in sources.values() for table in rows.tables]
    tables += [pq.ParquetFile(file).read() for rows in sources.values() for file in rows.files]
    together = pa.concat_tables(tables)
    stimes = together.column("__stime").to_numpy()
    together = together.filter(pa.array((stimes < until) & (stimes >= (piece.since if piece else 0))))
    scratch.mkdir(parents=True)
    pq.write_table(together, scratch / "rows.parquet")
    outputs = {output.stream: [scratch / "rows.parquet"] for output in checked.diagram.outputs}
    return BatchResult(outputs, {("box", "late", 0): together.num_rows})


def verified(folder: Path, since_last: bool = False) -> Report:
    """Verify a run that `PassOn` evaluated; the state of its folds, where it has any, is that of one row."""
    with (
        patch.object(verify, "run_batch", passed_on),
        patch.object(pieces, "fold_states", lambda *_: counted(1).to_bytes()),
    ):
        return verify.verify_folder(None, folder, since_last)


__all__ = ["B", "PassOn", "count_in", "counted", "passed_on", "rows", "runner_in", "verified"]
