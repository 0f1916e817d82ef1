"""All that a run folder says of its run, read while the run goes on or after it."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from auroral.dpc.assembly import CLIENT
from auroral.edge.commits import commit_path
from auroral.edge.sourcelog import SourceLog
from auroral.node.account import Account
from auroral.node.course import WHOLE, Course, courses_in
from auroral.node.fleet.control import known
from auroral.node.fleet.deployed import SPARK, Deployed, must_have_outputs
from auroral.node.fleet.eventlog import events_in
from auroral.node.leftout import counted_in
from auroral.node.outputlog import OutputLog
from auroral.node.report import Report
from auroral.node.runfolder import RunFolder
from auroral.reporting.incidents import Incident, incidents_in
from auroral.ui.conditions import Condition
from auroral.ui.timeline import Timeline

_MOST_BARS = 20_000


@dataclass(frozen=True, slots=True)
class Verdict:
    """Of `verify`: its report, or why there is none."""

    report: Report | None = None
    why_not: str = ""
    asked: bool = True

    @property
    def ok(self) -> bool | None:
        """None where nobody asked."""
        if not self.asked:
            return None
        return self.report is not None and self.report.ok

    @property
    def why(self) -> str:
        """What keeps it from being proved."""
        if self.report is None or self.report.ok:
            return self.why_not
        if any(one.frontier is not None and not one.ok for one in self.report.outputs):
            return "the output is not what a batch run over the logged rows gives"
        if not_begun := [one.stream for one in self.report.outputs if one.frontier is None]:
            return f"nothing was compared of {', '.join(not_begun)}, of which no bucket was ever closed"
        return (
            "the output is what a batch run over the logged rows gives, but the ledger or a file is not as it must be"
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "ok": self.ok,
            "why_not": self.why,
            "report": None if self.report is None else self.report.to_json(),
        }


NOT_ASKED = Verdict(asked=False, why_not="it was left out with --no-verify")


@dataclass(frozen=True, slots=True)
class Facts:
    folder: Path
    run: str
    diagram: str
    bucket: float
    """Seconds."""
    picture: str
    """The diagram, as Mermaid text."""
    deployed: bool
    running: Sequence[str]
    """The processes that live."""
    made: float
    began: float | None
    ended: float | None
    """The last that is known of it."""
    inputs: Mapping[str, tuple[str, int, bool]]
    """By stream: where rows come from, how many were logged, and whether it has ended."""
    outputs: Mapping[str, tuple[str, int | None]]
    """By stream: where else rows go, and the frontier, in microseconds of stime."""
    bounds: Mapping[str, float]
    courses: Mapping[str, Course]
    incidents: Sequence[Incident] = ()
    timeline: Sequence[Mapping[str, Any]] = ()
    ledger: Sequence[tuple[str, str, int, str]] = ()
    """Stream or box, reason, how many, and of what."""
    finished: bool = False
    verdict: Verdict = field(default=NOT_ASKED)

    @property
    def lives(self) -> Course:
        return self.courses.get(WHOLE, Course())

    def to_json(self) -> dict[str, Any]:
        streams = {}
        for stream in self.outputs:
            course = self.courses.get(stream, Course())
            total = course.total()
            bound = self.bounds.get(stream, math.inf)
            streams[stream] = {
                "bound": bound if bound < math.inf else None,
                "buckets": dict(total.counts),
                "highest": total.highest,
                "tentative": [{"began": s.began, "ended": s.ended, **s.said} for s in course.spells],
                "tentative_before": {"spells": course.earlier, "seconds": round(course.earlier_seconds, 3)},
            }
        return {
            "folder": str(self.folder),
            "run": self.run,
            "diagram": self.diagram,
            "deployed": self.deployed,
            "running": list(self.running),
            "began": self.began,
            "ended": self.ended,
            "incidents": [one.to_json() for one in self.incidents],
            "lives": [{"began": s.began, "ended": s.ended, **s.said} for s in self.lives.spells],
            "inputs": {s: {"from": way, "rows": rows, "ended": end} for s, (way, rows, end) in self.inputs.items()},
            "outputs": streams,
            "ledger": [{"of": of, "reason": why, "count": n, "unit": unit} for of, why, n, unit in self.ledger],
            "verified": self.verdict.to_json(),
        }


def facts_in(path: Path) -> Facts:
    """Without a verdict. Loads the folder's pickle: only of folders that are trusted."""
    folder = RunFolder.look(path)
    must_have_outputs(path)
    courses, settings, account = courses_in(path), folder.settings, Account.load(folder.account)
    sources, frontiers = _sources(folder), _frontiers(folder)
    deployed = Deployed.look(path, folder.checked) if folder.deployed else None
    events = events_in(path) if deployed else []
    times = [event["at"] for event in events]
    for course in courses.values():
        times += [at for spell in course.spells for at in (spell.began, spell.ended) if at is not None]
        times += [number * course.length for number in course.slots]
    running = [] if deployed is None else [n for n in deployed.here if known(path / "processes" / f"{n}.json")]
    inputs = dict(settings.inputs) if deployed is None else dict(deployed.agreed.inputs)
    sinks = dict(settings.outputs) if deployed is None else dict(deployed.agreed.outputs)
    made = time.time()
    return Facts(
        folder=path.absolute(),
        run=settings.run,
        diagram=settings.diagram,
        bucket=settings.bucket / 1e6,
        picture=folder.checked.diagram.to_mermaid(),
        deployed=deployed is not None,
        running=running,
        made=made,
        began=min(times, default=None),
        ended=made if running else max(times, default=None),
        inputs={
            given.stream: (inputs.get(given.stream, ""), log.state.rows if log else 0, bool(log and log.state.ended))
            for given in folder.checked.diagram.inputs
            for log in [sources.get(given.stream)]
        },
        outputs={stream: (sinks.get(stream, ""), frontier) for stream, frontier in frontiers.items()},
        bounds={} if deployed is None else deployed.agreed.bounds,
        courses=courses,
        incidents=incidents_in(events),
        timeline=[] if deployed is None else _timeline(deployed, events),
        ledger=_ledger(folder, account, sources.values(), courses),
        finished=account.finished,
    )


