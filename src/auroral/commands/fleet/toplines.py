"""What `auroral top` shows of a deployment, a line for each stream of each process, from what `auroral status` says."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from auroral.dpc.assembly import CLIENT
from auroral.node.fleet.deployed import Deployed
from auroral.node.fleet.metrics.collecting import source_state
from auroral.ui.conditions import Condition, arrival_at_client, input_flow, made_flow, of_state
from auroral.ui.showing import Rates

Status = Mapping[str, Mapping[str, Any] | None]


@dataclass(frozen=True, slots=True)
class Line:
    process: str
    kind: str
    stream: str = ""
    state: str = "up"
    condition: Condition = Condition.STABLE
    frontier: int | None = None
    """The first bucket that is not stable."""
    behind: float | None = None
    """Seconds that the frontier is behind the clock, or, of files with times of their own, behind the sources."""
    tentative: int = 0
    rate: float | None = None
    """Rows a second: taken in, or computed."""
    latency: float | None = None
    """Of an output: how long a new bucket usually takes to the client."""
    delay: float | None = None
    """Of an output: how much later than usual a new bucket came at most."""
    bound: float | None = None
    """X."""
    memory: int | None = None
    """Bytes, of the process; on its first line."""
    words: str = ""

    @property
    def over(self) -> bool:
        return self.delay is not None and self.bound is not None and self.delay >= self.bound

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


_BADNESS = tuple(Condition)
"""The best first; what is unknown is looked at last."""

SORTS: dict[str, Callable[[Line], Any]] = {
    "process": lambda line: 0,
    "state": lambda line: -_BADNESS.index(line.condition) if line.condition is not Condition.UNKNOWN else 1,
    "behind": lambda line: -(line.behind or 0.0),
    "tentative": lambda line: -line.tentative,
    "rate": lambda line: -(line.rate or 0.0),
    "delay": lambda line: -(line.delay or 0.0),
    "memory": lambda line: -(line.memory or 0),
}
"""By which lines can be sorted; those that are equal stay as the data flows."""


def lines_of(deployed: Deployed, status: Status, rates: Rates, now: float | None = None) -> list[Line]:
    """In the order in which data flows: sources, nodes, the client, and the others."""
    now = time.time() if now is None else now
    found: list[Line] = []
    order = [*deployed.fragments.sources, *deployed.nodes, CLIENT]
    for name in sorted(status, key=lambda name: order.index(name) if name in order else len(order)):
        mine = list(_lines(name, status[name], deployed, status, rates, now))
        memory = (status[name] or {}).get("rss")
        found += [Line(**(asdict(line) | {"memory": memory if n == 0 else None})) for n, line in enumerate(mine)]
    found += [
        Line(name, "", state="elsewhere", condition=Condition.UNKNOWN, words=f"at {deployed.where(name)}")
        for name in deployed.elsewhere
    ]
    return found


def chosen(lines: Sequence[Line], sort: str = "process", text: str = "", reverse: bool = False) -> list[Line]:
    """Those that have the text anywhere, in any case, sorted."""
    wanted = text.casefold()
    found = [
        one for one in lines if wanted in f"{one.process} {one.kind} {one.stream} {one.state} {one.words}".casefold()
    ]
    found = sorted(found, key=SORTS[sort])
    return found[::-1] if reverse else found


def _lines(
    name: str, said: Mapping[str, Any] | None, deployed: Deployed, status: Status, rates: Rates, now: float
) -> Iterator[Line]:
    if said is None:
        kind = "source" if name in deployed.fragments.sources else "node" if name in deployed.nodes else name
        away = name in deployed.in_programs
        yield Line(name, kind, state="not there" if away else "DOWN", condition=Condition.FAILED)
        return
    match said.get("kind"):
        case "source":
            yield _source(name, said, deployed, rates, now, status)
        case "node":
            yield from _node(name, said, deployed, rates, now, status)
        case "client":
            yield from _client(name, said, deployed, now, status)
        case "catalog":
            does = next(
                (
                    f"{verb} {said[key]}"
                    for key, verb in (("moving", "moves"), ("changing", "changes"))
                    if said.get(key)
                ),
                "",
            )
            yield Line(name, "catalog", state=does or ("away" if said.get("away") else "up"))
        case _:
            yield Line(name, name)


def _source(name: str, said: Mapping[str, Any], deployed: Deployed, rates: Rates, now: float, status: Status) -> Line:
    rate = rates.rate(name, said.get("rows"), now)
    if "closed" not in said:
        return Line(name, "source", name, "starting", Condition.UNKNOWN, rate=rate)
    behind = _behind(said["closed"], deployed, status, now)
    patience = deployed.settings.silence if deployed.agreed.origin is None else math.inf
    flow = input_flow(said, behind, patience + deployed.settings.bucket)
    left = ", ".join(f"{count} {reason}" for reason, count in said.get("ledger", {}).items())
    words = "; ".join(filter(None, (flow.words, f"left out: {left}" if left else "")))
    state = source_state(said)
    if flow.condition is Condition.SILENT:
        state = "silent"
    return Line(name, "source", name, state, flow.condition, said["closed"], behind, rate=rate, words=words)


def _node(
    name: str, said: Mapping[str, Any], deployed: Deployed, rates: Rates, now: float, status: Status
) -> Iterator[Line]:
    for stream, one in said["outputs"].items():
        words = f"waits for {one['waits_for']}" if one.get("waits_for") else ""
        if one.get("misses"):
            words = f"does not get {', '.join(one['misses'])}"
        yield Line(
            *(name, "node", stream, one["state"], of_state(one["state"]), one["frontier"]),
            behind=_behind(one["frontier"], deployed, status, now),
            tentative=one["tentative"],
            rate=rates.rate(f"{name} {stream}", one.get("computed"), now),
            words=words,
        )
    for core, why in said.get("not_started", {}).items():
        query = core.rpartition("@")[0]
        yield Line(name, "node", query, "cannot start", Condition.FAILED, words=why.splitlines()[0])
    if not said["outputs"] and not said.get("not_started"):
        yield Line(name, "node")


def _client(name: str, said: Mapping[str, Any], deployed: Deployed, now: float, status: Status) -> Iterator[Line]:
    if not said["streams"]:
        yield Line(name, "client", state="up")
    for stream, one in said["streams"].items():
        made = made_flow(stream, [node for node in deployed.nodes if _makes(status.get(node), stream)], status)
        condition = arrival_at_client(stream, made.condition, status)
        bound = deployed.agreed.bounds.get(stream, math.inf)
        frontier = one.get("frontier")
        delays = deployed.in_time and "delay_new" in one
        yield Line(
            *(name, "client", stream, str(condition), condition, frontier),
            behind=None if frontier is None else _behind(frontier, deployed, status, now),
            tentative=one.get("tentative_now", 0),
            latency=one["proc"] if delays and deployed.agreed.origin is None else None,
            delay=one["delay_new"] if delays else None,
            bound=bound if bound < math.inf else None,
            words=made.words,
        )
    for sink in said.get("sinks", ()):
        behind = sink["behind"] * deployed.settings.bucket
        where = f"{sink['stream']} to {sink['sink']}"
        if sink["failing"] is None:
            yield Line(name, "client", where, "up", behind=behind)
        else:
            yield Line(
                name, "client", where, "failing", Condition.FAILED, behind=behind, words=sink["failing"].splitlines()[0]
            )


def _makes(said: Mapping[str, Any] | None, stream: str) -> bool:
    return said is not None and stream in said.get("outputs", {})


def _behind(frontier: int, deployed: Deployed, status: Status, now: float) -> float:
    bucket, first = deployed.settings.bucket, deployed.agreed.first or 0
    if deployed.agreed.origin is not None:
        # What was recorded has a present of its own.
        closed = [one["closed"] for one in status.values() if one and "closed" in one]
        return max(0, max(closed, default=0) - frontier) * bucket
    return max(0.0, now - (first + frontier) * bucket)
