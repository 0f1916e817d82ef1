"""Tables of real databases as outputs: one test body over SQLite and PostgreSQL."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from auroral.edge import postgresqlsink
from auroral.edge.deliverysinks import Place, check_table, open_sink_at, place_of
from auroral.edge.revisedview import standing
from auroral.edge.sinks import OutputError, output_schema
from auroral.edge.sqlsink import POSITIONS, SqlSink
from auroral.model.schema import Schema, schema
from auroral.wire.outputs import Delivery, Kind
from edge.postgresql import Server

BUCKET = 1_000
PLAIN = schema("n int")
EVERY = schema(
    "b byte, s short, i int, l long, f single, d double, t string, at timestamp, ok bool, m decimal(10,2), day date, raw binary"
)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.remove()


class Database:
    """Where a table is, and what is in it."""

    def __init__(self, kind: str, address: str):
        self.kind, self.address = kind, address

    def at(self, table: str) -> str:
        return f"{self.address}#{table}"

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        if self.kind == "sqlite":
            connection: Any = sqlite3.connect(self.address.removeprefix("sqlite:"))
        else:
            connection = psycopg.connect(self.address)
        try:
            found = connection.execute(statement)
            rows = found.fetchall() if found.description else []
            connection.commit()
            return rows
        finally:
            connection.close()

    def table(self, name: str = "t") -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.query(f'SELECT _lo, _tentative, n FROM "{name}" ORDER BY _lo, n')]


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    if request.param == "sqlite":
        yield Database("sqlite", f"sqlite:{tmp_path}/folder/of.db")
        return
    running: Server = request.getfixturevalue("server")
    found = Database("postgresql", running.address)
    yield found
    found.query("DROP SCHEMA public CASCADE")
    found.query("CREATE SCHEMA public")


def opened(
    database: Database, given: Schema = PLAIN, run: str = "run", table: str = "t", tentative: bool = True
) -> SqlSink:
    found = open_sink_at(place_of("t", database.at(table)), given, run, BUCKET, tentative)
    assert isinstance(found, SqlSink)
    return found


def rows(*pairs: tuple[int, int]) -> pa.Table:
    stimes, numbers = ([pair[at] for pair in pairs] for at in (0, 1))
    return pa.table([pa.array(stimes, pa.int64()), pa.array(numbers, pa.int32())], schema=output_schema(PLAIN))


def delivery(kind: Kind, lo: int, hi: int, *pairs: tuple[int, int]) -> Delivery:
    return Delivery(kind, lo, hi, rows(*pairs))


def test_a_delivery_takes_the_place_of_its_buckets(database: Database) -> None:
    sink = opened(database)
    assert sink.frontier is None
    sink.apply(delivery(Kind.STABLE, 0, 2000, (5, 1), (5, 1), (1500, 2)))
    sink.apply(delivery(Kind.TENTATIVE, 2000, 3000, (2001, 3)))
    sink.apply(delivery(Kind.TENTATIVE, 3000, 4000, (3001, 4)))
    assert database.table() == [(0, 0, 1), (0, 0, 1), (1000, 0, 2), (2000, 1, 3), (3000, 1, 4)]
    sink.apply(delivery(Kind.TENTATIVE, 2000, 3000, (2001, 7), (2002, 8)))
    sink.apply(delivery(Kind.CORRECTED, 2000, 3000, (2001, 9)))
    assert database.table()[3:] == [(2000, 0, 9), (3000, 1, 4)]
    sink.apply(delivery(Kind.GAP, 3000, 5000))
    assert database.table()[3:] == [(2000, 0, 9)]
    assert sink.frontier == 5000
    sink.close()


def test_it_goes_on_from_the_position_that_is_with_the_rows(database: Database) -> None:
    sink = opened(database)
    sink.apply(delivery(Kind.STABLE, 0, 1000, (5, 1)))
    sink.apply(delivery(Kind.TENTATIVE, 1000, 2000, (1001, 2)))
    # As after SIGKILL: nobody said good-bye.
    again = opened(database)
    assert again.frontier == 1000
    again.apply(delivery(Kind.STABLE, 1000, 3000, (1001, 3)))
    assert database.table() == [(0, 0, 1), (1000, 0, 3)]
    # The one before still lives, and must not write.
    with pytest.raises(OutputError, match="is written by somebody else too"):
        sink.apply(delivery(Kind.STABLE, 1000, 2000, (1001, 2)))
    assert database.table() == [(0, 0, 1), (1000, 0, 3)]
    sink.close()
    again.close()


def test_what_fails_in_the_middle_changes_nothing(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    sink = opened(database)
    sink.apply(delivery(Kind.TENTATIVE, 0, 1000, (1, 1)))

    def fails(frontier: int) -> None:
        raise OSError("the disk is away")

    with monkeypatch.context() as patch:
        patch.setattr(sink, "_go_on", fails)
        with pytest.raises(OutputError, match="the disk is away"):
            sink.apply(delivery(Kind.STABLE, 0, 1000, (1, 2)))
    assert database.table() == [(0, 1, 1)] and sink.frontier is None
    sink.apply(delivery(Kind.STABLE, 0, 1000, (1, 2)))
    assert database.table() == [(0, 0, 2)]
    sink.close()


def test_a_table_with_other_columns_is_refused(database: Database) -> None:
    opened(database).close()
    database.query('ALTER TABLE "t" ADD COLUMN more integer')
    for attempt in (lambda: opened(database), lambda: check_table(place_of("t", database.at("t")), PLAIN)):
        with pytest.raises(
            OutputError, match=r"has other columns: .*more(.|\n)*allowed: (.|\n)*next: name another table"
        ):
            attempt()


def test_a_table_of_somebody_else_is_refused(database: Database) -> None:
    sink = opened(database)
    sink.apply(delivery(Kind.STABLE, 0, 1000, (1, 1)))
    sink.close()
    with pytest.raises(OutputError, match=r"was written by another run, or from another stream \(run\)"):
        opened(database, run="other")
    with pytest.raises(OutputError, match=r"the table 't' has rows already(.|\n)*next: name another table"):
        check_table(place_of("t", database.at("t")), PLAIN)
    database.query(f"DELETE FROM {POSITIONS}")
    with pytest.raises(OutputError, match="has rows already"):
        opened(database)
    check_table(place_of("t", database.at("u")), PLAIN)
    assert database.query(f"SELECT * FROM {POSITIONS}") == [], "to look makes nothing"


def test_another_spelling_of_a_table_is_the_same_table(database: Database) -> None:
    first, second = ("T", "t") if database.kind == "sqlite" else ("t", "public.t")
    opened(database, run="run/a", table=first).close()
    with pytest.raises(OutputError, match=r"from another stream \(run/a\)"):
        opened(database, run="run/b", table=second)
    one, other = place_of("s", database.at(first)), place_of("s", database.at(second))
    assert one != other and one.spelt_plainly == other.spelt_plainly


def test_a_table_that_somebody_has_locked_is_not_waited_for_for_ever(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgresqlsink, "_PATIENCE", 1)
    sink = opened(Database("postgresql", server.address), table="locked")
    with psycopg.connect(server.address) as other:
        other.execute("LOCK TABLE locked")
        with pytest.raises(OutputError, match="lock timeout"):
            sink.apply(delivery(Kind.STABLE, 0, 1000, (1, 1)))
    sink.apply(delivery(Kind.STABLE, 0, 1000, (1, 1)))
    sink.close()


def test_names_that_need_quotes(database: Database) -> None:
    odd = schema({"sel ect": "int", 'a"b': "int", "_lo": "int", "_tentative": "int"})
    sink = opened(database, odd, table='my "own" 5 % table')
    given = pa.table(
        [pa.array([n], kind) for n, kind in zip(range(5), output_schema(odd).types, strict=True)],
        schema=output_schema(odd),
    )
    sink.apply(Delivery(Kind.STABLE, 0, 1000, given))
    assert [tuple(map(int, row)) for row in database.query('SELECT * FROM "my ""own"" 5 % table"')] == [
        (0, 0, 0, 1, 2, 3, 4)
    ]
    sink.close()


def values(**other: Any) -> pa.Table:
    at = datetime(2026, 1, 31, 12, tzinfo=UTC)
    usual = {"stime": 1, "b": 1, "s": 2, "i": 3, "l": 4, "f": 0.5, "d": 0.1, "t": "é'\n\t\\", "at": at, "ok": True}
    usual |= {"m": Decimal("-1.50"), "day": date(2026, 1, 31), "raw": b"\x00\xff"}
    return pa.Table.from_pylist([usual | other], schema=output_schema(EVERY))


def test_every_type_comes_back(database: Database) -> None:
    sink = opened(database, EVERY)
    nothing = dict.fromkeys(EVERY.names)
    sink.apply(Delivery(Kind.STABLE, 0, 1000, values()))
    sink.apply(Delivery(Kind.STABLE, 1000, 2000, values(stime=1001, **nothing)))
    sink.apply(Delivery(Kind.STABLE, 2000, 3000, values(stime=2001, d=math.nan, f=-math.inf)))
    whole, none, odd = database.query('SELECT * FROM "t" ORDER BY _lo')
    assert none[3:] == (None,) * len(EVERY)
    if database.kind == "sqlite":
        assert whole[2:] == (
            *(1, 1, 2, 3, 4, 0.5, 0.1, "é'\n\t\\", "2026-01-31T12:00:00.000000Z", 1, "-1.50", "2026-01-31"),
            b"\x00\xff",
        )
        assert odd[8] == "NaN" and odd[7] == -math.inf
    else:
        assert whole[2:] == tuple(values().to_pylist()[0].values())
        assert math.isnan(odd[8]) and odd[7] == -math.inf
    sink.close()


def test_times_that_python_does_not_have(database: Database) -> None:
    far = schema("at timestamp, day date")
    sink = opened(database, far)
    days = [3_000_000, -719_529, -730_000]  # 10183-09-22, 0000-12-30 and -0029-...
    for number, day in enumerate(days):
        columns = [pa.array([1000 * number]), pa.array([day * 86_400_000_000]).cast(pa.timestamp("us", "UTC"))]
        given = pa.table([*columns, pa.array([day], pa.int32()).cast(pa.date32())], schema=output_schema(far))
        sink.apply(Delivery(Kind.STABLE, 1000 * number, 1000 * (number + 1), given))
    if database.kind == "sqlite":
        assert database.query('SELECT day FROM "t"') == [(str(day),) for day in days]
    else:
        found = database.query("""SELECT day - date '1970-01-01', extract(epoch FROM at)::bigint / 86400 FROM "t" """)
        assert found == [(day, day) for day in days]
    sink.close()


def test_a_table_of_another_schema(server: Server) -> None:
    database = Database("postgresql", server.address)
    database.query("CREATE SCHEMA IF NOT EXISTS other")
    sink = opened(database, table="other.t")
    sink.apply(delivery(Kind.STABLE, 0, 1000, (1, 1)))
    sink.close()
    assert database.query("SELECT n FROM other.t") == [(1,)]
    assert database.query("SELECT name, frontier FROM other.auroral_outputs") == [("t", 1000)]
    database.query("DROP SCHEMA other CASCADE")


def test_nobody_there_is_said() -> None:
    with pytest.raises(OutputError, match=r"postgresql://nobody@127.0.0.1:1/none: (.|\n)*refused(.|\n)*next: "):
        check_table(place_of("t", "postgresql://nobody@127.0.0.1:1/none"), PLAIN)


def test_sqlite_does_not_tell_large_letters_from_small(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"two fields would be the column 'n'(.|\n)*next: rename one"):
        check_table(place_of("t", f"sqlite:{tmp_path}/of.db"), schema("n int, N int"))


# Places


def test_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert place_of("s", "sqlite:a.db#t") == Place("sqlite", str(tmp_path / "a.db"), "t")
    assert place_of("s", "sqlite:a.db") == Place("sqlite", str(tmp_path / "a.db"), "s")
    assert place_of("s", "sqlite:a.db#t?key=k, l") == Place("sqlite", str(tmp_path / "a.db"), "t", ("k", "l"))
    assert place_of("s", "sqlite:a.db?key=k") == Place("sqlite", str(tmp_path / "a.db"), "s", ("k",))
    of_a_database = Place("postgresql", "postgresql://host/db?sslmode=require", "s", ("k",))
    assert place_of("s", "postgresql://host/db?sslmode=require?key=k") == of_a_database
    assert place_of("s", "rows.parquet") == Place("file", str(tmp_path / "rows.parquet"))
    assert (
        str(place_of("s", "postgresql://me@host/db?sslmode=require#t")) == "postgresql://me@host/db?sslmode=require#t"
    )
    for text in (
        "sqlite:a.db#t",
        "rows.jsonl",
        "postgresql://host/db#t",
        "sqlite:a.db?key=k",
        "postgresql://h/d#t?key=k,l",
    ):
        assert place_of("s", str(place_of("s", text))) == place_of("s", text)


@pytest.mark.parametrize(
    "text", ["-", "rows", "rows.xlsx", "sqlite:", "sqlite:?key=k", "sqlite:a.db#t?key=", "mysql://host/db#t"]
)
def test_no_places(text: str) -> None:
    with pytest.raises(OutputError, match=r"allowed: \*\.parquet(.|\n)*postgresql://(.|\n)*next: "):
        place_of("s", text)


def test_a_password_is_not_written_down() -> None:
    with pytest.raises(
        OutputError, match=r"me@host/db(.|\n)*has a password(.|\n)*next: put it into ~/.pgpass"
    ) as caught:
        place_of("s", "postgresql://me:secret@host/db#t")
    assert "secret" not in str(caught.value)


CHANGES = schema("number long, change string, k double, v string")


def change(kind: Kind, lo: int, hi: int, *changes: tuple[int, int, str, float | None, str | None]) -> Delivery:
    columns = list(zip(*changes, strict=True)) or [()] * 5
    arrays = [pa.array(c, f.type) for c, f in zip(columns, output_schema(CHANGES), strict=True)]
    return Delivery(kind, lo, hi, pa.table(arrays, schema=output_schema(CHANGES)))


def mirrored(database: Database) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, database.query('SELECT k, v FROM "t"')), key=repr)


def test_changes_are_applied_by_key(database: Database) -> None:
    sink = opened(database, CHANGES, table="t?key=k")
    assert not sink.takes_tentative
    sink.apply(change(Kind.STABLE, 0, 1000, (5, 1, "put", 1.0, "a"), (5, 2, "put", 2.0, "b"), (5, 3, "put", 1.0, "c")))
    assert mirrored(database) == [(1.0, "c"), (2.0, "b")]
    # Null and NaN are keys as others are.
    odd = ((1001, 1, "put", None, "n"), (1001, 2, "put", math.nan, "m"), (1002, 1, "delete", 1.0, "c"))
    sink.apply(change(Kind.CORRECTED, 1000, 2000, *odd))
    assert sorted(v for _, v in mirrored(database)) == ["b", "m", "n"]
    sink.close()
    again = opened(database, CHANGES, table="t?key=k")
    assert again.frontier == 2000
    more = ((2001, 1, "put", None, "n2"), (2001, 2, "put", math.nan, None), (2002, 1, "delete", 7.0, None))
    again.apply(change(Kind.CONFIRMED, 2000, 3000, *more))
    assert sorted(str(v) for _, v in mirrored(database)) == ["None", "b", "n2"]
    with pytest.raises(OutputError, match="are lost for good"):
        again.apply(change(Kind.GAP, 3000, 4000))
    again.close()


def test_a_key_is_for_changes_of_a_table(database: Database) -> None:
    with pytest.raises(OutputError, match="is not one of changes of a table"):
        opened(database, PLAIN, table="t?key=n")
    with pytest.raises(OutputError, match="has no field 'x' to be its key"):
        opened(database, CHANGES, table="t?key=x")
    assert str(place_of("s", database.at("t?key=k, v"))).endswith("#t?key=k,v")


MARKED = schema("k double, revised_value string, v string")


def marked(kind: Kind, lo: int, hi: int, *given: tuple[int, float | None, str | None, str | None]) -> Delivery:
    columns = list(zip(*given, strict=True)) or [()] * 4
    arrays = [pa.array(c, f.type) for c, f in zip(columns, output_schema(MARKED), strict=True)]
    return Delivery(kind, lo, hi, pa.table(arrays, schema=output_schema(MARKED)))


def test_revisions_are_applied(database: Database) -> None:
    sink = opened(database, MARKED, table="t?revised")
    assert not sink.takes_tentative
    # Of two equal rows one is taken back; what came in the same delivery, too.
    first = ((5, 1.0, None, "a"), (5, 1.0, None, "a"), (7, math.nan, None, None), (999, 1.0, "delete 5", "a"))
    sink.apply(marked(Kind.STABLE, 0, 1000, *first))
    sink.apply(marked(Kind.STABLE, 1000, 2000, (1999, math.nan, "delete 7", None), (1999, None, "insert 7", "b")))
    sink.close()
    again = opened(database, MARKED, table="t?revised")
    assert again.frontier == 2000
    assert sorted(database.query('SELECT stime, k, v FROM "t"')) == [(5, 1.0, "a"), (7, None, "b")]
    with pytest.raises(OutputError, match="lacks a row that is taken back"):
        again.apply(marked(Kind.STABLE, 2000, 3000, (2001, 9.0, None, "c"), (2999, 1.0, "delete 6", "a")))
    assert len(database.query('SELECT * FROM "t"')) == 2, "all of a delivery is applied, or nothing"
    with pytest.raises(OutputError, match="are lost for good"):
        again.apply(marked(Kind.GAP, 2000, 3000))
    again.close()
    with pytest.raises(OutputError, match="never revised"):
        opened(database, PLAIN, table="u?revised")
    assert str(place_of("s", database.at("t?revised"))).endswith("#t?revised")


def test_the_rows_that_stand() -> None:
    given = ((5, 0.0, None, "a"), (5, -0.0, None, "a"), (7, math.nan, None, "b"), (8, 2.0, None, "c"))
    later = ((999, 0.0, "delete 5", "a"), (999, math.nan, "delete 7", "b"), (999, 3.0, "insert 6", "d"))
    rows = marked(Kind.STABLE, 0, 1000, *given, *later).rows
    found = standing(rows).to_pylist()
    assert found == [
        {"stime": 5, "k": 0.0, "v": "a"},
        {"stime": 6, "k": 3.0, "v": "d"},
        {"stime": 8, "k": 2.0, "v": "c"},
    ]
    assert math.copysign(1, found[0]["k"]) < 0, "zeros of both signs are two rows"
    assert standing(rows.slice(0, 0)).num_rows == 0
    with pytest.raises(OutputError, match="never revised"):
        standing(rows.drop_columns(["revised_value"]))
    with pytest.raises(OutputError, match="as a source says them"):
        standing(marked(Kind.STABLE, 0, 1000, (5, 1.0, "replace", "a")).rows)
