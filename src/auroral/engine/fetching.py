"""What a job is to fetch, and what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple, TypeAlias

import pyarrow as pa

from auroral.engine.compile import Program
from auroral.engine.foldbox import FoldBox
from auroral.engine.keyedstate import KeyedState
from auroral.engine.relations import Edge, StateEdge
from auroral.engine.sqltext import Column, string_literal

LeftOut: TypeAlias = Mapping[tuple[str, str, int], int]
"""How many rows were left out, by box, reason, and the stime at which their bucket begins."""


def totals(left_out: LeftOut) -> dict[tuple[str, str], int]:
    """By box and reason."""
    found: Counter[tuple[str, str]] = Counter()
    for (box, reason, _), count in left_out.items():
        found[box, reason] += count
    return dict(found)


@dataclass(frozen=True, slots=True)
class Result:
    """`states` are those of folds that ran in this process; of others, `kept` has the keys that were touched."""

    outputs: Mapping[str, pa.Table | list[Path]] = field(default_factory=dict)
    kept: Mapping[str, pa.Table] = field(default_factory=dict)
    counts: LeftOut = field(default_factory=dict)
    states: Mapping[str, KeyedState] = field(default_factory=dict)

    def __or__(self, other: Result) -> Result:
        return Result(
            {**self.outputs, **other.outputs},
            {**self.kept, **other.kept},
            {**self.counts, **other.counts},
            {**self.states, **other.states},
        )


class Fetch(NamedTuple):
    """A relation that is wanted: its columns, and the statement that gives it. What folds read has types that only Spark knows."""

    columns: Sequence[Column]
    text: str
    fold: FoldBox | None = None


Count = tuple[str, str, str]
"""Box, reason, and the query that counts."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is still to be fetched."""

    outputs: Sequence[Edge] = ()
    kept: Sequence[Edge] = ()
    counts: Sequence[Count] = ()
    streams: Mapping[str, int] = field(default_factory=dict)
    boxes: Mapping[str, int] = field(default_factory=dict)
    """The waves from which on statements can read a stream, and what a box counts."""

    @staticmethod
    def of(program: Program) -> Wanted:
        kept = [edge for edge in program.kept if not isinstance(edge, StateEdge)]
        streams = {stream: step.wave + step.fetches for step in program.steps for stream in step.gives}
        boxes = {step.name: step.wave + step.fetches for step in program.steps if step.inputs}
        return Wanted(program.outputs, kept, program.counts, streams, boxes)

    def readable(self, wave: int) -> Wanted:
        """What statements of this wave can read."""

        def there(edge: Edge) -> bool:
            return edge.name in self.streams and self.streams[edge.name] <= wave

        counts = [count for count in self.counts if self.boxes[count[0]] <= wave]
        return Wanted([*filter(there, self.outputs)], [*filter(there, self.kept)], counts)

    def without(self, asked: Wanted, found: Result) -> Wanted:
        return replace(
            self,
            outputs=[edge for edge in self.outputs if edge.name not in found.outputs],
            kept=[edge for edge in self.kept if edge.name not in found.kept],
            counts=[count for count in self.counts if count not in asked.counts],
        )


def counting(counts: Sequence[Count]) -> str:
    """One row for each bucket, and each reason for which a box leaves rows of it out."""
    each = [
        f"SELECT {string_literal(box)} AS box, {string_literal(reason)} AS reason, at, n FROM ({query})"
        for box, reason, query in counts
    ]
    return "SELECT * FROM (" + " UNION ALL ".join(each) + ")"
