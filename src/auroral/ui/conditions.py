"""In which condition each stream and each replica is, in the words of the page, from what `auroral status` says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from auroral.dpc.assembly import CLIENT
from auroral.dpc.states import State
from auroral.dpc.transitions import RECOVERING

Status = Mapping[str, Mapping[str, Any] | None]


class Condition(StrEnum):
    """Each has a colour, a mark and a word on the page."""

    STABLE = "stable"
    TENTATIVE = "tentative"
    STABILISING = "stabilising"
    BLOCKED = "blocked"
    SILENT = "silent"
    FAILED = "failed"
    UNKNOWN = "unknown"
    """It runs on another machine, or nothing was heard yet."""


_OF_STATES = {
    str(State.STABLE): Condition.STABLE,
    str(State.UP_FAILURE): Condition.TENTATIVE,
    str(State.STABILIZATION): Condition.STABILISING,
    str(State.FAILURE): Condition.BLOCKED,
    RECOVERING: Condition.STABILISING,
}
_BEST_FIRST = (
    *(Condition.STABLE, Condition.TENTATIVE, Condition.STABILISING, Condition.BLOCKED),
    *(Condition.SILENT, Condition.FAILED),
)

_ILL = (Condition.BLOCKED, Condition.SILENT, Condition.FAILED)


def of_state(state: str) -> Condition:
    """As a replica advertises it."""
    return _OF_STATES.get(state, Condition.UNKNOWN)


def worst(conditions: Iterable[Condition]) -> Condition:
    known = [one for one in conditions if one in _BEST_FIRST]
    return max(known, key=_BEST_FIRST.index, default=Condition.UNKNOWN)


def best(conditions: Iterable[Condition]) -> Condition:
    """What whoever reads it gets: replicas are chosen by their states."""
    known = [one for one in conditions if one in _BEST_FIRST]
    return min(known, key=_BEST_FIRST.index, default=Condition.UNKNOWN)


@dataclass(frozen=True, slots=True)
class Replica:
    """Of a query, on a node."""

    node: str
    condition: Condition
    words: str
    """Why, where there is something to say."""
    reads: Mapping[str, Mapping[str, str]]
    """By stream, from whom and in which lane."""
    misses: frozenset[str] = frozenset()
    """Of those, what nothing comes of."""

    def to_json(self) -> dict[str, Any]:
        reads = {stream: dict(chosen) for stream, chosen in self.reads.items()}
        return {"node": self.node, "condition": self.condition, "words": self.words, "reads": reads}


def replica(query: str, node: str, status: Status) -> Replica:
    if node not in status:
        return Replica(node, Condition.UNKNOWN, "on another machine: look at it there", {})
    found = status[node]
    if found is None:
        return Replica(node, Condition.FAILED, "down", {})
    for core, why in found.get("not_started", {}).items():
        if core.rpartition("@")[0] == query:
            return Replica(node, Condition.FAILED, f"cannot start: {why.splitlines()[0]}", {})
    outputs = {stream: one for stream, one in found.get("outputs", {}).items() if one["query"] == query}
    words = sorted({one["state"] for one in outputs.values()} & {RECOVERING})
    waits = [f"waits for {one['waits_for']}" for one in outputs.values() if one.get("waits_for")]
    misses = frozenset(stream for one in outputs.values() for stream in one.get("misses", ()))
    waits += [f"does not get {', '.join(sorted(misses))}"] if misses else []
    reads = {stream: chosen for one in outputs.values() for stream, chosen in one.get("reads", {}).items()}
    condition = worst(of_state(one["state"]) for one in outputs.values())
    return Replica(node, condition, "; ".join([*(word.lower() for word in words), *waits]), reads, misses)


@dataclass(frozen=True, slots=True)
class Flow:
    """A stream: its condition, in a few words where there is more to say, and what is known of how it goes."""

    condition: Condition
    words: str = ""
    frontier: int | None = None
    """The first bucket that is not stable."""
    rows: int | None = None
    """That came since its process began, for rates."""

    def to_json(self) -> dict[str, Any]:
        return {"condition": self.condition, "words": self.words, "frontier": self.frontier, "rows": self.rows}


def arrival(stream: str, condition: Condition, replicas: Iterable[Replica]) -> Condition:
    """Of a stream where a query reads it. What none of those that read it get does not arrive, however well it is where it is made; where that is
    ill, it is as it is there."""
    readers = [one for one in replicas if stream in one.reads]
    lost = bool(readers) and all(stream in one.misses for one in readers)
    return Condition.FAILED if lost and condition not in _ILL else condition


def arrival_at_client(stream: str, condition: Condition, status: Status) -> Condition:
    lost = stream in (_at_client(stream, status) or {}).get("misses", ())
    return Condition.FAILED if lost and condition not in _ILL else condition


def input_flow(found: Mapping[str, Any] | None, behind: float | None, patience: float) -> Flow:
    """Of a source. `behind`: seconds that its boundary is behind the clock, where it follows that; after `patience` it counts as silent."""
    if found is None:
        return Flow(Condition.FAILED, "down")
    if "closed" not in found:
        return Flow(Condition.UNKNOWN, "starting", rows=found.get("rows"))
    rows, frontier = found.get("rows"), found["closed"]
    if found.get("failed"):
        return Flow(Condition.FAILED, str(found["failed"]).splitlines()[0], frontier, rows)
    if found["silent"]:
        return Flow(Condition.SILENT, "paused", frontier, rows)
    if found["paused"]:
        return Flow(Condition.BLOCKED, "full", frontier, rows)
    if found["ended"]:
        return Flow(Condition.STABLE, "ended", frontier, rows)
    if behind is not None and behind > patience:
        return Flow(Condition.SILENT, f"for {behind:.0f} s", frontier, rows)
    return Flow(Condition.STABLE, "", frontier, rows)


def made_flow(stream: str, nodes: Sequence[str], status: Status) -> Flow:
    """Of what a query gives, as those who read it get it."""
    here = [node for node in nodes if node in status]
    said = [one for node in here if (one := ((status[node] or {}).get("outputs", {})).get(stream))]
    condition = best(of_state(one["state"]) for one in said)
    if not said and here:
        condition = Condition.FAILED
    words = "" if said or not here else "no replica runs"
    frontier = max((one["frontier"] for one in said), default=None)
    rows = max((one["computed"] for one in said if "computed" in one), default=None)
    at_client = _at_client(stream, status)
    if at_client is not None:
        frontier = at_client.get("frontier", frontier)
        left = at_client.get("tentative_now", 0)
        if left:
            words = f"{left} tentative bucket{'s'[: left > 1]}"
        if left and condition in (Condition.STABLE, Condition.UNKNOWN):
            # What is to be corrected has not come yet.
            condition = Condition.STABILISING if said else Condition.TENTATIVE
        elif condition is Condition.UNKNOWN and "frontier" in at_client:
            condition = Condition.STABLE
    return Flow(condition, words, frontier, rows)


def _at_client(stream: str, status: Status) -> Mapping[str, Any] | None:
    found: Mapping[str, Any] | None = (status.get(CLIENT) or {}).get("streams", {}).get(stream)
    return found
