"""What failed when, from the events of a deployment: what was done to it, what happened to it, and when it was over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from auroral.reporting.times import length


@dataclass(frozen=True, slots=True)
class Incident:
    """`end` is None where it was not over."""

    who: str
    what: str
    begin: float
    end: float | None = None
    detail: str = ""
    point: bool = False
    """Something that happens, and does not last."""

    def to_json(self) -> dict[str, Any]:
        lasted = None if self.end is None else round(self.end - self.begin, 3)
        said = {"who": self.who, "what": self.what, "begin": self.begin, "end": self.end, "seconds": lasted}
        return {**said, "detail": self.detail}


_LASTING = {
    "killed": ("was killed", ("started",)),
    "failed": ("failed", ("started",)),
    # Whoever is started again knows of no cut.
    "cut off": ("was cut off from {peer}", ("healed", "started")),
    "paused": ("was paused", ("resumed", "started")),
    "input failed": ("its input failed", ("started",)),
    "full": ("took nothing in: its readers were too far behind", ("has room", "started")),
    "sink failing": ("{sink} could not be written", ("sink goes on", "started")),
    "not started": ("{core} could not be started", ("state", "started")),
}
"""What begins, in words, and what ends it."""
_POINTS = {
    "job failed": "a job of {stream} failed",
    "diverged": "replicas disagreed",
    "damaged": "something on disk was damaged",
    "gap": "{count} buckets of {stream} were lost",
    "lost from a full buffer": "{count} buckets of {stream} were lost from a full buffer",
    "history failing": "what is kept could not be written",
    "bound too short": "the bound is too short",
    "inputs far apart": "inputs were far apart",
    "metrics not served": "metrics could not be told",
}
_SAME = ("peer", "sink", "core")
"""What must be the same in the event that ends it, where both say it."""


def incidents_in(events: Iterable[Mapping[str, Any]]) -> list[Incident]:
    """In the order of their beginnings."""
    found: list[Incident] = []
    open_at: list[tuple[int, Mapping[str, Any]]] = []
    """Those that are not over: where in `found`, and what began them."""
    last: dict[str, Mapping[str, Any]] = {}
    for event in events:
        who, kind, at = str(event["process"]), str(event["event"]), float(event["at"])
        if kind == "started" and (before := last.get(who)) is not None and before["event"] not in _ENDS:
            found.append(_ended_without_a_word(who, float(before["at"]), at))
        left = []
        for place, began in open_at:
            if _over(began, event):
                found[place] = replace(found[place], end=at)
            else:
                left.append((place, began))
        open_at = left
        if (lasting := _LASTING.get(kind)) is not None:
            open_at.append((len(found), event))
            found.append(Incident(who, _words(lasting[0], event), at, detail=_detail(event)))
        elif (words := _POINTS.get(kind)) is not None:
            found.append(Incident(who, _words(words, event), at, at, _detail(event), point=True))
        last[who] = event
    return sorted(found, key=lambda one: one.begin)


def _ended_without_a_word(who: str, heard_of: float, started: float) -> Incident:
    """When it ended nobody knows: a process that has nothing to tell may have been well until a moment before."""
    away = f"away for {length(started - heard_of)} at most, since it was last heard of"
    return Incident(who, "had ended without a word, and was started again", started, started, away, point=True)


_ENDS = ("ending", "killed", "failed")
"""After these, a start is none that comes as a surprise."""


def _over(began: Mapping[str, Any], event: Mapping[str, Any]) -> bool:
    if event["process"] != began["process"] or event["event"] not in _LASTING[str(began["event"])][1]:
        return False
    return all(began[key] == event[key] for key in _SAME if key in began and key in event)


def _words(text: str, event: Mapping[str, Any]) -> str:
    for key in (*_SAME, "stream", "count"):
        text = text.replace(f"{{{key}}}", str(event.get(key, "?")))
    return text


def _detail(event: Mapping[str, Any]) -> str:
    return next(iter(str(event.get("detail", "")).splitlines()), "")
