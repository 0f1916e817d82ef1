"""Random steps that look at windows, at pairs, or at all of the past."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from auroral.model.boxes.aggregate import Aggregate
from auroral.model.errors import Place
from auroral.model.steps import Stream
from auroral.model.windows import Alignment, FieldWindow
from engine.drawing import GROUPING, Drawing


def aggregated(draw: Drawing, name: str) -> Sequence[Stream]:
    stream = draw.any()
    size, advance = draw.window(6)
    start = draw.free(stream, "w", "w2") if draw.random.random() < 0.6 else None
    calls, by = draw.calls(stream), draw.by(stream)
    return (stream.aggregate(name, calls, window=f"{size}us", advance=f"{advance}us", by=by, start=start),)


def aggregated_on_a_clock(draw: Drawing, name: str) -> Sequence[Stream]:
    """A window on a clock field with an offset: its cells do not fall together with buckets."""
    stream, clock = draw.with_clock()
    size, advance = draw.window()
    steps = max(1, size // clock.unit), max(1, advance // clock.unit)
    # On a timestamp, sizes count seconds.
    size, advance = steps if draw.types(stream)[clock.name].is_integer else (steps[0] / 1e6, steps[1] / 1e6)
    calls = tuple(draw.calls(stream).items())
    window = FieldWindow(clock.name, size, min(advance, size), Alignment.INDEPENDENT)
    by = tuple(n for n in draw.by(stream) if n != clock.name)
    return draw.builder.add(name, Aggregate(calls, window, by), (stream,), (name,), Place())


def on_event_time(draw: Drawing, name: str) -> Sequence[Stream]:
    stream = draw.having("e")
    if stream is None:
        return ()
    size, advance = draw.window(3)
    late = draw.random.choice(["ledger", "side", "correct"])
    calls = draw.calls(stream)
    if {"k", "x"} <= set(draw.names(stream)) and draw.random.random() < 0.4:
        calls["u"] = draw.random.choice(["chained(k, x)", "listed(x)"])
    result = stream.event_time_aggregate(
        name,
        calls,
        on="e",
        window=f"{size}us",
        advance=f"{advance}us",
        lateness=draw.time(2),
        late=late,  # type: ignore[call-overload]
        ahead=draw.time(1),
        correct_for=draw.time(3) if late == "correct" else None,
        by=draw.by(stream),
        start=draw.free(stream, "w"),
    )
    return result if isinstance(result, tuple) else (result,)


def joined(draw: Drawing, name: str) -> Sequence[Stream]:
    left, right = draw.any(), draw.any(deep=False)
    shared = [n for n in draw.names(left) if n in draw.names(right) and n in (*GROUPING, "n")]
    on = " and ".join(f"left.{n} = right.{n}" for n in draw.random.sample(shared, min(len(shared), 2)))
    on = on or "left.stime % 5 = right.stime % 5"
    columns = {}
    for side, stream in (("left", left), ("right", right)):
        for n in draw.random.sample(draw.names(stream), min(3, len(draw.names(stream)))):
            columns[f"{side[0]}_{n}"] = f"{side}.{n}"
    columns["gap"] = "left.stime - right.stime"
    within = (draw.time(2), draw.time(2)) if draw.random.random() < 0.8 else ("0us", draw.time(1))
    how = draw.random.choice(["inner", "left", "right"])
    return (left.join(name, right, on=on, within=within, columns=columns, how=how),)  # type: ignore[arg-type]


def windows_dropped(draw: Drawing, name: str) -> Sequence[Stream]:
    """Often with the aggregate that it is made for, which leaves the dropped windows out."""
    stream = draw.any()
    size, advance = draw.window(2)
    window: dict[str, Any] = {"window": f"{size}us", "advance": f"{advance}us", "by": draw.by(stream)}
    rate, batch = draw.random.choice([0.3, 0.6]), draw.random.choice([1, 3])
    aggregate: Callable[..., Stream] = Stream.aggregate
    numbers, start = draw.numbers(stream), draw.free(stream, "from", "from2")
    # Told by what was drawn already, lest all that is drawn later be another.
    if rate == 0.6 and batch == 3:
        rows = size % 4 + 1
        window, aggregate = (
            window | {"window": None, "rows": rows, "advance": 1 + advance % rows},
            Stream.aggregate_rows,
        )
    elif batch == 3 and numbers and start is not None:
        on = numbers[size % len(numbers)]
        window, aggregate = window | {"on": on, "window": 2.5, "advance": 1.25}, Stream.aggregate_values
    dropped = stream.drop_windows(name, rate, batch=batch, **window)
    if draw.random.random() < 0.3:
        return (dropped,)
    given = {key: value for key, value in window.items() if value is not None}
    named = {"start": start} if aggregate is Stream.aggregate_values else {}
    return (dropped, aggregate(dropped, name + "a", draw.calls(dropped), **given, **named))


def running(draw: Drawing, name: str) -> Sequence[Stream]:
    stream = draw.any()
    since = draw.random.choice([None, 0, 13 * draw.scale])
    return (stream.running(name, draw.calls(stream), by=draw.by(stream), since=since),)


def first_aligned(draw: Drawing, name: str) -> Sequence[Stream]:
    stream, clock = draw.with_clock()
    size, advance = (max(1, v // clock.unit) * clock.unit for v in draw.window(3))
    start = draw.free(stream, "w3")
    by = draw.by(stream)
    calls = draw.calls(stream)
    window, step = f"{size}us", f"{min(advance, size)}us"
    return (stream.first_aligned(name, calls, window=window, advance=step, by=by, start=start),)


def runs(draw: Drawing, name: str) -> Sequence[Stream]:
    stream = draw.any()
    return (stream.tumble(name, draw.calls(stream), by=draw.by(stream)),)


def user_aggregate(draw: Drawing, name: str) -> Sequence[Stream]:
    stream = draw.having("k", "x")
    if stream is None:
        return ()
    calls = {"u": draw.random.choice(["chained(k, x)", "listed(k)", "listed(x)"]), **draw.calls(stream)}
    by = draw.by(stream)
    if draw.random.random() < 0.3:
        return (stream.running(name, calls, by=by),)
    size, advance = draw.window(3)
    start = draw.free(stream, "w", "w2")
    return (stream.aggregate(name, calls, window=f"{size}us", advance=f"{advance}us", by=by, start=start),)
