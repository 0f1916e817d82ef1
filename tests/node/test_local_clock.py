"""The machine's clock as an input: it is logged before it counts, and a process that dies between the two loses and repeats nothing."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import auroral
from auroral.model.diagram import Input
from auroral.node.localclock import Reached, clock_feed
from auroral.node.source import Source
from node.killing import child, kill_when

B = 1_000_000


def diagram() -> auroral.Checked:
    d = auroral.diagram("shop", bucket="1s")
    sales = d.input("sales", "ts long, till string, euros int", stime="ts", unit="us")
    sums = {"n": "count()", "euros": "sum(euros)"}
    sales.aggregate_rows("threes", sums, rows=3, by=["till"], timeout="2s", clock=d.local_clock()).output()
    return d.check()


def clock_source(folder: Path) -> Source:
    given = diagram().diagram.input("clock")
    assert isinstance(given, Input)
    return Source(given, B, folder)


class Looks(threading.Event):
    """A stop that comes after so many looks at the other inputs."""

    def __init__(self, looks: int):
        super().__init__()
        self.left = looks

    def wait(self, timeout: float | None = None) -> bool:
        self.left -= 1
        return self.left == 0


def told(source: Source) -> list[tuple[int, int]]:
    rows = source.read(0, 10**15)
    return [(row["__stime"], int(row["clock"].timestamp() * 1e6)) for row in rows.to_pylist()]


def test_a_row_whenever_the_others_have_come_further_and_else_one_in_a_bucket_of_time(tmp_path: Path) -> None:
    source = clock_source(tmp_path)
    boundaries = iter([None, 5 * B, 5 * B, 5 * B, 6 * B, 4 * B, 4 * B])
    clock = iter(range(100 * B, 200 * B, 400_000))
    woken: list[None] = []
    feed = clock_feed(source, lambda: Reached(next(boundaries)), lambda: next(clock), B)
    feed.run(Looks(7), lambda: woken.append(None))
    # Nothing is known before the others have come anywhere. Where they are behind what was said, it stays where it was.
    assert told(source) == [(5 * B, 100 * B + 400_000), (6 * B, 101 * B + 600_000)]
    assert len(woken) == 2 and source.state.boundary == 6 * B
    source.close()


def test_another_life_goes_on_behind_what_was_said_and_ends_with_the_others(tmp_path: Path) -> None:
    first = clock_source(tmp_path)
    clock_feed(first, lambda: Reached(3 * B), lambda: 50 * B, B).run(Looks(2), lambda: None)
    first.close()
    second = clock_source(tmp_path)
    clock_feed(second, lambda: Reached(2 * B, True), lambda: 60 * B, B).run(Looks(9), lambda: None)
    assert told(second) == [(3 * B, 50 * B), (3 * B, 60 * B)] and second.state.ended
    clock_feed(second, lambda: Reached(9 * B, True), lambda: 70 * B, B).run(Looks(9), lambda: None)
    assert len(told(second)) == 2
    second.close()


DIES = """
import sys, threading, time
from pathlib import Path
from auroral.node.feeds import PUSHED
from auroral.node.localclock import FED, Reached, clock_feed
from auroral.node.pushed import pushed_table
from auroral.node.runfolder import RunFolder
from auroral.node.runner import Runner
from node.running import PassOn
from node.test_local_clock import B, diagram

class Stuck(PassOn):
    def run(self, lo, hi, sources):
        print("asked for", lo, flush=True)
        time.sleep(600)

named = {"sales": PUSHED, "clock": FED}
runner = Runner(RunFolder.claim(Path(sys.argv[1]), diagram(), named, {}, False), Stuck)
sales, now = runner.sources["sales"], iter(range(10**15, 10**16, 700_000))
rows = [{"ts": n * B // 4, "till": "ab"[n % 2], "euros": n} for n in range(13)]
sales.take(pushed_table(sales.input, rows), 0)
feed = clock_feed(runner.sources["clock"], lambda: Reached(sales.state.boundary), lambda: next(now), B)
threading.Thread(target=feed.run, args=(threading.Event(), runner.wake), daemon=True).start()
while runner.sources["clock"].state.rows < 6:
    time.sleep(0.01)
runner.run()
"""


@pytest.mark.spark
def test_killed_between_a_firing_and_its_use(spark, tmp_path: Path) -> None:
    """The clock went past the timeouts, that was logged, and no job had seen it when the process was killed."""
    folder = tmp_path / "run"
    assert kill_when(child(DIES, str(folder)), 1)
    with auroral.run(diagram(), folder=folder, session=spark) as app:
        app.push("sales", [{"ts": 9 * B, "till": "a", "euros": 100}])
        app.close("sales")
        assert app.await_termination(60)
        found = [(row["till"], row["n"], row["euros"]) for row in app.table("threes").to_pylist()]
    # Of a there are seven rows and of b six: the seventh waits alone when its time is up, and has its result once.
    assert sorted(found) == [("a", 1, 12), ("a", 3, 6), ("a", 3, 24), ("b", 3, 9), ("b", 3, 27)]
    assert auroral.verify(folder, spark).ok
