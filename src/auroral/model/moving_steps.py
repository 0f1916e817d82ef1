"""The steps of a stream that hold rows back, and those that look at the newest rows: sorts, waiting, resampling, cross-sections."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from auroral.model import arguments as given
from auroral.model.aggregate_steps import Calls
from auroral.model.boxes.base import BoxSpec, Source
from auroral.model.boxes.combine import Combine
from auroral.model.boxes.join import ALL, Join, JoinBuffer
from auroral.model.boxes.local_clock import OnLocalClock
from auroral.model.boxes.lrwaitfor import LRWaitFor
from auroral.model.boxes.resample import Resample
from auroral.model.boxes.sorting import BSort, WSort
from auroral.model.boxes.waitfor import WaitFor
from auroral.model.boxes.xsection import XSection
from auroral.model.duration import UNITS, Duration
from auroral.model.errors import Place
from auroral.model.row_steps import RowSteps

if TYPE_CHECKING:
    from auroral.model.steps import Stream


@dataclass(frozen=True, slots=True)
class MovingSteps(RowSteps):
    """A stream, and the steps that move its rows in time."""

    @given.whole_call
    def bsort(self, name: str, *, on: Iterable[str], slack: int, by: Iterable[str] = ()) -> Stream:
        """Of `slack` + 1 rows of a group that wait, the lowest by the fields `on` goes on, with the stime of the row that came."""
        place = _place(name)
        order, groups = given.fields("on", on, place), given.fields("by", by, place)
        return self._moved(name, BSort(order, given.count("slack", slack, place), groups), place)

    @given.whole_call
    def wsort(
        self, name: str, *, on: Iterable[str], timeout: Duration, by: Iterable[str] = (), clock: Stream | None = None
    ) -> Stream:
        """A row goes on `timeout` after it came, and takes with it all of its group that sort before it by the fields `on`.

        A row that sorts before one that went on is counted as late. With `clock`, a `local_clock` of the diagram, timeouts go by that clock.
        """
        place = _place(name)
        wait = given.duration("timeout", timeout, place) / UNITS["s"]
        order, groups = given.fields("on", on, place), given.fields("by", by, place)
        spec = WSort(order, wait, groups)
        return self._moved(name, spec, place) if clock is None else self._moved(name, OnLocalClock(spec), place, clock)

    @given.whole_call
    def waitfor(self, name: str, enabler: Stream, *, on: Source, timeout: Duration, on_error: str = "stop") -> Stream:
        """A row goes on with the first row of `enabler` behind it for which `on` holds, and nowhere if none comes within `timeout`.

        In the expression the sides are `buffered` and `enabler`.
        """
        place = _place(name)
        given.stop_only("a waitfor", on_error, "a pair has two rows, and neither is known to be at fault", place)
        wait = given.duration("timeout", timeout, place) / UNITS["s"]
        return self._moved(name, WaitFor(given.expression("on", on, place), wait), place, enabler)

    @given.whole_call
    def resample(
        self, name: str, samples: Stream, fields: Mapping[str, str], *, within: Duration, by: Iterable[str] = ()
    ) -> Stream:
        """The rows with further fields: the values that fields of `samples` have at their times, between the samples around them.

        `fields` are output fields and fields of `samples`. Samples further away than `within` do not count; rows meet those that are
        equal in the fields `by`.
        """
        place = _place(name)
        pairs = given.names("fields", fields, place, "fields of the samples")
        wait, groups = given.duration("within", within, place), given.fields("by", by, place)
        return self._moved(name, Resample(pairs, wait, groups), place, samples)

    @given.whole_call
    def cross_section(
        self,
        name: str,
        functions: Calls,
        *,
        across: Iterable[str],
        within: Duration | None = None,
        on_error: str = "stop",
    ) -> Stream:
        """Aurora's XSection: a result for every row, over the newest row of each value of the fields `across`, if it is not older than `within`."""
        place = _place(name)
        given.stop_only("a cross-section", on_error, "whether a row fails may depend on the rows before it", place)
        calls, fields = given.calls(functions, place), given.fields("across", across, place)
        return self._moved(name, XSection(calls, fields, given.optional_duration("within", within, place)), place)

    @given.whole_call
    def join_static(
        self,
        name: str,
        table: Stream,
        *,
        on: Source,
        columns: Mapping[str, Source] | None = None,
        on_error: str = "stop",
    ) -> Stream:
        """Pairs of each row with all rows that `table` has had before it and for which `on` holds; in expressions the sides are `left` and `right`.

        `columns` are all fields of both sides unless given. All rows of `table` are kept for ever.
        """
        place = _place(name)
        given.stop_only("a join", on_error, "a pair has two rows, and neither is known to be at fault", place)
        spec = Join(
            given.expression("on", on, place),
            JoinBuffer(0, tuples=True),
            ALL,
            () if columns is None else given.columns("columns", columns, place),
            sides_named=True,
            type_name="joinstatic",
            looks=(True, False),
        )
        return self._moved(name, spec, place, table)

    @given.whole_call
    def combine(
        self, name: str, *others: Stream, key: str, columns: Mapping[str, Source], on_error: str = "stop"
    ) -> Stream:
        """The first row with a value of `key` of this stream and of each other make one row, their second ones another, and so on.

        In expressions a row is called by its stream where that is a plain name, else `in0` for this stream, `in1` for the next.
        """
        place = _place(name)
        given.stop_only("a combine", on_error, "several rows make one, and none is known to be at fault", place)
        spec = Combine(given.text("key", key, place), given.columns("columns", columns, place))
        return self._moved(name, spec, place, *others)

    @given.whole_call
    def lrwaitfor(
        self,
        name: str,
        enabler: Stream,
        *,
        key: str,
        by: Iterable[str] = (),
        start: float | None = None,
        from_data: bool = False,
    ) -> Stream:
        """A row goes on as soon as `enabler` has had a row of its group whose `key` is not below its own.

        Before that, groups have come to `start`, or with `from_data` to the key of their own first row.
        """
        place = _place(name)
        first = None if start is None else given.number("start", start, place)
        spec = LRWaitFor(given.text("key", key, place), given.fields("by", by, place), first, from_data)
        return self._moved(name, spec, place, enabler)

    def _moved(self, name: str, spec: BoxSpec, place: Place, *others: Stream) -> Stream:
        return self.builder.add(name, spec, (self, *others), (name,), place)[0]


def _place(name: str) -> Place:
    return given.user_place(f"step {given.name_of('step', name)!r}")
