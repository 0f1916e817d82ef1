"""Nodes of a deployment on a cluster of Spark."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from auroral.node.fleet.processes import free_ports
from docs.blocks import ROOT, blocks_of, commands_of, otherwise, run_commands
from engine.servers import environment, standalone
from fleet.deployments import Feeds, fleet_in, frontier, goes_on, right_in_the_end, until

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.mark.usefixtures("commands_share_spark")
def test_nodes_on_a_cluster_of_a_master_and_two_workers(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the tutorial on it says: spark-cluster.md, a batch job first, then a deployment that loses a node."""
    for name in ("SPARK_LOCAL_IP", "PYSPARK_PYTHON"):
        monkeypatch.setenv(name, environment()[name])
    monkeypatch.chdir(tmp_path)
    blocks = blocks_of(ROOT / "docs" / "tutorials" / "spark-cluster.md")
    for block in blocks:
        if block.file is not None:
            Path(block.file).write_text(block.text)
    batch, up, lose_a_node, end = (block for block in blocks if block.tested)
    east, west = free_ports(2)
    with standalone(tmp_path, workers=2) as master:
        instead = {"spark://127.0.0.1:7077": master, "18611": str(east), "18612": str(west)}
        # A program of its own: this one has a Spark already.
        (command,) = commands_of(replace(batch, text=otherwise(batch.text, instead)))
        subprocess.run([sys.executable, "-m", "auroral", *command], check=True, timeout=120)
        assert Path("sums.csv").read_text().startswith("stime,host,rows,total\n")
        try:
            run_commands(up, instead)
            fleet = fleet_in(tmp_path / "live")
            with closing(Feeds(fleet)):
                until(lambda: frontier(fleet) > 4)
                for worker in ("work0", "work1"):
                    executors = [path for path in (tmp_path / worker).glob("app-*/*") if path.is_dir()]
                    assert len(executors) == 3, "the batch job and each node have an executor on each worker"
                run_commands(lose_a_node)
                goes_on(fleet)
            right_in_the_end(fleet, spark)
            run_commands(end)
        finally:
            fleet_in(tmp_path / "live").down(lambda _: None)
