"""The jobs of a replica, on Spark.

A job names all that it reads: the best versions of all buckets within the horizon. An engine that has just evaluated the buckets before
these, from the same contents, goes on; otherwise one begins anew a horizon earlier. So a tentative job never sees what a stable one
keeps, nor the other way round, and both go on from bucket to bucket at the same cost.
"""

from __future__ import annotations

import itertools
import math
import os
import shutil
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from auroral.dpc.events import Evaluate, Evaluated
from auroral.dpc.fragments import Fragment, Fragments, leading_to
from auroral.dpc.sunion import OutputSpec
from auroral.dpc.values import Content, Snapshot
from auroral.engine.arrowrows import arrow_schema, canonical
from auroral.engine.compile import needs_order
from auroral.engine.edgelog import STABLE, Segment
from auroral.engine.evaluate import Engine, Limits
from auroral.engine.evaluate import Evaluation as EngineEvaluation
from auroral.engine.session import cancel_job_group, set_job_group
from auroral.engine.sqltext import SEQ, STIME
from auroral.node.fleet.contents import by_bucket, content_of, numbered, state_content, states_in
from auroral.node.fleet.host import JobCancelled
from auroral.node.leftout import LeftOutLog
from auroral.wire.measuring import measured

Session: TypeAlias = Any
"""A SparkSession. Only the engine may import pyspark, so that it has no name here."""
WARM, WARM_WITHIN = 0.15, 5.0
"""Seconds: a job of a JVM that is warm takes less than the first, and warming up takes no longer than the second."""
MOST_LINES = 4
"""Engines that are kept for sets of outputs that go on together. Usually all do."""


def ordered_streams(fragments: Fragments) -> frozenset[str]:
    """Those of which some box of another fragment looks at the order of rows with the same stime, maybe through others."""
    found: frozenset[str] = frozenset()
    # Those that read before those that are read.
    for fragment in reversed(fragments.all):
        found |= needs_order(fragment.checked, found.intersection(fragment.streams))
    return found


@dataclass(slots=True)
class _Line:
    """An engine that goes on from bucket to bucket."""

    engine: Engine
    schemas: Mapping[str, pa.Schema]
    """Of the inputs."""
    end: int = -1
    """The first bucket that was not evaluated; below zero where nothing can go on."""
    read: dict[str, dict[int, int]] = field(default_factory=dict)
    """Hashes of what was read, by input and bucket."""
    state: int | None = None
    """The hash of the folds' state at the end."""

    def goes_on(self, view: Mapping[str, Mapping[int, Content]], at: int, horizons: Mapping[str, int]) -> bool:
        """Whether all that matters for bucket `at` and was read before is as it is in the view."""
        if self.end != at:
            return False
        for stream, horizon in horizons.items():
            seen, read = view.get(stream, {}), self.read.get(stream, {})
            for bucket in range(max(0, at - horizon + 1), at):
                now = seen.get(bucket)
                if (None if now is None else now.hash) != read.get(bucket):
                    return False
        return True

    def has(self, snapshot: Snapshot | None) -> bool:
        """Whether the folds stand where the snapshot does."""
        return snapshot is None or (snapshot.state is not None and snapshot.state.hash == self.state)

    def forget(self, horizons: Mapping[str, int]) -> None:
        for stream, read in self.read.items():
            for bucket in [bucket for bucket in read if bucket <= self.end - horizons.get(stream, 0)]:
                del read[bucket]


