"""Where else the outputs of a deployment go, and how each kind of place takes what is delivered.

| place | what is there |
|---|---|
| `NAME.parquet` (a folder), `NAME.csv`, `NAME.jsonl` | what is stable, appended |
| `sqlite:FILE#TABLE` | a table with the stable and the tentative rows of now |
| `postgresql://HOST/DATABASE#TABLE` | the same |
| either with `?key=FIELD,...` behind it | a table of the diagram, from the stream of its changes |
| either with `?revised` behind it | a table with the stable rows that stand, of a stream whose rows may be revised |

Each keeps its own position with the rows, in one step: whenever it is killed, it goes on behind what it has.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Protocol
from urllib.parse import urlsplit, urlunsplit

from auroral.edge.sinks import LINE_SUFFIXES, OutputError, Sink, open_sink
from auroral.edge.sqlsink import SqlSink
from auroral.edge.stamping import STIME
from auroral.model.schema import Schema
from auroral.wire.outputs import Delivery, Kind

SQLITE = "sqlite:"
KEY = "?key="
STANDING = "?revised"
POSTGRESQL = ("postgresql://", "postgres://")
_USUAL_SCHEMA = "public"
ALLOWED = f"*.parquet (a folder), {', '.join('*' + s for s in LINE_SUFFIXES)}, sqlite:FILE#TABLE, postgresql://HOST/DATABASE#TABLE"


class DeliverySink(Protocol):
    """Blocking. What was applied is durable, together with `frontier`: the stime below which all is stable, None at the very beginning."""

    takes_tentative: bool

    @property
    def frontier(self) -> int | None: ...

    def apply(self, delivery: Delivery) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Place:
    """A file by its absolute path, or a database and a table of it."""

    kind: str
    where: str
    table: str = ""
    key: tuple[str, ...] = ()
    """Where changes of a table are applied by it."""
    revised: bool = False
    """Whether revisions are applied."""

    @property
    def spelt_plainly(self) -> Place:
        """The same for two that are one: a link or a large letter makes no other table of SQLite, nor does the usual schema of PostgreSQL."""
        if self.kind == "postgresql":
            return replace(self, table=self.table if "." in self.table else f"{_USUAL_SCHEMA}.{self.table}")
        return replace(self, where=os.path.realpath(self.where), table=self.table.lower())

    def __str__(self) -> str:
        """As it is given again."""
        if self.kind == "file":
            return self.where
        key = f"{KEY}{','.join(self.key)}" if self.key else STANDING if self.revised else ""
        return f"{SQLITE if self.kind == 'sqlite' else ''}{self.where}#{self.table}{key}"


def place_of(stream: str, text: str) -> Place:
    """The table is named after the stream where none is named."""
    if text.startswith((SQLITE, *POSTGRESQL)):
        revised, plain = text.endswith(STANDING), text.removesuffix(STANDING)
        rest, asked, said = plain.rpartition(KEY) if KEY in plain else (plain, "", "")
        key = tuple(part.strip() for part in said.split(",") if part.strip())
        if asked and not key:
            raise _wrong(text, f"there is no field behind {KEY}")
        if asked and revised:
            raise _wrong(text, f"changes of a table are not revised: {KEY} and {STANDING} do not go together")
        where, _, table = rest.removeprefix(SQLITE).partition("#")
        if rest.startswith(POSTGRESQL):
            return Place("postgresql", _without_password(where), table or stream, key, revised)
        if not where:
            raise _wrong(text, "there is no file")
        return Place("sqlite", os.path.abspath(where), table or stream, key, revised)
    if text == "-" or not text.lower().endswith((".parquet", *LINE_SUFFIXES)):
        raise _wrong(text, "this is no place that the outputs of a deployment can go to")
    return Place("file", os.path.abspath(text))


def open_sink_at(place: Place, schema: Schema, run: str, bucket: int, tentative: bool) -> DeliverySink:
    """Made where it is not there; gone on with where it is of this run; refused otherwise."""
    if place.kind == "file":
        return StableOnly(open_sink(place.where, schema, owner=run))
    return _sql(place, schema, run, bucket, tentative).open()


def check_table(place: Place, schema: Schema) -> None:
    """Refused where a new run could not write there. Nothing is made."""
    _sql(place, schema, "", 1, True).check_new()


def _sql(place: Place, schema: Schema, run: str, bucket: int, tentative: bool) -> SqlSink:
    # Here, since psycopg need not be installed.
    if place.kind == "sqlite":
        from auroral.edge.sqlitesink import MirrorInSqlite, RevisedInSqlite, SqliteSink

        sqlite = place.where, place.table, schema, run, bucket, tentative
        if place.revised:
            return RevisedInSqlite(*sqlite).of_revisions()
        return MirrorInSqlite(*sqlite).keyed(place.key) if place.key else SqliteSink(*sqlite)
    try:
        from auroral.edge.postgresqlsink import MirrorInPostgresql, PostgresqlSink, RevisedInPostgresql
    except ImportError as error:
        raise OutputError(
            f"{place}: psycopg is not installed ({error})\n    next: pip install 'auroral[postgresql]'"
        ) from error
    given = place.where, place.table, schema, run, bucket, tentative
    if place.revised:
        return RevisedInPostgresql(*given).of_revisions()
    return MirrorInPostgresql(*given).keyed(place.key) if place.key else PostgresqlSink(*given)


class StableOnly:
    """A sink of runs: what is tentative is not for it. Of a gap it has nothing, as of a bucket without rows."""

    takes_tentative = False

    def __init__(self, sink: Sink):
        self.sink = sink

    @property
    def frontier(self) -> int | None:
        return self.sink.frontier

    def apply(self, delivery: Delivery) -> None:
        if delivery.kind.is_stable or delivery.kind is Kind.GAP:
            rows = delivery.rows.rename_columns([STIME, *self.sink.schema.names])
            self.sink.append(delivery.lo, delivery.hi, rows)

    def close(self) -> None:
        self.sink.close()


def _without_password(address: str) -> str:
    found = urlsplit(address)
    if found.password is not None:
        shown = urlunsplit(found._replace(netloc=f"{found.username}@{found.netloc.rpartition('@')[2]}"))
        raise OutputError(
            f"{shown}: the address has a password, which whoever reads deployment.json would see\n"
            "    allowed: an address without it\n    next: put it into ~/.pgpass, or into the variable PGPASSWORD"
        )
    return address


def _wrong(text: str, what: str) -> OutputError:
    return OutputError(
        f"{text!r}: {what}\n    allowed: {ALLOWED}\n    next: write for example alerts=alerts.parquet, or alerts=sqlite:alerts.db#alerts"
    )
