"""What steps of random diagrams are drawn from: streams to read, their fields, lengths of time, windows and aggregates."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

import auroral
from auroral.model.boxes.base import Source
from auroral.model.builder import DiagramBuilder
from auroral.model.steps import Stream
from auroral.model.stream import ClockField
from auroral.model.types import Kind

LOOSE = "dev"
"""What columns are called whose values the reference computes otherwise than Spark: nothing is made from them."""
GROUPING = ("k", "g", "i", "c", "d", "f", "b", "h", "o", "z", "s")


@dataclass(slots=True)
class Drawing:
    """A diagram under construction. Stimes are multiples of `scale`; `functions` stand in for those of `apply` boxes."""

    seed: int
    random: Random
    builder: DiagramBuilder
    scale: int
    without_sql: bool = False
    uses_sql: bool = False
    streams: list[Stream] = field(default_factory=list)
    controls: list[Stream] = field(default_factory=list)
    """Outputs of boxes that never have a row."""
    functions: dict[str, Any] = field(default_factory=dict)

    @property
    def bucket(self) -> int:
        return self.builder.bucket

    def having(self, *needed: str, deep: bool = True) -> Stream | None:
        """A stream that has these fields; younger ones rather, for depth."""
        fitting = [s for s in self.streams if set(needed) <= set(self.names(s))]
        return self.random.choice(fitting[-3:] if deep else fitting) if fitting else None

    def any(self, deep: bool = True) -> Stream:
        stream = self.having(deep=deep)
        assert stream is not None
        return stream

    def like(self, stream: Stream) -> Stream:
        """A stream with the same fields; it may be the same stream."""
        return self.random.choice([s for s in self.streams if self.types(s) == self.types(stream)])

    def with_clock(self) -> tuple[Stream, ClockField]:
        """A stream that has its stime in a field."""
        streams = self.builder.check().streams
        stream = self.random.choice([s for s in self.streams if streams[s.name].clocks])
        return stream, streams[stream.name].clocks[0]

    def sql(self, text: str, type: str, same: str) -> Source:
        """Spark SQL, or the `same` in our own language: the reference evaluator knows no SQL."""
        self.uses_sql = True
        return same if self.without_sql else auroral.sql(text, type)

    def types(self, stream: Stream) -> Any:
        return self.builder.check().streams[stream.name].schema

    def names(self, stream: Stream) -> list[str]:
        """Fields that an expression can name."""
        return [n for n in self.types(stream).names if n.isidentifier() and not n.startswith(LOOSE)]

    def numbers(self, stream: Stream) -> list[str]:
        return [f.name for f in self.types(stream).fields if f.type.is_numeric and not f.name.startswith(LOOSE)]

    def time(self, buckets: float) -> str:
        return f"{self.length(buckets)}us"

    def length(self, buckets: float) -> int:
        """A length of up to so many buckets; often a multiple of one, often odd."""
        random = self.random
        if random.random() < 0.4:
            return random.randint(1, max(1, int(buckets))) * self.bucket
        return random.randint(1, max(1, int(buckets * self.bucket) // self.scale)) * self.scale

    def window(self, buckets: float = 4) -> tuple[int, int]:
        size = self.length(buckets)
        parts = {size, size // 2, size // 3, self.bucket, self.random.randint(1, size)}
        whole = [a for a in {part // self.scale * self.scale for part in parts} if 0 < a <= size]
        advance = self.random.choice(sorted(whole))
        # Each row lies in size / advance windows: keep that small.
        return size, max(advance, -(-size // 40 // self.scale) * self.scale)

    def by(self, stream: Stream) -> list[str]:
        usable = [n for n in self.names(stream) if n in GROUPING]
        return self.random.sample(usable, min(len(usable), self.random.choice([0, 1, 1, 2])))

    def calls(self, stream: Stream, deviations: bool = True) -> dict[str, str]:
        random, names, numbers = self.random, self.names(stream), self.numbers(stream)
        binary = {field.name for field in self.types(stream).fields if field.type.kind is Kind.BINARY}
        ordered = [name for name in names if name not in binary]
        usable = {"sum": numbers, "avg": numbers, "min": ordered, "max": ordered}
        calls = {"n": "count()"}
        for position in range(random.randint(1, 3)):
            function = random.choice(["sum", "avg", "min", "max", "firstval", "lastval", "count_distinct", "count"])
            if of := usable.get(function, names):
                calls[f"v{position}"] = f"{function}({random.choice(of)})"
        if deviations and "y" in names and random.random() < 0.3:
            calls[LOOSE] = "stddev(y)"
        return calls

    def free(self, stream: Stream, *names: str) -> str | None:
        return next((n for n in names if n not in self.types(stream).names), None)
