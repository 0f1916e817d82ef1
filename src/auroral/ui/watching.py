"""Looks at a deployment again and again, while anybody watches, and keeps what the page shows of it.

Blocking: whoever serves the page calls it in a thread.
"""

from __future__ import annotations

import logging
import math
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from auroral.dpc.assembly import CLIENT, node_of
from auroral.model.errors import AuroralError
from auroral.node.fleet.control import NoAnswer
from auroral.node.fleet.deployed import SPARK, Deployed, agreed_in
from auroral.node.fleet.eventlog import EventReader
from auroral.node.fleet.processes import Fleet
from auroral.node.fleet.versions import version_of
from auroral.node.runfolder import RunFolder
from auroral.node.storeddiagram import load_diagram
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
from auroral.ui.controls.acting import offered
from auroral.ui.ledger import ledger
from auroral.ui.picture import Group, picture
from auroral.ui.strips import Strips
from auroral.ui.timeline import Timeline

_log = logging.getLogger(__name__)
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


@dataclass(slots=True)
class Watched:
    """One deployment. `live` is what the page shows, but for the squares, of which readers ask for what is new."""

    folder: Path
    controls: bool = False
    """Whether it is shown what an operator can do."""
    changing: Lock = field(default_factory=Lock)
    """Held by whoever changes what is shown, or reads it."""
    strips: Strips = field(default_factory=Strips)
    picture: dict[str, Any] = field(default_factory=dict)
    live: dict[str, Any] = field(default_factory=dict)
    fleet: Fleet | None = None
    groups: Sequence[Group] = ()
    _written: object = None
    _run: str = ""
    """Of the deployment that is in the folder."""
    _squares_of: str = ""
    """Another one whenever squares begin anew."""
    _timeline: Timeline = field(default_factory=lambda: Timeline({}))
    _events: EventReader | None = None
    _rates: Rates = field(default_factory=Rates)
    _delivered: tuple[int, int] = (0, 0)
    """The process that is the client, and the last of its deliveries that was heard of."""
    _up: dict[str, bool] = field(default_factory=dict)
    _reads: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    _looking: Lock = field(default_factory=Lock)

    def look(self) -> None:
        """Once. What is wrong is said on the page, and looked at again the next time."""
        with self._looking:
            try:
                self._look()
            except (AuroralError, OSError) as error:
                self._tell(str(error))
            except Exception as error:  # noqa: BLE001  whatever it was: who watches must not wait for news that never come
                if self.live.get("trouble") != (said := f"this page came upon an error of its own: {error!r}"):
                    _log.exception("the page cannot show the deployment, and tries again")
                self._tell(said)

    def _tell(self, trouble: str) -> None:
        with self.changing:
            self.live = {**self.live, "trouble": trouble, "running": False, "now": time.time()}
        # It may be another one when it is back.
        self._written = None

    def _look(self) -> None:
        self._look_up()
        assert self.fleet is not None and self._events is not None
        now, status = time.time(), self.fleet.status()
        delivered, events = self._deliveries(), self._events.new()
        with self.changing:
            self.strips.add(delivered)
            self._happened(events, status, now)
            self.live = self._shown(status, now)

    def _look_up(self) -> None:
        """What is deployed, where that is not known or has changed."""
        files = [self.folder / name for name in ("deployment.json", "layout.json", "versions.json")]
        written = tuple((s.st_mtime_ns, s.st_ino) if (s := _stat(file)) else None for file in files)
        if self.fleet is not None and written == self._written:
            return
        agreed_in(self.folder)
        deployed = Deployed.look(self.folder, load_diagram(self.folder))
        self.groups = _groups(deployed)
        diagram = deployed.checked.diagram
        given = deployed.fragments
        self.picture = picture(diagram.name, diagram.bucket, self.groups, given.client, given.sources)
        about, run = _about(deployed), RunFolder.settings_of(self.folder).run
        if run != self._run:
            self._begin_anew(run)
        if self._events is None or about != self._timeline.about:
            self._timeline, self._events = Timeline(about), EventReader(self.folder)
        self.fleet, self._written = Fleet(deployed), written

    def _begin_anew(self, run: str) -> None:
        """Another deployment is in the folder: its buckets, events and processes have nothing to do with those of the one before."""
        self._forget_squares()
        self._events = None
        self._run, self._rates, self._delivered = run, Rates(), (0, 0)
        self._up, self._reads = {}, {}

    def _forget_squares(self) -> None:
        with self.changing:
            # Counted on, for those who ask for what changed.
            self.strips, self._squares_of = Strips(self.strips.changes), secrets.token_hex(4)

    def _deliveries(self) -> list[dict[str, Any]]:
        """Those that the client was given since."""
        assert self.fleet is not None
        if CLIENT not in self.fleet.deployed.here:
            return []
        try:
            pid = self.fleet.pid(CLIENT)
            since = self._delivered[1] if pid == self._delivered[0] else 0
            new: list[dict[str, Any]] = self.fleet.ask(CLIENT, "tail", since=since)
        except NoAnswer:
            return []
        if new and new[0]["number"] > since + 1:
            # Between those and what was heard before is what nobody looked at, and the client remembers no more: it would seem to be awaited.
            self._forget_squares()
        self._delivered = (pid, new[-1]["number"] if new else since)
        return new

    def _happened(self, new: list[dict[str, Any]], status: Status, now: float) -> None:
        told = {event["process"] for event in new if event["event"] in ("started", "killed", "ending")}
        for name, found in status.items():
            # Whoever was ended from outside could not say so.
            up = found is not None
            if up != self._up.get(name, True) and (name not in told or name not in self._up):
                new.append({"at": now, "process": name, "event": "seen up" if up else "seen down"})
            self._up[name] = up
        for process, stream, producers in _choices(status):
            before = self._reads.get((process, stream))
            if producers and producers != before:
                self._reads[process, stream] = producers
                if before is not None:
                    said = {"stream": stream, "producers": " and ".join(producers)}
                    new.append({"at": now, "process": process, "event": "reads", **said})
        self._timeline.add(new)

    def _shown(self, status: Status, now: float) -> dict[str, Any]:
        assert self.fleet is not None
        deployed = self.fleet.deployed
        flows = self._flows(status, now)
        groups, away = {}, dict[str, list[str]]()
        for group in self.groups:
            name, fragment = group.fragment.name, group.fragment
            replicas = [replica(name, node, status) for node in group.nodes]
            mine = worst(flows[stream].condition for stream in fragment.streams)
            arrives = {stream: arrival(stream, flows[stream].condition, replicas) for stream in fragment.inputs}
            for stream in fragment.inputs:
                if arrives[stream] is not flows[stream].condition:
                    away.setdefault(stream, []).append(name)
            shown = [one.to_json() for one in replicas]
            groups[name] = {"condition": mine, "replicas": shown, "arrives": arrives}
        outputs = self._outputs(status, flows)
        for stream, output in outputs.items():
            if output["condition"] is not flows[stream].condition:
                away.setdefault(stream, []).append(CLIENT)
        streams = {stream: flow.to_json() | {"away": away.get(stream, [])} for stream, flow in flows.items()}
        for stream, one in streams.items():
            one["rate"] = self._rates.rate(stream, one.pop("rows"), now)
        down = [name for name, found in status.items() if found is None and name not in deployed.in_programs]
        trouble = {}
        if CLIENT not in deployed.here:
            trouble = {"trouble": f"The outputs are at {deployed.where(CLIENT)}: auroral ui shows them there."}
        return {
            **trouble,
            "now": now,
            "picture": self.picture["id"],
            "folder": str(self.folder),
            "squares_of": self._squares_of,
            "running": len(down) < len(status),
            "down": down,
            "first": deployed.agreed.first,
            "recorded": deployed.agreed.origin is not None,
            "streams": streams,
            "groups": groups,
            "outputs": outputs,
            "timeline": self._timeline.to_json(),
            "ledger": ledger(status),
            **({"controls": offered(deployed, self.groups, status)} if self.controls else {}),
        }

    def _flows(self, status: Status, now: float) -> dict[str, Flow]:
        assert self.fleet is not None
        deployed = self.fleet.deployed
        settings, first = deployed.settings, deployed.agreed.first
        found: dict[str, Flow] = {}
        for stream in deployed.fragments.sources:
            if stream not in status:
                found[stream] = Flow(Condition.UNKNOWN, "on another machine")
                continue
            said, given = status[stream], deployed.checked.diagram.input(stream)
            behind = None
            if first is not None and deployed.agreed.origin is None and said is not None and "closed" in said:
                behind = now - (first + said["closed"] + 1) * settings.bucket
            delay = given.stamp.delay / 1e6 if given is not None and given.stamp is not None else 0.0
            found[stream] = input_flow(said, behind, settings.silence + delay)
        for group in self.groups:
            found |= {stream: made_flow(stream, group.nodes, status) for stream in group.fragment.streams}
        # A stream that only an earlier version read has nobody to tell of it.
        return {one["name"]: found.get(one["name"], Flow(Condition.UNKNOWN)) for one in self.picture["streams"]}

    def _outputs(self, status: Status, flows: Mapping[str, Flow]) -> dict[str, Any]:
        assert self.fleet is not None
        deployed = self.fleet.deployed
        at_client = (status.get(CLIENT) or {}).get("streams", {})
        sources = deployed.checked.diagram.computed_from
        return {
            stream: {
                "condition": arrival_at_client(stream, flows[stream].condition, status),
                "bound": bound if (bound := deployed.agreed.bounds.get(stream, math.inf)) < math.inf else None,
                "usual": at_client.get(stream, {}).get("proc", 0.0),
                "delay_new": at_client.get(stream, {}).get("delay_new", 0.0),
                "tentative": at_client.get(stream, {}).get("tentative_now", 0),
                "reads": at_client.get(stream, {}).get("reads", {}).get(stream, {}),
                "sources": list(sources(stream)),
            }
            for stream in deployed.fragments.client
        }


