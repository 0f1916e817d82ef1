"""Run as a program, with a folder: writes, merges and publishes, and ends at one call after the other that changes the disk; begun again each time.

The parent does nothing but fork. Printed as JSON: how often it ended, and what was wrong of what a plain reader saw after each end.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import auroral
from auroral.edge.stamping import STIME
from auroral.model.checking import Checked
from auroral.node.history import MANIFEST, Histories
from auroral.node.merging import merge
from auroral.node.outputlog import OutputLog
from auroral.node.runfolder import RunFolder

CALLS = ("replace", "rename", "link", "symlink", "fsync", "unlink", "mkdir", "pwrite")
CRASHED = 77
B, EACH = 1_000_000, 3
ROWS = 20
BUCKETS = 40


def checked() -> Checked:
    d = auroral.diagram("d", bucket="1s")
    s = d.input("s", "n long").filter("f", "n >= 0")
    s.keep("rows", rows=ROWS)
    s.keep("time", last="7s")
    s.keep("field", last=18, by="n")
    s.filter("g", "n >= 1").output()
    return d.check()


def rows(bucket: int) -> pa.Table:
    """Numbered one after the other, as their stimes are."""
    numbers = range(bucket * EACH, (bucket + 1) * EACH)
    return pa.table({STIME: [bucket * B + i for i in range(EACH)], "n": list(numbers)})


class Writing:
    """One life of it."""

    def __init__(self, place: Path):
        self.folder = RunFolder.claim(place, checked(), {}, {}, False)
        self.log = OutputLog.open(self.folder.output("f"), auroral.schema("n long"), "run")
        self.other = OutputLog.open(self.folder.output("g"), auroral.schema("n long"), "run")
        self.histories = Histories(self.folder, {"f": self.log, "g": self.other})

    def close(self) -> None:
        self.log.close()
        self.other.close()
        self.folder.close()

    def step(self) -> None:
        bucket = (self.log.frontier or 0) // B
        self.log.append(bucket * B, (bucket + 1) * B, rows(bucket))
        if bucket % 2:
            merge(self.log)
            self.histories.publish()

    def live(self, until: int) -> None:
        while (self.log.frontier or 0) // B < until:
            self.step()
        self.histories.publish()


def shown(folder: Path) -> tuple[list[int], dict[str, Any]]:
    """As whoever lists the folder sees it: one listing, then its files."""
    names = os.listdir(folder)
    found = [pq.read_table(pa.BufferReader((folder / n).read_bytes())) for n in sorted(names) if n.startswith("part")]
    numbers = [n for table in found for n in table.column("n").to_pylist()]
    return numbers, json.loads((folder / MANIFEST).read_text())


def wrong(place: Path) -> list[str]:
    """What is not as it should be, of all that is shown."""
    bad = []
    for view, least in (("rows", ROWS), ("time", 7 * EACH), ("field", 18)):
        folder = place / "history" / view
        if not folder.exists():
            continue
        folder = folder.resolve()
        numbers, manifest = shown(folder)
        end = manifest["frontier"] // B * EACH
        if numbers != list(range(end - len(numbers), end)):
            bad.append(f"{view}: {numbers} at {end}")
        if not min(least, end) <= len(numbers) <= least + least // 4 + EACH:
            bad.append(f"{view}: {len(numbers)} rows at {end}")
        if (manifest["rows"], manifest["before"]) != (len(numbers), end - len(numbers)):
            bad.append(f"{view}: {manifest} with {len(numbers)} rows")
    return bad


def ended_at(number: int) -> None:
    left = [number]

    def counted(call: Callable[..., Any]) -> Callable[..., Any]:
        def done(*args: Any, **kwargs: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                os._exit(CRASHED)
            return call(*args, **kwargs)

        return done

    for name in CALLS:
        setattr(os, name, counted(getattr(os, name)))


def main(place: Path) -> None:
    lives, bad = 0, list[str]()
    while True:
        child = os.fork()
        if child == 0:
            try:
                ended_at(7 + 2 * lives)
                Writing(place).live(BUCKETS)
            except BaseException as error:  # noqa: BLE001  told, and not to be taken for an end
                sys.stderr.write(f"{type(error).__name__} {error}\n")
                os._exit(1)
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        bad += wrong(place)
        if status not in (0, CRASHED):
            bad.append(f"life {lives} ended with {status}")
        if status != CRASHED:
            break
        lives += 1
    sys.stdout.write(json.dumps({"lives": lives, "wrong": bad}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
