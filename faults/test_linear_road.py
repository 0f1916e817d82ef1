"""Linear Road's tolls in a deployment of real processes."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

from examples.linear_road.generator import write

from applications.roads import FEW, SMALL, counted, small_diagram, told
from auroral.dpc.fragments import leading_to
from auroral.node.fleet.preparing import prepare
from auroral.node.fleet.processes import Fleet
from auroral.node.outputlog import OutputLog
from auroral.node.runfolder import RunFolder
from auroral.node.verify import verify_folder
from fleet.deployments import client, until


def test_a_road_falls_silent_in_a_deployment(tmp_path: Path, spark: Any) -> None:
    """Reports come at their own pace. Of tolls alone, on one replica: the rest is for the simulations above."""
    write(FEW, tmp_path)
    inputs = {name: f"{tmp_path / name}.csv@1x" for name in ("north", "south")}
    tolls = leading_to(small_diagram().check(), ["tolls"])
    fleet = Fleet(prepare(tmp_path / "live", tolls, inputs=inputs, replicas=1))
    try:
        fleet = fleet.up(lambda _: None)
        fleet.ask("south", "pause")
        until(lambda: client(fleet)["counts"].get("tentative", 0) > 3)
        fleet.ask("south", "resume")
        last = FEW.reports * (FEW.report // timedelta(seconds=1))
        until(lambda: client(fleet)["streams"]["tolls"]["frontier"] >= last)
        counts = client(fleet)["counts"]
    finally:
        fleet.down(lambda _: None)
    assert counts["corrected"] > 0
    report = verify_folder(spark, fleet.deployed.folder)
    assert report.ok, report.text
    folder = RunFolder.look(fleet.deployed.folder)
    given = OutputLog.look(folder.output("tolls"), folder.checked.streams["tolls"].schema)
    assert counted(given.read().to_pylist()) == told(FEW, SMALL)["tolls"]
