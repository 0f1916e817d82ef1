"""What the page shows of one box or one stream when somebody asks: as `auroral explain`, `auroral tail` and `auroral why` have it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from auroral.commands.describing import Described, describe
from auroral.commands.fleet.watch import stories
from auroral.commands.sqlpage import step_texts
from auroral.dpc.assembly import CLIENT
from auroral.model.errors import unknown_name
from auroral.model.regions import members
from auroral.model.summary import window_words
from auroral.model.windows import Window
from auroral.node.fleet.control import NoAnswer
from auroral.node.fleet.deployed import DeploymentError
from auroral.node.fleet.processes import Fleet
from auroral.ui.conditions import Status
from auroral.ui.picture import Group

ROWS = 20
"""The last of a stream that are shown."""
_FORM = "small"
"""Of the SQL: that of most buckets of a live run."""


def box_details(groups: Sequence[Group], name: str, status: Status) -> dict[str, Any]:
    for group in groups:
        checked = group.fragment.checked
        for box in group.boxes:
            if box.name != name:
                continue
            # Boxes that share a table are evaluated as one.
            whole = next((b for b in checked.boxes if name in members(b.box.spec, b.box.name)), None)
            described = next((d for d in describe(checked) if whole is not None and d.name == whole.box.name), None)
            texts = step_texts(checked, _FORM)
            return {
                "name": name,
                "facts": [] if described is None else _facts(described),
                "parameters": _parameters(box.spec),
                "inputs": list(box.inputs),
                "outputs": [{"stream": s, "fields": str(checked.streams[s].schema)} for s in box.outputs],
                "runs_on": list(group.nodes),
                "counts": _counts(name, group, status),
                "sql": texts.get(name if whole is None else whole.box.name, ""),
            }
    raise DeploymentError(str(unknown_name("box", name, [box.name for group in groups for box in group.boxes])))


def _facts(box: Described) -> list[tuple[str, str]]:
    return [
        ("type", box.type_text),
        ("class", box.box_class),
        ("horizon", box.horizon_text),
        ("ports", box.ports),
        ("stime of a result", box.result_stime),
        ("order key", box.order_key),
        ("repeatable", box.said(box.repeatable)),
        ("on an error", box.on_error),
    ]


def _parameters(spec: Any) -> list[tuple[str, str]]:
    if not is_dataclass(spec):
        return []
    found = ((one.name.replace("_", " "), getattr(spec, one.name)) for one in fields(spec))
    return [(name, text) for name, value in found if (text := _said(value))]


def _said(value: Any) -> str:
    match value:
        case None | "" | ():
            return ""
        case bool():
            return "yes" if value else "no"
        case Enum():
            return str(value.value)
        case _ if isinstance(value, Window):
            return window_words(value)
        case (str() as name, given) if isinstance(value, tuple):
            return f"{name} = {_said(given)}"
        case tuple():
            return ", ".join(filter(None, map(_said, value)))
        case _ if is_dataclass(value) and type(value).__str__ is object.__str__:
            return ", ".join(f"{name} {text}" for name, text in _parameters(value))
        case _ if callable(value):
            return str(getattr(value, "__name__", type(value).__name__))
        case _:
            return str(value)


def _counts(box: str, group: Group, status: Status) -> list[tuple[str, str]]:
    """Of the box, what was left out; of its nodes, which run all boxes of the query in one job, the jobs."""
    found = []
    for node in group.nodes:
        said = status.get(node) or {}
        for what, count in said.get("left_out", {}).items():
            name, _, reason = what.partition(": ")
            if name == box:
                found.append((f"left out on {node}", f"{count} rows {reason}"))
        if "jobs" in said:
            jobs, seconds = said["jobs"], said["seconds_in_jobs"]
            text = ", ".join(f"{jobs[lane]} {lane} in {seconds[lane]:.1f} s" for lane in jobs)
            found.append((f"jobs of {node}", text))
    return found


def stream_details(fleet: Fleet, groups: Sequence[Group], name: str) -> dict[str, Any]:
    deployed = fleet.deployed
    checked = dict.fromkeys(deployed.fragments.sources, deployed.checked)
    checked |= {s: g.fragment.checked for g in groups for s in (*g.fragment.inputs, *g.fragment.streams)}
    if name not in checked:
        raise DeploymentError(str(unknown_name("stream", name, list(checked))))
    try:
        why = stories(fleet, name)
    except DeploymentError:
        why = {}
    found: dict[str, Any] = {
        "name": name,
        "fields": str(checked[name].streams[name].schema),
        "why": why,
        "output": name in deployed.fragments.client,
        "rows": [],
    }
    if name in deployed.fragments.client and CLIENT in deployed.here:
        try:
            found["rows"] = _last_rows(fleet.ask(CLIENT, "tail", stream=name))
        except NoAnswer as error:
            found["trouble"] = str(error)
    return found


def fields_of(groups: Sequence[Group], stream: str) -> str:
    """Nothing where they are not known."""
    found = (group.fragment.checked.streams.get(stream) for group in groups)
    return next((str(one.schema) for one in found if one is not None), "")


def _last_rows(deliveries: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The newest first, of what holds now of each bucket."""
    newest = {one["bucket"]: one for one in deliveries}
    found: list[dict[str, Any]] = []
    for bucket in sorted(newest, reverse=True):
        one = newest[bucket]
        for row in reversed(one["rows"]):
            shown = {key: value for key, value in row.items() if key != "__stime"}
            found.append({"bucket": bucket, "kind": one["kind"], "row": shown})
        if len(found) >= ROWS:
            break
    return found[:ROWS]
