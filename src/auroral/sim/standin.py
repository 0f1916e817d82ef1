"""A fast stand-in for the evaluation of queries.

Contract: rows are integers, and each output bucket is an exact function of the input buckets within the horizon of its query. An
aggregate's or join's row is a fingerprint of all rows that it was computed from, so that output made from anything but the right
versions differs. Which buckets a query reads, and what it cannot do without, is as for real boxes. Each version of a query gives a row
of its own besides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from auroral.dpc.coverage import AtLeast
from auroral.dpc.events import Evaluate, Evaluated
from auroral.dpc.sunion import OutputSpec
from auroral.dpc.values import Content, Snapshot

_PRIME, _MASK = 1_099_511_628_211, (1 << 61) - 1


def fingerprint(*numbers: int) -> int:
    found = 14_695_981_039_346_656_037 & _MASK
    for number in numbers:
        found = ((found ^ (number & _MASK)) * _PRIME) & _MASK
    return found


def content(rows: tuple[int, ...]) -> Content:
    return Content(fingerprint(*rows), len(rows), rows)


class Kind(StrEnum):
    UNION = "union"
    FILTER = "filter"
    WINDOW = "window"
    JOIN = "join"
    FOLD = "fold"
    """Each bucket's row is of all rows that ever came."""


@dataclass(frozen=True, slots=True)
class Query:
    """A fragment with one output, or two: `side` is computed by the same replicas from some of the same inputs."""

    name: str
    kind: Kind
    inputs: tuple[str, ...]
    horizon: int = 1
    side: Query | None = None
    constraints: tuple[AtLeast, ...] = ()
    """On its first output."""

    @property
    def stream(self) -> str:
        return f"{self.name}.out"

    @property
    def parts(self) -> tuple[Query, ...]:
        return (self,) if self.side is None else (self, self.side)

    @property
    def streams(self) -> tuple[str, ...]:
        return tuple(part.stream for part in self.parts)

    @property
    def outputs(self) -> tuple[OutputSpec, ...]:
        """Without readers: who reads them is the scenario's."""
        return tuple(part._output() for part in self.parts)

    def _output(self) -> OutputSpec:
        groups = [{name} for name in self.inputs] if self.kind is Kind.JOIN else [set(self.inputs)]
        required = tuple(frozenset(group) for group in groups)
        folds = self.kind is Kind.FOLD
        reads = dict.fromkeys(self.inputs, self.horizon)
        return OutputSpec(self.stream, reads, required, (), self.constraints, folds)

    def evaluate(self, asked: Evaluate) -> Evaluated:
        contents: dict[str, tuple[Content, ...]] = {}
        states = {}
        for part in self.parts:
            if part.stream not in asked.outputs:
                continue
            if part.kind is Kind.FOLD:
                contents[part.stream], states[part.stream] = part._folded(asked)
            else:
                buckets = range(asked.begin, asked.end)
                contents[part.stream] = tuple(content(part.bucket(asked.view, bucket)) for bucket in buckets)
            if asked.version:
                made = contents[part.stream]
                contents[part.stream] = tuple(content((asked.version, *one.rows)) for one in made)
        return Evaluated(asked.job, contents, states)

    def _folded(self, asked: Evaluate) -> tuple[tuple[Content, ...], Content]:
        found, before = {}, asked.states.get(self.stream, Snapshot(0, None))
        state = 0 if before.state is None else before.state.hash
        for bucket in range(before.bucket, asked.end):
            state = fingerprint(state, *self.bucket(asked.view, bucket))
            found[bucket] = content((state,))
        return tuple(found[bucket] for bucket in range(asked.begin, asked.end)), Content(state, 1)

    def bucket(self, view: Mapping[str, Mapping[int, Content]], bucket: int) -> tuple[int, ...]:
        match self.kind:
            case Kind.UNION | Kind.FOLD:
                return tuple(sorted(row for name in self.inputs for row in _rows(view[name], bucket)))
            case Kind.FILTER:
                return tuple(row for name in self.inputs for row in _rows(view[name], bucket) if row % 3)
            case Kind.WINDOW | Kind.JOIN:
                read = range(max(0, bucket - self.horizon + 1), bucket + 1)
                sides = [tuple(row for b in read for row in _rows(view[name], b)) for name in self.inputs]
                if self.kind is Kind.JOIN and not all(sides):
                    return ()
                return (fingerprint(*(number for side in sides for number in (len(side), *side))),)


def _rows(view: Mapping[int, Content], bucket: int) -> tuple[int, ...]:
    found = view.get(bucket)
    return () if found is None else found.rows
