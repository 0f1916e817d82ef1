"""Random diagrams and random rows for them; a seed gives the same ones again, and fewer boxes or rows a part of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import auroral
from auroral.model.checking import Checked
from auroral.model.steps import Stream
from auroral.reference.rows import Row
from engine import row_steps as by_rows
from engine import stateless_steps as stateless
from engine import window_steps as windows
from engine.drawing import LOOSE, Drawing
from engine.random_rows import DECIMALS, FIELDS, MOST_ROWS, Shape, random_rows
from engine.user_code import register_aggregates, register_functions

MOST_BOXES = 4
STEPS: list[Callable[[Drawing, str], Sequence[Stream]]] = [
    stateless.filtered,
    stateless.mapped,
    stateless.rejecting,
    stateless.rejecting,
    stateless.united,
    stateless.delayed,
    stateless.serialized,
    stateless.put_out,
    stateless.dropped,
    stateless.applied,
    windows.aggregated,
    windows.aggregated,
    windows.aggregated_on_a_clock,
    windows.on_event_time,
    windows.on_event_time,
    windows.joined,
    windows.joined,
    windows.windows_dropped,
    windows.running,
    windows.first_aligned,
    windows.runs,
    windows.user_aggregate,
    by_rows.rows_counted,
    by_rows.values,
    by_rows.buffers,
    by_rows.sorted_rows,
    by_rows.waited,
    by_rows.resampled,
    by_rows.sectioned,
]

register_aggregates()
register_functions()


@dataclass(slots=True)
class Case:
    """A diagram with rows, and Python functions that stand in for those of its `apply` boxes.

    `without_sql` is the same diagram, with expressions of our own in the place of Spark's.
    """

    checked: Checked
    without_sql: Checked
    sources: dict[str, list[Row]]
    until: int
    first: int
    functions: dict[str, Any]

    @property
    def bucket(self) -> int:
        return self.checked.diagram.bucket

    def loose(self) -> dict[str, list[int]]:
        """Positions of loose columns in rows (stime, column, ...) of each output."""
        found = {}
        for output in self.checked.diagram.outputs:
            names = self.checked.streams[output.stream].schema.names
            found[output.stream] = [1 + i for i, name in enumerate(names) if name.startswith(LOOSE)]
        return found

    def cuts(self, random: Random, most: int) -> list[int]:
        """At most `most` ranges of buckets."""
        inside = range(self.first + self.bucket, self.until, self.bucket)
        return [self.first, *sorted(random.sample(inside, min(len(inside), random.randint(1, most) - 1))), self.until]


def random_case(seed: int, boxes: int | None = None, rows: int = MOST_ROWS) -> Case:
    """With so many steps (2 to MOST_BOXES unless given), and at most so many rows an input."""
    random = Random(f"rows of {seed}")
    buckets = random.randint(6, 18)
    if boxes is None:
        boxes = random.randint(2, MOST_BOXES)
    drawing, decimal = _drawn(seed, boxes)
    checked = without_sql = drawing.builder.check()
    if drawing.uses_sql:
        without_sql = _drawn(seed, boxes, without_sql=True)[0].builder.check()
        assert without_sql.streams == checked.streams
    lowest = -(buckets // 3) * drawing.bucket
    until = lowest + buckets * drawing.bucket
    shape = Shape(drawing.scale, drawing.bucket, decimal)
    sources = {name: random_rows(random, shape, lowest, until)[:rows] for name in ("in0", "in1")}
    return Case(checked, without_sql, sources, until, lowest, drawing.functions)


def _drawn(seed: int, boxes: int, without_sql: bool = False) -> tuple[Drawing, str]:
    """A diagram, and the type of its decimals."""
    random = Random(seed)
    scale = random.choice([1, 1, 1000])
    bucket = random.choice([10, 10, 12, 7, 1]) * scale
    builder = auroral.diagram(f"random{seed}", bucket=f"{bucket}us")
    decimal = random.choice(["decimal(12,2)", *DECIMALS])
    fields = FIELDS.format(t=random.choice(["long", "long", "int"]), d=decimal)
    # Only one of the inputs says which field its stime is in.
    first = builder.input("in0", fields, stime="t", unit="us" if scale == 1 else "ms")
    drawing = Drawing(seed, random, builder, scale, without_sql, streams=[first, builder.input("in1", fields)])
    for number in range(boxes):
        made: Sequence[Stream] = ()
        while not made:
            made = random.choice(STEPS)(drawing, f"s{number}")
        drawing.streams += made
    read = {stream for box in builder.check().boxes for stream in box.box.inputs}
    for stream in [*drawing.streams[2:], *drawing.controls]:
        if stream.name not in read or random.random() < 0.15:
            stream.output()
    return drawing, decimal
