"""What replicas of a diagram compute, evaluated by the reference."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from auroral.dpc import fragments
from auroral.dpc.events import Evaluate, Evaluated
from auroral.dpc.fragments import CannotBeCut, Fragment
from auroral.dpc.values import Content, Snapshot
from auroral.model.boxes.apply import TypedApply
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
        contents: dict[str, tuple[Content, ...]] = {}
        states: dict[str, Content] = {}
        if others := [stream for stream in asked.outputs if stream not in asked.states]:
            found = self._evaluated({name: self._rows(asked, name, 0) for name in self.inputs}, asked)
            contents |= {stream: self._cut(found[stream], asked) for stream in others}
        for stream, before in asked.states.items():
            past: Mapping[str, Sequence[Row]] = {} if before.state is None else before.state.rows
            read = {name: (*past.get(name, ()), *self._rows(asked, name, before.bucket)) for name in self.inputs}
            contents[stream] = self._cut(self._evaluated(read, asked)[stream], asked)
            states[stream] = self._state(before, read, asked)
        return Evaluated(asked.job, contents, states)

    def _rows(self, asked: Evaluate, name: str, since: int) -> list[Row]:
        read = sorted(asked.view.get(name, {}).items())
        return [row for bucket, content in read if bucket >= since for row in content.rows]

    def _state(self, before: Snapshot, read: Mapping[str, Sequence[Row]], asked: Evaluate) -> Content:
        """A fold's state stands for all that it has read, and is that here: of little use but to be right."""
        state = 0 if before.state is None else before.state.hash
        for bucket in range(before.bucket, asked.end):
            seen = [asked.view.get(name, {}).get(bucket) for name in self.inputs]
            state = _hash(repr((state, [None if one is None else one.hash for one in seen])))
        return Content(state, sum(map(len, read.values())), read)

    def _evaluated(self, sources: Mapping[str, Sequence[Row]], asked: Evaluate) -> Mapping[str, Sequence[Row]]:
        end = (self.first + asked.end) * self.checked.diagram.bucket
        try:
            return evaluate(self.checked, sources, end).streams
        except Exception as error:
            boxes = ", ".join(box.box.name for box in self.checked.boxes)
            raise CannotBeSimulated(
                f"evaluating {boxes} stops with {type(error).__name__}: {error}\n"
                "    allowed: functions that take all rows that may come, also nulls\n"
                "    next: mend the function, or write on_error='reject' in its step; or give rows that it takes"
            ) from error

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
    return Content(_hash(repr([(row.stime, row.values) for row in kept])), len(kept), kept)


def _hash(said: str) -> int:
    return int.from_bytes(hashlib.blake2b(said.encode(), digest_size=8).digest())


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
        if isinstance(box.typed, TypedApply):
            why = "it applies a function of DataFrames, which only Spark can call"
        elif any(isinstance(node, SqlExpression) for node in expressions):
            why = "it has an expression in SQL, which only Spark can evaluate"
        else:
            continue
        what = f"box {box.box.name!r} cannot be simulated: {why}"
        allowed = "all other boxes, and expressions of Auroral's own language"
        problems.append(Problem(what, box.box.place, allowed, "leave it out of the simulation"))
    if problems:
        raise CannotBeSimulated("\n".join(map(str, problems)))
