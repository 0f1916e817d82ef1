"""Nodes of a deployment that have a Spark for themselves, through failures."""

from __future__ import annotations

import os
import signal
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from faults.deployment import jvm_of

from auroral.node.fleet.control import alive
from auroral.node.fleet.eventlog import events_in
from fleet.deployments import Feeds, client, frontier, goes_on, right_in_the_end, running, until

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_a_spark_for_each_node_through_a_kill_and_a_cut(tmp_path: Path, spark: Any) -> None:
    with running(tmp_path / "live", spark="own", bound=12.0) as fleet:
        assert fleet.deployed.processes == ("catalog", "east", "west", "na", "nb", "client")
        jvms = {name: jvm_of(fleet, name) for name in ("na", "nb")}
        with closing(Feeds(fleet)):
            until(lambda: frontier(fleet) > 4)
            status = fleet.status()["na"]
            assert status is not None and status["rss"] > 300e6, "the memory of the JVM is counted"
            # With its process, the JVM of a node ends, and nobody else's.
            fleet.kill("na")
            until(lambda: not alive(jvms["na"]))
            assert alive(jvms["nb"])
            goes_on(fleet)
            fleet.up(lambda _: None)
            fleet.cut("west", "nb")
            goes_on(fleet)
            fleet.heal("west", "nb")
            # Without its JVM a node ends, and comes back with another.
            os.kill(jvm_of(fleet, "nb"), signal.SIGKILL)
            until(lambda: not fleet.lives("nb"))
            fleet.up(lambda _: None)
            goes_on(fleet)
            until(lambda: not client(fleet)["streams"]["sums"]["tentative_now"])
        failed = [e for e in events_in(fleet.deployed.folder) if e["process"] == "nb" and e["event"] == "failed"]
        assert failed and "the JVM of Spark has ended" in failed[0]["detail"]
        right_in_the_end(fleet, spark)
