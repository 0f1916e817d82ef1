"""What `verify` found, to read and for machines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from auroral.node.compare import Difference


@dataclass(frozen=True, slots=True)
class OutputReport:
    """One output below its frontier: rows on both sides, and where they differ."""

    stream: str
    frontier: int | None
    rows_run: int
    rows_batch: int
    only_run: int
    only_batch: int
    differences: tuple[Difference, ...]

    @property
    def ok(self) -> bool:
        return self.frontier is not None and not self.only_run and not self.only_batch

    def __str__(self) -> str:
        verdict = "equal" if self.ok else "DIFFERENT"
        if self.frontier is None:
            verdict = "NOTHING COMPARED: no bucket was ever closed"
        rows = f"{self.rows_run} rows in the run, {self.rows_batch} in the batch run"
        return f"output {self.stream}: {verdict}; {rows}, below stime {self.frontier}"


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
    """What `verify` found. `ok` only if something was compared and nothing differed."""

    folder: str
    outputs: tuple[OutputReport, ...]
    ledger: tuple[LedgerLine, ...]
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return bool(self.outputs) and all(output.ok for output in self.outputs) and all(line.ok for line in self.ledger)

    def to_json(self) -> dict[str, Any]:
        return {
            "folder": self.folder,
            "ok": self.ok,
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
            "notes": list(self.notes),
        }

    @property
    def text(self) -> str:
        lines = []
        for output in self.outputs:
            lines.append(str(output))
            lines += [f"    {difference}" for difference in output.differences]
            more = output.only_run + output.only_batch - sum(d.count for d in output.differences)
            lines += [f"    and {more} more"] if more else []
        lines += ["ledger:", *(f"    {line}" for line in self.ledger)]
        lines += [f"note: {note}" for note in self.notes]
        if self.ok:
            lines.append("verified: the run's stable output equals one batch run over its source logs")
        else:
            lines.append("NOT verified" + ("" if self.outputs else ": the diagram has no outputs to compare"))
        return "\n".join(lines)


def _json(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value if isinstance(value, bool | int | str | type(None)) else str(value) for name, value in row.items()
    }
