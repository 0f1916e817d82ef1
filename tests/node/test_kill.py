"""SIGKILL, at moments left to chance: the next process goes on without losing or repeating a row."""

import json
import random
from pathlib import Path

import pytest

import auroral
from node.killing import child, kill_when

ROWS = 3000

# Many small jobs, and a line for each, so that a kill falls between any two writes.
PASS_ON = """
import sys
from pathlib import Path
import auroral
from auroral.node import ranges
from auroral.node.feeds import make_feed
from auroral.node.runfolder import RunFolder
from auroral.node.runner import Runner
from node.running import PassOn
from node.test_kill import diagram
import threading

class Telling(PassOn):
    def run(self, lo, hi, sources):
        print(lo, flush=True)
        return super().run(lo, hi, sources)

ranges.MOST_BUCKETS = 3
folder, data, out = sys.argv[1:]
runner = Runner(RunFolder.claim(Path(folder), diagram(), {}, {}, False), Telling, {"out": out})
runner.limits = ranges.Limits(1_000_000, 1_000_000, 1_000_000, most_buckets=3)
feed = make_feed(runner.sources["s"], data, runner.clock)
threading.Thread(target=feed.run, args=(runner.stopping, runner.wake), daemon=True).start()
runner.run()
"""


def diagram() -> "auroral.Checked":
    d = auroral.diagram("d", bucket="1s")
    d.input("s", "ts long, v long", stime="ts", unit="ms").filter("f", "v >= 0").output("out")
    return d.check()


def write_rows(path: Path) -> None:
    path.write_text("".join(json.dumps({"ts": i * 100, "v": i}) + "\n" for i in range(ROWS)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_killed_again_and_again(tmp_path: Path, seed: int) -> None:
    data, out = tmp_path / "s.jsonl", tmp_path / "out.csv"
    write_rows(data)
    rng = random.Random(seed)
    kills = 0
    for _ in range(3):
        process = child(PASS_ON, str(tmp_path / "run"), str(data), str(out))
        kills += kill_when(process, rng.randint(1, 12), rng.random() * 0.01)
    last = child(PASS_ON, str(tmp_path / "run"), str(data), str(out))
    last.communicate(timeout=120)
    assert last.returncode == 0 and kills == 3
    lines = out.read_text().splitlines()[1:]
    assert [line.split(",")[2] for line in lines] == [str(i) for i in range(ROWS)]
    account = json.loads((tmp_path / "run" / "ledger.json").read_text())
    assert account["finished"] and account["rows_in"] == ROWS
    assert account["counts"] == {"box": {"late": ROWS}}
