"""A simulation as a recording: what each of its processes would have said of itself, from what its cores do in virtual time."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from auroral.dpc.assembly import CATALOG, CLIENT, node_of
from auroral.dpc.events import Deliver, Disconnected, Effect, Miss, Send
from auroral.dpc.fragments import Fragment
from auroral.dpc.metrics import Metrics
from auroral.dpc.switching import Lane
from auroral.dpc.values import Ask, Grant, Pong, Refuse, Stable, Subscribe, Tentative
from auroral.sim.faults import CATALOG_HOST, Fault
from auroral.sim.scenario import CLIENT_HOST, Scenario, host
from auroral.sim.scenario import Fragment as Simulated
from auroral.ui.picture import Drawn, DrawnBox, Group, picture
from auroral.ui.replay.recording import FORMAT, HEAD
from auroral.ui.stage import Part, Stage

_EVERY = 0.5
"""Seconds of virtual time, at most, between two answers of a process that has something new to say."""
_AFTER = 2.0
"""Seconds that are recorded when the client has all: then sources are silent for good, and everything waits in vain."""
_TURNS = {Ask: "asks", Grant: "grants", Refuse: "refuses"}
_DOWN, _SILENT = ("crash", "destroy", "unplug"), ("silence", "open")


def stage_of_scenario(scenario: Scenario, where: str) -> Stage:
    parts = [_drawn(scenario, query) for query in scenario.queries]
    bucket = scenario.settings.bucket
    drawn = picture(f"seed {scenario.seed}", int(bucket * 1e6), parts, scenario.outputs, scenario.sources)
    about = dict.fromkeys(scenario.sources, "source")
    about |= {node: "node" for part in parts for node in part.nodes} | {CLIENT: "client"}
    return Stage(
        where=where,
        picture=drawn,
        parts=tuple(Part(part.name, part.nodes, part.inputs, part.streams) for part in parts),
        about=about | ({CATALOG: "catalog"} if scenario.reconfigured else {}),
        sources=scenario.sources,
        computed_from={stream: scenario.computed_from(stream) for stream in scenario.outputs},
        bounds=dict.fromkeys(scenario.outputs, scenario.settings.bound),
        bucket=bucket,
    )


def _drawn(scenario: Scenario, query: Simulated) -> Drawn:
    nodes = tuple(dict.fromkeys(host(name) for name in scenario.replica_names(query)))
    if isinstance(query, Fragment):
        return Group(query, nodes).drawn
    kind = str(getattr(query, "kind", "query"))
    boxes = tuple(DrawnBox(o.stream, kind, "", query.name, tuple(o.reads), (o.stream,)) for o in query.outputs)
    return Drawn(query.name, (query.name,), nodes, query.inputs, query.streams, boxes)


@dataclass(slots=True)
class Recording:
    """A watcher that writes what it sees."""

    scenario: Scenario
    where: str
    say: Callable[[str], None]
    _faults: int = 0
    _status: dict[str, dict[str, Any]] = field(default_factory=dict)
    _said: dict[str, float] = field(default_factory=dict)
    """When each process last was given a line."""
    _stale: set[str] = field(default_factory=set)
    _reads: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)
    """By core and stream, the lanes of those that it reads it from."""
    _counted: dict[str, int] = field(default_factory=dict)
    """By who gives it and stream, the last bucket whose rows were counted."""
    _cut: list[Fault] = field(default_factory=list)
    _coverage: dict[tuple[str, int], dict[str, str]] = field(default_factory=dict)
    _tentative: dict[tuple[str, int], int] = field(default_factory=dict)
    _number: int = 0
    _metrics: Metrics | None = None
    _over: float | None = None
    """When the client had all that there is."""

    def begin(self) -> None:
        processes = [*self.scenario.sources, *self._nodes, CLIENT]
        processes += [CATALOG] if self.scenario.reconfigured else []
        stage = stage_of_scenario(self.scenario, self.where).to_json()
        self._write({HEAD: FORMAT, "stage": stage, "processes": processes})
        bounds = dict.fromkeys(self.scenario.outputs, self.scenario.settings.bound)
        self._metrics = Metrics(self.scenario.settings.bucket, bounds)
        for process in processes:
            self._event(0.0, process, "started")
            self._changed(0.0, process, at_once=True)

    @property
    def _nodes(self) -> list[str]:
        names = (name for query in self.scenario.queries for name in self.scenario.replica_names(query))
        return list(dict.fromkeys(host(name) for name in names))

    def __call__(self, now: float, core: str, effect: Effect) -> None:
        if self._over is not None and now > self._over + _AFTER:
            return
        while self._faults < len(self.scenario.faults) and self.scenario.faults[self._faults].at <= now:
            self._fault(self.scenario.faults[self._faults])
            self._faults += 1
        match effect:
            case Send(_, Pong(offers)):
                for stream, offer in offers.items():
                    self._offered(now, core, stream, str(offer.state), offer.frontier)
            case Send(to, Subscribe(stream, _, lane)):
                self._subscribed(now, core, stream, to, lane)
            case Send(to, Tentative(stream, _, bucket, content, closed, _, coverage)):
                if to == CLIENT:
                    levels = {source: coverage.level(source).name.lower() for source in coverage.spans}
                    self._coverage[stream, bucket] = levels
                self._gave(now, core, stream, bucket, content.count if closed else 0)
            case Send(_, Stable(stream, _, first, contents)):
                for n, content in enumerate(contents):
                    self._gave(now, core, stream, first + n, content.count)
            case Send(to, Ask() | Grant() | Refuse() as message):
                self._event(now, _process(core), _TURNS[type(message)], core=core, peer=_process(to))
            case Deliver() | Miss():
                self._delivered(now, effect)
            case _:
                pass

    def _offered(self, now: float, core: str, stream: str, state: str, frontier: int) -> None:
        process = _process(core)
        if stream in self.scenario.sources:
            self._of(process)["closed"] = frontier
            self._changed(now, process)
            return
        if frontier >= self.scenario.buckets:
            # All of it was given: that nothing follows is no failure.
            state = "STABLE"
        output = self._output(core, stream)
        turned = output["state"] != state
        output |= {"state": state, "frontier": frontier}
        if turned:
            self._event(now, process, "state", core=core, stream=stream, state=state)
        self._changed(now, process, at_once=turned)

    def _subscribed(self, now: float, core: str, stream: str, to: str, lane: Lane) -> None:
        lanes = self._reads.setdefault((core, stream), {})
        before = {} if lane is Lane.BOTH else {one: had for one, had in lanes.items() if had not in ("both", str(lane))}
        self._reads[core, stream] = {**before, to: str(lane)}
        self._changed(now, _process(core), at_once=True)

    def _gave(self, now: float, core: str, stream: str, bucket: int, count: int) -> None:
        key = f"{core} {stream}"
        if bucket <= self._counted.get(key, -1):
            return
        self._counted[key] = bucket
        one = self._of(_process(core)) if stream in self.scenario.sources else self._output(core, stream)
        counter = "rows" if stream in self.scenario.sources else "computed"
        one[counter] += count
        self._changed(now, _process(core))

    def _delivered(self, now: float, effect: Deliver | Miss) -> None:
        assert self._metrics is not None, "it has begun"
        self._metrics.saw(now, Disconnected(""), (effect,))
        self._number += 1
        said: dict[str, Any] = {"number": self._number, "at": now, "stream": effect.stream}
        if isinstance(effect, Miss):
            said |= {"bucket": effect.begin, "end": effect.end, "kind": "missed", "count": 0}
        else:
            key, kind = (effect.stream, effect.bucket), "stable" if effect.stable else "tentative"
            if effect.stable and (before := self._tentative.pop(key, None)) is not None:
                kind = "confirmed" if before == effect.content.hash else "corrected"
            elif not effect.stable:
                self._tentative[key] = effect.content.hash
                said["coverage"] = self._coverage.get(key, {})
            measured = self._metrics.streams[effect.stream]
            if measured.newest == effect.bucket and measured.new and measured.new[-1].at == now:
                said["latency"] = measured.new[-1].latency
            said |= {"bucket": effect.bucket, "kind": kind, "count": effect.content.count}
        self._write({"at": now, "process": CLIENT, "delivery": said})
        streams = [self._metrics.streams.get(stream) for stream in self.scenario.outputs]
        last = self.scenario.buckets - 1
        if self._over is None and all(one and one.newest == last and not one.uncorrected for one in streams):
            self._over = now
        self._changed(now, CLIENT)

    def _fault(self, fault: Fault) -> None:
        places = [CLIENT if one == CLIENT_HOST else CATALOG if one == CATALOG_HOST else one for one in fault.places]
        match fault.verb:
            case verb if verb in _DOWN:
                for place in places:
                    self._status.pop(place, None)
                    self._reads = {key: lanes for key, lanes in self._reads.items() if _process(key[0]) != place}
                    self._event(fault.at, place, "killed")
            case "restart":
                for place in places:
                    self._event(fault.at, place, "started")
                    self._changed(fault.at, place, at_once=True)
            case verb if verb in _SILENT:
                self._silent(fault.at, places[0], True)
            case "resume" | "close":
                self._silent(fault.at, places[0], False)
            case "cut" | "isolate":
                self._cut.append(fault)
                self._linked(fault, places, "cut off")
            case "heal" | "rejoin":
                # Of a link that is cut in both directions, either end may be named first.
                order = tuple if fault.one_way else frozenset
                self._cut = [one for one in self._cut if order(one.places) != order(fault.places)]
                self._linked(fault, places, "healed")
            case _:
                self._event(fault.at, places[0], "fault", detail=str(fault).partition("s ")[2])

    def _silent(self, at: float, source: str, silent: bool) -> None:
        self._of(source)["silent"] = silent
        self._event(at, source, "paused" if silent else "resumed")
        self._changed(at, source, at_once=True)

    def _linked(self, fault: Fault, places: list[str], event: str) -> None:
        for n, place in enumerate(places):
            other = [one for m, one in enumerate(places) if m != n]
            peer = other[0] if fault.verb in ("cut", "heal") and other else "all others"
            self._event(fault.at, place, event, peer=peer)
        for process in (*self._nodes, CLIENT):
            self._changed(fault.at, process, at_once=True)

    def _reach(self, one: str, other: str) -> bool:
        for fault in self._cut:
            places = [CLIENT if place == CLIENT_HOST else place for place in fault.places]
            within = {one, other} & {*places}
            both = {one, other} == {*places} if fault.verb == "cut" and len(places) == 2 else len(within) == 1
            if both and one != other:
                return False
        return True

    # What processes say

    def _of(self, process: str) -> dict[str, Any]:
        if process not in self._status:
            source = {"closed": 0, "paused": False, "silent": False, "failed": None, "ended": False, "rows": 0}
            kinds: dict[str, dict[str, Any]] = {CLIENT: {"streams": {}}, CATALOG: {}}
            own = source if process in self.scenario.sources else kinds.get(process, {"outputs": {}})
            self._status[process] = {**own}
        return self._status[process]

    def _output(self, core: str, stream: str) -> dict[str, Any]:
        outputs: dict[str, Any] = self._of(_process(core))["outputs"]
        new = {"query": core.rpartition("@")[0], "state": "", "frontier": 0, "computed": 0, "core": core}
        found: dict[str, Any] = outputs.setdefault(stream, new)
        return found

    def _changed(self, now: float, process: str, at_once: bool = False) -> None:
        """Not everything that a process could say is worth a line."""
        if at_once or now - self._said.get(process, -1.0) >= _EVERY:
            self._said[process] = now
            self._write({"at": now, "process": process, "status": self._answer(process)})

    def _answer(self, process: str) -> dict[str, Any]:
        said = {**self._of(process)}
        specs = self.scenario.specs if "outputs" in said else {}
        if "outputs" in said:
            said["outputs"] = {
                stream: {**one, **self._reading(one["core"], list(specs[stream].reads))}
                for stream, one in said["outputs"].items()
            }
        if process == CLIENT and self._metrics is not None:
            said["streams"] = {s: self._at_client(s) for s in self._metrics.streams}
        return said

    def _reading(self, core: str, streams: list[str]) -> dict[str, Any]:
        reads = {stream: self._reads[core, stream] for stream in streams if (core, stream) in self._reads}
        process = _process(core)
        misses = [s for s, lanes in reads.items() if not any(self._reach(process, _process(one)) for one in lanes)]
        return {"reads": reads, "misses": misses}

    def _at_client(self, stream: str) -> dict[str, Any]:
        assert self._metrics is not None
        metrics = self._metrics.streams[stream]
        one = metrics.measured
        said = {"newest": metrics.newest, "delay_new": one.delay_new, "proc": one.proc, "missed": one.missed}
        return {**said, "tentative_now": len(metrics.uncorrected), **self._reading(CLIENT, [stream])}

    def _event(self, at: float, process: str, event: str, **more: Any) -> None:
        self._write({"at": at, "process": process, "event": event, **more})

    def _write(self, line: dict[str, Any]) -> None:
        self.say(json.dumps(line, ensure_ascii=False))


def _process(core: str) -> str:
    node = node_of(core)
    return CATALOG if node == CATALOG_HOST else node
