"""A diagram of a user's own under failures: its boxes by the reference, on replicas in virtual time."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from itertools import product
from typing import Any

from auroral.dpc.events import Evaluate, Evaluated
from auroral.dpc.settings import Settings
from auroral.dpc.sunion import OutputSpec
from auroral.dpc.values import Content
from auroral.model.boxes.base import BoxClass
from auroral.model.builder import DiagramBuilder, check
from auroral.model.checking import Checked
from auroral.model.diagram import Diagram, Input
from auroral.model.duration import Duration, microseconds
from auroral.model.errors import AuroralError, DiagramError, unknown_name
from auroral.model.types import Kind
from auroral.reference.evaluate import evaluate
from auroral.reference.rows import Row
from auroral.sim.faults import parse
from auroral.sim.scenario import Scenario
from auroral.sim.simulate import Outcome, judged, observed

NODES = "n"
"""Replicas run on hosts na, nb, and so on."""
QUIET = 30.0
"""Seconds after the last failure in which everything must have been corrected."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class CannotBeSimulated(AuroralError):
    """A diagram that the simulator cannot run."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the client was given of one bucket, and when; a later one of the same bucket takes its place."""

    at: float
    """Seconds since the first bucket began."""
    stream: str
    stime: int
    """Where the bucket begins, in microseconds."""
    stable: bool
    rows: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Tried:
    answers: tuple[Answer, ...]
    violations: tuple[str, ...]
    """Guarantees that were broken: none, unless there is a bug in Auroral, or a box is not deterministic."""
    outcome: Outcome = field(repr=False)

    @property
    def ok(self) -> bool:
        return not self.violations

    @property
    def tentative(self) -> tuple[Answer, ...]:
        return tuple(answer for answer in self.answers if not answer.stable)

    def rows(self, stream: str) -> list[dict[str, Any]]:
        """What an output holds in the end."""
        return [row for answer in self.answers if answer.stable and answer.stream == stream for row in answer.rows]


def under_failures(
    diagram: Diagram | DiagramBuilder,
    rows: Mapping[str, Iterable[Mapping[str, Any]]],
    failures: str = "",
    *,
    bound: Duration | None = None,
    replicas: int = 2,
    seed: int = 0,
) -> Tried:
    """Run the diagram over these rows of its inputs on so many nodes, while failures happen, and check every guarantee.

    `failures` are lines like `at 3s crash na`; hosts are the inputs, the nodes na, nb, ... and the client c. Seconds count from
    the first row's bucket. `bound` is X; if it is left out, the lowest availability of an output, or else ten buckets.
    """
    checked = check(diagram).runnable()
    fragment, given = _fragment(checked, rows)
    interval = checked.diagram.bucket / 1e6
    availabilities = [o.availability for o in checked.diagram.outputs if o.availability is not None]
    longest = microseconds(bound) if bound is not None else min(availabilities, default=10 * checked.diagram.bucket)
    settings = Settings(bucket=interval, bound=longest / 1e6, ping_every=min(0.1, interval))
    scenario = Scenario(seed, fragment.inputs, (fragment,), {NODES: replicas}, settings, 0.0, rows=given)
    faults = parse(failures, scenario.hosts)
    last = max((fault.at for fault in faults), default=0.0)
    buckets = max(len(contents) for contents in given.values())
    buckets = max(buckets, int((last + QUIET) / interval) if faults else 0)
    padded = {
        stream: (*contents, *(_content(()) for _ in range(buckets - len(contents))))
        for stream, contents in given.items()
    }
    # Half a bucket more, so that the number of buckets is not a matter of rounding.
    run = observed(replace(scenario, seconds=(buckets + 0.5) * interval, rows=padded, faults=faults))
    outcome = judged(run)
    answers = [
        Answer(one.at, stream, fragment.begin(one.bucket), one.stable, fragment.dicts(stream, one.content))
        for stream, all_ in run.deliveries.items()
        for one in all_
    ]
    return Tried(tuple(sorted(answers, key=lambda answer: answer.at)), outcome.violations, outcome)


