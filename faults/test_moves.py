"""A query of a deployment goes to another node, or reads other streams, while rows come in, whoever is killed meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from auroral.cli import main
from auroral.node.fleet.processes import free_ports
from fleet.deployments import Feeds, fleet_in, frontier, goes_on, members, right_in_the_end, running, until

pytestmark = [pytest.mark.spark, pytest.mark.slow]

DIAGRAM = """import auroral

d = auroral.diagram("watch", bucket="500ms")
east, west = (d.input(name, "host string, n int") for name in ("east", "west"))
with d.query("front"):
    high = east.filter("high", "n > 2")
    high.output(availability="8s")
with d.query("back"):
    sums = {{"rows": "count()", "total": "sum(n)"}}
    both = {read}.union("both", west)
    both.aggregate("sums", sums, window="{window}", advance="500ms", by=["host"]).output(availability="8s")
"""
DEPLOYED = """replica_sets:
  - {{name: front, queries: [front], nodes: [":{}"]}}
  - {{name: back, queries: [back], nodes: [":{}", ":{}"]}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    with running(tmp_path / "live"):
        yield tmp_path / "live"


def test_whoever_is_killed_in_the_middle(folder: Path, spark: Any) -> None:
    where = ["--folder", str(folder)]
    with closing(Feeds(fleet_in(folder))):
        until(lambda: frontier(fleet_in(folder)) > 4)
        for number, victim in enumerate(("catalog", "east", "client", "nb")):
            comes, leaves = ("nc", "na") if number % 2 == 0 else ("na", "nc")
            assert main(["move", "n", comes, "--from", leaves, "--no-wait", *where]) == 0
            fleet_in(folder).kill(victim)
            fleet_in(folder).up(lambda _: None)
            until(lambda comes=comes: members(folder) == [f"n@{comes}", "n@nb"])
            goes_on(fleet_in(folder))
    fleet = fleet_in(folder)
    right_in_the_end(fleet, spark)


def test_whoever_is_killed_while_a_query_comes_to_read_other_streams(tmp_path: Path, spark: Any) -> None:
    """Another query's output and a longer window, then back to the input and a shorter one: the one is asked for, the other is still known."""
    folder, deploy = tmp_path / "live", tmp_path / "deploy.yaml"
    files = {read: tmp_path / f"{read}.py" for read in ("east", "high")}
    for read, window in (("east", "1s"), ("high", "3s")):
        files[read].write_text(DIAGRAM.format(read=read, window=window))
    deploy.write_text(DEPLOYED.format(*free_ports(3)))
    where = ["--folder", str(folder)]

    def starts() -> list[int]:
        return (fleet_in(folder).status()["catalog"] or {}).get("starts", {}).get("back", [0])

    assert main(["up", str(deploy), "--diagram", str(files["east"]), *where]) == 0
    try:
        with closing(Feeds(fleet_in(folder))):
            until(lambda: frontier(fleet_in(folder)) > 4)
            for number, (read, victims) in enumerate(
                (("high", ["backa"]), ("east", ["catalog"]), ("high", ["fronta", "backb", "west"])), 2
            ):
                assert main(["change", str(files[read]), "--no-wait", *where]) == 0
                for victim in victims:
                    fleet_in(folder).kill(victim)
                fleet_in(folder).up(lambda _: None)
                until(lambda number=number: len(starts()) == number)
                until(lambda: frontier(fleet_in(folder)) > starts()[-1] + 2)
        right_in_the_end(fleet_in(folder), spark)
    finally:
        fleet_in(folder).down(lambda _: None)
