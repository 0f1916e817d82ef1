"""An engine for tests of the runner alone: it passes the rows of one input on, and counts what it is asked."""

import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from auroral.model.checking import Checked
from auroral.node.evaluator import Evaluated
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

    def dump(self) -> bytes:
        return pickle.dumps(self.seen)

    def load(self, state: bytes) -> None:
        self.seen = pickle.loads(state)
        self.loaded.append(self.seen)


def runner_in(folder: Path, checked: Checked, engine: PassOn, flush: bool = False, **options: object) -> Runner:
    claimed = RunFolder.claim(folder, checked, {}, {}, flush)
    return Runner(claimed, lambda: engine, **options)  # type: ignore[arg-type]


def rows(*stimes: float) -> pa.Table:
    """Rows at these seconds of stime; `v` numbers them."""
    ts = pa.array([round(s * B) for s in stimes], pa.int64())
    return pa.table({"ts": ts, "v": pa.array(range(len(stimes)), pa.int64())})


__all__ = ["B", "PassOn", "rows", "runner_in"]