@dataclass(frozen=True, slots=True)
class DiagramFragment:
    """A whole diagram as what replicas compute."""

    checked: Checked
    first: int
    """The number of the first bucket since 1970; the protocol counts from there."""
    name: str = NODES

    @property
    def inputs(self) -> tuple[str, ...]:
        return tuple(given.stream for given in self.checked.diagram.inputs)

    @property
    def streams(self) -> tuple[str, ...]:
        return tuple(output.stream for output in self.checked.diagram.outputs)

    @property
    def outputs(self) -> tuple[OutputSpec, ...]:
        return tuple(OutputSpec(s, self._reads(s), tuple(self._required(s)), ()) for s in self.streams)

    def begin(self, bucket: int) -> int:
        return (self.first + bucket) * self.checked.diagram.bucket

    def _reads(self, stream: str) -> dict[str, int]:
        """Inputs with their horizons in buckets: what boxes on the way read of the past adds up."""
        made = self.checked.producer(stream)
        if made is None:
            return {stream: 1}
        box, _ = made
        back = -(-box.typed.past // self.checked.diagram.bucket)
        found: dict[str, int] = {}
        for read in box.box.inputs:
            for name, horizon in self._reads(read).items():
                found[name] = max(horizon + back, found.get(name, 0))
        return found

    def _required(self, stream: str) -> list[frozenset[str]]:
        """Groups of inputs of each of which one must be there: all ports of a join, any one of a union."""
        made = self.checked.producer(stream)
        if made is None:
            return [frozenset({stream})]
        box, _ = made
        ports = list(zip(box.box.inputs, box.typed.required, strict=True))
        needed = [group for read, required in ports if required for group in self._required(read)]
        if needed:
            return list(dict.fromkeys(needed))
        choices = product(*(self._required(read) for read, _ in ports))
        return list(dict.fromkeys(frozenset[str]().union(*chosen) for chosen in choices))

    def evaluate(self, asked: Evaluate) -> Evaluated:
        sources = {
            name: [row for _, content in sorted(asked.view.get(name, {}).items()) for row in content.rows]
            for name in self.inputs
        }
        result = evaluate(self.checked, sources, self.begin(asked.end))
        return Evaluated(asked.job, {stream: self._cut(result.streams[stream], asked) for stream in asked.outputs})

    def _cut(self, rows: Iterable[Row], asked: Evaluate) -> tuple[Content, ...]:
        found: dict[int, list[Row]] = {bucket: [] for bucket in range(asked.begin, asked.end)}
        for row in rows:
            bucket = row.stime // self.checked.diagram.bucket - self.first
            if bucket in found:
                found[bucket].append(row)
        return tuple(_content(tuple(one)) for one in found.values())

    def dicts(self, stream: str, content: Content) -> tuple[dict[str, Any], ...]:
        names = self.checked.streams[stream].schema.names
        return tuple(dict(zip(names, row.values, strict=True)) for row in content.rows)


def _content(rows: tuple[Row, ...]) -> Content:
    said = repr([(row.stime, row.values) for row in rows]).encode()
    return Content(int.from_bytes(hashlib.blake2b(said, digest_size=8).digest()), len(rows), rows)


def _fragment(
    checked: Checked, rows: Mapping[str, Iterable[Mapping[str, Any]]]
) -> tuple[DiagramFragment, dict[str, tuple[Content, ...]]]:
    folds = [box.box.name for box in checked.boxes if box.typed.box_class is BoxClass.FOLD]
    if folds:
        raise CannotBeSimulated(
            f"{', '.join(folds)} depends on all of the past\n    allowed: boxes with a horizon, as windows on stime\n"
            "    next: leave it out of the simulation"
        )
    inputs = {given.stream: given for given in checked.diagram.inputs}
    wrong = [unknown_name("input", name, tuple(inputs)) for name in rows if name not in inputs]
    if wrong:
        raise DiagramError(wrong)
    read = {
        stream: [_row(given, n, row) for n, row in enumerate(rows.get(stream, ()))] for stream, given in inputs.items()
    }
    interval = checked.diagram.bucket
    numbers = [row.stime // interval for found in read.values() for row in found]
    if not numbers:
        raise CannotBeSimulated("there are no rows\n    next: give some of at least one input")
    first, count = min(numbers), max(numbers) - min(numbers) + 1
    given = {
        stream: tuple(
            _content(tuple(row for row in found if row.stime // interval - first == bucket)) for bucket in range(count)
        )
        for stream, found in read.items()
    }
    return DiagramFragment(checked, first), given


def _row(given: Input, number: int, row: Mapping[str, Any]) -> Row:
    stamp = given.stamp
    if stamp is None or stamp.field is None:
        raise CannotBeSimulated(
            f"input {given.stream!r} is stamped by the clock\n    next: say which field its time is in: input(..., stime=FIELD)"
        )
    unknown = [unknown_name("field", name, given.schema.names) for name in row if name not in given.schema.names]
    if unknown:
        raise DiagramError(unknown)
    values = tuple(_value(row.get(field.name), field.type.kind) for field in given.schema.fields)
    stime = values[given.schema.names.index(stamp.field)]
    if not isinstance(stime, int):
        raise CannotBeSimulated(f"row {number} of {given.stream!r} has no time in {stamp.field!r}: {stime!r}")
    return Row(stime * stamp.unit, values, (number,))


def _value(value: Any, kind: Kind) -> Any:
    """As the reference has it: microseconds since 1970 for times, days for dates."""
    if isinstance(value, str) and kind is Kind.TIMESTAMP:
        value = datetime.fromisoformat(value)
    if isinstance(value, datetime):
        if value.tzinfo is None:
            value = value.replace(tzinfo=UTC)
        return (value - _EPOCH) // timedelta(microseconds=1)
    if isinstance(value, date):
        return (value - _EPOCH.date()).days
    return value
