"""Load shedding that every replica does alike: what is dropped is decided by a hash, never by chance."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from auroral.model.boxes.base import BoxFacts, NotStime, Report, TypedBox, expect_ports
from auroral.model.boxes.later import FIELD_WINDOWS, TUPLE_WINDOWS, later
from auroral.model.boxes.window_sizes import step
from auroral.model.duration import spell
from auroral.model.stream import StreamType


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedRandomDrop(TypedBox):
    """A row is dropped if hash(seed, stime, columns, ordinal among equals) is in the lowest `rate` of all.

    The seed, the box's name, lets drops in series decide independently.
    """

    counted: ClassVar[bool] = True

    seed: str
    rate: float


@dataclass(frozen=True, slots=True)
class RandomDrop:
    """`max_batch_size` bounded how many rows Borealis dropped at once; a hash spreads drops by itself."""

    rate: float
    max_batch_size: int = 1
    seed: str | None = dataclasses.field(default=None, repr=False)
    """The box's name, unless it goes by another one."""

    type: ClassVar[str] = "random_drop"
    facts: ClassVar[BoxFacts] = BoxFacts(
        box_class="map",
        ports="1 in, 1 out",
        closing_event="-",
        result_stime="the row's",
        order_key="the input's",
        state="none",
        horizon="0",
        deterministic=True,
        convergent=True,
        repeatable=True,
        compiles_to="WHERE on a hash of the row and its ordinal",
    )

    def resolve(self, inputs: Sequence[StreamType], outputs: int, report: Report) -> TypedBox | None:
        if not expect_ports(report, "random_drop", inputs, outputs, 1, 1) or not _rate_is_fine(self.rate, report):
            return None
        return TypedRandomDrop(outputs=(inputs[0],), seed=self.seed or report.box, rate=self.rate)


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedWindowDrop(TypedBox):
    """Windows [m*advance + phase, ... + size) of stime go by a hash of group and batch (consecutive m).

    A row stays if one of its windows stays. A matching aggregate downstream leaves out the dropped windows.
    """

    counted: ClassVar[bool] = True

    seed: str
    rate: float
    batch: int
    size: int
    advance: int
    phase: int
    group_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WindowDrop:
    """Drops whole windows, so that what an aggregate downstream still gives is a subset of the full results.

    `field` is what the windows are on (None: stime, with sizes in microseconds); `tuples` counts rows.
    """

    rate: float
    max_batch_size: int
    size: float
    advance: float
    field: str | None = None
    group_by: tuple[str, ...] = ()
    tuples: bool = False
    seed: str | None = dataclasses.field(default=None, repr=False)
    """The box's name, unless it goes by another one."""

    type: ClassVar[str] = "window_drop"
    facts: ClassVar[BoxFacts] = BoxFacts(
        box_class="map",
        ports="1 in, 1 out",
        closing_event="-",
        result_stime="the row's",
        order_key="the input's",
        state="none",
        horizon="0",
        deterministic=True,
        convergent=True,
        repeatable=True,
        compiles_to="WHERE on a hash of group and window",
    )

    def resolve(self, inputs: Sequence[StreamType], outputs: int, report: Report) -> TypedBox | None:
        if not expect_ports(report, "window_drop", inputs, outputs, 1, 1):
            return None
        stream, rated = inputs[0], _rate_is_fine(self.rate, report)
        if self.tuples:
            return later(TUPLE_WINDOWS, (stream,)) if rated else None
        known = [report.field(name, stream) for name in (*self.group_by, *([self.field] if self.field else []))]
        if not (rated and all(known)):
            return None
        clock = stream.clock(self.field) if self.field else None
        if self.field and clock is None:
            return later(FIELD_WINDOWS, (stream,), NotStime(0, self.field))
        length = step(clock, stream) if clock else 1
        # Infinity and NaN, which XML numbers may be, have no integer.
        finite = math.isfinite(self.size) and math.isfinite(self.advance)
        size, advance = (round(value * length) if finite else 0 for value in (self.size, self.advance))
        if not 0 < advance <= size:
            report.add(
                f"windows of size {self._shown(self.size)} that begin every {self._shown(self.advance)}",
                allowed="both above 0, and the second at most the first",
                next_step="give both the sizes that the aggregate behind it has",
            )
            return None
        if self.max_batch_size < 1:
            report.add(
                f"{self.max_batch_size} windows stay or go together",
                allowed="1 or more",
                next_step="write 1 to judge each window by itself",
            )
            return None
        phase = clock.offset % advance if clock else 0
        return TypedWindowDrop(
            outputs=(stream,),
            seed=self.seed or report.box,
            rate=self.rate,
            batch=self.max_batch_size,
            size=size,
            advance=advance,
            phase=phase,
            group_by=self.group_by,
        )

    def _shown(self, length: float) -> str:
        """As its user wrote it: a length of time, or a number in a file."""
        return spell(int(length)) if isinstance(length, int) and self.field is None else f"{length:g}"


def _rate_is_fine(rate: float, report: Report) -> bool:
    if not 0 <= rate <= 1:
        report.add(
            f"drop_rate is {rate}", allowed="0 to 1", next_step="write the part of all rows that is to go, as 0.25"
        )
        return False
    return True
