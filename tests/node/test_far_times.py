"""Timestamps and dates outside years 1 to 9999, which Arrow and Spark have and Python has not."""

from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa

import auroral
from auroral.edge.client import Insertion
from auroral.engine.arrowrows import logical_hash
from auroral.model.checking import Checked
from auroral.node.compare import compare
from auroral.node.handle import App
from auroral.node.runfolder import RunFolder
from auroral.node.runner import Runner
from node.running import PassOn

FAR, NEAR = 2**61, 1_772_368_200_000_000


def table(times: list[int | None], days: list[int | None]) -> pa.Table:
    return pa.table(
        {
            "stime": pa.array(range(len(times)), pa.int64()),
            "t": pa.array(times, pa.int64()).cast(pa.timestamp("us", "UTC")),
            "d": pa.array(days, pa.int32()).cast(pa.date32()),
        }
    )


def test_far_times_have_a_hash_and_compare() -> None:
    one, other = table([FAR, NEAR, None], [10**7, 1, None]), table([FAR + 1, NEAR, None], [10**7, 2, None])
    assert logical_hash(one) == logical_hash(table([FAR, NEAR, None], [10**7, 1, None]))
    assert logical_hash(one) != logical_hash(other)
    assert compare(one, one).equal
    found = compare(one, other)
    assert (found.only_run, found.only_batch) == (2, 2)
    assert str(FAR) in str(found.first[0])


def checked() -> Checked:
    d = auroral.diagram("d", bucket="1s")
    d.input("s", "ts long, v long, t timestamp, d date", stime="ts", unit="us").filter("f", "v >= 0").output("out")
    return d.check()


def test_subscribers_get_numbers_for_them(tmp_path: Path) -> None:
    engine = PassOn(fields=("ts", "v", "t", "d"))
    runner = Runner(RunFolder.claim(tmp_path / "run", checked(), {}, {}, False), lambda: engine)
    app = App(runner, [], temporary=False)
    rows = table([FAR, NEAR, None], [10**7, 1, None]).select(["t", "d"])
    app.push("s", rows.add_column(0, "ts", pa.array([1, 2, 3])).add_column(1, "v", pa.array([1, 2, 3])))
    app.close()
    events = list(app.subscribe("out"))
    assert [(e.row["t"], e.row["d"]) for e in events if isinstance(e, Insertion)] == [
        (FAR, 10**7),
        (datetime.fromtimestamp(NEAR / 1e6, UTC), date(1970, 1, 2)),
        (None, None),
    ]
