"""The catalog of a deployment, in SQLite or PostgreSQL (D13, L63, L64): its diagrams, what was agreed on, where its processes are, the
states they were last seen in, and what was moved and changed.

A copy of the layout lies in the deployment's folder: processes start from it, and go on, where the catalog is away.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock
from typing import Any

from auroral.dpc.events import Effect, KeepLayout
from auroral.dpc.layout import Layout
from auroral.edge.durable import StorageError, replace_file, storage_error
from auroral.model.errors import AuroralError
from auroral.node.fleet.deployed import agreed_in, layout_in
from auroral.node.runfolder import RunFolder
from auroral.node.store.layouts import layout_from_json, layout_to_json

MOST_HISTORY = 10_000
"""Entries of one deployment; older ones are forgotten."""
_TABLES = (
    "auroral_deployments (deployment text primary key, at double precision, folder text, agreed text)",
    "auroral_diagrams (deployment text, version integer, at double precision, words text, primary key (deployment, version))",
    "auroral_locations (deployment text, process text, at double precision, endpoint text, primary key (deployment, process))",
    "auroral_states (deployment text, process text, stream text, at double precision, state text,"
    " primary key (deployment, process, stream))",
    "auroral_layouts (deployment text primary key, at double precision, layout text)",
    "auroral_history (deployment text, number bigint, at double precision, what text, detail text,"
    " primary key (deployment, number))",
)
Row = tuple[Any, ...]
Connection = Any
"""Of SQLite or PostgreSQL: both follow Python's database API."""


class CatalogAway(StorageError):
    """The database does not answer. Nothing of what was to be written is there."""


@dataclass(slots=True)
class Catalog:
    """Blocking. Can be used from several threads."""

    address: str
    """Of a PostgreSQL database, or a file."""
    deployment: str
    """Several may be in one database."""
    _connection: Connection | None = None
    _lock: RLock = field(default_factory=RLock)

    # What there is

    def begin(self, folder: Path, agreed: str, words: Iterable[str], endpoints: Mapping[str, str]) -> None:
        """Tables and what is known of the deployment, as it is now."""
        now = time.time()
        with self._writing() as write:
            for table in _TABLES:
                write(f"create table if not exists {table}")
            self._put(write, "deployments", (), at=now, folder=str(folder), agreed=agreed)
            write(
                "insert into auroral_diagrams (deployment, version, at, words) values (?, 0, ?, ?)"
                " on conflict (deployment, version) do nothing",
                *(self.deployment, now, "\n".join(words)),
            )
            for process, endpoint in endpoints.items():
                self._put(write, "locations", ("process",), process=process, at=now, endpoint=endpoint)

    @property
    def layout(self) -> Layout | None:
        found = self._read("select layout from auroral_layouts where deployment = ?", self.deployment)
        return layout_from_json(json.loads(found[0][0])) if found else None

    def keep(self, layout: Layout) -> None:
        before = self.layout
        if before is not None and _age(before) > _age(layout):
            raise AuroralError(
                f"the catalog at {without_password(self.address)} has a newer layout ({_age(before)}) than is to be written ({_age(layout)})\n"
                "    allowed: one catalog process for each deployment\n    next: end the other one, and start this one again"
            )
        with self._writing() as write:
            text = json.dumps(layout_to_json(layout))
            self._put(write, "layouts", (), at=time.time(), layout=text)
            for what, detail in _told(before, layout):
                self._note(write, what, detail)

    def changed(self, version: int, words: str) -> None:
        """There is another diagram, of which some queries are to be."""
        with self._writing() as write:
            self._put(write, "diagrams", ("version",), version=version, at=time.time(), words=words)

    def locate(self, endpoints: Mapping[str, str]) -> None:
        with self._writing() as write:
            for process, endpoint in endpoints.items():
                self._put(write, "locations", ("process",), process=process, at=time.time(), endpoint=endpoint)

    def seen(self, states: Mapping[tuple[str, str], str]) -> None:
        """By process and stream; those that changed."""
        with self._writing() as write:
            for (process, stream), state in states.items():
                row = {"process": process, "stream": stream, "at": time.time(), "state": state}
                self._put(write, "states", ("process", "stream"), **row)
                self._note(write, "state", f"{process} {stream} {state}".replace("  ", " "))

    def everything(self) -> dict[str, list[dict[str, Any]]]:
        """For people and programs that look at it."""
        found = {}
        for name in ("deployments", "diagrams", "locations", "states", "layouts", "history"):
            order = "number" if name == "history" else "at"
            with self._lock, self._failing():
                cursor = self._opened().cursor()
                cursor.execute(
                    self._sql(f"select * from auroral_{name} where deployment = ? order by {order}"), (self.deployment,)
                )
                names = [column[0] for column in cursor.description]
                found[name] = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        return found

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    # In SQL

    def _put(self, write: Any, table: str, keys: tuple[str, ...], **row: Any) -> None:
        row = {"deployment": self.deployment, **row}
        named = ("deployment", *keys)
        changes = ", ".join(f"{name} = excluded.{name}" for name in row if name not in named)
        marks = ", ".join("?" * len(row))
        write(
            f"insert into auroral_{table} ({', '.join(row)}) values ({marks})"
            f" on conflict ({', '.join(named)}) do update set {changes}",
            *row.values(),
        )

    def _note(self, write: Any, what: str, detail: str) -> None:
        mine = "from auroral_history where deployment = ?"
        write(
            "insert into auroral_history (deployment, number, at, what, detail)"
            f" select ?, coalesce(max(number), 0) + 1, ?, ?, ? {mine}",
            *(self.deployment, time.time(), what, detail, self.deployment),
        )
        write(
            f"delete {mine} and number <= (select max(number) {mine}) - {MOST_HISTORY}",
            self.deployment,
            self.deployment,
        )

    def _read(self, sql: str, *values: Any) -> list[Row]:
        with self._lock, self._failing():
            cursor = self._opened().cursor()
            cursor.execute(self._sql(sql), values)
            found: list[Row] = cursor.fetchall()
            self._opened().commit()
            return found

    @contextmanager
    def _writing(self) -> Iterator[Any]:
        """All of it, or nothing."""
        with self._lock, self._failing():
            connection = self._opened()
            cursor = connection.cursor()
            yield lambda sql, *values: cursor.execute(self._sql(sql), values)
            connection.commit()

    @property
    def _is_postgresql(self) -> bool:
        return self.address.startswith(("postgresql://", "postgres://"))

    def _sql(self, sql: str) -> str:
        return sql.replace("?", "%s") if self._is_postgresql else sql

    def _opened(self) -> Connection:
        if self._connection is None:
            if self._is_postgresql:
                self._connection = _psycopg().connect(self.address, connect_timeout=5)
            else:
                self._connection = sqlite3.connect(self.address, timeout=5, check_same_thread=False)
                self._connection.execute("pragma journal_mode = wal")
                self._connection.execute("pragma synchronous = full")
        return self._connection

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """A connection that failed is not used again: what it was about to write is not there."""
        errors: tuple[type[Exception], ...] = (sqlite3.Error,)
        if self._is_postgresql:
            errors = (_psycopg().Error,)
        try:
            yield
        except errors as error:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
            raise CatalogAway(
                f"the catalog at {without_password(self.address)} cannot be used: {str(error).strip()}\n"
                "    allowed: a file in a folder that can be written, or postgresql://USER@HOST/DATABASE\n"
                "    next: check that the database runs and has room; nothing that runs waits for it"
            ) from error


