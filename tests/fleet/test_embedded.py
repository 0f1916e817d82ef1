"""The source of an input within a program: what it pushed is in the log once, also when the program is killed, and the deployment goes on with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import auroral
from auroral.app import SourceEnded
from auroral.cli import main
from auroral.edge.sourcelog import SourceLog
from auroral.edge.stamping import SEQ
from auroral.model.builder import DiagramBuilder
from auroral.node.fleet.deployed import DeploymentError
from auroral.node.fleet.preparing import prepare
from auroral.node.fleet.processes import Fleet
from auroral.node.runfolder import RunFolder
from auroral.node.verify import verify_folder
from fleet.deployments import fleet_in, frontier, until

PROGRAM = """
import sys, auroral

with auroral.source(sys.argv[1], "west") as west:
    at = west.position
    print(at, flush=True)
    while True:
        assert west.push([{"n": at + i} for i in range(50)]).logged == 50
        at += 50
        assert west.position == at
"""


def counted() -> DiagramBuilder:
    d = auroral.diagram("counted", bucket="500ms")
    east, west = (d.input(name, "n long") for name in ("east", "west"))
    sums = {"rows": "count()", "total": "sum(n)"}
    east.union("both", west).aggregate("sums", sums, window="2s", advance="500ms").output(availability="8s")
    return d


def logged(fleet: Fleet, stream: str) -> list[int]:
    given = fleet.deployed.checked.diagram.input(stream)
    assert given is not None
    with SourceLog.open(RunFolder.look(fleet.deployed.folder).source(stream), given.schema, readonly=True) as log:
        found: list[int] = log.read().sort_by(SEQ).column("n").to_pylist()
        return found


@pytest.mark.slow
@pytest.mark.spark
def test_a_program_that_is_killed_goes_on_with_its_log(
    tmp_path: Path, spark: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, environment = tmp_path / "live", os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    prepare(folder, counted().check(), inputs={"east": "program", "west": "program"})
    fleet = fleet_in(folder)
    # One is there before the deployment begins, and the other comes later.
    with auroral.source(folder, "east") as east:
        try:
            fleet = fleet.up(lambda _: None)
            assert east.push([{"n": 1}, {"n": 2}]).logged == 2 and east.position == 2
            for life in range(3):
                command = [sys.executable, "-c", PROGRAM, str(folder)]
                with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as program:
                    assert program.stdout is not None
                    begun = int(program.stdout.readline())
                    assert (begun == 0) == (life == 0)
                    before = frontier(fleet)
                    until(lambda begun=begun: (fleet.status()["west"] or {}).get("rows", 0) > begun + 200)
                    until(lambda before=before: frontier(fleet) > before + 4)
                    assert main(["kill", "west", "--folder", str(folder)]) == 1
                    assert f"kill -9 {program.pid}" in capsys.readouterr().err
                    os.kill(program.pid, signal.SIGKILL)
            assert not fleet.lives("west")
            east.end()
            with auroral.source(folder, "west") as west, pytest.raises(DeploymentError, match="is open in process"):
                auroral.source(folder, "west")
            with closing(auroral.source(folder, "west")) as west:
                west.push([{"n": west.position}])
                last = int((fleet.status()["west"] or {})["closed"]) + 2
                until(lambda: frontier(fleet) >= last)
                fleet.down(lambda _: None)
                with pytest.raises(SourceEnded, match="the source of 'west' has ended"):
                    west.push([{"n": 0}])
        finally:
            fleet.down(lambda _: None)
    rows = logged(fleet, "west")
    assert rows == list(range(len(rows))) and len(rows) > 600 and logged(fleet, "east") == [1, 2]
    report = verify_folder(spark, folder)
    assert report.ok, report.text


def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DeploymentError, match="has no deployment"):
        auroral.source(tmp_path, "east")
    prepare(tmp_path / "live", counted().check(), inputs={"east": "program"})
    with pytest.raises(DeploymentError, match=r"--input west=program(.|\n)*auroral\.client\.Sender"):
        auroral.source(tmp_path / "live", "west")
    with pytest.raises(DeploymentError, match=r"input 'north'(.|\n)*east"):
        auroral.source(tmp_path / "live", "north")


def test_it_needs_no_spark(tmp_path: Path) -> None:
    folder = tmp_path / "live"
    prepare(folder, counted().check(), inputs={"east": "program"})
    script = (
        "import sys, auroral\n"
        f"with auroral.source({str(folder)!r}, 'east'): pass\n"
        "assert not [name for name in sys.modules if name.split('.')[0] in ('pyspark', 'py4j')]\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", script], env=environment, check=True, timeout=60)
