"""What `verify` found, to read and for machines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from auroral.node.compare import Difference
from auroral.node.userfiles import FileReport


@dataclass(frozen=True, slots=True)
class OutputReport:
    """One output below its frontier, from `since` on where that is given: rows on both sides, and where they differ."""

    stream: str
    frontier: int | None
    rows_run: int
    rows_batch: int
    only_run: int
    only_batch: int
    differences: tuple[Difference, ...]
    since: int | None = None

    @property
    def ok(self) -> bool:
        return self.frontier is not None and not self.only_run and not self.only_batch

    def __str__(self) -> str:
        verdict = "equal" if self.ok else "DIFFERENT"
        if self.frontier is None:
            verdict = "NOTHING COMPARED: no bucket was ever closed"
        rows = f"{self.rows_run} rows in the run, {self.rows_batch} in the batch run"
        part = (
            f"below stime {self.frontier}" if self.since is None else f"from stime {self.since} up to {self.frontier}"
        )
        return f"output {self.stream}: {verdict}; {rows}, {part}"


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """One sum that must come out: `found` against `expected`."""

    what: str
    found: int
    expected: int

    @property
    def ok(self) -> bool:
        return self.found == self.expected

    def __str__(self) -> str:
        return f"{self.what}: {self.found}" if self.ok else f"{self.what}: {self.found}, NOT {self.expected}"


@dataclass(frozen=True, slots=True)
class Report:
    """What `verify` found. `ok` only if something was compared and nothing differed.

    Where only the piece from `since` on was compared, `rests_on` says what everything before it rests on.
    """

    folder: str
    outputs: tuple[OutputReport, ...]
    ledger: tuple[LedgerLine, ...]
    notes: tuple[str, ...] = ()
    since: int | None = None
    rests_on: str | None = None
    files: tuple[FileReport, ...] = ()

    @property
    def ok(self) -> bool:
        judged = (
            [o.ok for o in self.outputs] + [line.ok for line in self.ledger] + [f.ok is not False for f in self.files]
        )
        return bool(self.outputs) and all(judged)

    def to_json(self) -> dict[str, Any]:
        return {
            "folder": self.folder,
            "ok": self.ok,
            "since": self.since,
            "rests_on": self.rests_on,
            "outputs": [
                {
                    "stream": o.stream,
                    "ok": o.ok,
                    "frontier": o.frontier,
                    "rows_run": o.rows_run,
                    "rows_batch": o.rows_batch,
                    "only_run": o.only_run,
                    "only_batch": o.only_batch,
                    "differences": [
                        {"side": d.side, "stime": d.stime, "row": _json(d.row), "count": d.count} for d in o.differences
                    ],
                }
                for o in self.outputs
            ],
            "ledger": [
                {"what": line.what, "found": line.found, "expected": line.expected, "ok": line.ok}
                for line in self.ledger
            ],
            "files": [{"stream": f.stream, "path": f.path, "ok": f.ok, "what": f.what} for f in self.files],
            "notes": list(self.notes),
        }

    @property
    def text(self) -> str:
        lines = []
        if self.since is not None:
            lines.append(f"compared from stime {self.since} on; what lies before rests on {self.rests_on}")
        for output in self.outputs:
            lines.append(str(output))
            lines += [f"    {difference}" for difference in output.differences]
            more = output.only_run + output.only_batch - sum(d.count for d in output.differences)
            lines += [f"    and {more} more"] if more else []
        lines += [str(file) for file in self.files]
        lines += ["ledger:", *(f"    {line}" for line in self.ledger)]
        lines += [f"note: {note}" for note in self.notes]
        if self.ok:
            lines.append("verified: " + self._verdict)
        else:
            lines.append("NOT verified: " + self._faults)
        return "\n".join(lines)

    @property
    def _faults(self) -> str:
        if not self.outputs:
            return "the diagram has no outputs to compare"
        faults = [
            f"nothing of output {o.stream} was compared"
            if o.frontier is None
            else f"output {o.stream} is not what the batch run gives"
            for o in self.outputs
            if not o.ok
        ]
        faults += [str(file) for file in self.files if file.ok is False]
        wrong = sum(not line.ok for line in self.ledger)
        return "; ".join([*faults, *([f"sums in the ledger that do not come out: {wrong}"] if wrong else [])])

    @property
    def _verdict(self) -> str:
        equal = "the run's stable output equals one batch run over its source logs"
        if self.since is None:
            return equal
        if all(output.frontier == self.since for output in self.outputs):
            return f"nothing is new since the last verification, up to stime {self.since}, which found the run equal"
        return f"from stime {self.since} on, {equal}"


def _json(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value if isinstance(value, bool | int | str | type(None)) else str(value) for name, value in row.items()
    }
