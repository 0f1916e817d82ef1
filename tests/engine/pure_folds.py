"""Folds without Spark: their rows in ranges cut at random, states encoded between them, against the reference.

What Spark does for a fold, that is to sort its rows by key and order, and to compute keys and arguments, is done here in Python: many
cases take no time. That Spark does the same is for the tests in `engine/boxes`, on a few.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from random import Random
from typing import Any

from auroral.engine.compile import Compiler
from auroral.engine.fold import Arrived, Fold, LeftOut, folded
from auroral.engine.foldboxes import fold_box
from auroral.engine.statecodec import decoded, encoded
from auroral.model.checking import Checked
from auroral.reference.names import Reading
from auroral.reference.rows import Row, canonical_key, equality_key, processing_key
from engine.evaluators import Outcome, Shown, Sources, assert_same, by_reference

Read = Callable[[int, Row], tuple[tuple[Any, ...], tuple[Any, ...]]]
"""By port and row: the parts of the key, and the values that the fold asks for."""
Behind = Callable[[Row], Row | None]
"""What the steps behind a fold make of a row that it gives."""


def assert_fold_agrees(
    checked: Checked,
    sources: Sources,
    first: int,
    until: int,
    random: Random,
    read: Read,
    behind: Behind = lambda row: row,
) -> Outcome:
    """The reference's outcome of a diagram with one box, once the fold has given the same in ranges cut in several ways."""
    expected = by_reference(checked, sources, until)
    (box,) = checked.boxes
    compiler = Compiler(checked, single=True, batch=False)
    compiler._needs()
    made = fold_box(box, compiler)
    assert made is not None
    inputs = [sources[stream] for stream in box.box.inputs]
    every = range(first + 1, until)
    for count in (0, 3, len(every)):
        cuts = [first, *sorted(random.sample(every, count)), until]
        assert_same(expected, in_ranges(made.fold, inputs, box.box.outputs, cuts, read, behind))
    return expected


def in_ranges(
    fold: Fold,
    inputs: Sequence[Iterable[Row]],
    outputs: Sequence[str],
    cuts: Sequence[int],
    read: Read,
    behind: Behind,
) -> Outcome:
    arriving = [(row.stime, port, row) for port, rows in enumerate(inputs) for row in sorted(rows, key=processing_key)]
    arriving.sort(key=lambda arrival: arrival[:2])
    states: dict[Any, tuple[tuple[Any, ...], bytes]] = {}
    found: list[list[Row]] = [[] for _ in outputs]
    ledger: Counter[tuple[str, str]] = Counter()
    for lo, hi in pairwise(cuts):
        by_key: dict[Any, list[Arrived]] = defaultdict(list)
        keys = {name: key for name, (key, _) in states.items()}
        for stime, port, row in arriving:
            if lo <= stime < hi:
                key, values = read(port, row)
                keys.setdefault(equality_key(key), key)
                by_key[equality_key(key)].append(Arrived(port, stime, row.order, values))
        for name, key in keys.items():
            state = states.pop(name, (key, None))[1]
            for given in folded(fold, key, None if state is None else decoded(state), by_key[name], hi):
                assert lo <= given.stime < hi
                if isinstance(given, LeftOut):
                    assert given.reason in fold.reasons
                    ledger["b", given.reason] += 1
                elif (made := behind(Row(given.stime, given.values, given.order))) is not None:
                    found[given.port].append(made)
            if (left := fold.state()) is not None:
                states[name] = (key, encoded(left))
    shown: dict[str, Shown] = {
        name: [(r.stime, *r.values) for r in sorted(rows, key=canonical_key)]
        for name, rows in zip(outputs, found, strict=True)
    }
    for rows in found:
        keys_of = Counter((row.stime, equality_key(row.order)) for row in rows)
        assert max(keys_of.values(), default=1) == 1, "two results have one order key"
    return Outcome(shown, dict(ledger))


def fields(checked: Checked, group_by: Sequence[str], *names: str) -> Read:
    """Keys and values that are fields of the row as they are."""
    (box,) = checked.boxes
    known = checked.streams[box.box.inputs[0]].schema.names

    def read(port: int, row: Row) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        return tuple(row.values[known.index(n)] for n in group_by), tuple(row.values[known.index(n)] for n in names)

    return read


def arguments(checked: Checked, *before: str) -> Read:
    """Of an aggregate: the group, then the fields `before`, then the functions' arguments."""
    (box,) = checked.boxes
    typed: Any = box.typed
    stream = checked.streams[box.box.inputs[0]]
    plain = fields(checked, typed.group_by, *before)
    reading = Reading([stream])

    def read(port: int, row: Row) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        key, values = plain(port, row)
        # As GROUP BY sees it: one zero.
        key = tuple(0.0 if isinstance(part, float) and part == 0 else part for part in key)
        return key, (*values, *(reading.value(arg, row) for function in typed.functions for arg in function.args))

    return read
