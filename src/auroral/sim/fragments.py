"""What replicas of a diagram compute, evaluated by the reference."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from auroral.dpc import fragments
from auroral.dpc.events import Evaluate, Evaluated
from auroral.dpc.fragments import CannotBeCut, Fragment
from auroral.dpc.values import Content
from auroral.model.boxes.apply import TypedApply
from auroral.model.boxes.base import BoxClass
from auroral.model.checking import Checked, CheckedBox
from auroral.model.deployment import Deployment
from auroral.model.errors import AuroralError, Problem
from auroral.model.expression.typed import SqlExpression, walk
from auroral.reference.evaluate import evaluate
from auroral.reference.rows import Row


class CannotBeSimulated(AuroralError):
    """A diagram that the simulator cannot run."""


@dataclass(frozen=True, slots=True)
class DiagramFragment(Fragment):
    first: int = 0
    """The number of the first bucket since 1970; the protocol counts from there."""

    def evaluate(self, asked: Evaluate) -> Evaluated:
        sources = {
            name: [row for _, content in sorted(asked.view.get(name, {}).items()) for row in content.rows]
            for name in self.inputs
        }
        end = (self.first + asked.end) * self.checked.diagram.bucket
        try:
            result = evaluate(self.checked, sources, end)
        except Exception as error:
            boxes = ", ".join(box.box.name for box in self.checked.boxes)
            raise CannotBeSimulated(
                f"evaluating {boxes} stops with {type(error).__name__}: {error}\n"
                "    allowed: functions that take all rows that may come, also nulls\n"
                "    next: mend the function, or write on_error='reject' in its step; or give rows that it takes"
            ) from error
        return Evaluated(asked.job, {stream: self._cut(result.streams[stream], asked) for stream in asked.outputs})

    def _cut(self, rows: Iterable[Row], asked: Evaluate) -> tuple[Content, ...]:
        found = by_bucket(rows, self.checked.diagram.bucket, self.first)
        return tuple(content(found.get(bucket, ())) for bucket in range(asked.begin, asked.end))


def by_bucket(rows: Iterable[Row], interval: int, first: int) -> dict[int, list[Row]]:
    found: dict[int, list[Row]] = {}
    for row in rows:
        found.setdefault(row.stime // interval - first, []).append(row)
    return found


def content(rows: Iterable[Row]) -> Content:
    kept = tuple(rows)
    said = repr([(row.stime, row.values) for row in kept]).encode()
    return Content(int.from_bytes(hashlib.blake2b(said, digest_size=8).digest()), len(kept), kept)


def cut(
    checked: Checked, deployment: Deployment | None = None, replicas: int = 2
) -> tuple[tuple[DiagramFragment, ...], tuple[str, ...]]:
    """The fragments, those first that others read, and what the client reads."""
    _refuse_what_cannot_be(checked.boxes)
    try:
        found = fragments.cut(checked, deployment, replicas)
    except CannotBeCut as error:
        raise CannotBeSimulated(str(error)) from error
    return tuple(DiagramFragment(f.name, f.hosts, f.checked, f.outputs) for f in found.all), found.client


def _refuse_what_cannot_be(boxes: Iterable[CheckedBox]) -> None:
    problems = []
    for box in boxes:
        expressions = (node for expression in box.typed.expressions() for node in walk(expression))
        if box.typed.box_class is BoxClass.FOLD:
            why = "it depends on all of the past, and the states of such boxes are not kept here"
        elif isinstance(box.typed, TypedApply):
            why = "it applies a function of DataFrames, which only Spark can call"
        elif any(isinstance(node, SqlExpression) for node in expressions):
            why = "it has an expression in SQL, which only Spark can evaluate"
        else:
            continue
        what = f"box {box.box.name!r} cannot be simulated: {why}"
        allowed = "boxes with a horizon, as windows on stime, and expressions of Auroral's own language"
        problems.append(Problem(what, box.box.place, allowed, "leave it out of the simulation"))
    if problems:
        raise CannotBeSimulated("\n".join(map(str, problems)))
