"""What a run tells about itself while it goes on."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from auroral.edge.ledger import Ledger
from auroral.engine.footprint import Footprint

RATE_SECONDS = 10.0


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
class _Mark:
    at: float
    seconds: float
    rows_in: int
    rows_out: int


@dataclass(slots=True)
class Rates:
    """Rows in and out a second, over the last seconds. Times are those of a clock that is never set."""

    _marks: deque[_Mark] = field(default_factory=deque)

    def add(self, at: float, seconds: float, rows_in: int, rows_out: int) -> None:
        """A range was evaluated in so many seconds."""
        self._marks.append(_Mark(at, seconds, rows_in, rows_out))
        self._forget(at)

    def at(self, now: float) -> tuple[float, float]:
        self._forget(now)
        if not self._marks:
            return 0.0, 0.0
        seconds = min(RATE_SECONDS, max(now - self._marks[0].at, self._marks[-1].seconds, 0.001))
        return sum(m.rows_in for m in self._marks) / seconds, sum(m.rows_out for m in self._marks) / seconds

    def _forget(self, now: float) -> None:
        while self._marks and self._marks[0].at < now - RATE_SECONDS:
            self._marks.popleft()


@dataclass(frozen=True, slots=True)
class Doing:
    """The range [lo, hi) that is being evaluated, its rows at most, and since when (`time.monotonic`).

    `first` is for the first job of a process, which takes longest: the JVM is cold.
    """

    lo: int
    hi: int
    buckets: int
    rows: int
    began: float
    first: bool

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    def to_json(self) -> dict[str, Any]:
        stored = {name: getattr(self, name) for name in ("lo", "hi", "buckets", "rows", "first")}
        return stored | {"seconds": round(self.seconds, 3)}


@dataclass(frozen=True, slots=True)
class Status:
    """A run as a whole. Rows and buckets count from the run's beginning, rates over the last seconds.

    `lag` is how much stime lies between the newest row logged and the frontier, in microseconds. `waiting_for` has the
    inputs that must go on before the run can, with their boundaries; `doing` is the job that is running; `retries` counts
    jobs of this process that failed and were run again.
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
    waiting_for: Mapping[str, int | None] = field(default_factory=dict)
    doing: Doing | None = None
    retries: int = 0
    footprint: Footprint = field(default_factory=Footprint)

    def to_json(self) -> dict[str, Any]:
        counts = [{"stream": r.stream, "reason": r.reason.value, "count": r.count} for r in self.ledger.rows()]
        stored = {name: getattr(self, name) for name in self.__slots__}
        return stored | {
            "state": self.state.value,
            "ledger": counts,
            "notes": list(self.notes),
            "waiting_for": dict(self.waiting_for),
            "doing": None if self.doing is None else self.doing.to_json(),
            "footprint": asdict(self.footprint),
        }
