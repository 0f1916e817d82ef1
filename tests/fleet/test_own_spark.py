"""Nodes of a deployment on a cluster of Spark."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from engine.servers import environment, standalone
from fleet.deployments import Feeds, frontier, goes_on, right_in_the_end, running, until

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_nodes_on_a_cluster_of_a_master_and_two_workers(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SPARK_LOCAL_IP", "PYSPARK_PYTHON"):
        monkeypatch.setenv(name, environment()[name])
    with standalone(tmp_path, workers=2) as master, running(tmp_path / "live", spark=master, bound=12.0) as fleet:
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
