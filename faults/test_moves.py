"""A query of a deployment goes to another node while rows come in, whoever is killed meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from auroral.cli import main
from auroral.node.fleet.deployed import Deployed
from auroral.node.fleet.preparing import prepare
from auroral.node.fleet.processes import Fleet
from auroral.node.verify import verify_folder
from fleet.deployments import Feeds, all_is_stable, client, frontier, until, watch

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "live"
    fleet = Fleet(prepare(folder, watch().check()))
    try:
        fleet.up(lambda _: None)
        yield folder
    finally:
        fleet_in(folder).down(lambda _: None)


def fleet_in(folder: Path) -> Fleet:
    """With the nodes that came since."""
    return Fleet(Deployed.look(folder, watch().check()))


def members(folder: Path) -> list[str]:
    found: list[str] = (fleet_in(folder).status()["catalog"] or {}).get("members", {}).get("n", [])
    return found


def goes_on(folder: Path) -> None:
    before = frontier(fleet_in(folder))
    until(lambda: frontier(fleet_in(folder)) > before + 4)


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
            goes_on(folder)
    fleet = fleet_in(folder)
    all_is_stable(fleet)
    assert client(fleet)["streams"]["sums"].get("missed", 0) == 0
    fleet.down(lambda _: None)
    report = verify_folder(spark, folder)
    assert report.ok, report.text
