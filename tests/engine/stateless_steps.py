"""Random steps that look at one row at a time, or at a bucket as users' functions do."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from auroral.model.boxes.base import Source
from auroral.model.boxes.serialize import SOutput, SUnion
from auroral.model.boxes.stateless import Delay
from auroral.model.errors import Place
from auroral.model.steps import Stream
from engine.drawing import Drawing
from engine.user_code import (
    moved_frame,
    moved_rows,
    per_key_frame,
    per_key_rows,
    recent_frame,
    recent_rows,
)

# Texts that mean something to SQL, to Spark's substitution of variables, or to how statements are put together here.
ODD_NAMES = [":lo", "a:high", "a.b", "x@past", " AS y", "g0", "a0n", "FROM `in0`", "--", "\u00e4\U0001f600"]
ODD = [*ODD_NAMES, "${spark.master}"]


def filtered(draw: Drawing, name: str) -> Sequence[Stream]:
    stream = draw.any()
    numbers = draw.numbers(stream)
    if not numbers:
        return ()
    number = draw.random.choice(numbers)
    predicate: Source = draw.random.choice(
        [f"{number} > 0", f"{number} <= 1", f"{number} != {number} or stime % 3 = 0", f"not ({number} < 2)"]
    )
    if draw.random.random() < 0.3:
        predicate = draw.sql(f"stime % 3 = 0 OR {number} IS NOT NULL", "bool", f"stime % 3 = 0 or {number} = {number}")
    if draw.random.random() < 0.4:
        return stream.filter(name, predicate, otherwise=True)
    return (stream.filter(name, predicate),)


def mapped(draw: Drawing, name: str) -> Sequence[Stream]:
    stream = draw.any()
    names, numbers = draw.names(stream), draw.numbers(stream)
    columns: dict[str, Source] = {n: n for n in names if n in ("t", "k", "w") or draw.random.random() < 0.7}
    if numbers:
        a, b = draw.random.choice(numbers), draw.random.choice(numbers)
        columns["m"] = draw.random.choice([f"{a} / {b}", f"{a} * 2", f"-{a}", f"{a} - {b}", f"{a} % {b}"])
    if draw.random.random() < 0.3:
        columns[draw.random.choice(ODD_NAMES)] = f"'{draw.random.choice(ODD)}'"
    if draw.random.random() < 0.5:
        known = {"k": ("concat(k, k, '!')", "string", "k + k + '!'"), "l": ("l DIV 2", "long", "l / 2")}
        texts = [known[n] for n in names if n in known] or [("pmod(stime, 5)", "long", "(stime % 5 + 5) % 5")]
        columns["q"] = draw.sql(*draw.random.choice(texts))
    return (stream.map(name, columns or {"at": "stime"}),)


def rejecting(draw: Drawing, name: str) -> Sequence[Stream]:
    """A map or filter with functions that fail for some rows, and what becomes of those."""
    stream, random = draw.any(), draw.random
    numbers = draw.numbers(stream)
    if not numbers or "error" in draw.names(stream):
        return ()
    a, b = random.choice(numbers), random.choice(numbers)
    value = random.choice([f"picky(double({a}))", f"if {b} > 1 then picky(double({a})) else 0.0"])
    made: tuple[Stream, ...]
    if random.random() < 0.5:
        columns = {n: n for n in draw.names(stream) if n in ("t", "k", "w") or random.random() < 0.5}
        if "k" in columns:
            columns["k"] = random.choice(["k", "letter(k)", f"if {b} < 0 then letter(k) else k"])
        made = (stream.map(name, {**columns, "m": value}, on_error="reject"),)
    else:
        predicates = random.choice([[f"({value}) > 1.0"], [f"{a} < 0", f"{b} > 0 and ({value}) >= 0.0"]])
        made = stream.split(name, predicates, otherwise=random.random() < 0.5, on_error="reject")
    return (*made, made[0].errors()) if random.random() < 0.7 else made


def united(draw: Drawing, name: str) -> Sequence[Stream]:
    stream = draw.any()
    return (stream.union(name, draw.like(stream)),)


def dropped(draw: Drawing, name: str) -> Sequence[Stream]:
    stream = draw.any()
    return (stream.drop(name, draw.random.choice([0.0, 0.3, 0.5, 1.0])),)


def applied(draw: Drawing, name: str) -> Sequence[Stream]:
    stream = draw.having("k")
    if stream is None:
        return ()
    place = draw.types(stream).names.index("k")
    past = draw.random.choice([0, 1, 2]) * draw.bucket + draw.random.choice([0, 3]) * draw.scale
    at_the_end, apart = draw.random.random() < 0.5, Random(f"{name} of {draw.seed}")
    if apart.random() < 0.3:
        by = apart.randint(-3 * draw.bucket, 2 * draw.bucket)
        draw.functions[name] = moved_rows(place, by)
        return (stream.apply(name, moved_frame(by), schema="k string, n long", horizon=f"{past}us"),)
    if at_the_end:
        draw.functions[name] = per_key_rows(place)
        return (stream.apply(name, per_key_frame, schema="k string, n long", horizon=f"{past}us"),)
    draw.functions[name] = recent_rows(place, past)
    made = stream.apply(name, recent_frame(past), schema="k string, n long", horizon=f"{past}us", cut_free=True)
    return (made,)


def delayed(draw: Drawing, name: str) -> Sequence[Stream]:
    spec = Delay(draw.random.choice([0, 1]))
    return draw.builder.add(name, spec, (draw.any(),), (name,), Place())


def serialized(draw: Drawing, name: str) -> Sequence[Stream]:
    """An sunion of two streams into one, or into one for each."""
    stream = draw.any()
    outputs = draw.random.choice([[name], [f"{name}.0", f"{name}.1"]])
    inputs = (stream, draw.like(stream) if len(outputs) == 1 else draw.any())
    control, *made = draw.builder.add(name, SUnion(100), inputs, (f"{name}.control", *outputs), Place())
    draw.controls.append(control)
    return made


def put_out(draw: Drawing, name: str) -> Sequence[Stream]:
    control, made = draw.builder.add(name, SOutput(), (draw.any(),), (f"{name}.control", name), Place())
    draw.controls.append(control)
    return (made,)
