"""What each kind of update queue keeps of a bucket, and where it stands."""

from __future__ import annotations

import pytest

from auroral.model.boxes.stateless import Union
from auroral.model.checking import check
from auroral.model.diagram import Box, Diagram, Input, Output, Query, QueueOptions
from auroral.model.schema import schema
from auroral.reference.evaluate import evaluate
from auroral.reference.rows import Row

# (stime, key, value): a is said three times, c twice, b and d once; then another bucket.
GIVEN = [(0, "c", 1), (2, "a", 2), (3, "b", 3), (5, "a", 4), (6, "d", 5), (7, "c", 6), (9, "a", 7), (11, "a", 8)]


def queued(options: QueueOptions) -> tuple[list[tuple[object, ...]], dict[tuple[str, str], int]]:
    box = Box("u", Union(), ("s",), ("o",), queue=options)
    diagram = Diagram("d", (Input("s", schema("k string, v int")),), (Output("o"),), (Query("q", (box,)),), bucket=10)
    rows = [Row(stime, values, (seq,)) for seq, (stime, *values) in enumerate(GIVEN)]  # type: ignore[arg-type]
    result = evaluate(check(diagram), {"s": [Row(r.stime, tuple(r.values), r.order) for r in rows]}, 20)
    return [(row.stime, *row.values) for row in result.streams["o"]], dict(result.ledger)


LAST = (11, "a", 8)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (1, [(0, "c", 6), (2, "a", 7), (3, "b", 3), (6, "d", 5)]),
        (2, [(0, "a", 7), (0, "c", 6), (3, "b", 3), (6, "d", 5)]),
        (3, [(0, "c", 6), (2, "a", 7), (3, "b", 3), (6, "d", 5)]),
        (4, [(0, "b", 3), (0, "c", 6), (0, "d", 5), (2, "a", 7)]),
        (5, [(0, "c", 6), (2, "a", 7), (3, "b", 3), (5, "d", 5)]),
        (8, [(0, "a", 7), (2, "b", 3), (3, "c", 6), (6, "d", 5)]),
    ],
)
def test_the_newest_of_each_key_stands_where_the_queue_says(kind: int, expected: list[tuple[object, ...]]) -> None:
    assert queued(QueueOptions(True, kind, "k")) == ([*expected, LAST], {("u.queue.0", "superseded"): 3})


def test_forms_that_draw_no_lots_are_the_same_here() -> None:
    assert queued(QueueOptions(True, 6, "k")) == queued(QueueOptions(True, 3, "k"))
    assert queued(QueueOptions(True, 7, "k")) == queued(QueueOptions(True, 5, "k"))
    assert queued(QueueOptions(True, None, "k")) == queued(QueueOptions(True, 1, "k"))


@pytest.mark.parametrize(
    "options", [QueueOptions(True, 0, "k"), QueueOptions(False), QueueOptions(), QueueOptions(None, 1, "k")]
)
def test_a_fifo_takes_every_row(options: QueueOptions) -> None:
    assert queued(options) == (GIVEN, {})


@pytest.mark.parametrize(("options", "why"), [(QueueOptions(True, 1), "no key"), (QueueOptions(True, 1, "x"), "'x'")])
def test_a_queue_that_cannot_be_is_told(options: QueueOptions, why: str) -> None:
    box = Box("u", Union(), ("s",), ("o",), queue=options)
    diagram = Diagram("d", (Input("s", schema("k string")),), (Output("o"),), (Query("q", (box,)),))
    (warning,) = check(diagram).warnings
    assert "does nothing" in warning.what and why in warning.what
