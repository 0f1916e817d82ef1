"""Queries of a run, while it goes on and afterwards: what they give equals a batch run of the query over the whole stream."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import auroral
from auroral.adhoc import Query, QueryError
from auroral.cli import main
from auroral.client import Confirmed, Corrected, Event, Gap, Stable, Tentative
from auroral.edge.sinks import output_schema
from auroral.engine.statements import WrongStatement, statement

pytestmark = pytest.mark.spark
SCHEMA = auroral.schema("ts timestamp, host string, ms long")
EACH = "SELECT host, ms * 2 AS twice FROM slow WHERE ms % 3 > 0"
GROUPED = "SELECT host, count(*) AS n, max(ms) AS most FROM stream GROUP BY host"


def rows(begin: int, end: int) -> list[dict[str, Any]]:
    return [
        {"ts": f"2026-03-01T12:{i // 60:02}:{i % 60:02}Z", "host": f"h{i % 3}", "ms": i * 7 % 50}
        for i in range(begin, end)
    ]


def watched() -> tuple[auroral.DiagramBuilder, auroral.Stream]:
    d = auroral.diagram("watch", bucket="1s")
    calls = d.input("calls", SCHEMA, stime="ts").keep("raw", rows=12)
    slow = calls.filter("slow", "ms > 5").keep("recent", last="20s")
    slow.filter("slower", "ms > 40").output()
    return d, slow


def running_counts() -> auroral.DiagramBuilder:
    """A fold: it depends on all that was."""
    d = auroral.diagram("counts")
    d.input("slow", SCHEMA).running("so_far", {"n": "count()", "total": "sum(ms)"}, by=["host"]).output()
    return d


def told(events: Iterator[Event] | Query) -> list[dict[str, Any]]:
    return [row for event in events if isinstance(event, Stable) for row in event.rows.to_pylist()]


def in_batch(spark: Any, count: int, step: Callable[[auroral.Stream], auroral.Stream]) -> list[dict[str, Any]]:
    """What one batch run of diagram and query together gives."""
    d, slow = watched()
    step(slow).output("asked")
    return auroral.batch(d, {"calls": rows(0, count)}, session=spark).tables["asked"].to_pylist()


def sql_step(spark: Any, text: str, horizon: str | None = None) -> Callable[[auroral.Stream], auroral.Stream]:
    found = statement(spark, text, "slow", SCHEMA)
    return lambda slow: slow.apply("q", found, schema=found.fields, horizon=horizon)


def test_history_then_live_equals_a_batch_run(spark: Any, tmp_path: Path) -> None:
    """Three queries at once, which begin when half of the rows are there; the others come one by one."""
    with auroral.run(watched()[0], folder=tmp_path / "run", session=spark) as app:
        app.push("calls", rows(0, 12))
        while app.frontier is None:
            app.await_termination(0.05)
        queries = [
            auroral.query(tmp_path / "run", "slow", EACH, session=spark),
            auroral.query(tmp_path / "run", "slow", GROUPED, window="3s", session=spark),
            auroral.query(tmp_path / "run", "slow", diagram=running_counts(), session=spark),
        ]
        found: list[list[dict[str, Any]]] = [told(iter([next(query)])) for query in queries]
        for i in range(12, 24, 4):
            app.push("calls", rows(i, i + 4))
        app.close()
        for query, seen in zip(queries, found, strict=True):
            with query:
                seen += told(query)
            assert query.left_out == {} and query.position == app.frontier
        steps = (
            sql_step(spark, EACH),
            sql_step(spark, GROUPED, "2s"),
            lambda slow: slow.running("q", {"n": "count()", "total": "sum(ms)"}, by=["host"]),
        )
        assert all(found)
        for seen, step in zip(found, steps, strict=True):
            assert seen == in_batch(spark, 24, step)
    assert auroral.verify(tmp_path / "run", spark).ok
    # Any Spark job reads what was kept; by the name of the connection point, a query begins with that.
    kept = spark.read.parquet(str(tmp_path / "run" / "history" / "raw")).orderBy("stime").collect()
    assert 12 <= len(kept) <= 15
    assert [row.ms for row in kept] == [row["ms"] for row in rows(24 - len(kept), 24)]
    every = "SELECT host, ms FROM stream"
    with auroral.query(tmp_path / "run", "raw", every, history_only=True, session=spark) as asked:
        assert [row["ms"] for row in told(asked)] == [row.ms for row in kept]
    with auroral.query(tmp_path / "run", "raw", every, since="now", session=spark) as asked:
        assert told(asked) == []


@dataclass
class Told:
    """A feed that tells what it was given."""

    events: list[Event]
    stream: str = "slow"
    schema: auroral.Schema = SCHEMA
    bucket: int = 1_000_000
    position: int | None = 0
    closed: list[bool] = field(default_factory=list)

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def close(self) -> None:
        self.closed.append(True)


def seconds(*of: tuple[int, int]) -> pa.Table:
    schema = output_schema(SCHEMA)
    columns = {"stime": [s * 1_000_000 for s, _ in of], "ts": [s * 1_000_000 for s, _ in of]}
    table = pa.table({**columns, "host": ["h"] * len(of), "ms": [ms for _, ms in of]})
    return table.set_column(1, "ts", table.column(1).cast(pa.timestamp("us"))).cast(schema)


def test_what_is_tentative_is_marked_and_corrected(spark: Any) -> None:
    def at(kind: type[Any], second: int, *of: int, until: int | None = None) -> Event:
        lo, hi = second * 1_000_000, (until or second + 1) * 1_000_000
        return kind("slow", lo, hi, seconds(*((second, ms) for ms in of)))  # type: ignore[no-any-return]

    events = [
        at(Stable, 0, 1),
        at(Tentative, 1, 10),
        at(Tentative, 2, 100),
        # The bucket before changes, so what was said of the one behind it does too.
        at(Tentative, 1, 20),
        at(Corrected, 1, 20, 30),
        at(Stable, 2, 100),
        Gap("slow", 3_000_000, 5_000_000),
        at(Stable, 5, 7),
    ]
    wanted = {
        "SELECT sum(ms) AS ms FROM stream": [
            ("Stable", 0, [1]), ("Tentative", 1, [11]), ("Tentative", 2, [110]), ("Tentative", 1, [21]), ("Tentative", 2, [120]),
            ("Corrected", 1, [51]), ("Corrected", 2, [150]), ("Gap", 3, []), ("Stable", 5, [7]),
        ],
    }  # fmt: skip
    for text, expected in wanted.items():
        feed = Told(list(events))
        found = statement(spark, text, "slow", SCHEMA)
        d = auroral.diagram("q")
        d.input("slow", SCHEMA).apply("r", found, schema=found.fields, horizon="1s").output()
        assert kinds(Query(feed, d.check(), spark)) == expected
    # A fold begins anew from what is stable.
    with Query(feed := Told(list(events)), running_counts().check(), spark) as asked:
        assert kinds(asked, "total") == [
            ("Stable", 0, [1]), ("Tentative", 1, [11]), ("Tentative", 2, [111]), ("Tentative", 1, [21]), ("Tentative", 2, [121]),
            ("Corrected", 1, [21, 51]), ("Corrected", 2, [151]), ("Gap", 3, []), ("Stable", 5, [158]),
        ]  # fmt: skip
    assert feed.closed
    # Results that no bucket can have any more are counted, and not just missing.
    shifted = statement(spark, "SELECT stime - 9000000 AS stime, ms FROM stream", "slow", SCHEMA)
    d = auroral.diagram("q")
    d.input("slow", SCHEMA).apply("r", shifted, schema=shifted.fields).output()
    with Query(Told(list(events)), d.check(), spark) as asked:
        assert {row for _, _, given in kinds(asked) for row in given} == set()
    assert asked.left_out == {"rejected": 5}
    same = [at(Tentative, 0, 5), at(Stable, 0, 5)]
    with Query(Told(list(same)), running_counts().check(), spark) as asked:
        assert [type(event) for event in asked] == [Tentative, Confirmed]


def kinds(events: Query, field: str = "ms") -> list[tuple[str, int, list[Any]]]:
    return [
        (type(e).__name__, e.lo // 1_000_000, [] if isinstance(e, Gap) else e.rows.column(field).to_pylist())
        for e in events
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("SELECT host FORM slow", "Spark refuses the statement"),
        ("SELEC host FROM slow", "begins with SELEC"),
        ("SELECT host FROM slow; SELECT ms FROM slow", "Spark refuses the statement"),
        ("WITH a AS (SELECT host FROM slow) INSERT INTO elsewhere SELECT * FROM a", "begins with INSERT"),
        ("CREATE OR REPLACE TEMP VIEW made_by_a_query AS SELECT 1 AS x", "begins with CREATE"),
        ("SELECT hots FROM slow", "hots"),
        ("SELECT host FROM elsewhere", "elsewhere"),
        ("SELECT host, rand() AS r FROM slow", r"rand gives something else each time"),
        ("SELECT host, current_timestamp AS at FROM slow", "current_timestamp gives something else"),
        ("SELECT host FROM slow LIMIT 2", "without ORDER BY"),
        ("SELECT cast('today' AS date) AS d FROM slow", "only a part"),
        ("SELECT stime FROM slow", "no column but the stime"),
        ("SELECT host, host FROM slow", "twice"),
        ("SELECT * FROM parquet.`/tmp`", "/tmp|something else than the stream|refuses"),
    ],
)
def test_statements_that_are_none(spark: Any, text: str, says: str) -> None:
    with pytest.raises(WrongStatement, match=says) as raised:
        statement(spark, text, "slow", SCHEMA)
    assert "next:" in str(raised.value)
    # What is refused was not carried out before.
    assert not spark.catalog.tableExists("made_by_a_query")


def test_statements_that_go_at_batch_speed(spark: Any) -> None:
    assert statement(spark, EACH, "slow", SCHEMA).cut_free
    assert statement(spark, "SELECT * FROM slow;", "slow", SCHEMA).cut_free
    assert not statement(spark, GROUPED, "slow", SCHEMA).cut_free
    assert not statement(spark, "SELECT stime + 1 AS stime, host FROM slow", "slow", SCHEMA).cut_free
    assert not statement(spark, "SELECT DISTINCT host FROM slow", "slow", SCHEMA).cut_free
    assert statement(spark, "SELECT stime, upper(host) AS h FROM slow", "slow", SCHEMA).cut_free
    for text in (
        "SELECT * FROM (SELECT host FROM slow)",
        "SELECT * FROM (SELECT stime + 1 AS stime, host FROM slow)",
        "SELECT host FROM (SELECT 0L AS stime, host FROM slow)",
        "SELECT * FROM range(3)",
        "WITH a AS (SELECT * FROM slow) SELECT * FROM a",
    ):
        assert not statement(spark, text, "slow", SCHEMA).cut_free, text
    odd = statement(spark, "SELECT host AS h FROM stream WHERE 'select' = host", "slow.else", SCHEMA)
    assert odd.cut_free and odd.fields.names == ["h"]


def test_what_depends_on_the_order_of_rows_sees_them_in_one(spark: Any) -> None:
    """However many partitions they come in, and in which order."""
    schema = auroral.schema("host string, x double")
    text = "SELECT host, sum(x) AS total, avg(x) AS mean, first(x) AS one, collect_list(x) AS every FROM stream GROUP BY host"
    found = statement(spark, text, "s", schema)
    assert found.ordered and not statement(spark, "SELECT max(x) AS most FROM s", "s", schema).ordered
    rows = spark.range(400).selectExpr("id AS stime", "CONCAT('h', id % 2) AS host", "POW(10D, id * 7 % 19) / 3 AS x")
    given = [
        sorted(found(frame).collect())
        for frame in (rows.coalesce(1), rows.repartition(5), rows.orderBy("x").coalesce(1), rows.repartition(3, "x"))
    ]
    assert all(one == given[0] for one in given)
    plain = {row.s for row in (r.selectExpr("sum(x) AS s").first() for r in (rows.coalesce(1), rows.orderBy("x")))}
    assert len(plain) == 2, "otherwise the rows show nothing"


def test_what_cannot_be_asked(
    spark: Any,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    commands_share_spark: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    with auroral.run(watched()[0], inputs={"calls": rows(0, 9)}, folder="run", session=spark) as app:
        app.await_termination()
    everything = "SELECT * FROM stream"
    for stream, how, says in (
        ("nosuch", {"sql": everything}, "recent"),
        ("slow", {}, "a statement or a diagram"),
        ("slow", {"diagram": watched()[0]}, "one output|its stime is in|has the fields"),
    ):
        with pytest.raises(QueryError, match=says):
            auroral.query("run", stream, session=spark, **how)  # type: ignore[arg-type]
    with pytest.raises(auroral.AuroralError, match="there is no folder"):
        auroral.query("nowhere", "slow", everything, session=spark)
    (tmp_path / "empty").mkdir()
    with pytest.raises(auroral.AuroralError, match="is no run folder"):
        auroral.query("empty", "slow", everything, session=spark)
    # The same from the command line, and what it prints.
    assert main(["query", "slow", "--folder", "run"]) == 2
    assert main(["query", "nosuch", everything, "--folder", "run"]) == 1
    assert "recent" in capsys.readouterr().err
    asked = ["query", "slow", "SELECT host, ms FROM slow WHERE ms > 40", "--folder", "run", "--history-only"]
    assert main([*asked, "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["ms"] for line in lines for row in line["rows"]] == [42, 49] and lines[0]["kind"] == "stable"
    assert main([*asked, "--since", "2026-03-01T12:00:07Z"]) == 0
    printed = capsys.readouterr()
    assert "host=h1, ms=49" in printed.out and "42" not in printed.out
    assert "detached; stable up to stime" in printed.err
    # Nobody comes any more: it ends when it is told to.
    assert main(["query", "slow", everything, "--folder", "run", "--for", "300ms"]) == 0
