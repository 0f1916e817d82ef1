"""The thesis' view of a stream: what an application sees that reads tuples instead of buckets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from auroral.dpc.tuples import Tuple, TupleType, TupleView
from auroral.sim.seen import Delivery, Run


def tuples_are_right(run: Run) -> Iterator[str]:
    """D46, D55: who leaves out what is tentative or undone sees the stream of a run without failures; after UNDO comes one REC_DONE."""
    for stream, given in run.deliveries.items():
        view, seen, corrects = TupleView(), list[Any](), False
        try:
            for number, one in enumerate(given):
                ended = view.interrupted() if number in run.interruptions.get(stream, ()) else ()
                for found in (*ended, *_shown(view, one)):
                    if found.type is TupleType.REC_DONE and not corrects:
                        yield f"{stream}: REC_DONE at {one.at:.2f} s, and nothing was undone"
                    corrects = _corrects(corrects, found, one.stable)
                    seen += [found.row] if found.type is TupleType.INSERTION else []
        except AssertionError as error:
            yield f"{stream}: {error}"
            continue
        if corrects:
            yield f"{stream}: the last UNDO is not followed by REC_DONE"
        lost = {one.bucket for one in given if one.content.lost}
        contents = enumerate(run.expected[stream][: view.frontier])
        expected = [row for bucket, content in contents if bucket not in lost for row in content.rows]
        if seen != expected:
            yield f"{stream}: {len(seen)} insertions are not the {len(expected)} of a run without failures"


def _shown(view: TupleView, one: Delivery) -> Iterator[Tuple]:
    if one.content.lost:
        return view.gap(one.bucket + 1)
    rows = tuple(one.content.rows)
    return view.stable(one.bucket, rows) if one.stable else view.tentative(one.bucket, rows)


def _corrects(corrects: bool, found: Tuple, stable: bool) -> bool:
    if found.type is TupleType.REC_DONE:
        return False
    return corrects or (stable and found.type is TupleType.UNDO)
