"""A deployment in which stand-ins answer for the processes: what they say was recorded, the questions and the folder are real."""

from __future__ import annotations

import asyncio
import json
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from auroral.demo import scans
from auroral.dpc.assembly import CATALOG, CLIENT
from auroral.model.builder import DiagramBuilder
from auroral.node.fleet.clock import Clock
from auroral.node.fleet.control import Control
from auroral.node.fleet.deployed import SPARK, Deployed
from auroral.node.fleet.eventlog import EventLog
from auroral.node.fleet.preparing import prepare

SETS = """
replica_sets:
  - {name: merge, queries: [merge], nodes: [":26000", ":26100"]}
  - {name: watch, queries: [watch], nodes: [":26200", ":26300"]}
"""
SITES = ("oslo", "bern", "lima")


class StandIns:
    """`says` has the status of each process, None for one that is down; `delivered` what the client remembers."""

    def __init__(self, deployed: Deployed):
        self.deployed = deployed
        self.says: dict[str, dict[str, Any] | None] = {name: {"rss": 100 << 20} for name in deployed.here}
        self.delivered: list[dict[str, Any]] = []
        self.stories: dict[tuple[str, str], str] = {}
        self.rates: dict[str, float] = {}
        """Rows a second, by stream."""
        self.asked: list[str] = []
        self.done: list[tuple[str, Mapping[str, Any]]] = []
        """What was asked for that changes something, and of whom."""
        self._processes: list[subprocess.Popen[bytes]] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._controls: dict[str, Control] = {}

    def start(self) -> None:
        self._thread.start()
        for name in self.says:
            self.up(name)

    def stop(self) -> None:
        self.down(*self._controls)
        for process in self._processes:
            process.kill()
            process.wait()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def up(self, name: str) -> None:
        async def answer(asked: Mapping[str, Any]) -> Any:
            self.asked.append(str(asked["do"]))
            match asked["do"]:
                case "status":
                    return {"name": name, "begun": True, **self._counting(name)}
                case "tail":
                    since, stream = asked.get("since", 0), asked.get("stream")
                    return [o for o in self.delivered if o["number"] > since and stream in (None, o["stream"])]
                case "begin":
                    return None
                case "why":
                    return self.stories.get((name, asked["stream"]))
                case "cut" | "heal" | "pause" | "resume" | "move" | "change" | "learn" | "give up":
                    return self._do(name, asked)
            raise AssertionError(asked)

        control = self._controls[name] = Control(self.deployed.folder / "processes" / f"{name}.json", answer)
        asyncio.run_coroutine_threadsafe(control.start(), self._loop).result(10)

    def _do(self, name: str, asked: Mapping[str, Any]) -> None:
        self.done.append((name, {key: value for key, value in asked.items() if key != "secret"}))
        said = self.says[name] = dict(self.says[name] or {})
        away = {*said.get("cut_off", ())}
        match asked["do"]:
            case "cut":
                said["cut_off"] = sorted(away | {asked["peer"]})
            case "heal":
                said["cut_off"] = sorted(away - {asked["peer"]})
            case "pause" | "resume" as do:
                said["silent"] = do == "pause"
            case "change":
                said["changing"] = asked["query"]
            case "give up":
                said["changing"] = None

    def alone(self, name: str) -> subprocess.Popen[bytes]:
        """From here on the stand-in is a process of its own to who looks at it: one that can be killed."""
        process = subprocess.Popen(["sleep", "600"])
        self._processes.append(process)
        file = self.deployed.folder / "processes" / f"{name}.json"
        born = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[19]
        file.write_text(json.dumps({**json.loads(file.read_text()), "pid": process.pid, "born": born}))
        return process

    def _counting(self, name: str) -> dict[str, Any]:
        found = dict(self.says[name] or {})
        if name in self.rates:
            found["rows"] = int(time.time() % 100_000 * self.rates[name])
        if "outputs" in found:
            made = found["outputs"].items()
            counted = {s: int(time.time() % 100_000 * self.rates[s]) for s, _ in made if s in self.rates}
            found["outputs"] = {s: {**one, "computed": counted.get(s, one["computed"])} for s, one in made}
        return found

    def down(self, *names: str) -> None:
        async def end() -> None:
            ended = [self._controls.pop(name) for name in names]
            for control in ended:
                control.file.unlink()
            # Python 3.11 leaves a connection open that comes while a server is being closed.
            await asyncio.sleep(0.1)
            for control in ended:
                await control.stop()

        asyncio.run_coroutine_threadsafe(end(), self._loop).result(10)

    def note(self, process: str, event: str, at: float | None = None, **more: Any) -> None:
        log = EventLog(self.deployed.folder / "events" / f"{process}.jsonl", process, _Set(at))
        log.note(event, **more)
        log.close()

    def deliver(self, stream: str, bucket: int, kind: str, rows: list[dict[str, Any]], **more: Any) -> None:
        said = {"number": len(self.delivered) + 1, "at": time.time(), "stream": stream, "bucket": bucket, "kind": kind}
        self.delivered.append({**said, "count": len(rows), "rows": rows, **more})


