"""Random revisions of random rows, and what the rows are once all of them are done: written another way than the reference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import auroral
from auroral.model.boxes.aggregate import Aggregate
from auroral.model.boxes.revision import Revision
from auroral.model.boxes.stateless import Filter, Map
from auroral.model.builder import DiagramBuilder
from auroral.model.diagram import Box, Diagram
from auroral.model.steps import Stream
from auroral.reference.rows import Row, values_key

BUCKET, KEPT, BUCKETS = 10, 35, 14
FIELDS = "k int, g string, x double"


def diagram(revised: bool, brief: bool = False) -> DiagramBuilder:
    """Every step that takes revisions; without them, the same over rows that were right from the beginning. `brief` for Spark, which takes its time
    for each form of a statement: each step once."""
    watch = auroral.diagram("revising", bucket=f"{BUCKET}us")
    options: dict[str, Any] = {"revisions": f"{KEPT}us", "key": ["k"]} if revised else {}
    a = watch.input("a", FIELDS, **options)
    b = watch.input("b", FIELDS, **options)
    some = a.filter("some", "x > 2 and stime % 7 != 3")
    some.output()
    shown = some.map("shown", {"g": "g", "big": "x > 5", "at": "stime"})
    shown.output()
    shown.aggregate("counted", {"n": "count()", "first": "min(at)"}, window="20us", by=["big"]).output()
    if brief:
        return _briefly(a, b, watch)
    a.aggregate("ends", {"first": "firstval(x)", "last": "lastval(k)"}, window="20us").output()
    both = a.union("both", b)
    functions = {"n": "count()", "s": "sum(x)", "low": "min(x)", "late": "max(stime)"}
    means = both.aggregate("means", functions, window="25us", advance="10us", by=["g"], start="w")
    means.output()
    means.aggregate("of means", {"n": "sum(n)", "s": "sum(s)"}, window="30us").output()
    names = {"k": "left.k", "x": "left.x", "y": "right.x", "gap": "left.stime - right.stime"}
    pairs = a.join("pairs", b, on="left.g = right.g", within=("8us", "15us"), columns=names)
    pairs.output()
    pairs.aggregate("of pairs", {"n": "count()", "s": "sum(y)"}, window="10us").output()
    plain = watch.input("c", FIELDS)
    a.join("with plain", plain, on="left.k = right.k", within="12us", columns={"k": "left.k", "y": "right.x"}).output()
    if revised:
        a.settled("settled").output()
        # What takes no revisions runs behind it.
        a.settled("settled first").running("total", {"n": "count()", "s": "sum(x)"}, by=["g"]).output()
    return watch


def _briefly(a: Stream, b: Stream, watch: DiagramBuilder) -> DiagramBuilder:
    functions = {"n": "count()", "s": "sum(x)", "low": "min(x)", "last": "lastval(k)", "late": "max(stime)"}
    a.union("both", b).aggregate("means", functions, window="25us", advance="10us", by=["g"], start="w").output()
    names = {"k": "left.k", "y": "right.x", "gap": "left.stime - right.stime"}
    a.join("pairs", b, on="left.g = right.g", within=("8us", "15us"), columns=names).output()
    a.settled("settled").output()
    return watch


def random_sources(random: Random) -> dict[str, list[Row]]:
    return {
        "a": revising_rows(random, random.randint(0, 45)),
        "b": revising_rows(random, random.randint(0, 30)),
        "c": [Row(row.stime, row.values[:-1], row.order) for row in revising_rows(random, 15) if not row.values[-1]],
    }


def revising_rows(random: Random, count: int) -> list[Row]:
    """Stimes often collide, and so do keys; revisions of what is there, of what is gone, and of what never was."""
    stimes = sorted(random.randrange(-BUCKET * 2, BUCKETS * BUCKET) for _ in range(count))
    rows = []
    for seq, stime in enumerate(stimes):
        values = (
            random.choice([None, 0, 1, 2, 3]),
            random.choice("ab"),
            random.choice([0.0, -0.0, 1.5, 3.0, 6.25, 1e300]),
        )
        near = stime - random.randrange(-3, KEPT + 25)
        earlier = random.choice([row.stime for row in rows]) if rows else near
        text = random.choice(
            [
                *[None, None, None, "", ""],
                *["delete", "replace", "replace", f"delete {earlier}", f"replace {earlier}"],
                *[f"insert {near}", f"replace {near}", "undo", "delete  5", f"insert {stime + 50}", "insert"],
            ]
        )
        rows.append(Row(stime, (*values, text), (seq,)))
    return rows


def with_the_edge_of_the_history(rows: Sequence[Row], at: int) -> list[Row]:
    """For the bucket from `at` on, the kept history begins within a bucket: of a key, what came earlier in that bucket counts all the same."""
    edge = at - KEPT
    more = {edge - 1: f"insert {edge + 3}", edge: None, edge + 1: "delete", at: f"delete {edge}"}
    together = [*rows, *(Row(stime, (9, "a", 3.0, text)) for stime, text in more.items())]
    together.sort(key=lambda row: row.stime)
    return [Row(row.stime, row.values, (seq,)) for seq, row in enumerate(together)]


def corrected(rows: Sequence[Row], bucket: int = BUCKET, kept: int = KEPT) -> list[Row]:
    """The rows that stand in the end, each as if it had come so at its stime. The first field names them, the last one is the mark."""
    stand: list[list[Any]] = []
    for row in rows:
        word, _, time = (row.values[-1] or "").partition(" ")
        start = row.stime // bucket * bucket
        try:
            at = int(time) if time else None
        except ValueError:
            continue
        if word not in ("", "delete", "replace", "insert") or time != (str(at) if at is not None else ""):
            continue
        if at is not None and not start - kept <= at < start + bucket:
            continue
        if not word or (word == "insert" and at is not None):
            stand.append([row.stime if at is None else at, row.values[:-1]])
            continue
        meant = [s for s in stand if s[1][0] == row.values[0] and s[0] >= start - kept and at in (None, s[0])]
        if meant and word != "insert":
            newest = max(s[0] for s in meant)
            chosen = [s for s in meant if s[0] == newest][-1]
            if word == "delete":
                stand = [s for s in stand if s is not chosen]
            else:
                chosen[1] = row.values[:-1]
    stand.sort(key=lambda s: (s[0], values_key(s[1])))
    return [Row(at, values, (seq,)) for seq, (at, values) in enumerate(stand)]


def view(rows: Sequence[tuple[Any, ...]]) -> Counter[Any]:
    """What (stime, column, ..., mark) rows come to: how many of each row there are."""
    found: Counter[Any] = Counter()
    for stime, *values, text in rows:
        word, _, at = (text or "").partition(" ")
        found[(int(at) if at else stime, *map(repr, values))] += -1 if word == "delete" else 1
        assert found[(int(at) if at else stime, *map(repr, values))] >= 0 or text is not None
    assert all(count >= 0 for count in found.values()), "something was taken back that was never given"
    return +found


def in_mode(built: Diagram, mode: str) -> Diagram:
    """The same diagram with revision boxes as Borealis files have them, in one of the processing modes."""
    queries = []
    for query in built.queries:
        boxes = [replace(box, spec=Revision(box.spec, mode)) if _revises(box) else box for box in query.boxes]
        queries.append(replace(query, boxes=tuple(boxes)))
    return replace(built, queries=tuple(queries))


def _revises(box: Box) -> bool:
    return isinstance(box.spec, Filter | Map) or (isinstance(box.spec, Aggregate) and box.name != "total")
