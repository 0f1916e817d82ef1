"""What happened to each process over time, as bars of conditions and marks, from the events that `auroral events` lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from auroral.ui.conditions import Condition, of_state, worst

MOST_BARS, MOST_MARKS = 400, 200
"""Of each row."""
DOWN = ("killed", "ending", "failed", "seen down")
"""Events with which a process is away."""
_MARKS = {
    "started": "started",
    "killed": "killed",
    "failed": "failed",
    "cut off": "cut off from {peer}",
    "healed": "reaches {peer} again",
    "paused": "paused",
    "resumed": "goes on",
    "input failed": "{detail}",
    "input": "{detail}",
    "full": "takes nothing in: its readers are too far behind",
    "has room": "takes rows in again",
    "reads": "reads {stream} from {producers}",
    "asks": "asks {peer} for a turn to correct",
    "grants": "lets {peer} correct, and answers meanwhile",
    "refuses": "does not let {peer} correct yet",
    "gives back": "gives its turn back to {peer}",
    "fault": "{detail}",
    "left": "{core} left",
    "not started": "{core} cannot start",
    "job failed": "a job of {stream} failed",
    "diverged": "{detail}",
    "damaged": "{detail}",
    "gap": "{count} buckets of {stream} lost",
    "lost from a full buffer": "{count} buckets of {stream} lost from a full buffer",
    "sink failing": "{sink} fails",
    "sink goes on": "{sink} goes on",
    "history failing": "{detail}",
    "bound too short": "{detail}",
    "inputs far apart": "{detail}",
}
_TURNS = {"paused": Condition.SILENT, "full": Condition.BLOCKED, "input failed": Condition.FAILED}
ALARMS = frozenset({"killed", "failed", "cut off", "paused", "input failed", "not started", "job failed"}) | {
    *("diverged", "damaged", "gap", "lost from a full buffer", "sink failing", "bound too short", "seen down"),
    *("full", "history failing"),
}
"""Bad news."""


@dataclass(slots=True)
class Bar:
    condition: Condition
    begin: float
    end: float | None = None
    """None for what still holds."""

    def to_json(self) -> list[Any]:
        return [self.condition, round(self.begin, 3), None if self.end is None else round(self.end, 3)]


@dataclass(slots=True)
class Row:
    """Of one process."""

    bars: list[Bar] = field(default_factory=list)
    marks: list[tuple[float, str, bool]] = field(default_factory=list)
    """When, what, and whether it is bad news."""
    states: dict[tuple[str, str], Condition] = field(default_factory=dict)
    """By replica and stream, since it was started."""
    most: int = MOST_BARS

    def turn(self, condition: Condition, at: float) -> None:
        if self.bars and self.bars[-1].condition is condition and self.bars[-1].end is None:
            return
        if self.bars:
            self.bars[-1].end = at
        self.bars.append(Bar(condition, at))
        del self.bars[: -self.most]

    def mark(self, at: float, what: str, alarm: bool) -> None:
        self.marks.append((round(at, 3), what, alarm))
        del self.marks[:-MOST_MARKS]


@dataclass(slots=True)
class Timeline:
    """`about` says what each process is, by its name; those come in its order, and nobody else."""

    about: Mapping[str, str]
    rows: dict[str, Row] = field(default_factory=dict)
    changes: int = 0
    most: int = MOST_BARS
    """Bars of each row."""
    ended: Condition = Condition.FAILED
    """The condition of a process that was ended as it should be."""

    def add(self, events: Iterable[Mapping[str, Any]]) -> None:
        for event in events:
            if event.get("process") in self.about:
                self._one(self.rows.setdefault(str(event["process"]), Row(most=self.most)), event)
                self.changes += 1

    def _one(self, row: Row, event: Mapping[str, Any]) -> None:
        kind, at = str(event["event"]), float(event["at"])
        if (words := _MARKS.get(kind)) is not None:
            row.mark(at, words.format_map(_Said(event)), kind in ALARMS)
        if kind in DOWN:
            row.turn(self.ended if kind == "ending" else Condition.FAILED, at)
        elif kind == "state":
            row.states[str(event["core"]), str(event["stream"])] = of_state(str(event["state"]))
            row.turn(worst(row.states.values()), at)
        elif kind == "left":
            row.states = {key: state for key, state in row.states.items() if key[0] != event["core"]}
            if row.states:
                row.turn(worst(row.states.values()), at)
        elif kind in _TURNS:
            row.turn(_TURNS[kind], at)
        elif kind in ("resumed", "has room", "started", "seen up"):
            if kind == "started":
                row.states.clear()
            # A node tells of its states by itself, when they change.
            computes = self.about[str(event["process"])] == "node"
            row.turn(worst(row.states.values()) if computes else Condition.STABLE, at)

    def to_json(self) -> list[dict[str, Any]]:
        return [
            {"process": name, "is": what, "bars": [bar.to_json() for bar in row.bars], "marks": row.marks}
            for name, what in self.about.items()
            if (row := self.rows.get(name)) is not None
        ]


class _Said(dict[str, Any]):
    def __init__(self, event: Mapping[str, Any]):
        super().__init__({key: str(value).splitlines()[0] if value != "" else "" for key, value in event.items()})

    def __missing__(self, key: str) -> str:
        return "?"
