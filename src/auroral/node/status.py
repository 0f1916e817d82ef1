"""What a run tells about itself while it goes on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from auroral.edge.ledger import Ledger


class State(StrEnum):
    STARTING = "starting"
    """The engine is brought to where the run stopped before."""
    WAITING = "waiting"
    """All closed buckets are evaluated."""
    EVALUATING = "evaluating"
    STOPPING = "stopping"
    STOPPED = "stopped"
    """Stopped on request; the run folder can be resumed."""
    FINISHED = "finished"
    """All input has ended and everything is evaluated."""
    FAILED = "failed"

    @property
    def is_active(self) -> bool:
        return self not in (State.STOPPED, State.FINISHED, State.FAILED)


@dataclass(frozen=True, slots=True)
class Progress:
    """One evaluated range: [lo, hi) of stime, its rows, and how long its job and its commit took."""

    number: int
    lo: int
    hi: int
    buckets: int
    rows_in: int
    rows_out: Mapping[str, int]
    seconds: float
    at: str

    @property
    def rows_per_second(self) -> float:
        return self.rows_in / self.seconds if self.seconds else 0.0

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"rows_per_second": self.rows_per_second}


@dataclass(frozen=True, slots=True)
class Status:
    """A run as a whole. Rows and buckets count from the run's beginning, rates over the last seconds.

    `lag` is how much stime lies between the newest row logged and the frontier, in microseconds.
    """

    state: State
    frontier: int | None
    rows_logged: Mapping[str, int]
    rows_in: int
    rows_out: Mapping[str, int]
    buckets: int
    lag: int | None
    in_rate: float
    out_rate: float
    ledger: Ledger
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        counts = [{"stream": r.stream, "reason": r.reason.value, "count": r.count} for r in self.ledger.rows()]
        stored = {name: getattr(self, name) for name in self.__slots__}
        return stored | {"state": self.state.value, "ledger": counts, "notes": list(self.notes)}
