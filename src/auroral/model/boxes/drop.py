"""Load shedding that every replica does alike: what is dropped is decided by a hash, never by chance."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from auroral.model.boxes.aggregate_typed import WindowSample
from auroral.model.boxes.base import PASSED_ON, BoxClass, BoxFacts, NotStime, Report, TypedBox, expect_ports
from auroral.model.boxes.row_windows import as_written, ordering_field, value_unit
from auroral.model.boxes.window_sizes import not_too_many, step
from auroral.model.duration import spell
from auroral.model.stream import StreamType
from auroral.model.windows import FieldWindow
from auroral.model.xxhash import Column


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
    facts: ClassVar[BoxFacts] = dataclasses.replace(PASSED_ON, compiles_to="WHERE on a hash of the row and its ordinal")

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

    sample: WindowSample
    size: int
    advance: int
    phase: int
    group_by: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedRowDrop(TypedBox):
    """The same of windows [m*advance, ... + size) of values of `field`, or of the rows of a group, from 0 on, where there is none.

    A value that is no number lies in no window: its row stays, for others to judge.
    """

    counted: ClassVar[bool] = True

    sample: WindowSample
    size: Fraction
    advance: Fraction
    field: str | None
    group_by: tuple[str, ...]

    def numbers(self, place: int | Fraction) -> range:
        """Of the windows that a value, or a row by its number in the group, lies in."""
        first = math.floor((place - self.size) / self.advance) + 1
        return range(first if self.field is not None else max(0, first), math.floor(place / self.advance) + 1)

    def drops(self, group: Sequence[Column], place: int | Fraction) -> bool:
        return all(self.sample.drops(group, number) for number in self.numbers(place))


@dataclass(frozen=True, slots=True)
class WindowDrop:
    """Drops whole windows, so that what an aggregate downstream still gives is a subset of the full results.

    `field` is what the windows are on (None: stime, with sizes in microseconds); with `by_values` it is never taken for the stime.
    `tuples` counts rows.
    """

    rate: float
    max_batch_size: int
    size: float
    advance: float
    field: str | None = None
    group_by: tuple[str, ...] = ()
    tuples: bool = False
    by_values: bool = False
    seed: str | None = dataclasses.field(default=None, repr=False)
    """The box's name, unless it goes by another one."""

    type: ClassVar[str] = "window_drop"
    facts: ClassVar[BoxFacts] = dataclasses.replace(
        PASSED_ON,
        box_class="map on stime; fold on other fields and on numbers of rows",
        state="none; how many rows a group had, on numbers of rows",
        convergent="yes; folds no",
        repeatable="yes; folds no",
        compiles_to="WHERE on a hash of group and window; a scan in processing order for folds",
    )

    def resolve(self, inputs: Sequence[StreamType], outputs: int, report: Report) -> TypedBox | None:
        if not expect_ports(report, "window_drop", inputs, outputs, 1, 1):
            return None
        stream, rated = inputs[0], _rate_is_fine(self.rate, report)
        on = None if self.tuples else self.field
        known = [report.field(name, stream) for name in (*self.group_by, *([on] if on else []))]
        if not (rated and all(known)):
            return None
        clock = stream.clock(on) if on and not self.by_values else None
        by_rows = self.tuples or (on is not None and clock is None)
        if on and by_rows and not ordering_field(on, stream, report):
            return None
        unit = step(clock, stream) if clock else value_unit(stream.schema[on]) if on else 1
        # Infinity and NaN, which XML numbers may be, are no sizes.
        finite = math.isfinite(self.size) and math.isfinite(self.advance)
        size, advance = (as_written(value) * unit if finite else Fraction(0) for value in (self.size, self.advance))
        if not by_rows:
            size, advance = Fraction(round(size)), Fraction(round(advance))
        whole = not self.tuples or size.denominator == advance.denominator == 1
        if not (whole and 0 < advance <= size):
            report.add(
                f"windows of size {self._shown(self.size)} that begin every {self._shown(self.advance)}",
                allowed=f"{'whole numbers' if self.tuples else 'both'} above 0, and the second at most the first",
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
        sample = WindowSample(self.seed or report.box, self.rate, self.max_batch_size)
        if by_rows:
            if not not_too_many(FieldWindow(on or "", self.size, self.advance), report):
                return None
            return TypedRowDrop(
                outputs=(stream,),
                box_class=BoxClass.FOLD,
                order_sensitive=True,
                not_stime=() if on is None or self.by_values else (NotStime(0, on),),
                sample=sample,
                size=size,
                advance=advance,
                field=on,
                group_by=self.group_by,
            )
        return TypedWindowDrop(
            outputs=(stream,),
            sample=sample,
            size=int(size),
            advance=int(advance),
            phase=clock.offset % int(advance) if clock else 0,
            group_by=self.group_by,
        )

    def _shown(self, length: float) -> str:
        """As its user wrote it: a length of time, or a number in a file."""
        return (
            spell(int(length)) if isinstance(length, int) and self.field is None and not self.tuples else f"{length:g}"
        )


def _rate_is_fine(rate: float, report: Report) -> bool:
    if not 0 <= rate <= 1:
        report.add(
            f"drop_rate is {rate}", allowed="0 to 1", next_step="write the part of all rows that is to go, as 0.25"
        )
        return False
    return True
