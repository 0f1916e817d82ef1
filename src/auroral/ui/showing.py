"""What the page shows at a moment, from what processes say then (`auroral status`): the same whether they say it now or said it once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from auroral.dpc.assembly import CLIENT
from auroral.ui.conditions import (
    Condition,
    Flow,
    Status,
    arrival,
    arrival_at_client,
    input_flow,
    made_flow,
    replica,
    worst,
)
from auroral.ui.ledger import ledger
from auroral.ui.stage import Stage

RATE_OVER = 4.0
"""Seconds."""


@dataclass(slots=True)
class Rates:
    """Rows a second, from counts that begin again with each life of a process."""

    seen: dict[str, list[tuple[float, int]]] = field(default_factory=dict)

    def rate(self, stream: str, rows: int | None, now: float) -> float | None:
        if rows is None:
            self.seen.pop(stream, None)
            return None
        counts = self.seen.setdefault(stream, [])
        if counts and counts[-1][1] > rows:
            counts.clear()
        counts.append((now, rows))
        while len(counts) > 2 and counts[1][0] <= now - RATE_OVER:
            counts.pop(0)
        (begin, first), (end, last) = counts[0], counts[-1]
        return None if end == begin else (last - first) / (end - begin)


def shown(stage: Stage, status: Status, now: float, rates: Rates) -> dict[str, Any]:
    """All but what happened before: squares and the timeline."""
    flows = _flows(stage, status, now)
    groups, away = {}, dict[str, list[str]]()
    for part in stage.parts:
        replicas = [replica(part.name, node, status) for node in part.nodes]
        mine = worst(flows[stream].condition for stream in part.streams)
        arrives = {stream: arrival(stream, flows[stream].condition, replicas) for stream in part.inputs}
        for stream in part.inputs:
            if arrives[stream] is not flows[stream].condition:
                away.setdefault(stream, []).append(part.name)
        groups[part.name] = {
            "condition": mine,
            "replicas": [one.to_json() for one in replicas],
            "arrives": arrives,
        }
    outputs = _outputs(stage, status, flows)
    for stream, output in outputs.items():
        if output["condition"] is not flows[stream].condition:
            away.setdefault(stream, []).append(CLIENT)
    streams = {stream: flow.to_json() | {"away": away.get(stream, [])} for stream, flow in flows.items()}
    for stream, one in streams.items():
        one["rate"] = rates.rate(stream, one.pop("rows"), now)
    down = [name for name, found in status.items() if found is None and name not in stage.in_programs]
    trouble = {}
    if stage.elsewhere:
        trouble = {"trouble": f"The outputs are at {stage.elsewhere}: auroral ui shows them there."}
    return {
        **trouble,
        "now": now,
        "picture": stage.picture["id"],
        "folder": stage.where,
        "running": len(down) < len(status),
        "down": down,
        "first": stage.first,
        "streams": streams,
        "groups": groups,
        "outputs": outputs,
        "ledger": ledger(status),
    }


def _flows(stage: Stage, status: Status, now: float) -> dict[str, Flow]:
    found: dict[str, Flow] = {}
    for stream in stage.sources:
        if stream not in status:
            found[stream] = Flow(Condition.UNKNOWN, "on another machine")
            continue
        said, behind = status[stream], None
        if stage.first is not None and stage.follows_clock and said is not None and "closed" in said:
            behind = now - (stage.first + said["closed"] + 1) * stage.bucket
        found[stream] = input_flow(said, behind, stage.patience.get(stream, 0.0))
    for part in stage.parts:
        found |= {stream: made_flow(stream, part.nodes, status) for stream in part.streams}
    # A stream that only an earlier version read has nobody to tell of it.
    return {one["name"]: found.get(one["name"], Flow(Condition.UNKNOWN)) for one in stage.picture["streams"]}


def _outputs(stage: Stage, status: Status, flows: Mapping[str, Flow]) -> dict[str, Any]:
    at_client = (status.get(CLIENT) or {}).get("streams", {})
    return {
        stream: {
            "condition": arrival_at_client(stream, flows[stream].condition, status),
            "bound": stage.bounds.get(stream),
            "usual": at_client.get(stream, {}).get("proc", 0.0),
            "delay_new": at_client.get(stream, {}).get("delay_new", 0.0),
            "tentative": at_client.get(stream, {}).get("tentative_now", 0),
            "reads": at_client.get(stream, {}).get("reads", {}).get(stream, {}),
            "sources": list(sources),
        }
        for stream, sources in stage.computed_from.items()
    }