@dataclass(slots=True)
class CatalogStore:
    """As the store of the core that moves and changes queries."""

    catalog: Catalog
    copy: Path
    written: Layout | None = None
    """What was kept last."""

    def started(self) -> Layout | None:
        """What was kept, in the database or, where that was lost or set back, in the copy; both are as new when this returns."""
        kept, copied = self.catalog.layout, layout_in(self.copy)
        found = max([one for one in (kept, copied) if one is not None], key=_age, default=None)
        if found is not None:
            if kept != found:
                self.catalog.keep(found)
            self._copy(found)
        return found

    def carry_out(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, KeepLayout):
                self.catalog.keep(effect.layout)
                self._copy(effect.layout)

    def _copy(self, layout: Layout) -> None:
        try:
            replace_file(self.copy, json.dumps(layout_to_json(layout), indent=1).encode())
        except OSError as error:
            raise storage_error(error, "who runs where", self.copy) from error
        self.written = layout


def _age(layout: Layout) -> tuple[int, int, int]:
    """What only grows: moves, versions and attempts at them."""
    decisions = layout.versions.values()
    return layout.number, sum(len(one.starts) for one in decisions), sum(one.attempt for one in decisions)


def catalog_in(folder: Path) -> Catalog:
    """Of the deployment in this folder."""
    return Catalog(agreed_in(folder).catalog or str(folder / "catalog.db"), RunFolder.look(folder).settings.run)


def _told(before: Layout | None, after: Layout) -> Iterator[tuple[str, str]]:
    """What is new, in words."""
    moving = None if before is None else before.moving
    if after.moving is not None and after.moving != moving:
        yield "move begins", f"{after.moving}: {', '.join(after.members[after.moving])} to {', '.join(after.after)}"
    if before is not None and moving is not None and after.moving is None:
        yield "move ends", f"{moving}: {', '.join(after.members[moving])}"
    for query, streams in after.added.items():
        if new := streams[len(() if before is None else before.added.get(query, ())) :]:
            yield "reads more", f"{query}: {', '.join(new)}, for version {len(after.decision(query).starts)}"
    for query, decision in after.versions.items():
        known = 1 if before is None else len(before.decision(query).starts)
        for version in range(known, len(decision.starts)):
            yield "changed", f"{query}: version {version} from bucket {decision.starts[version]} on"


def _psycopg() -> Any:
    try:
        import psycopg
    except ImportError as error:
        raise AuroralError(
            "a catalog in PostgreSQL needs the package psycopg\n"
            "    allowed: pip install 'auroral[postgresql]'\n    next: install it, or leave --catalog out"
        ) from error
    return psycopg


def without_password(address: str) -> str:
    scheme, separator, rest = address.partition("://")
    user, at, place = rest.rpartition("@")
    return f"{scheme}{separator}{user.partition(':')[0]}{at}{place}" if at else address