class Evaluation:
    """Of one replica. One job that makes buckets stable and one that makes them tentative may run at a time, each in a thread."""

    def __init__(
        self,
        session: Session,
        version: Callable[[int], Fragment],
        first: int,
        folder: Path,
        ordered: frozenset[str] = frozenset(),
        ledger: LeftOutLog | None = None,
    ):
        """`version` gives what is to be computed by each version of the query; `first` is the number of the protocol's first bucket since
        1970; `ordered` are outputs whose readers look at the order of rows with the same stime. `folder` is for what may be deleted. The
        `ledger` counts rows that boxes leave out of stable buckets."""
        self.first = first
        self._version, self._versions = version, {0: version(0)}
        self.ledger = ledger
        self.spent = {False: 0.0, True: 0.0}
        """Seconds in which the engine was evaluating stable and tentative buckets."""
        self.ran = {False: 0, True: 0}
        """Jobs that made buckets stable and tentative."""
        self._session, self._ordered, self._folder = session, ordered, folder.absolute()
        self._lines: dict[bool, dict[tuple[int, tuple[str, ...]], _Line]] = {False: {}, True: {}}
        """By version and outputs."""
        self._made = itertools.count()
        self._name = f"auroral-{os.getpid()}-{id(self)}"
        self._cancelled: deque[int] = deque(maxlen=100)
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def left_out(self) -> dict[tuple[str, str], int]:
        """Rows that boxes left out of stable buckets, by box and reason."""
        return {} if self.ledger is None else dict(self.ledger.totals)

    def close(self) -> None:
        if self.ledger is not None:
            self.ledger.close()

    def fragment(self, version: int = 0) -> Fragment:
        if version not in self._versions:
            self._versions[version] = self._version(version)
        return self._versions[version]

    def specs(self, version: int = 0) -> dict[str, OutputSpec]:
        return {spec.stream: spec for spec in self.fragment(version).outputs}

    @property
    def interval(self) -> int:
        return self.fragment().checked.diagram.bucket

    def warm_up(self, within: float = WARM_WITHIN) -> None:
        """Evaluates buckets without rows, until they take no longer than they usually do or it took so many seconds: so that the first ones
        with rows do not either, nor those of many buckets when one is behind."""
        specs = self.specs()
        folds = [stream for stream, spec in specs.items() if spec.folds]
        began, ledger = time.monotonic(), self.ledger
        # None of these buckets is one of the deployment's.
        self.ledger = None
        for tentative in (False, True):
            states = {stream: Snapshot(0, None) for stream in folds}
            took, bucket = math.inf, 0
            while took > WARM and (bucket < 2 or time.monotonic() - began < within):
                for line in self._lines[tentative].values():
                    # The second one is a middling job: those are other statements, and compiled.
                    line.engine.limits = Limits(small=-1) if bucket == 1 else Limits()
                empty = {stream: {b: Content(0, 0) for b in range(bucket + 1)} for stream in self.fragment().inputs}
                before = time.monotonic()
                found = self.run(Evaluate(0, tuple(specs), bucket, bucket + 1, empty, tentative, 0, states))
                took, bucket = math.inf if bucket < 2 else time.monotonic() - before, bucket + 1
                states = {stream: Snapshot(bucket, state) for stream, state in found.states.items()}
            for line in self._lines[tentative].values():
                line.end, line.engine.limits = -1, Limits()
        self.spent = dict.fromkeys(self.spent, 0.0)
        self.ran = dict.fromkeys(self.ran, 0)
        self.ledger = ledger

    def run(self, asked: Evaluate) -> Evaluated:
        if asked.job in self._cancelled:
            raise JobCancelled(f"job {asked.job} was cancelled before it began")
        set_job_group(self._session, self._group(asked), interrupt=False)
        contents: dict[str, tuple[Content, ...]] = {}
        states: dict[str, Content] = {}
        # Each fold goes on from a state of its own.
        specs = self.specs(asked.version)
        folds = [(stream,) for stream in asked.outputs if specs[stream].folds]
        others = tuple(stream for stream in asked.outputs if not specs[stream].folds)
        for outputs in [*([others] if others else []), *folds]:
            line = self._line(asked, outputs)
            try:
                contents |= self._run(line, outputs, asked)
                if outputs in folds:
                    state = state_content(line.engine.states)
                    states[outputs[0]], line.state = state, state.hash
            except BaseException as error:
                # Whatever it had read and kept by then: the next job begins anew.
                line.end = -1
                if asked.job in self._cancelled:
                    raise JobCancelled(f"job {asked.job} was cancelled") from error
                raise
        self.ran[asked.tentative] += 1
        return Evaluated(asked.job, contents, states)

    def cancel(self, asked: Evaluate) -> None:
        """From another thread."""
        self._cancelled.append(asked.job)
        cancel_job_group(self._session, self._group(asked))

    def _group(self, asked: Evaluate) -> str:
        return f"{self._name}-{asked.job}"

    def _run(self, line: _Line, outputs: tuple[str, ...], asked: Evaluate) -> dict[str, tuple[Content, ...]]:
        horizons = self._horizons(asked.version, outputs)
        snapshot = asked.states.get(outputs[0])
        at = asked.begin if snapshot is None else snapshot.bucket
        if not (line.goes_on(asked.view, at, horizons) and line.has(snapshot)):
            at = self._begin(line, horizons, snapshot, at, asked.view)
        began = time.monotonic()
        found = self._evaluate(line, at, asked.end, asked.view)
        self.spent[asked.tentative] += time.monotonic() - began
        if not asked.tentative:
            self._count(line, asked, found)
        line.forget(horizons)
        return {stream: self._contents(line.engine, stream, found.outputs[stream], asked) for stream in outputs}

    def _count(self, line: _Line, asked: Evaluate, found: EngineEvaluation) -> None:
        """What was evaluated for the past alone is not counted: whoever made it stable did."""
        boxes = [box.box.name for box in line.engine.checked.boxes if box.typed.leaves_out]
        if self.ledger is not None and boxes:
            counts = {(box, reason, at // self.interval): n for (box, reason, at), n in found.left_out.items()}
            self.ledger.count(boxes, self.first + asked.begin, self.first + asked.end, counts)

    def _begin(
        self,
        line: _Line,
        horizons: Mapping[str, int],
        snapshot: Snapshot | None,
        at: int,
        view: Mapping[str, Mapping[int, Content]],
    ) -> int:
        """Anew, so early that all is there that later buckets read; gives the bucket to go on with."""
        line.engine.forget()
        line.read.clear()
        early = max(0, at - max(horizons.values()) + 1)
        if snapshot is None:
            return early
        if early < at:
            self._evaluate(line, early, at, view)
        if snapshot.state is not None:
            line.engine.states = states_in(snapshot.state)
        elif early < at:
            # What stands before the first bucket has no past.
            raise AssertionError("a fold without a state begins with the first bucket")
        return at

    def _evaluate(
        self, line: _Line, begin: int, end: int, view: Mapping[str, Mapping[int, Content]]
    ) -> EngineEvaluation:
        lo, hi = self._stime(begin), self._stime(end)
        for stream, schema in line.schemas.items():
            read = {b: c for b, c in sorted(view.get(stream, {}).items()) if begin <= b < end}
            rows = numbered(read.values(), schema)
            line.engine.offer(stream, Segment(lo, hi, STABLE, rows.num_rows, rows))
            line.read.setdefault(stream, {}).update({bucket: content.hash for bucket, content in read.items()})
        found = line.engine.evaluate(lo, hi)
        line.end = end
        return found

    def _contents(self, engine: Engine, stream: str, segment: Segment, asked: Evaluate) -> tuple[Content, ...]:
        edge = next(edge for edge in engine.small.outputs if edge.name == stream)
        rows = segment.load(edge)
        if segment.table is None:
            rows = canonical(rows)
            for folder in {Path(path).parent for path, _ in segment.files}:
                shutil.rmtree(folder)
        # In the order that the key gave them, which the reader does not need.
        rows = rows.select([STIME, *self.fragment().checked.streams[stream].schema.names])
        cut = by_bucket(rows, self.first + asked.begin, self.first + asked.end, self.interval)
        for one in cut:
            # Here, in a thread: whoever sends it would do so in the event loop.
            measured(one)
        return tuple(map(content_of, cut))

    def _stime(self, bucket: int) -> int:
        return (self.first + bucket) * self.interval

    def _horizons(self, version: int, outputs: tuple[str, ...]) -> dict[str, int]:
        found: dict[str, int] = {}
        specs = self.specs(version)
        for stream in outputs:
            for read, horizon in specs[stream].reads.items():
                found[read] = max(horizon, found.get(read, 0))
        return found

    def _line(self, asked: Evaluate, outputs: tuple[str, ...]) -> _Line:
        """The engine for outputs that are made together; the one that was used last is the last."""
        lines, key = self._lines[asked.tentative], (asked.version, outputs)
        line = lines.pop(key, None) or self._new(*key)
        lines[key] = line
        if len(lines) > MOST_LINES:
            lines.pop(next(iter(lines))).engine.forget()
        return line

    def _new(self, version: int, outputs: tuple[str, ...]) -> _Line:
        checked = leading_to(self.fragment(version).checked, outputs)
        folder = self._folder / str(next(self._made))
        engine = Engine(self._session, checked, folder, ordered=self._ordered.intersection(outputs))
        schemas = {
            edge.name.removesuffix("@source"): arrow_schema([c for c in edge.columns if c.name != SEQ])
            for edge in engine.small.sources
        }
        return _Line(engine, schemas)
