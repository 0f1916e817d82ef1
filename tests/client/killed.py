"""A client process that is to be killed: `python killed.py FOLDER SINK... --revised SINK...`. It delivers buckets, each tentatively first, from
where it was on; the sinks behind `--revised` are of an output whose rows are revised."""

from __future__ import annotations

import random
import sys
import threading
from pathlib import Path

from auroral.node.fleet.sinking import Sinking, end_all
from client.served import BUCKET, FIRST, Life, stime

BUCKETS = 400
LATER = 3
"""The first row of a bucket is another one so many buckets later."""


def numbers(bucket: int) -> list[int]:
    """The stable rows of a bucket: the same in every life."""
    drawn = random.Random(bucket)
    return [drawn.randrange(1, 100) for _ in range(drawn.randrange(4))]


def marked(bucket: int) -> list[tuple[int, str | None]]:
    """Rows of the output that is revised, each with what it revises."""
    before = numbers(bucket - LATER)[:1] if bucket >= LATER else []
    at = stime(bucket - LATER)
    taken: list[tuple[int, str | None]] = [(n, f"delete {at}") for n in before]
    given: list[tuple[int, str | None]] = [(n + 1000, f"insert {at}") for n in before]
    return [*((n, None) for n in numbers(bucket)), *taken, *given]


def main(folder: Path, arguments: list[str]) -> None:
    life = Life(folder, revised=True)
    asked = arguments.index("--revised")
    places = [("f", place) for place in arguments[:asked]] + [("g", place) for place in arguments[asked + 1 :]]
    sinks = [
        Sinking(life.outputs, stream, place, "run", stable_only=False, note=lambda *_, **__: None)
        for stream, place in places
    ]
    for sink in sinks:
        sink.start()
    pace = threading.Event()
    sys.stdout.write("began\n")
    sys.stdout.flush()
    # Told to f first: it may be a bucket ahead of g.
    begun = {
        name: 0 if log.frontier is None else log.frontier // BUCKET - FIRST for name, log in life.store.logs.items()
    }
    for bucket in range(begun["g"], begun["f"]):
        life.marked(bucket, marked(bucket))
    for bucket in range(begun["f"], BUCKETS):
        for ahead in range(bucket, min(bucket + 3, BUCKETS)):
            life.tentative(ahead, *numbers(ahead), random.randrange(100, 200))
        pace.wait(0.002)
        life.stable(bucket, *numbers(bucket))
        life.marked(bucket, marked(bucket))
    end_all(sinks)
    life.end()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
