"""Random diagrams and random rows for them; a seed gives the same ones again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import auroral
from auroral.model.boxes.aggregate import Aggregate
from auroral.model.builder import DiagramBuilder
from auroral.model.checking import Checked
from auroral.model.errors import Place
from auroral.model.steps import Stream
from auroral.model.windows import Alignment, FieldWindow
from auroral.reference.rows import Row
from engine.random_rows import DECIMALS, FIELDS, Shape, random_rows
from engine.user_code import (
    moved_frame,
    moved_rows,
    per_key_frame,
    per_key_rows,
    recent_frame,
    recent_rows,
    register_aggregates,
    register_functions,
)

# Texts that mean something to SQL, to Spark's substitution of variables, or to how statements are put together here.
ODD_NAMES = [":lo", "a:high", "a.b", "x@past", " AS y", "g0", "a0n", "FROM `in0`", "--", "\u00e4\U0001f600"]
ODD = [*ODD_NAMES, "${spark.master}"]
LOOSE = "dev"
"""What columns are called whose values the reference computes otherwise than Spark: nothing is made from them."""

register_aggregates()
register_functions()


@dataclass(slots=True)
class Case:
    """A diagram with rows, and Python functions that stand in for those of its `apply` boxes."""

    checked: Checked
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


def random_case(seed: int) -> Case:
    random = Random(seed)
    return _Drawing(random).case(seed)


@dataclass(slots=True)
class _Drawing:
    random: Random
    scale: int = 1
    bucket: int = 10
    builder: DiagramBuilder | None = None
    streams: list[Stream] = field(default_factory=list)
    read: set[str] = field(default_factory=set)
    functions: dict[str, Any] = field(default_factory=dict)
    seed: int = 0

    def case(self, seed: int) -> Case:
        random, self.seed = self.random, seed
        self.scale = random.choice([1, 1, 1000])
        self.bucket = random.choice([10, 10, 12, 7, 1]) * self.scale
        self.builder = auroral.diagram(f"random{seed}", bucket=f"{self.bucket}us")
        unit = "us" if self.scale == 1 else "ms"
        kind = random.choice(["long", "long", "int"])
        decimal = Random(f"decimals of {seed}").choice(["decimal(12,2)", *DECIMALS])
        fields = FIELDS.format(t=kind, d=decimal)
        # Only one of the inputs says which field its stime is in.
        first = self.builder.input("in0", fields, stime="t", unit=unit)
        self.streams = [first, self.builder.input("in1", fields)]
        for number in range(random.randint(2, 4)):
            self._step(f"s{number}")
        leaves = [s for s in self.streams if s.name not in self.read and not s.name.startswith("in")]
        extra = [s for s in self.streams if s.name in self.read and random.random() < 0.15]
        for stream in [*leaves, *extra]:
            stream.output()
        buckets = random.randint(6, 18)
        lowest = -(buckets // 3) * self.bucket
        until = lowest + buckets * self.bucket
        shape = Shape(self.scale, self.bucket, decimal)
        sources = {name: random_rows(random, shape, lowest, until) for name in ("in0", "in1")}
        return Case(self.builder.check(), sources, until, lowest, self.functions)

    # Diagrams

    def _step(self, name: str) -> None:
        steps: list[Callable[[str], Sequence[Stream]]] = [
            self._filter,
            self._map,
            self._rejecting,
            self._rejecting,
            self._union,
            self._aggregate,
            self._aggregate,
            self._aggregate_on_start,
            self._event_time,
            self._event_time,
            self._join,
            self._join,
            self._random_drop,
            self._window_drop,
            self._running,
            self._first_aligned,
            self._runs,
            self._user_aggregate,
            self._apply,
        ]
        made: Sequence[Stream] = ()
        while not made:
            made = self.random.choice(steps)(name)
        self.streams += made

    def _take(self, *needed: str, deep: bool = True) -> Stream | None:
        """A stream that has these fields; younger ones rather, for depth."""
        fitting = [s for s in self.streams if set(needed) <= set(self._names(s))]
        if not fitting:
            return None
        taken = self.random.choice(fitting[-3:] if deep else fitting)
        self.read.add(taken.name)
        return taken

    def _types(self, stream: Stream) -> Any:
        assert self.builder is not None
        return self.builder.check().streams[stream.name].schema

    def _names(self, stream: Stream) -> list[str]:
        """Fields that an expression can name."""
        return [n for n in self._types(stream).names if n.isidentifier() and not n.startswith(LOOSE)]

    def _numbers(self, stream: Stream) -> list[str]:
        return [f.name for f in self._types(stream).fields if f.type.is_numeric and not f.name.startswith(LOOSE)]

    def _time(self, buckets: float) -> str:
        return f"{self._length(buckets)}us"

    def _length(self, buckets: float) -> int:
        """A length of up to so many buckets; often a multiple of one, often odd."""
        random = self.random
        if random.random() < 0.4:
            return random.randint(1, max(1, int(buckets))) * self.bucket
        return random.randint(1, max(1, int(buckets * self.bucket) // self.scale)) * self.scale

    def _window(self, buckets: float = 4) -> tuple[int, int]:
        size = self._length(buckets)
        parts = {size, size // 2, size // 3, self.bucket, self.random.randint(1, size)}
        whole = [a for a in {part // self.scale * self.scale for part in parts} if 0 < a <= size]
        advance = self.random.choice(sorted(whole))
        # Each row lies in size / advance windows: keep that small.
        return size, max(advance, -(-size // 40 // self.scale) * self.scale)

    def _by(self, stream: Stream) -> list[str]:
        usable = [n for n in self._names(stream) if n in ("k", "g", "i", "c", "d", "f")]
        return self.random.sample(usable, min(len(usable), self.random.choice([0, 1, 1, 2])))

    def _calls(self, stream: Stream, deviations: bool = True) -> dict[str, str]:
        random, names, numbers = self.random, self._names(stream), self._numbers(stream)
        calls = {"n": "count()"}
        for position in range(random.randint(1, 3)):
            function = random.choice(["sum", "avg", "min", "max", "firstval", "lastval", "count_distinct", "count"])
            of = random.choice(numbers if function in ("sum", "avg") and numbers else names)
            if function in ("sum", "avg") and not numbers:
                function = "count"
            calls[f"v{position}"] = f"{function}({of})"
        if deviations and "y" in names and random.random() < 0.3:
            calls[LOOSE] = "stddev(y)"
        return calls

    def _free(self, stream: Stream, *names: str) -> str | None:
        return next((n for n in names if n not in self._types(stream).names), None)

    def _filter(self, name: str) -> Sequence[Stream]:
        stream = self._take()
        assert stream is not None
        numbers = self._numbers(stream)
        if not numbers:
            return ()
        number = self.random.choice(numbers)
        predicate = self.random.choice(
            [f"{number} > 0", f"{number} <= 1", f"{number} != {number} or stime % 3 = 0", f"not ({number} < 2)"]
        )
        if self.random.random() < 0.4:
            return stream.filter(name, predicate, otherwise=True)
        return (stream.filter(name, predicate),)

    def _map(self, name: str) -> Sequence[Stream]:
        stream = self._take()
        assert stream is not None
        names, numbers = self._names(stream), self._numbers(stream)
        columns = {n: n for n in names if n in ("t", "k", "w") or self.random.random() < 0.7}
        if numbers:
            a, b = self.random.choice(numbers), self.random.choice(numbers)
            columns["m"] = self.random.choice([f"{a} / {b}", f"{a} * 2", f"-{a}", f"{a} - {b}", f"{a} % {b}"])
        if self.random.random() < 0.3:
            columns[self.random.choice(ODD_NAMES)] = f"'{self.random.choice(ODD)}'"
        return (stream.map(name, columns or {"z": "stime"}),)

    def _rejecting(self, name: str) -> Sequence[Stream]:
        """A map or filter with functions that fail for some rows, and what becomes of those."""
        stream, random = self._take(), self.random
        assert stream is not None
        numbers = self._numbers(stream)
        if not numbers or "error" in self._names(stream):
            return ()
        a, b = random.choice(numbers), random.choice(numbers)
        value = random.choice([f"picky(double({a}))", f"if {b} > 1 then picky(double({a})) else 0.0"])
        made: tuple[Stream, ...]
        if random.random() < 0.5:
            columns = {n: n for n in self._names(stream) if n in ("t", "k", "w") or random.random() < 0.5}
            if "k" in columns:
                columns["k"] = random.choice(["k", "letter(k)", f"if {b} < 0 then letter(k) else k"])
            made = (stream.map(name, {**columns, "m": value}, on_error="reject"),)
        else:
            predicates = random.choice([[f"({value}) > 1.0"], [f"{a} < 0", f"{b} > 0 and ({value}) >= 0.0"]])
            made = stream.split(name, predicates, otherwise=random.random() < 0.5, on_error="reject")
        return (*made, made[0].errors()) if random.random() < 0.7 else made

    def _union(self, name: str) -> Sequence[Stream]:
        stream = self._take()
        assert stream is not None
        same = [s for s in self.streams if self._types(s) == self._types(stream)]
        other = self.random.choice(same)
        self.read.add(other.name)
        return (stream.union(name, other),)

    def _aggregate(self, name: str) -> Sequence[Stream]:
        stream = self._take()
        assert stream is not None
        size, advance = self._window(6)
        start = self._free(stream, "w", "w2") if self.random.random() < 0.6 else None
        calls, by = self._calls(stream), self._by(stream)
        return (stream.aggregate(name, calls, window=f"{size}us", advance=f"{advance}us", by=by, start=start),)

    def _aggregate_on_start(self, name: str) -> Sequence[Stream]:
        """A window on a clock field with an offset: its cells do not fall together with buckets."""
        assert self.builder is not None
        checked = self.builder.check()
        fitting = [s for s in self.streams if checked.streams[s.name].clocks]
        stream = self.random.choice(fitting)
        self.read.add(stream.name)
        clock = checked.streams[stream.name].clocks[0]
        size, advance = self._window()
        size, advance = max(1, size // clock.unit), max(1, advance // clock.unit)
        calls = tuple(self._calls(stream).items())
        window = FieldWindow(clock.name, size, min(advance, size), Alignment.INDEPENDENT)
        by = tuple(n for n in self._by(stream) if n != clock.name)
        return self.builder.add(name, Aggregate(calls, window, by), (stream,), (name,), Place())

    def _event_time(self, name: str) -> Sequence[Stream]:
        stream = self._take("e")
        assert stream is not None
        size, advance = self._window(3)
        late = self.random.choice(["ledger", "side", "correct"])
        calls = self._calls(stream)
        if {"k", "x"} <= set(self._names(stream)) and self.random.random() < 0.4:
            calls["u"] = self.random.choice(["chained(k, x)", "listed(x)"])
        result = stream.event_time_aggregate(
            name,
            calls,
            on="e",
            window=f"{size}us",
            advance=f"{advance}us",
            lateness=self._time(2),
            late=late,  # type: ignore[call-overload]
            ahead=self._time(1),
            correct_for=self._time(3) if late == "correct" else None,
            by=self._by(stream),
            start=self._free(stream, "w"),
        )
        return result if isinstance(result, tuple) else (result,)

    def _join(self, name: str) -> Sequence[Stream]:
        left, right = self._take(), self._take(deep=False)
        assert left is not None and right is not None
        shared = [n for n in self._names(left) if n in self._names(right) and n in ("k", "i", "g", "c", "n", "d", "f")]
        on = " and ".join(f"left.{n} = right.{n}" for n in self.random.sample(shared, min(len(shared), 2)))
        on = on or "left.stime % 5 = right.stime % 5"
        columns = {}
        for side, stream in (("left", left), ("right", right)):
            for n in self.random.sample(self._names(stream), min(3, len(self._names(stream)))):
                columns[f"{side[0]}_{n}"] = f"{side}.{n}"
        columns["gap"] = "left.stime - right.stime"
        within = (self._time(2), self._time(2)) if self.random.random() < 0.8 else ("0us", self._time(1))
        how = self.random.choice(["inner", "left", "right"])
        return (left.join(name, right, on=on, within=within, columns=columns, how=how),)  # type: ignore[arg-type]

    def _random_drop(self, name: str) -> Sequence[Stream]:
        stream = self._take()
        assert stream is not None
        return (stream.drop(name, self.random.choice([0.0, 0.3, 0.5, 1.0])),)

    def _window_drop(self, name: str) -> Sequence[Stream]:
        """Often with the aggregate that it is made for, which leaves the dropped windows out."""
        stream = self._take()
        assert stream is not None
        size, advance = self._window(2)
        window = {"window": f"{size}us", "advance": f"{advance}us", "by": self._by(stream)}
        dropped = stream.drop_windows(name, self.random.choice([0.3, 0.6]), batch=self.random.choice([1, 3]), **window)
        if self.random.random() < 0.3:
            return (dropped,)
        self.read.add(name)
        return (dropped, dropped.aggregate(name + "a", self._calls(dropped), **window))

    def _running(self, name: str) -> Sequence[Stream]:
        stream = self._take()
        assert stream is not None
        since = self.random.choice([None, 0, 13 * self.scale])
        return (stream.running(name, self._calls(stream), by=self._by(stream), since=since),)

    def _first_aligned(self, name: str) -> Sequence[Stream]:
        assert self.builder is not None
        checked = self.builder.check()
        fitting = [s for s in self.streams if checked.streams[s.name].clocks]
        stream = self.random.choice(fitting)
        self.read.add(stream.name)
        unit = checked.streams[stream.name].clocks[0].unit
        size, advance = (max(1, v // unit) * unit for v in self._window(3))
        start = self._free(stream, "w3")
        by = self._by(stream)
        calls = self._calls(stream)
        window, step = f"{size}us", f"{min(advance, size)}us"
        return (stream.first_aligned(name, calls, window=window, advance=step, by=by, start=start),)

    def _runs(self, name: str) -> Sequence[Stream]:
        stream = self._take()
        assert stream is not None
        return (stream.tumble(name, self._calls(stream), by=self._by(stream)),)

    def _user_aggregate(self, name: str) -> Sequence[Stream]:
        stream = self._take("k", "x")
        if stream is None:
            return ()
        calls = {"u": self.random.choice(["chained(k, x)", "listed(k)", "listed(x)"]), **self._calls(stream)}
        by = self._by(stream)
        if self.random.random() < 0.3:
            return (stream.running(name, calls, by=by),)
        size, advance = self._window(3)
        start = self._free(stream, "w", "w2")
        return (stream.aggregate(name, calls, window=f"{size}us", advance=f"{advance}us", by=by, start=start),)

    def _apply(self, name: str) -> Sequence[Stream]:
        stream = self._take("k")
        if stream is None:
            return ()
        place = self._types(stream).names.index("k")
        past = self.random.choice([0, 1, 2]) * self.bucket + self.random.choice([0, 3]) * self.scale
        at_the_end, apart = self.random.random() < 0.5, Random(f"{name} of {self.seed}")
        if apart.random() < 0.3:
            by = apart.randint(-3 * self.bucket, 2 * self.bucket)
            self.functions[name] = moved_rows(place, by)
            return (stream.apply(name, moved_frame(by), schema="k string, n long", horizon=f"{past}us"),)
        if at_the_end:
            self.functions[name] = per_key_rows(place)
            return (stream.apply(name, per_key_frame, schema="k string, n long", horizon=f"{past}us"),)
        self.functions[name] = recent_rows(place, past)
        made = stream.apply(name, recent_frame(past), schema="k string, n long", horizon=f"{past}us", cut_free=True)
        return (made,)
