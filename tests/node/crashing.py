"""Run as a program: a run that ends at one call after the other that changes the disk, and is resumed each time.

Every life of the run is a forked child; the parent does nothing but fork, so that no thread is lost on the way. What
differs from the run that was never interrupted is printed as JSON.
"""

import json
import os
import sys
import threading
import traceback
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

# pyarrow imports these when they are first needed: once here, not in every child.
import pandas  # noqa: F401
import pyarrow.acero
import pyarrow.dataset  # noqa: F401
import pyarrow.parquet as pq

import auroral
from auroral.model.checking import Checked
from auroral.node import feeds
from auroral.node.ranges import Limits
from auroral.node.runfolder import RunFolder
from auroral.node.runner import Runner
from node.running import B, PassOn

CALLS = ("pwrite", "replace", "fsync", "ftruncate", "truncate", "unlink")
CRASHED = 77
FIELDS = ("ts", "v", "w")


@cache
def checked() -> Checked:
    d = auroral.diagram("d", bucket="1s")
    s = d.input("s", "ts long, v long, w string(3)", stime="ts", unit="ms", late="reject")
    s.filter("f", "v >= 0").output("out")
    s.filter("g", "v >= 1").output("out2")
    return d.check()


def write_input(path: Path) -> None:
    """Rows that are taken, late, too long, and no rows at all."""
    lines = [
        json.dumps({"ts": i * 400 if i % 7 else max(0, i * 400 - 3000), "v": i, "w": "abcd" if i % 9 == 5 else "ab"})
        for i in range(18)
    ]
    path.write_text("\n".join([*lines[:8], '{"ts": "x"}', *lines[8:13], "garbage", *lines[13:]]) + "\n")


def live(place: Path, data: Path) -> None:
    """One life of the run, in one thread: each batch that is logged is followed by a step of the evaluation."""
    feeds.BATCH_ROWS = 6
    folder = RunFolder.claim(place, checked(), {"s": str(data)}, {}, False)
    outputs = {"out": f"{place}-out.csv", "out2": f"{place}-out2.parquet"}
    engine = PassOn(outputs=("out", "out2"), fields=FIELDS)
    runner = Runner(folder, lambda: engine, outputs, clock=lambda: 0, snapshot_buckets=2)
    runner.limits = Limits(B, 2 * B, B, most_buckets=2, folds=True)
    feed = feeds.make_feed(runner.sources["s"], str(data), runner.clock)
    runner._rebuild(engine)

    def step() -> None:
        if (found := runner._next(runner._spans())) is not None:
            runner._do(engine, found)

    feed.run(threading.Event(), step)
    runner._make_evaluator = lambda: PassOn(outputs=("out", "out2"), fields=FIELDS)
    runner.run()


def result(place: Path) -> list[Any]:
    account = json.loads((place / "ledger.json").read_text())
    parts = sorted(Path(f"{place}-out2.parquet").glob("part-*"))
    return [
        Path(f"{place}-out.csv").read_text(),
        [row for part in parts for row in pq.ParquetFile(part).read().to_pylist()],
        [account[name] for name in ("counts", "rows_in", "finished", "frontier")],
        (place / "sources/s/rejected.jsonl").read_text(),
    ]


def crash_at(point: int, torn: bool) -> list[int]:
    """From now on, end the process at the call of this number; `torn`, with half of what was to be written."""
    count = [0]

    def counted(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            count[0] += 1
            if count[0] == point:
                if torn and name == "pwrite":
                    original(given[0], given[1][: max(1, len(given[1]) // 2)], given[2])
                os._exit(CRASHED)
            # What a process wrote outlives it: only a power cut would tell whether it was synced.
            return None if name == "fsync" else original(*given, **named)

        return call

    for name in CALLS:
        setattr(os, name, counted(name, getattr(os, name)))
    return count


def child(work: Callable[[], None]) -> int:
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    try:
        work()
    except BaseException:  # noqa: BLE001  a child must never go on as its parent
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)


def one_life(place: Path, data: Path, point: int, torn: bool) -> int:
    def work() -> None:
        count = crash_at(point, torn)
        live(place, data)
        place.with_name(place.name + "-result.json").write_text(json.dumps([result(place), count[0]]))

    return child(work)


def found(place: Path) -> Any:
    return json.loads(place.with_name(place.name + "-result.json").read_text())


def main(base: Path, points: int) -> None:
    data = base / "s.jsonl"
    write_input(data)
    # Here, and not again in every child.
    checked()
    assert one_life(base / "whole", data, -1, False) == 0
    expected, calls = found(base / "whole")
    wrong = []
    tried = sorted({1 + i * (calls - 1) // (points - 1) for i in range(points)})
    for number, point in enumerate(tried):
        place, torn = base / f"at-{point}", number % 2 == 1
        codes = [one_life(place, data, point, torn)]
        if number % 4 == 0:
            # Resuming may be cut off as well.
            codes.append(one_life(place, data, 1 + point * 7 % 23, torn))
        codes.append(one_life(place, data, -1, False))
        if codes[0] != CRASHED or codes[-1] != 0 or found(place)[0] != expected:
            wrong.append({"point": point, "torn": torn, "codes": codes})
    sys.stdout.write(json.dumps({"calls": calls, "tried": len(tried), "rows": len(expected[1]), "wrong": wrong}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