def _groups(deployed: Deployed) -> list[Group]:
    """As each query is now: the newest of its versions that is decided."""
    layout, found = deployed.layout, list[Group]()
    for fragment in deployed.fragments.all:
        version = len(layout.decision(fragment.name).starts) - 1
        nodes = tuple(dict.fromkeys(map(node_of, layout.running(fragment.name))))
        found.append(Group(version_of(deployed, fragment.name, version), nodes))
    return found


def _about(deployed: Deployed) -> dict[str, str]:
    """What each process is, those first that data reaches first."""
    found = dict.fromkeys(deployed.fragments.sources, "source") | dict.fromkeys(deployed.nodes, "node")
    found |= {CLIENT: "client"} | ({SPARK: "spark"} if SPARK in deployed.here else {})
    return {name: what for name, what in found.items() if name in deployed.here}


def _choices(status: Status) -> list[tuple[str, str, list[str]]]:
    """Whom each process reads a stream from."""
    found = []
    for process, said in status.items():
        mine: dict[str, Mapping[str, str]] = {}
        for key in ("outputs", "streams"):
            for one in ((said or {}).get(key) or {}).values():
                mine |= one.get("reads", {})
        found += [(process, stream, sorted(map(_spoken, lanes.items()))) for stream, lanes in mine.items()]
    return found


def _spoken(chosen: tuple[str, str]) -> str:
    """Curr gives what is new, Bck what corrects."""
    core, lane = chosen
    return node_of(core) + {"fresh": " (Curr)", "correct": " (Bck)"}.get(lane, "")


def _stat(file: Path) -> Any:
    try:
        return file.stat()
    except FileNotFoundError:
        return None
