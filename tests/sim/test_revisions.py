"""Revisions and failures together: what was guessed of revised rows is corrected, and the rows end as without failures."""

from __future__ import annotations

from random import Random

import pytest

import auroral
from auroral.model.builder import DiagramBuilder
from auroral.sim import Tried, under_failures


def rows(seed: int) -> list[dict[str, object]]:
    """One in three revises a row of the last seconds: often one of before the failure, during it."""
    random = Random(seed)
    words = [None, None, None, None, "replace", "delete"]
    return [
        {"ts": 250_000 * step + seed, "n": random.randrange(5), "x": random.randrange(9), "revised_value": word}
        for step, word in enumerate(random.choice(words) if step > 6 else None for step in range(80))
    ]


SOURCES = {"east": rows(1), "west": rows(2)}


def chain() -> DiagramBuilder:
    """Two inputs whose rows may be revised, united, filtered and summed up, each in a query of its own."""
    d = auroral.diagram("chain", bucket="500ms")
    with d.query("unite"):
        fields = {"stime": "ts", "unit": "us", "revisions": "5s", "key": ["n"]}
        east, west = (d.input(name, "ts long, n int, x int", **fields) for name in ("east", "west"))  # type: ignore[arg-type]
        both = east.union("both", west)
    with d.query("sieve"):
        some = both.filter("some", "x > 1")
    with d.query("count"):
        some.aggregate("sums", {"rows": "count()", "x": "sum(x)"}, window="2s", by=["n"]).output(availability="3s")
        some.settled("settled").output(availability="3s")
    return d


NODES = "".join(
    f'<replica_set name="{query}" query="{query}"><node endpoint=":{port}"/><node endpoint=":{port + 1}"/></replica_set>'
    for query, port in (("unite", 1), ("sieve", 3), ("count", 5))
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("failures", "deployment"),
    [
        ("at 4s silence west; at 10s resume west", None),
        ("at 3s crash na; at 4s silence west; at 7s restart na; at 9s resume west", None),
        ("at 4s silence west; at 11s resume west", f"<deploy>{NODES}</deploy>"),
    ],
)
def test_a_failure_and_a_revision_meet(failures: str, deployment: str | None) -> None:
    calm = under_failures(chain(), SOURCES, deployment=deployment)
    tried = under_failures(chain(), SOURCES, failures, deployment=deployment)
    assert calm.ok and tried.ok, tried.violations
    marks = {str(row["revised_value"]).split()[0] for row in calm.rows("sums")}
    assert marks == {"None", "delete", "insert"}
    assert any(row["revised_value"] for answer in tried.tentative for row in answer.rows if answer.stream == "sums")
    for stream in ("sums", "settled"):
        # What failed is watched for longer, and more rows are settled by then.
        until = max(answer.stime for answer in calm.answers if answer.stable)
        assert in_the_end(calm, stream, until) and in_the_end(tried, stream, until) == in_the_end(calm, stream, until)


def in_the_end(tried: Tried, stream: str, until: int) -> list[str]:
    given = [a for a in tried.answers if a.stable and a.stream == stream and a.stime <= until]
    return sorted(repr(row) for answer in given for row in answer.rows)
