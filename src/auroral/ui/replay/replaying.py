"""What the page shows of a recording at a time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from threading import Lock
from typing import Any

from auroral.ui.conditions import Status
from auroral.ui.noticing import Noticing
from auroral.ui.replay.recording import Recording
from auroral.ui.showing import RATE_OVER, Rates, shown
from auroral.ui.strips import Strips
from auroral.ui.timeline import ALARMS, DOWN, Timeline

_MARKS = 400
"""Bad news that are marked along the whole of it, at most."""


class Replaying:
    """Later times go on from where it is; for earlier ones it begins again."""

    def __init__(self, recording: Recording):
        self.recording = recording
        self._lock = Lock()
        self._lives = _lives(recording)
        self._happened = list(_happened(recording))
        self._begin()

    def _begin(self) -> None:
        self._at, self._next = self.recording.begin, 0
        self._strips, self._timeline = Strips(), Timeline(self.recording.stage.about)

    def facts(self) -> dict[str, Any]:
        """Of the whole."""
        # Of these alone: a row remembers the last of its marks, of whatever kind.
        bad = Timeline(self.recording.stage.about)
        bad.add(one for one in self.recording.moments if one.get("event") in ALARMS)
        rows = bad.to_json()
        marks = [[at, f"{row['process']}: {what}"] for row in rows for at, what, alarm in row["marks"] if alarm]
        return {"begin": self.recording.begin, "end": self.recording.end, "marks": sorted(marks)[:_MARKS]}

    def frame(self, at: float) -> dict[str, Any]:
        at = min(max(at, self.recording.begin), self.recording.end)
        stage, rates = self.recording.stage, Rates()
        # For what is counted since.
        shown(stage, self._status(at - RATE_OVER), at - RATE_OVER, rates)
        found = shown(stage, self._status(at), at, rates)
        with self._lock:
            self._go_to(at)
            return {**found, "timeline": self._timeline.to_json(), "squares": self._strips.since(0)}

    def status(self, at: float) -> Status:
        """Of all processes, at that time."""
        return self._status(min(max(at, self.recording.begin), self.recording.end))

    def _status(self, at: float) -> dict[str, Mapping[str, Any] | None]:
        found: dict[str, Mapping[str, Any] | None] = {}
        for process, (times, said) in self._lives.items():
            n = bisect_right(times, at) - 1
            stale = self.recording.stale_after is not None and at - times[n] > self.recording.stale_after
            found[process] = None if n < 0 or stale else said[n]
        return found

    def _go_to(self, at: float) -> None:
        if at < self._at:
            self._begin()
        while self._next < len(self._happened) and self._happened[self._next]["at"] <= at:
            moment = self._happened[self._next]
            if "delivery" in moment:
                self._strips.add([moment["delivery"]])
            else:
                self._timeline.add([moment])
            self._next += 1
        self._at = at


def _happened(recording: Recording) -> Iterator[Mapping[str, Any]]:
    """Deliveries and events, also what only shows in what processes said: that is looked through once, and not whenever somebody goes back."""
    noticing = Noticing()
    for moment in recording.moments:
        if "status" in moment:
            yield from noticing.noticed([], {moment["process"]: moment["status"]}, float(moment["at"]))
        else:
            yield moment


def _lives(recording: Recording) -> dict[str, tuple[list[float], list[Mapping[str, Any] | None]]]:
    """Of each process, what it said and from when on; None while it was not there."""
    found: dict[str, tuple[list[float], list[Mapping[str, Any] | None]]] = {
        process: ([float("-inf")], [None]) for process in recording.processes
    }
    over = set[str]()
    for moment in recording.moments:
        process, event = str(moment.get("process")), moment.get("event")
        times, said = found.get(process, ([], []))
        if "status" in moment and process not in over:
            said.append(moment["status"])
        elif event == "started":
            over.discard(process)
            said.append({})
        elif event in DOWN:
            # What it says while it ends, or is said of it, does not bring it back.
            over.add(process)
            said.append(None)
        else:
            continue
        times.append(float(moment["at"]))
    return found