def _sources(folder: RunFolder) -> dict[str, SourceLog]:
    """Those that have begun."""
    return {
        given.stream: SourceLog.open(place, given.schema, stream=given.stream, readonly=True)
        for given in folder.checked.diagram.inputs
        if ((place := folder.source(given.stream)) / "log.json").exists()
    }


def _frontiers(folder: RunFolder) -> dict[str, int | None]:
    found: dict[str, int | None] = {}
    for output in folder.checked.diagram.outputs:
        place, schema = folder.output(output.stream), folder.checked.streams[output.stream].schema
        found[output.stream] = OutputLog.look(place, schema).frontier if commit_path(place).exists() else None
    return found


def _timeline(deployed: Deployed, events: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    about = dict.fromkeys(deployed.fragments.sources, "source") | dict.fromkeys(deployed.nodes, "node")
    about |= {CLIENT: "client"} | ({SPARK: "spark"} if SPARK in deployed.here else {})
    here = {name: what for name, what in about.items() if name in deployed.here}
    found = Timeline(here, most=_MOST_BARS, ended=Condition.UNKNOWN)
    found.add(events)
    return found.to_json()


def _ledger(
    folder: RunFolder, account: Account, sources: Iterable[SourceLog], courses: Mapping[str, Course]
) -> list[tuple[str, str, int, str]]:
    found: Counter[tuple[str, str, str]] = Counter()
    for ledger in (account.ledger(), *(log.state.ledger for log in sources)):
        for row in ledger.rows():
            found[row.stream, str(row.reason), "rows"] += row.count
    for replica in counted_in(folder.path) if folder.deployed else ():
        mine: Counter[tuple[str, str]] = Counter()
        for (box, reason, _), count in replica.counts.items():
            mine[box, reason] += count
        # Replicas compute the same.
        for (box, reason), count in mine.items():
            found[box, reason, "rows"] = max(count, found[box, reason, "rows"])
    for stream, course in courses.items():
        if lost := course.total().counts["missed"]:
            found[stream, "lost in a gap", "buckets"] = lost
    return [(of, reason, count, unit) for (of, reason, unit), count in sorted(found.items()) if count]
