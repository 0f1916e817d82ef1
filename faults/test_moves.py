"""A query of a deployment goes to another node while rows come in, whoever is killed meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from auroral.cli import main
from fleet.deployments import Feeds, fleet_in, frontier, goes_on, members, right_in_the_end, running, until

pytestmark = [pytest.mark.spark, pytest.mark.slow]


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
