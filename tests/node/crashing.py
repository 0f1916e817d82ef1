"""Run as a program: a run that ends at one call after the other that changes the disk, and is resumed each time.

Every life of the run is a forked child; the parent does nothing but fork, so that no thread is lost on the way. What
differs from the run that was never interrupted is printed as JSON. There are two ways to live: reading a file, with
snapshots of fold state; and being verified and pruned half way.
"""

import json
import os
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

# pyarrow imports these when they are first needed: once here, not in every child.
import pandas  # noqa: F401
import pyarrow.acero
import pyarrow.dataset  # noqa: F401
import pyarrow.parquet as pq

import auroral
from auroral.edge.files import read_batches
from auroral.model.checking import Checked
from auroral.node import feeds
from auroral.node.pruning import prune_folder
from auroral.node.ranges import Limits
from auroral.node.runfolder import RunFolder
from auroral.node.runner import Runner
from node.running import B, PassOn, verified

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


def started(place: Path, data: Path) -> tuple[Runner, PassOn]:
    outputs = {"out": f"{place}-out.csv", "out2": f"{place}-out2.parquet"}
    folder = RunFolder.claim(place, checked(), {"s": str(data)}, outputs, False)
    engine = PassOn(outputs=("out", "out2"), fields=FIELDS)
    return Runner(folder, lambda: engine, outputs, clock=lambda: 0, snapshot_buckets=2), engine


def live_with_file(place: Path, data: Path) -> None:
    """One life of the run, in one thread: each batch that is logged is followed by a step of the evaluation."""
    feeds.BATCH_ROWS = 6
    runner, engine = started(place, data)
    runner.limits = Limits(B, 2 * B, B, most_buckets=2, folds=True)
    feed = feeds.make_feed(runner.sources["s"], str(data), runner.clock)
    runner._rebuild(engine)

    def step() -> None:
        if (found := runner._next(engine, runner._spans())) is not None:
            runner._do(engine, found)

    feed.run(threading.Event(), step)
    runner._make_evaluator = lambda: PassOn(outputs=("out", "out2"), fields=FIELDS)
    runner.run()


def live_and_prune(place: Path, data: Path) -> None:
    """One life of the run: the first batches are evaluated, verified and pruned, then the others come."""
    batches = list(read_batches(data, checked().diagram.inputs[0].schema, batch_rows=3))
    for part in (batches[:4], batches[4:]):
        runner, _ = started(place, data)
        runner.limits = replace(runner.limits, most_buckets=2)
        source = runner.sources["s"]
        for batch in part:
            if source.state.rows_read < batch.end:
                source.take(batch.rows, 0, batch.refused, batch.end)
        if part[-1] is batches[-1]:
            source.end()
        runner.request_stop()
        runner.run()
        report = verified(place, since_last=True)
        assert report.ok, report.text
        prune_folder(place)


LIVES = {"file": live_with_file, "pruned": live_and_prune}


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


def one_life(place: Path, data: Path, live: Callable[[Path, Path], None], point: int, torn: bool) -> int:
    def work() -> None:
        tempfile.tempdir = str(data.parent)
        count = crash_at(point, torn)
        live(place, data)
        place.with_name(place.name + "-result.json").write_text(json.dumps([result(place), count[0]]))

    return child(work)


def found(place: Path) -> Any:
    return json.loads(place.with_name(place.name + "-result.json").read_text())


def main(base: Path, points: int, name: str) -> None:
    data, live = base / "s.jsonl", LIVES[name]
    write_input(data)
    # Here, and not again in every child.
    checked()
    assert one_life(base / "whole", data, live, -1, False) == 0
    expected, calls = found(base / "whole")
    wrong = []
    tried = sorted({1 + i * (calls - 1) // (points - 1) for i in range(points)})
    for number, point in enumerate(tried):
        place, torn = base / f"at-{point}", number % 2 == 1
        codes = [one_life(place, data, live, point, torn)]
        if number % 4 == 0:
            # Resuming may be cut off as well.
            codes.append(one_life(place, data, live, 1 + point * 7 % 23, torn))
        codes.append(one_life(place, data, live, -1, False))
        if codes[0] != CRASHED or codes[-1] != 0 or found(place)[0] != expected:
            wrong.append({"point": point, "torn": torn, "codes": codes})
    pruned = (base / "whole/sources/s/pruned.json").exists()
    report = {"calls": calls, "tried": len(tried), "rows": len(expected[1]), "pruned": pruned, "wrong": wrong}
    sys.stdout.write(json.dumps(report))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
