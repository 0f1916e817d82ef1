"""What is asked, of what, and from where on."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from auroral.adhoc.evaluating import Query
from auroral.adhoc.feeds import DeploymentFeed, Feed, QueryError, RunFeed, look, schema_in
from auroral.client.connecting import PATIENCE, connect, stime_of
from auroral.engine.session import DEFAULT_MASTER, start_session
from auroral.engine.statements import statement
from auroral.model.builder import DiagramBuilder, as_diagram
from auroral.model.builder import diagram as new_diagram
from auroral.model.checking import Checked, check
from auroral.model.diagram import Diagram
from auroral.model.duration import Duration, microseconds
from auroral.model.schema import Schema, arrow_schema
from auroral.model.stream import StreamType
from auroral.model.types import LONG

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def query(
    where: str | os.PathLike[str],
    stream: str,
    sql: str | None = None,
    *,
    diagram: Diagram | DiagramBuilder | None = None,
    window: Duration | None = None,
    since: int | datetime | str | None = None,
    tentative: bool = True,
    history_only: bool = False,
    token: str | None = None,
    patience: float = PATIENCE,
    master: str = DEFAULT_MASTER,
    session: SparkSession | Callable[[], SparkSession] | None = None,
) -> Query:
    """Asks a stream of what runs: first over its history, then live, without a gap or a row twice in between.

    `where` is the folder of a deployment or of a run, or the "host:port" of a deployment. `stream` is an output, or a connection point: then
    history begins with what that keeps. `sql` is a SELECT of Spark SQL, which is evaluated for each bucket, and sees the rows of `window`
    before its end too; `diagram`, in its place, is a diagram whose input is the stream, with one output. `since` is the stime, or the time, from whose bucket on
    to begin; "now" leaves history out. `history_only` ends with what is stable now.

    The folder of a run holds a pickle, which can run any code: ask only folders that you trust.
    """
    if (sql is None) == (diagram is None):
        raise QueryError(
            "a query is a statement or a diagram\n    allowed: query(where, stream, 'SELECT ...'), or diagram=...\n    next: give one of them"
        )
    at = "now" if since == "now" else stime_of(since)
    with ExitStack() as undo:
        feed = _feed(where, stream, at, tentative, history_only, token, patience, undo)
        undo.callback(feed.close)
        checked = _from_file(diagram, feed) if diagram is not None else None
        # Last: what is wrong before is said before Spark is started for nothing.
        used = start_session(master) if session is None else session() if callable(session) else session
        asked = checked or _from_sql(used, str(sql), window, feed)
        found = Query(feed, asked, used)
        feed.start()
        found.also_closes(undo.pop_all())
        return found


def _feed(
    where: str | os.PathLike[str],
    stream: str,
    since: int | str | None,
    tentative: bool,
    history_only: bool,
    token: str | None,
    patience: float,
    undo: ExitStack,
) -> RunFeed | DeploymentFeed:
    folder = Path(where)
    if folder.is_dir() or os.sep in os.fspath(where) or ":" not in os.fspath(where):
        found = look(folder)
        if history_only or not found.deployed:
            return RunFeed(found, stream, since, follow=not history_only)
    client = connect(where, token, patience)
    undo.callback(client.close)
    schema = schema_in(client, stream)
    return DeploymentFeed(client, stream, since, tentative=tentative, follow=not history_only, schema=schema)


def _from_sql(session: SparkSession, sql: str, window: Duration | None, feed: Feed) -> Checked:
    found = statement(session, sql, feed.stream, feed.schema)
    past = 0 if window is None else max(0, microseconds(window) - feed.bucket)
    builder = new_diagram("query", bucket=timedelta(microseconds=feed.bucket))
    rows = builder.input(feed.stream, feed.schema)
    name = "result" if feed.stream != "result" else "results"
    # Over a window, a row is seen by several buckets: what is made of it is given by each of them.
    cut_free = found.cut_free and not past
    function: Callable[..., object] = found
    rows.apply(name, function, schema=found.fields, horizon=timedelta(microseconds=past), cut_free=cut_free).output()
    return builder.check()


def _from_file(given: Diagram | DiagramBuilder, feed: Feed) -> Checked:
    """In the buckets of the stream, whose rows have their stime already."""
    diagram = as_diagram(given)
    if len(diagram.inputs) != 1 or len(diagram.outputs) != 1:
        raise QueryError(
            f"the diagram {diagram.name!r} has {len(diagram.inputs)} inputs and {len(diagram.outputs)} outputs\n"
            "    allowed: one input, which is the stream, and one output\n    next: leave the others out, or ask with several queries"
        )
    (input_,) = diagram.inputs
    _must_fit(input_.schema, feed)
    if input_.stamp is not None and input_.stamp.field is not None:
        raise QueryError(
            f"input {input_.stream!r} says that its stime is in {input_.stamp.field!r}\n"
            f"    allowed: none: rows of {feed.stream!r} have their stime already, and windows go by it\n    next: leave stime=... out"
        )
    if input_.stream != feed.stream:
        raise QueryError(
            f"the diagram's input is {input_.stream!r}\n    allowed: {feed.stream!r}\n    next: call it so"
        )
    # What a source says in `revised_value` was understood before: in rows of a stream it marks them.
    known = {feed.stream: StreamType(input_.schema, order=(LONG,))}
    return check(replace(diagram, views=(), bucket=feed.bucket), known=known).runnable()


def _must_fit(schema: Schema, feed: Feed) -> None:
    # How long texts may be does not count.
    if arrow_schema(schema) != arrow_schema(feed.schema):
        raise QueryError(
            f"the diagram's input has the fields ({schema})\n    allowed: those of {feed.stream!r}: ({feed.schema})\n    next: declare these"
        )
