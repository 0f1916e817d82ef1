"""Revisions, row by row: what each box makes of them, and that the view of the corrected rows comes out."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

import auroral
from auroral.model.steps import Stream
from auroral.reference.evaluate import evaluate
from auroral.reference.rows import Row
from engine.revising import (
    BUCKET,
    BUCKETS,
    KEPT,
    corrected,
    diagram,
    random_sources,
    view,
    with_the_edge_of_the_history,
)


@pytest.mark.parametrize("seed", range(150))
def test_the_view_is_that_of_the_corrected_rows(seed: int) -> None:
    sources = random_sources(Random(seed))
    until = BUCKETS * BUCKET
    found = evaluate(diagram(True).check(), sources, until)
    right = {name: rows if name == "c" else corrected(rows) for name, rows in sources.items()}
    expected = evaluate(diagram(False).check(), right, until)
    for output in diagram(False).build().outputs:
        marked = [(row.stime, *row.values) for row in found.streams[output.stream]]
        plain = [(row.stime, *row.values, None) for row in expected.streams[output.stream]]
        assert view(marked) == view(plain), output.stream
    settled = [(row.stime - KEPT, *row.values, None) for row in found.streams["settled"]]
    assert view(settled) == view([(r.stime, *r.values, None) for r in right["a"] if r.stime + KEPT < until])


@pytest.mark.parametrize("seed", range(12))
def test_a_bucket_depends_on_as_much_of_the_past_as_its_boxes_say(seed: int) -> None:
    """Rows before that, to the microsecond, make no difference."""
    checked, sources, until = diagram(True).check(), random_sources(Random(seed)), BUCKETS * BUCKET
    starts = range(5 * BUCKET, until, 3 * BUCKET)
    sources["a"] = with_the_edge_of_the_history(sources["a"], starts[seed % len(starts)])
    reads: dict[str, int] = {}
    for box in checked.boxes:
        before = max(reads.get(stream, 0) for stream in box.box.inputs)
        reads.update(dict.fromkeys(box.box.outputs, before + box.typed.past))
    whole = evaluate(checked, sources, until).streams
    for start in starts:
        for past in {reads[output.stream] for output in checked.diagram.outputs}:
            given = {name: [row for row in rows if row.stime >= start - past] for name, rows in sources.items()}
            found = evaluate(checked, given, start + BUCKET).streams
            # A running total depends on all of the past.
            for name in (o.stream for o in checked.diagram.outputs if reads[o.stream] == past and o.stream != "total"):
                here = [row for row in whole[name] if start <= row.stime < start + BUCKET]
                assert [row for row in found[name] if row.stime >= start] == here, (name, start)


def power(build: Callable[[Stream], Stream]) -> Callable[..., list[tuple[Any, ...]]]:
    """Evaluates what is built behind an input of (site, kw) that keeps 30 us, in buckets of 10."""
    watch = auroral.diagram("power", bucket="10us")
    out = build(watch.input("s", "site string, kw int", revisions="30us", key=["site"]))
    out.output()
    checked = watch.check()

    def run(*given: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        rows = [Row(stime, tuple(values), (seq,)) for seq, (stime, *values) in enumerate(given)]
        result = evaluate(checked, {"s": rows}, 100)
        run.ledger = {reason: count for (_, reason), count in result.ledger.items()}  # type: ignore[attr-defined]
        return [(row.stime, *row.values) for row in result.streams[out.name]]

    return run


A, B = (2, "a", 5, None), (3, "b", 50, "")


@pytest.mark.parametrize(
    ("revision", "expected"),
    [
        ((14, "a", 60, "replace"), [(19, "a", 60, "insert 2")]),
        ((14, "b", 60, "replace"), [(19, "b", 50, "delete 3"), (19, "b", 60, "insert 3")]),
        ((14, "b", 6, "replace"), [(19, "b", 50, "delete 3")]),
        ((14, "b", 0, "delete"), [(19, "b", 50, "delete 3")]),
        ((14, "a", 6, "replace"), []),
        ((14, "c", 70, "insert 8"), [(19, "c", 70, "insert 8")]),
        ((14, "c", 70, "insert 19"), [(19, "c", 70, None)]),
        ((4, "b", 60, "replace"), [(9, "b", 50, "delete 3"), (9, "b", 60, "insert 3")]),
    ],
)
def test_a_filter_looks_at_the_old_row_and_at_the_new_one(revision: Any, expected: list[Any]) -> None:
    run = power(lambda s: s.filter("high", "kw > 20"))
    assert run(A, B, revision) == sorted([(3, "b", 50, None), *expected], key=lambda row: row[0])


def test_of_a_revision_that_a_map_does_not_show_nothing_is_left() -> None:
    run = power(lambda s: s.map("shown", {"site": "site", "high": "kw > 20"}))
    assert run(B, (14, "b", 60, "replace")) == [(3, "b", True, None)]
    assert len(run(B, (14, "b", 6, "replace"))) == 3


@pytest.mark.parametrize(
    ("given", "ledger"),
    [
        ([A, (14, "x", 1, "replace")], {"unmatched": 1}),
        # Gone already; and never there.
        ([A, (14, "a", 1, "delete"), (15, "a", 2, "replace"), (16, "a", 0, "delete")], {"unmatched": 2}),
        # In the bucket from 40 on, rows from 10 on are kept: by its key alone, none is found.
        ([A, (40, "a", 1, "replace")], {"unmatched": 1}),
        ([A, (40, "a", 1, "replace 2"), (40, "a", 1, "insert 9")], {"expired": 2}),
        ([A, (14, "a", 1, "replace 20"), (14, "a", 1, "insert 1000000")], {"ahead": 2}),
        ([A, (14, "a", 1, "replace 3")], {"unmatched": 1}),
        (
            [A, (14, "a", 1, "correct"), (14, "a", 1, "insert"), (14, "a", 1, "delete 2 "), (14, "a", 1, "delete\n")],
            {"unreadable": 4},
        ),
    ],
)
def test_what_cannot_be_done_is_in_the_ledger_and_changes_nothing(given: list[Any], ledger: dict[str, int]) -> None:
    run = power(lambda s: s.filter("all", "true"))
    assert [row for row in run(*given) if row[3] and not row[3].startswith("delete 2")] == []
    assert run.ledger == ledger  # type: ignore[attr-defined]


def test_a_revision_is_revised_and_of_equal_rows_one() -> None:
    run = power(lambda s: s.filter("all", "true"))
    twice = run(A, A, (14, "a", 6, "replace"), (24, "a", 7, "replace"), (26, "a", 8, "replace"))
    # The last of the two; two revisions of one bucket come to one.
    assert twice == [
        *[(2, "a", 5, None)] * 2,
        *[(19, "a", 5, "delete 2"), (19, "a", 6, "insert 2")],
        *[(29, "a", 6, "delete 2"), (29, "a", 8, "insert 2")],
    ]
    assert run.ledger == {}  # type: ignore[attr-defined]


def test_a_window_that_becomes_empty_or_was_empty() -> None:
    run = power(lambda s: s.aggregate("sums", {"kw": "sum(kw)"}, window="10us"))
    assert run(A, (14, "a", 0, "delete"), (25, "b", 3, "insert 7")) == [
        (9, 5, None),
        (19, 5, "delete 9"),
        (29, 3, "insert 9"),
    ]
