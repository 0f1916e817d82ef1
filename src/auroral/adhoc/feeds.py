"""Where the rows of a stream come from: the client process of a deployment, or the folder of a run. History first, then what comes."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

from auroral.client.connecting import Client
from auroral.client.events import Event, Stable
from auroral.client.subscription import Subscription
from auroral.edge.commits import commit_path
from auroral.edge.generations import Generations
from auroral.model.errors import AuroralError, unknown_name
from auroral.model.history import kept_streams
from auroral.model.schema import Schema, schema
from auroral.node.account import Account
from auroral.node.history import Manifest
from auroral.node.outputlog import OutputLog
from auroral.node.runfolder import RunFolder

_LOOK_EVERY = 0.2
"""Seconds."""


class QueryError(AuroralError):
    """What cannot be asked, or not here."""


class Feed(Protocol):
    """One stream. Stable events follow one another without a gap, from `position` on; who iterates it may end it from another thread."""

    stream: str
    schema: Schema
    bucket: int

    @property
    def position(self) -> int | None:
        """The stime up to which stable events were given; None before anything is known."""
        ...

    def __iter__(self) -> Iterator[Event]: ...

    def close(self) -> None: ...


def unknown_stream(name: str, outputs: Iterable[str], views: Iterable[str]) -> QueryError:
    problem = unknown_name("output or connection point", name, [*outputs, *views])
    return QueryError(
        f"{problem}\n    to ask for other streams of a diagram, keep them: a step's .keep(...), or <connection_point_view>"
    )


class DeploymentFeed:
    """Through failures of whoever serves it, as `Subscription` does."""

    def __init__(
        self, client: Client, name: str, since: int | str | None, *, tentative: bool, follow: bool, schema: Schema
    ):
        self._client, self._name, self._since, self._tentative, self._follow = client, name, since, tentative, follow
        self.schema = schema
        self.start()

    def start(self) -> None:
        """From where on, as it is now. Once more when all else is ready: connection points go on letting go of rows meanwhile."""
        about, name, since = self._client.about(), self._name, self._since
        self.stream = _stream_of(name, about.frontiers, {one: view.stream for one, view in about.views.items()})
        self.bucket = about.bucket
        if since is None and name in about.views:
            since = about.views[name].begin
        self._events: Subscription = self._client.subscription(
            self.stream, about, since, tentative=self._tentative, follow=self._follow
        )

    @property
    def position(self) -> int | None:
        return self._events.position

    def __iter__(self) -> Iterator[Event]:
        return iter(self._events)

    def close(self) -> None:
        self._events.close()


def _stream_of(name: str, outputs: Iterable[str], views: Mapping[str, str]) -> str:
    """The output that has the rows."""
    if name not in views and name not in outputs:
        raise unknown_stream(name, outputs, views)
    return views.get(name, name)


class RunFeed:
    """From the folder of a run, also while it goes on: what is stable there, and then what becomes so until the run has finished."""

    def __init__(self, folder: RunFolder, name: str, since: int | str | None, *, follow: bool):
        self._folder, self._name, self._since, self._follow = folder, name, since, follow
        self._ended = threading.Event()
        self._begun = False
        self.start()

    def start(self) -> None:
        """From where on, as it is now. Once more when all else is ready: connection points go on letting go of rows meanwhile."""
        folder, diagram, since = self._folder, self._folder.checked.diagram, self._since
        # Of two with one name, the first counts.
        views = {kept.view.name: kept.stream for kept in reversed(kept_streams(diagram))}
        self.stream = _stream_of(self._name, [output.stream for output in diagram.outputs], views)
        self.schema, self.bucket = folder.checked.streams[self.stream].schema, diagram.bucket
        self._place = folder.output(self.stream)
        if since is None and self._name in views:
            since = _begin(folder, self._name)
        elif since == "now":
            log = self._look()
            since = None if log is None else log.frontier
        assert not isinstance(since, str), "a stime, or now"
        self._position = None if since is None else since // self.bucket * self.bucket

    @property
    def position(self) -> int | None:
        return self._position

    def close(self) -> None:
        self._ended.set()

    def _look(self) -> OutputLog | None:
        """None where nothing is there yet."""
        return OutputLog.look(self._place, self.schema) if commit_path(self._place).exists() else None

    def __iter__(self) -> Iterator[Event]:
        while not self._ended.is_set():
            # Before the log: what was written by the end is seen before it counts as the end.
            over = not self._follow or Account.load(self._folder.account).finished
            log = self._look()
            if log is not None and log.frontier is not None:
                yield from self._new(log)
            if over or self._ended.wait(_LOOK_EVERY):
                return

    def _new(self, log: OutputLog) -> Iterator[Event]:
        assert log.frontier is not None
        if not self._begun:
            self._position, self._begun = self._first_of(log), True
        assert self._position is not None
        if log.frontier <= self._position:
            return
        for high, rows in log.ranges(self._position, log.frontier):
            if self._ended.is_set():
                return
            low, self._position = self._position, high
            yield Stable(self.stream, low, high, rows)

    def _first_of(self, log: OutputLog) -> int:
        """The stime to begin with. What was let go is missed by whoever asks for it; before the first bucket there was nothing to miss."""
        if log.base is not None:
            return log.base if self._position is None else self._position
        assert log.frontier is not None
        first = Account.load(self._folder.account).start
        if first is None:
            # In a deployment there is no account of a run: its first bucket is that of its first rows.
            first = next((part.low for part in log.listed()), log.frontier)
        return first if self._position is None else max(first, self._position)


def _begin(folder: RunFolder, view: str) -> int | None:
    """None where nothing was published yet: then nothing was let go either."""
    newest = Generations(folder.history(view)).newest
    if newest is None:
        return None
    try:
        return Manifest.read(newest).begin
    except (OSError, ValueError, TypeError) as error:
        raise QueryError(
            f"{newest} says nowhere from when on it has rows: {error}\n    allowed: the folder as it was written\n"
            "    next: go on with the run, which makes it anew; or ask for the stream, with --since"
        ) from error


def schema_in(client: Client, name: str) -> Schema:
    """Of a stream that a deployment serves, as it says itself."""
    about = client.about()
    stream = about.views[name].stream if name in about.views else name
    if stream not in about.frontiers:
        raise unknown_stream(name, about.frontiers, about.views)
    # The stime comes first.
    return schema(client.fields(stream).remove(0))


def look(folder: Path) -> RunFolder:
    """The run or the deployment in it."""
    if not folder.is_dir():
        raise QueryError(
            f"there is no folder {folder}\n    allowed: the folder of a run or a deployment\n    next: check the path"
        )
    return RunFolder.look(folder)
