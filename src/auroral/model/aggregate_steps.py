"""The steps of a stream that aggregate over windows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Literal, overload

from auroral.model import arguments as given
from auroral.model.boxes.aggregate import Aggregate
from auroral.model.boxes.local_clock import OnLocalClock
from auroral.model.duration import Duration
from auroral.model.errors import Place, Problem
from auroral.model.windows import Alignment, EventTimeWindow, Landmark, LatePolicy, Runs, StimeWindow, Window

if TYPE_CHECKING:
    from auroral.model.builder import DiagramBuilder
    from auroral.model.steps import Stream

Calls = Mapping[str, str]
"""Output fields and what they are: {"n": "count()", "kb": "sum(bytes / 1024)"}."""


@dataclass(frozen=True, slots=True)
class AggregateSteps:
    """A stream's name in a diagram under construction, and the windows that can be laid over it."""

    builder: DiagramBuilder = field(repr=False)
    name: str

    @given.whole_call
    def aggregate(
        self,
        name: str,
        functions: Calls,
        *,
        window: Duration,
        advance: Duration | None = None,
        by: Iterable[str] = (),
        start: str | None = None,
        on_error: str = "stop",
    ) -> Stream:
        """Results over windows of stime for each group of `by`; `start` names a field for their start."""
        place = _place(name)
        return self._aggregate(name, functions, _stime_window(window, advance, place), by, start, on_error, place)

    @given.whole_call
    def slide(
        self,
        name: str,
        functions: Calls,
        *,
        window: Duration,
        advance: Duration,
        by: Iterable[str] = (),
        start: str | None = None,
        on_error: str = "stop",
    ) -> Stream:
        """Aurora's Slide: windows that overlap, a new one every `advance`."""
        return self.aggregate(name, functions, window=window, advance=advance, by=by, start=start, on_error=on_error)

    @given.whole_call
    def tumble(
        self,
        name: str,
        functions: Calls,
        *,
        by: Iterable[str] = (),
        window: Duration | None = None,
        start: str | None = None,
        on_error: str = "stop",
    ) -> Stream:
        """Aurora's Tumble: disjoint windows; without `window`, runs of rows with equal values of `by`."""
        place = _place(name)
        span = Runs() if window is None else _stime_window(window, None, place)
        return self._aggregate(name, functions, span, by, start, on_error, place)

    @given.whole_call
    def first_aligned(
        self,
        name: str,
        functions: Calls,
        *,
        window: Duration,
        advance: Duration | None = None,
        by: Iterable[str] = (),
        start: str | None = None,
        on_error: str = "stop",
    ) -> Stream:
        """Windows that start with their group's first row. The stream must carry its stime in a field."""
        place = _place(name)
        span = _stime_window(window, advance, place, Alignment.FIRST)
        return self._aggregate(name, functions, span, by, start, on_error, place)

    @given.whole_call
    def running(
        self,
        name: str,
        functions: Calls,
        *,
        by: Iterable[str] = (),
        since: datetime | int | None = None,
        on_error: str = "stop",
    ) -> Stream:
        """A result for every row, over all rows of its group so far (from `since` on)."""
        place = _place(name)
        landmark = Landmark(given.instant("since", since, place))
        return self._aggregate(name, functions, landmark, by, None, on_error, place)

    @overload
    def event_time_aggregate(
        self,
        name: str,
        functions: Calls,
        *,
        on: str,
        window: Duration,
        lateness: Duration,
        late: Literal["side"],
        advance: Duration | None = None,
        ahead: Duration | None = None,
        correct_for: Duration | None = None,
        by: Iterable[str] = (),
        start: str | None = None,
        on_error: str = "stop",
    ) -> tuple[Stream, Stream]: ...

    @overload
    def event_time_aggregate(
        self,
        name: str,
        functions: Calls,
        *,
        on: str,
        window: Duration,
        lateness: Duration,
        late: Literal["ledger", "correct"] = "ledger",
        advance: Duration | None = None,
        ahead: Duration | None = None,
        correct_for: Duration | None = None,
        by: Iterable[str] = (),
        start: str | None = None,
        on_error: str = "stop",
    ) -> Stream: ...

    @given.whole_call
    def event_time_aggregate(
        self,
        name: str,
        functions: Calls,
        *,
        on: str,
        window: Duration,
        lateness: Duration,
        late: str = "ledger",
        advance: Duration | None = None,
        ahead: Duration | None = None,
        correct_for: Duration | None = None,
        by: Iterable[str] = (),
        start: str | None = None,
        on_error: str = "stop",
    ) -> Stream | tuple[Stream, Stream]:
        """Windows of the timestamp field `on`, closed `lateness` after their end.

        Later rows are counted ("ledger"), go to a second stream ("side"), or send the window's result again
        for as long as `correct_for` ("correct"). Rows more than `ahead` (as `lateness`) before their time go
        the same way.
        """
        place = _place(name)
        policy = given.choice("late policy", late, LatePolicy, place)
        size = given.duration("window", window, place)
        allowed = given.duration("lateness", lateness, place)
        span = EventTimeWindow(
            given.text("on", on, place, "the name of a timestamp field"),
            size,
            size if advance is None else given.duration("advance", advance, place),
            allowed,
            policy,
            allowed if ahead is None else given.duration("ahead", ahead, place),
            0 if correct_for is None else given.duration("correct_for", correct_for, place),
        )
        spec = _spec(functions, span, by, start, on_error, place)
        if policy is LatePolicy.SIDE:
            results, rest = self.builder.add(name, spec, (self,), (name, f"{name}.late"), place)
            return results, rest
        return self.builder.add(name, spec, (self,), (name,), place)[0]

    def refused(self, problems: Sequence[Problem], names: Sequence[str], place: Place) -> Stream | tuple[Stream, ...]:
        return self.builder.refused(problems, names, place)

    def _aggregate(
        self,
        name: str,
        functions: Calls,
        window: Window,
        by: Iterable[str],
        start: str | None,
        on_error: str,
        place: Place,
        clock: Stream | None = None,
    ) -> Stream:
        spec = _spec(functions, window, by, start, on_error, place)
        if clock is not None:
            return self.builder.add(name, OnLocalClock(spec), (self, clock), (name,), place)[0]
        return self.builder.add(name, spec, (self,), (name,), place)[0]


def _place(name: str) -> Place:
    return given.user_place(f"step {given.name_of('step', name)!r}")


def _stime_window(
    window: Duration,
    advance: Duration | None,
    place: Place,
    alignment: Alignment = Alignment.INDEPENDENT,
) -> StimeWindow:
    size = given.duration("window", window, place)
    return StimeWindow(size, size if advance is None else given.duration("advance", advance, place), alignment)


def _spec(
    functions: Calls, window: Window, by: Iterable[str], start: str | None, on_error: str, place: Place
) -> Aggregate:
    why = "whether a row fails may depend on the rows before it, and on how its windows are put together"
    given.stop_only("an aggregate", on_error, why, place)
    named = given.optional_text("start", start, place, "a name for the field of the window's start")
    return Aggregate(given.calls(functions, place), window, given.fields("by", by, place), named)
