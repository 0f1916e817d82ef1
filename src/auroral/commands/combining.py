"""Whether `combine` of user aggregates gives what counting on gives: random rows, cut into parts at random.

A run combines parts of a window where it can, the batch run that `verify` compares it with never does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from random import Random
from typing import Any

from auroral.commands.randomrows import random_value
from auroral.engine.accumulate import accumulators
from auroral.model.aggregates import TypedAggregate
from auroral.model.boxes.aggregate import TypedAggregateBox
from auroral.model.checking import Checked, CheckedBox
from auroral.model.errors import AuroralError, Problem

TRIALS = 200
_DAY = 86_400_000_000
_LONGEST_SHOWN = 200

Rows = Sequence[tuple[Any, ...]]


def combine_differences(checked: Checked, seed: int) -> tuple[int, list[Problem]]:
    """How many trials were made, and which aggregates gave something else in parts than over the whole."""
    found, tried = [], 0
    for box, function in _combining(checked):
        random = Random(seed)
        tried += TRIALS
        for _ in range(TRIALS):
            problem = _difference(box, function, random)
            if problem is not None:
                found.append(problem)
                break
    return tried, found


def _combining(checked: Checked) -> Iterator[tuple[CheckedBox, TypedAggregate]]:
    """Each call of an aggregate that has a `combine`."""
    for box in checked.boxes:
        if isinstance(box.typed, TypedAggregateBox):
            for function in box.typed.functions:
                if function.user is not None and function.user.combine is not None:
                    yield box, function


def _difference(box: CheckedBox, function: TypedAggregate, random: Random) -> Problem | None:
    start = 1_700_000_000_000_000
    rows = [
        tuple(random_value(arg.type, start, start + _DAY, random) for arg in function.args)
        for _ in range(random.randrange(1, 12))
    ]
    cuts = sorted(random.randrange(len(rows) + 1) for _ in range(random.randrange(1, 4)))
    ends = [0, *cuts, len(rows)]
    parts = [rows[a:b] for a, b in pairwise(ends) if a < b]
    try:
        # As text, NaN equals itself and -0.0 is not 0.0.
        whole, combined = repr(_counted(function, rows).result()), repr(_in_parts(function, parts).result())
    except (Exception, SystemExit) as error:
        raise AuroralError(
            f"trying out aggregate {function.function!r} of box {box.box.name!r} stops with"
            f" {type(error).__name__}: {error}\n"
            "    next: see that its functions take nulls, NaN and empty strings"
        ) from error
    if whole == combined:
        return None
    shown = " + ".join(str([row[0] if len(row) == 1 else row for row in part]) for part in parts)
    return Problem(
        f"box {box.box.name!r}: combine of aggregate {function.function!r} gives {combined[:_LONGEST_SHOWN]} where incr"
        f" over all rows gives {whole[:_LONGEST_SHOWN]}, over the values {shown[:_LONGEST_SHOWN]}",
        box.box.place,
        allowed="a combine that gives the state of counting on, bit for bit, also from the state of init()",
        next_step="mend combine, or leave it out: every window is then counted from its rows",
    )


def _counted(function: TypedAggregate, rows: Rows) -> Any:
    (accumulator,) = accumulators([function])
    for row in rows:
        accumulator.add(row)
    return accumulator


def _in_parts(function: TypedAggregate, parts: Sequence[Rows]) -> Any:
    (accumulator,) = accumulators([function])
    for part in parts:
        accumulator.merge(_counted(function, part))
    return accumulator