class _Set(Clock):
    def __init__(self, at: float | None):
        super().__init__()
        self._at = at

    def now(self) -> float:
        return super().now() if self._at is None else self._at


def source(closed: int, **more: Any) -> dict[str, Any]:
    said = {"kind": "source", "rows": closed * 100, "boundary": 0, "ended": False, "ledger": {}, "closed": closed}
    return {**said, "paused": False, "silent": False, "failed": None, "takes": "lines", "lines": None, **more}


def output(
    query: str, state: str, frontier: int, reads: Mapping[str, Mapping[str, str]], **more: Any
) -> dict[str, Any]:
    said = {"query": query, "state": state, "fresh": True, "frontier": frontier, "tentative": 0, "waits_for": None}
    return {**said, "reads": reads, "misses": [], "computed": frontier * 300, **more}


def node(**outputs: Any) -> dict[str, Any]:
    jobs = {"stable": 40, "tentative": 3}
    return {
        "kind": "node",
        "outputs": outputs,
        "left_out": {},
        "not_started": {},
        "jobs": jobs,
        "seconds_in_jobs": {"stable": 9.5, "tentative": 0.8},
        "rss": 200 << 20,
    }


@contextmanager
def standing_in(folder: Path, builder: DiagramBuilder | None = None, sets: str | None = None) -> Iterator[StandIns]:
    """Of the demonstration's diagram, unless another one is given. It has begun a minute ago."""
    if builder is None:
        builder, sets = scans, SETS
    checked = builder.check()
    deployed = prepare(folder, checked, sets)
    deployed = deployed.begin(int((time.time() - 60) * 1e6 / checked.diagram.bucket))
    found = StandIns(deployed)
    found.start()
    try:
        yield found
    finally:
        found.stop()


def all_is_well(found: StandIns, frontier: int = 58) -> None:
    """The demonstration, a minute after it began."""
    # Not silent, however long it is looked at.
    found.says |= {site: source(frontier + 1000) for site in SITES}
    found.rates = {"oslo": 131, "bern": 128, "lima": 130, "connections": 389, "alerts": 1.1}
    read = {site: {f"{site}@{site}": "both"} for site in SITES}
    merged = {"connections": {"merge@mergea": "both"}}
    for name in ("mergea", "mergeb"):
        found.says[name] = node(connections=output("merge", "STABLE", frontier, read))
    for name in ("watcha", "watchb"):
        found.says[name] = node(alerts=output("watch", "STABLE", frontier, merged, computed=frontier * 2))
    client = {"newest": frontier - 1, "delay_new": 0.4, "proc": 0.35, "tentative_now": 0, "missed": 0}
    client |= {"frontier": frontier, "reads": {"alerts": {"watch@watcha": "both"}}}
    counts = {"stable": frontier, "tentative": 0, "corrected": 0, "confirmed": 0}
    found.says[CLIENT] = {"kind": "client", "counts": counts, "streams": {"alerts": client}, "sinks": [], "readers": []}
    members = {name: [f"{name}@{name}{letter}" for letter in "ab"] for name in ("merge", "watch")}
    arranged = {"members": members, "moving": None, "phase": None, "changing": None, "starts": {}, "waits_for": []}
    found.says[CATALOG] = {"kind": "catalog", **arranged, "added": {}, "wanted": []}
    found.says[SPARK] = {}
    began = time.time() - 60
    for name in found.says:
        found.note(name, "started", began - 3)
    for query, stream, nodes in (("merge", "connections", "mergea mergeb"), ("watch", "alerts", "watcha watchb")):
        for name in nodes.split():
            found.note(
                name, "state", began, core=f"{query}@{name}", stream=stream, state="STABLE", was="", by="Started"
            )
    for bucket in range(frontier):
        rows = [alert(f"10.66.6.{bucket % 3}", bucket)] if bucket % 4 else []
        found.deliver("alerts", bucket, "stable", rows, latency=0.3 + 0.1 * (bucket % 3))


