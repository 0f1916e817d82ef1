"""Random steps that go by rows: windows of rows and of values, buffers of joins, sorts, waiting, resampling, cross-sections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from auroral.model.boxes.join import Join, JoinBuffer
from auroral.model.errors import Place
from auroral.model.steps import Stream
from auroral.model.types import Kind
from engine.drawing import Drawing


def _orderable(draw: Drawing, stream: Stream) -> list[str]:
    """Numbers and timestamps: what windows of values can be on."""
    times = [f.name for f in draw.types(stream).fields if f.type.kind is Kind.TIMESTAMP]
    return [n for n in draw.names(stream) if n in draw.numbers(stream) or n in times]


def _timeout(draw: Drawing) -> str | None:
    return draw.time(2) if draw.random.random() < 0.5 else None


def rows_counted(draw: Drawing, name: str) -> Sequence[Stream]:
    random, stream = draw.random, draw.any()
    size = random.randint(1, 6)
    options: dict[str, Any] = {"rows": size, "advance": random.randint(1, size), "timeout": _timeout(draw)}
    fields = _orderable(draw, stream)
    start = draw.free(stream, "low", "low2")
    if fields and start and random.random() < 0.5:
        options |= {"on": random.choice(fields), "slack": random.randint(0, 3), "start": start}
    return (stream.aggregate_rows(name, draw.calls(stream), by=draw.by(stream), **options),)


def values(draw: Drawing, name: str) -> Sequence[Stream]:
    random, stream = draw.random, draw.any()
    fields, start = _orderable(draw, stream), draw.free(stream, "from", "from2")
    if not fields or start is None:
        return ()
    on = random.choice(fields)
    seconds = draw.types(stream)[on].kind is Kind.TIMESTAMP
    size = draw.length(3) / 1e6 if seconds else random.choice([1, 2.5, 7, 100.1, 3e6])
    return (
        stream.aggregate_values(
            name,
            draw.calls(stream),
            on=on,
            window=size,
            advance=size / random.choice([1, 1, 2, 4]),
            aligned=random.choice(["independent", "first"]),
            by=draw.by(stream),
            slack=random.randint(0, 2),
            start=start,
            timeout=_timeout(draw),
        ),
    )


def buffers(draw: Drawing, name: str) -> Sequence[Stream]:
    random, left, right = draw.random, draw.any(), draw.any(deep=False)
    both = []
    for stream in (left, right):
        fields = _orderable(draw, stream)
        both.append(
            JoinBuffer(random.randint(0, 4), tuples=True)
            if not fields or random.random() < 0.6
            else JoinBuffer(random.choice([0, 1.5, 40]), random.choice(fields))
        )
    columns = tuple((f"l_{n}", f"left.{n}") for n in draw.names(left)[:3])
    columns += (*((f"r_{n}", f"right.{n}") for n in draw.names(right)[:2]), ("gap", "left.stime - right.stime"))
    shared = [n for n in draw.names(left) if n in draw.names(right) and n in ("k", "i", "n", "g")]
    on = f"left.{shared[0]} = right.{shared[0]}" if shared else "left.stime % 3 = right.stime % 3"
    timeout = draw.length(2) / 1e6 if random.random() < 0.4 else None
    spec = Join(on, *both, columns, timeout=timeout, looks=random.choice([(True, True), (True, False), (False, True)]))
    return draw.builder.add(name, spec, (left, right), (name,), Place())


def sorted_rows(draw: Drawing, name: str) -> Sequence[Stream]:
    random, stream = draw.random, draw.any()
    on = random.sample(draw.names(stream), min(len(draw.names(stream)), random.randint(1, 2)))
    by = draw.by(stream)
    if not on:
        return ()
    if random.random() < 0.5:
        return (stream.bsort(name, on=on, slack=random.randint(0, 4), by=by),)
    return (stream.wsort(name, on=on, timeout=draw.time(2), by=by),)


def waited(draw: Drawing, name: str) -> Sequence[Stream]:
    held, enabler = draw.any(), draw.any(deep=False)
    shared = [n for n in draw.names(held) if n in draw.names(enabler) and n in ("k", "i", "n", "g")]
    on = f"buffered.{shared[0]} = enabler.{shared[0]}" if shared else "buffered.stime % 3 = enabler.stime % 3"
    return (held.waitfor(name, enabler, on=on, timeout=draw.time(2)),)


def resampled(draw: Drawing, name: str) -> Sequence[Stream]:
    points, samples = draw.any(), draw.any(deep=False)
    fields = draw.numbers(samples)
    if not fields:
        return ()
    types = [draw.types(s) for s in (points, samples)]
    by = [n for n in draw.by(points) if types[0].get(n) == types[1].get(n)]
    chosen = draw.random.sample(fields, min(len(fields), 2))
    asked = {f"{name}_{i}": field for i, field in enumerate(chosen)}
    return (points.resample(name, samples, asked, within=draw.time(2), by=by),)


def sectioned(draw: Drawing, name: str) -> Sequence[Stream]:
    stream = draw.any()
    across = draw.by(stream)
    if not across:
        return ()
    within = draw.time(3) if draw.random.random() < 0.5 else None
    return (stream.cross_section(name, draw.calls(stream, deviations=False), across=across, within=within),)
