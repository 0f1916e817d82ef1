"""Streams as users of the Python API hold them: each method adds a step and gives its result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, overload

from auroral.model import arguments as given
from auroral.model.boxes.apply import Apply
from auroral.model.boxes.base import BoxSpec, Source
from auroral.model.boxes.drop import RandomDrop, WindowDrop
from auroral.model.boxes.join import Join, JoinKind
from auroral.model.boxes.revisable import Settled
from auroral.model.boxes.stateless import Delay, Filter, Map, Union
from auroral.model.boxes.user_class import Box
from auroral.model.diagram import Output
from auroral.model.duration import Duration
from auroral.model.errors import Place
from auroral.model.join_arguments import Looking, buffers, seconds
from auroral.model.keep_arguments import view_of
from auroral.model.on_error import OnError
from auroral.model.schema import SchemaLike
from auroral.model.spark_function import SparkFunction, from_spark
from auroral.model.table_steps import TableSteps
from auroral.model.user_steps import user_box

WhenFailing = Literal["stop", "reject"]


@dataclass(frozen=True, slots=True)
class Stream(TableSteps):
    """A stream of a diagram under construction. The first argument of every step is its name."""

    @overload
    def filter(
        self, name: str, predicate: Source, *, otherwise: Literal[False] = False, on_error: WhenFailing = "stop"
    ) -> Stream: ...

    @overload
    def filter(
        self, name: str, predicate: Source, *, otherwise: Literal[True], on_error: WhenFailing = "stop"
    ) -> tuple[Stream, Stream]: ...

    @given.whole_call
    def filter(
        self, name: str, predicate: Source, *, otherwise: bool = False, on_error: str = "stop"
    ) -> Stream | tuple[Stream, Stream]:
        """The rows for which `predicate` holds; with `otherwise`, those for which it does not as well.

        Where a Python function raises an error, the run stops, or ("reject") the row goes to `errors()`.
        """
        place = _place(name)
        policy = given.choice("on_error", on_error, OnError, place)
        spec = Filter((given.expression("the predicate", predicate, place),), otherwise, policy)
        if otherwise:
            held, rest = self.builder.add(name, spec, (self,), (name, f"{name}.else"), place)
            return held, rest
        return self._step(name, spec, place)

    @given.whole_call
    def split(
        self, name: str, predicates: Iterable[Source], *, otherwise: bool = False, on_error: WhenFailing = "stop"
    ) -> tuple[Stream, ...]:
        """A stream for each predicate: a row goes to the first that holds, or, if asked for, to the last.

        `on_error` is as for `filter`.
        """
        place = _place(name)
        if isinstance(predicates, str) or not isinstance(predicates, Iterable):
            given.refuse(f"predicates are {predicates!r}", place, "a list of expressions", "use filter for one")
        cases = tuple(given.expression(f"predicate {i}", p, place) for i, p in enumerate(predicates))
        policy = given.choice("on_error", on_error, OnError, place)
        names = [f"{name}.{number}" for number in range(len(cases))] + [f"{name}.else"] * otherwise
        return self.builder.add(name, Filter(cases, otherwise, policy), (self,), names, place)

    @given.whole_call
    def map(self, name: str, columns: Mapping[str, Source], *, on_error: WhenFailing = "stop") -> Stream:
        """One row for each row, one field for each expression; `on_error` is as for `filter`."""
        place = _place(name)
        policy = given.choice("on_error", on_error, OnError, place)
        return self._step(name, Map(given.columns("columns", columns, place), policy), place)

    @given.whole_call
    def errors(self) -> Stream:
        """The rows that the filter, split or map of this stream has rejected: their fields as they came in, and `error`."""
        return self.builder.add_errors(self)

    @given.whole_call
    def union(self, name: str, *others: Stream) -> Stream:
        """The rows of this stream and of the others, which have the same fields."""
        place = _place(name)
        return self._step(name, Union(), place, others)

    @given.whole_call
    def settled(self, name: str) -> Stream:
        """Rows of a stream that an input with `revisions` leads to, each once it can be revised no more, for steps that take no revisions."""
        return self._step(name, Settled(), _place(name))

    @given.whole_call
    def join(
        self,
        name: str,
        other: Stream,
        *,
        on: Source,
        within: Duration | tuple[Duration | None, Duration | None] | None = None,
        rows: int | tuple[int | None, int | None] | None = None,
        looking: Literal["both", "left", "right"] = "both",
        columns: Mapping[str, Source] | None = None,
        how: Literal["inner", "left", "right"] = "inner",
        unmatched_when_missing: bool = False,
        timeout: Duration | None = None,
        on_error: str = "stop",
    ) -> Stream:
        """Pairs of rows for which `on` holds; in expressions the sides are `left` and `right`.

        `within` is how long a row waits for its partner, on each side or as (left, right); or `rows` how many of a side are kept for
        it. `columns` are all fields of both sides unless given. Of a side that is not `looking`, rows are found and look for none.
        No row waits longer than `timeout`. With `unmatched_when_missing`, the outer side does not wait for an input that has failed.
        """
        place = _place(name)
        given.stop_only("a join", on_error, "a pair has two rows, and neither is known to be at fault", place)
        sides = given.choice("side that looks", looking, Looking, place)
        left, right = buffers(within, rows, place)
        spec = Join(
            given.expression("on", on, place),
            left,
            right,
            () if columns is None else given.columns("columns", columns, place),
            given.choice("kind of join", how, JoinKind, place),
            unmatched_when_missing,
            sides_named=True,
            timeout=seconds("timeout", timeout, place),
            looks=(sides is not Looking.RIGHT, sides is not Looking.LEFT),
        )
        return self._step(name, spec, place, (other,))

    @given.whole_call
    def apply(
        self,
        name: str,
        function: Callable[..., Any] | SparkFunction,
        *others: Stream,
        schema: SchemaLike | None = None,
        horizon: Duration | None = None,
        cut_free: bool = False,
        on_error: str = "stop",
    ) -> Stream:
        """Any deterministic function of DataFrames: one for this stream and one for each of the others.

        It sees the bucket and `horizon` of the past, rounded up to whole buckets, and returns rows of `schema`, with or
        without `stime`.
        With `cut_free` it promises the same rows when it is given many buckets at once. If it raises an error, the
        run stops.
        """
        place = _place(name)
        why = "its function is given many rows at once, and none of them is known to be at fault"
        given.stop_only("an apply", on_error, why, place)
        if not isinstance(function, SparkFunction):
            function = from_spark(function, schema=schema, horizon=horizon, cut_free=cut_free, place=place)
        elif schema is not None or horizon is not None or cut_free:
            given.refuse(
                "schema, horizon and cut_free are given twice",
                place,
                "once: here, or in from_spark(...)",
                next_step="leave them out here",
            )
        spec = Apply(function.function, function.schema, function.past, function.cut_free)
        return self._step(name, spec, place, others)

    @given.whole_call
    def box(self, name: str, kind: str | Box, /, *others: Stream, **parameters: Any) -> Stream:
        """A box of a user's: of a type that an installed package offers, with its parameters; or a box of a class of one's own.

        The box reads this stream and the others.
        """
        place = _place(name)
        return self._step(name, user_box(kind, parameters, place), place, others)

    @given.whole_call
    def drop(self, name: str, rate: float) -> Stream:
        """Sheds the part `rate` of all rows, the same ones on every replica."""
        place = _place(name)
        return self._step(name, RandomDrop(given.number("rate", rate, place)), place)

    @given.whole_call
    def drop_windows(
        self,
        name: str,
        rate: float,
        *,
        window: Duration | float | None = None,
        advance: Duration | float | None = None,
        by: Iterable[str] = (),
        batch: int = 1,
        on: str | None = None,
        rows: int | None = None,
    ) -> Stream:
        """Sheds whole windows, `batch` in a row: no aggregate of the rest is partial.

        Windows are of stime; with `on`, of values of that field, as `aggregate_values` has them; with `rows`, of so many rows of a group.
        """
        place = _place(name)
        if (rows is None) == (window is None) or (rows is not None and on is not None):
            given.refuse(
                f"step {name!r} has windows of {'rows and of something else' if rows is not None else 'no size'}",
                place,
                allowed="window=, or on= and window=, or rows=",
                next_step="give one of them, as the aggregate behind it has it",
            )
        what, size_of = (
            ("rows", given.count) if rows is not None else ("window", given.number if on else given.duration)
        )
        size = size_of(what, window if rows is None else rows, place)
        spec = WindowDrop(
            given.number("rate", rate, place),
            round(given.number("batch", batch, place)),
            size,
            size if advance is None else size_of("advance", advance, place),
            given.optional_text("on", on, place, "the name of a field"),
            given.fields("by", by, place),
            rows is not None,
            on is not None,
        )
        return self._step(name, spec, place)

    @given.whole_call
    def output(
        self,
        name: str | None = None,
        *,
        availability: Duration | None = None,
        schema: SchemaLike | None = None,
        at_least: int | None = None,
        of: Iterable[str] | None = None,
    ) -> Stream:
        """Makes the stream an output, under another name if one is given.

        `availability` is the bound on added latency: within it there is an answer, if need be a tentative
        one. `schema` declares the fields that the output must have. No answer is given tentatively without
        `at_least` so many of the inputs `of`, or of all that it is computed from.
        """
        stream = self.name if name is None else given.name_of("output", name)
        place = given.user_place(f"output {stream!r}")
        bound = given.optional_duration("availability", availability, place)
        declared = None if schema is None else given.schema_of(schema, place)
        # A stream has one name. Under another it is the result of a step that leaves every row as it is.
        result = self if stream == self.name else self._step(stream, Delay(0), place)
        least = given.optional_count("at_least", at_least, place)
        sites = () if of is None else given.fields("of", of, place, "inputs")
        self.builder.add_output(Output(stream, bound, declared, place, least, sites))
        return result

    @given.whole_call
    def keep(
        self,
        name: str,
        *,
        rows: int | None = None,
        last: Duration | int | None = None,
        by: str | None = None,
        radius: Duration | int | None = None,
    ) -> Stream:
        """Keeps the history of the stream, as the connection point `name`: its last `rows`, or those of the `last` length of time; all of it,
        where neither is said.

        `by` is the field that the time is in, in place of the stime; of one that counts something, `last` is a number. `radius` is how far
        around what is kept a reader may look, and keeps so much more.
        """
        place = given.user_place(f"connection point {given.name_of('connection point', name)!r}")
        self.builder.add_view(view_of(name, self.name, rows, last, by, radius, place))
        return self

    def _step(self, name: str, spec: BoxSpec, place: Place, others: Iterable[Stream] = ()) -> Stream:
        return self.builder.add(name, spec, (self, *others), (name,), place)[0]


def _place(name: str) -> Place:
    return given.user_place(f"step {given.name_of('step', name)!r}")
