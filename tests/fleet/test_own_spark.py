"""Nodes of a deployment on a cluster of Spark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from auroral.node.fleet.control import alive
from auroral.node.fleet.preparing import prepare
from auroral.node.fleet.processes import Fleet
from auroral.node.verify import verify_folder
from engine.servers import environment, standalone
from fleet.deployments import Feeds, closed, frontier, until, watch

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@contextmanager
def running(folder: Path, spark: str) -> Iterator[Fleet]:
    fleet = Fleet(prepare(folder, watch().check(), spark=spark, bound=12.0))
    try:
        yield fleet.up(lambda _: None)
    finally:
        fleet.down(lambda _: None)


def goes_on(fleet: Fleet) -> None:
    before = until(lambda: frontier(fleet))
    until(lambda: frontier(fleet) > before + 4)


def right_in_the_end(fleet: Fleet, spark: Any) -> None:
    last = closed(fleet)
    until(lambda: frontier(fleet) >= last)
    pids = [fleet.pid(name) for name in fleet.deployed.processes]
    fleet.down(lambda _: None)
    assert not any(map(alive, pids)), "a process was left behind"
    report = verify_folder(spark, fleet.deployed.folder)
    assert report.ok, report.text


def test_nodes_on_a_cluster_of_a_master_and_two_workers(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SPARK_LOCAL_IP", "PYSPARK_PYTHON"):
        monkeypatch.setenv(name, environment()[name])
    with standalone(tmp_path, workers=2) as master, running(tmp_path / "live", master) as fleet:
        with closing(Feeds(fleet)):
            until(lambda: frontier(fleet) > 4)
            for worker in ("work0", "work1"):
                executors = [path for path in (tmp_path / worker).glob("app-*/*") if path.is_dir()]
                assert len(executors) == 2, "each node has an executor on each worker"
            fleet.kill("na")
            goes_on(fleet)
            fleet.up(lambda _: None)
            goes_on(fleet)
        right_in_the_end(fleet, spark)
