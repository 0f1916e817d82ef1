"""A source without a deployment around it, for tests of how rows come to it; also as a process that can be killed:
`python inputs.py FOLDER HOW`."""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import auroral
from auroral.edge.intake import Format, Way, parse_intake
from auroral.model.deployment import Endpoint
from auroral.node.fleet.inputs import folder as folders
from auroral.node.fleet.inputs.folder import FolderInput
from auroral.node.fleet.inputs.lines import LineInput
from auroral.node.fleet.inputs.requests import HttpInput
from auroral.node.fleet.inputs.tail import TailInput
from auroral.node.source import Source

BUCKET = 1_000_000
HOUR = 3600 * BUCKET
LOCAL = Endpoint("127.0.0.1", 0)


def a_source(folder: Path, stime: str | None = None, ahead: int | None = None) -> Source:
    d = auroral.diagram("d", bucket="1s")
    given = d.input("s", "ts long, n int, name string", **({"stime": stime, "unit": "us"} if stime else {}))
    given.filter("f", "n > 0").output()
    found = d.check().diagram.input("s")
    assert found is not None
    return Source(found, BUCKET, folder, None, ahead)


def numbers(source: Source) -> list[int]:
    found: list[int] = source.log.read().column("n").to_pylist()
    return found


def ledger(source: Source) -> dict[str, int]:
    return {row.reason.value: row.count for row in source.state.ledger.rows()}


@contextmanager
def lines_of(source: Source, form: Format = Format.JSON, now: int = 7 * BUCKET) -> Iterator[LineInput]:
    found = LineInput(source, LOCAL, lambda: now, lambda: None, form)
    found.start()
    try:
        yield found
    finally:
        found.stop()


class Talk:
    """One connection to an input of lines."""

    def __init__(self, to: Endpoint):
        self.connection = socket.create_connection((to.host, to.port), 10)
        self.answers = self.connection.makefile("rb")

    def hear(self) -> Any:
        line = self.answers.readline()
        return json.loads(line) if line else None

    def say(self, text: bytes) -> Any:
        self.connection.sendall(text)
        return self.hear()

    def __enter__(self) -> Talk:
        return self

    def __exit__(self, *_: object) -> None:
        self.answers.close()
        self.connection.close()


def until(found: Callable[[], Any], within: float = 60.0) -> Any:
    end = time.monotonic() + within
    while not (what := found()):
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.02)
    return what


def main(folder: Path, how: str) -> None:
    """Takes rows until it is killed."""
    # So that it is killed within files too.
    folders.BATCH_ROWS, folders.QUIET = 500, 0.1
    source, intake, notes = a_source(folder), parse_intake("s", how), folder.with_suffix(".notes")

    def clock() -> int:
        return time.time_ns() // 1000

    def note(text: str) -> None:
        with notes.open("a") as file:
            file.write(text + "\n")

    if intake.way is Way.TCP:
        LineInput(source, intake.endpoint, clock, lambda: None, intake.format or Format.JSON).start()
    elif intake.way is Way.STDIN:
        LineInput(source, intake.endpoint, clock, lambda: None, None).start()
    elif intake.way is Way.HTTP:
        HttpInput(source, intake.endpoint, clock, lambda: None).start()
    elif intake.way is Way.FOLDER:
        FolderInput(source, Path(intake.where), clock, note).run(threading.Event(), lambda: None)
    else:
        form = intake.format or Format.JSON
        TailInput(source, Path(intake.where), form, clock, note).run(threading.Event(), lambda: None)
    threading.Event().wait()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