def alert(host: str, n: int) -> dict[str, Any]:
    return {"__stime": n * 1_000_000, "src": host, "connections": 30 + n % 7, "ports": 12 + n % 5}


def lima_is_lost(found: StandIns, frontier: int = 58, buckets: int = 9, delivered: bool = True) -> None:
    """Cut off from both nodes that read it, some seconds ago."""
    lost = time.time() - 14
    # Whom it would read from stays the same.
    read = {site: {f"{site}@{site}": "both"} for site in SITES}
    for name in ("mergea", "mergeb"):
        found.says[name] = node(
            connections=output("merge", "UP_FAILURE", frontier, read, tentative=buckets, misses=["lima"])
        )
        found.note("lima", "cut off", lost, peer=name)
        found.note(
            name, "state", lost + 2.2, core=f"merge@{name}", stream="connections", state="UP_FAILURE", was="", by=""
        )
    for name in ("watcha", "watchb"):
        reads = {"connections": {"merge@mergea": "fresh", "merge@mergeb": "correct"}}
        found.says[name] = node(alerts=output("watch", "UP_FAILURE", frontier, reads, tentative=buckets))
        found.note(name, "state", lost + 2.4, core=f"watch@{name}", stream="alerts", state="UP_FAILURE", was="", by="")
    streams: dict[str, Any] = (found.says[CLIENT] or {})["streams"]["alerts"]
    streams |= {"tentative_now": buckets, "delay_new": 3.9, "newest": frontier + buckets - 1}
    cover = {"oslo": "complete", "bern": "complete", "lima": "missing"}
    for n in range(buckets if delivered else 0):
        late = 4.2 if n == 0 else 0.5 + 0.1 * (n % 2)
        rows = [alert("10.66.6.6", frontier + n)] if n % 3 else []
        found.deliver("alerts", frontier + n, "tentative", rows, latency=late, coverage=cover)
    found.rates |= {"connections": 260, "alerts": 0.7}
    found.stories["client", "alerts"] = (
        f"alerts is in UP_FAILURE since {lost + 2.4:.2f} s, stable before bucket {frontier}\n"
        f"  alerts misses bucket {frontier}, nothing came since {lost:.2f} s: watch@watcha is in UP_FAILURE, "
        "watch@watchb is in UP_FAILURE\n  alerts is read from watch@watcha, both lanes, subscription 1"
    )


def lima_is_back(found: StandIns, frontier: int = 58, buckets: int = 9) -> None:
    """And all that was tentative is corrected."""
    for n in range(buckets):
        kind = "corrected" if n % 3 else "confirmed"
        rows = [alert("10.66.6.6", frontier + n), alert("10.66.6.7", n)] if n % 3 else []
        found.deliver("alerts", frontier + n, kind, rows)
    stable, now = frontier + buckets + 3, time.time()
    for n in range(3):
        found.deliver("alerts", frontier + buckets + n, "stable", [alert("10.66.6.6", n)], latency=0.4)
    read = {site: {f"{site}@{site}": "both"} for site in SITES}
    for name in ("mergea", "mergeb"):
        found.note("lima", "healed", now - 3, peer=name)
        found.says[name] = node(connections=output("merge", "STABLE", stable, read))
        for at, state in ((now - 2.6, "STABILIZATION"), (now - 1, "STABLE")):
            found.note(name, "state", at, core=f"merge@{name}", stream="connections", state=state, was="", by="")
    merged = {"connections": {"merge@mergea": "both"}}
    for name in ("watcha", "watchb"):
        found.says[name] = node(alerts=output("watch", "STABLE", stable, merged))
        for at, state in ((now - 2.4, "STABILIZATION"), (now - 0.8, "STABLE")):
            found.note(name, "state", at, core=f"watch@{name}", stream="alerts", state=state, was="", by="")
    streams: dict[str, Any] = (found.says[CLIENT] or {})["streams"]["alerts"]
    streams |= {"tentative_now": 0, "newest": stable - 1, "frontier": stable}
