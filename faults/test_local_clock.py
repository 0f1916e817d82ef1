"""Timeouts by the clock of the machine in a deployment of real processes, whose clock and node are killed."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from auroral.client import Sender
from auroral.node.fleet.preparing import prepare
from auroral.node.fleet.processes import Fleet
from auroral.node.outputlog import OutputLog
from auroral.node.runfolder import RunFolder
from auroral.node.verify import verify_folder
from fleet.deployments import client, until
from node.test_local_clock import B, diagram


def test_each_timeout_gives_one_result_whoever_is_killed(tmp_path: Path, spark: Any) -> None:
    """In stime four seconds pass in half a one: it is the clock's two that end a window. Rows come in pairs, which never fill one."""
    fleet = Fleet(prepare(tmp_path / "live", diagram(), replicas=1))
    expected = []
    try:
        fleet = fleet.up(lambda _: None)
        base = fleet.deployed.first * B
        with Sender(fleet.deployed.agreed.inputs["sales"]) as sender:
            for second in range(0, 60, 4):
                rows = [{"ts": base + second * B + n, "till": f"t{second}", "euros": second + n} for n in range(2)]
                sender.send(rows)
                # The bucket is closed by the first row behind it.
                sender.send([{"ts": base + (second + 2) * B, "till": "closes", "euros": 0}] * 3)
                expected += [(f"t{second}", 2, 2 * second + 1), ("closes", 3, 0)]
                time.sleep(0.5)
                if second in (16, 32):
                    killed = "clock" if second == 16 else "na"
                    fleet.kill(killed)
                    fleet.start([killed])
            # Until all timeouts are over by the clock; then rows close the bucket in which it said so.
            time.sleep(4)
            for second in range(60, 70):
                sender.send([{"ts": base + second * B, "till": "closes", "euros": 0}] * 3)
                expected.append(("closes", 3, 0))
        until(lambda: client(fleet)["streams"]["threes"]["frontier"] >= 66)
    finally:
        fleet.down(lambda _: None)
    report = verify_folder(spark, fleet.deployed.folder)
    assert report.ok, report.text
    folder = RunFolder.look(fleet.deployed.folder)
    given = OutputLog.look(folder.output("threes"), folder.checked.streams["threes"].schema).read().to_pylist()
    found = [(row["till"], row["n"], row["euros"]) for row in given]
    assert sorted(row for row in found if row[0] != "closes") == sorted(row for row in expected if row[0] != "closes")
