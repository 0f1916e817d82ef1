"""The steps of a stream whose windows rows close: of a number of rows, and of values of any field."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from auroral.model import arguments as given
from auroral.model.aggregate_steps import AggregateSteps, Calls
from auroral.model.duration import Duration
from auroral.model.join_arguments import seconds
from auroral.model.windows import Alignment, FieldWindow, TupleWindow

if TYPE_CHECKING:
    from auroral.model.steps import Stream


@dataclass(frozen=True, slots=True)
class RowSteps(AggregateSteps):
    """A stream, and the windows over it that go by rows."""

    @given.whole_call
    def aggregate_rows(
        self,
        name: str,
        functions: Calls,
        *,
        rows: int,
        advance: int | None = None,
        by: Iterable[str] = (),
        on: str | None = None,
        slack: int = 0,
        start: str | None = None,
        timeout: Duration | None = None,
        clock: Stream | None = None,
        on_error: str = "stop",
    ) -> Stream:
        """A result over each `rows` rows of a group, and a new window every `advance` rows.

        With `on`, rows are counted in the order of that field, as far as `slack` rows that wait allow, and results have it from their first
        row, called `start` if that is given. A window that is not full `timeout` after its first row has a result of what is there; with
        `clock`, a `local_clock` of the diagram, so long by that clock.
        """
        place = given.user_place(f"step {given.name_of('step', name)!r}")
        size = given.count("rows", rows, place)
        window = TupleWindow(
            size,
            size if advance is None else given.count("advance", advance, place),
            seconds("timeout", timeout, place),
            given.optional_text("on", on, place, "the name of a field"),
            given.count("slack", slack, place),
        )
        return self._aggregate(name, functions, window, by, start, on_error, place, clock)

    @given.whole_call
    def aggregate_values(
        self,
        name: str,
        functions: Calls,
        *,
        on: str,
        window: float,
        advance: float | None = None,
        aligned: Literal["independent", "first"] = "independent",
        by: Iterable[str] = (),
        slack: int = 0,
        start: str | None = None,
        timeout: Duration | None = None,
        clock: Stream | None = None,
        on_error: str = "stop",
    ) -> Stream:
        """Windows of values of the field `on`, of seconds where it is a timestamp: from multiples of `advance`, or from the group's first value.

        A window is closed by the row after `slack` others past its end, or `timeout` after its first row; rows that come later are counted
        as late. Results have the window's start, called `start` if that is given. With `clock`, timeouts go by that clock.
        """
        place = given.user_place(f"step {given.name_of('step', name)!r}")
        size = given.number("window", window, place)
        span = FieldWindow(
            given.text("on", on, place, "the name of a field"),
            size,
            size if advance is None else given.number("advance", advance, place),
            given.choice("alignment", aligned, Alignment, place),
            given.count("slack", slack, place),
            seconds("timeout", timeout, place),
            by_values=True,
        )
        return self._aggregate(name, functions, span, by, start, on_error, place, clock)
