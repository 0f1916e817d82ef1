"""A client process that is to be killed: `python killed.py FOLDER SINK...`. It delivers buckets, each tentatively first, from where it was on."""

from __future__ import annotations

import random
import sys
import threading
from pathlib import Path

from auroral.node.fleet.sinking import Sinking, end_all
from client.served import BUCKET, FIRST, Life

BUCKETS = 400


def numbers(bucket: int) -> list[int]:
    """The stable rows of a bucket: the same in every life."""
    drawn = random.Random(bucket)
    return [drawn.randrange(1, 100) for _ in range(drawn.randrange(4))]


def main(folder: Path, places: list[str]) -> None:
    life = Life(folder)
    sinks = [
        Sinking(life.outputs, "f", place, "run", stable_only=False, note=lambda *_, **__: None) for place in places
    ]
    for sink in sinks:
        sink.start()
    pace = threading.Event()
    sys.stdout.write("began\n")
    sys.stdout.flush()
    frontier = life.store.logs["f"].frontier
    for bucket in range(0 if frontier is None else frontier // BUCKET - FIRST, BUCKETS):
        for ahead in range(bucket, min(bucket + 3, BUCKETS)):
            life.tentative(ahead, *numbers(ahead), random.randrange(100, 200))
        pace.wait(0.002)
        life.stable(bucket, *numbers(bucket))
    end_all(sinks)
    life.end()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
