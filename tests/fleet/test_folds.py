"""A deployment of real processes with a fold: its state is found again on disk, and had from the other replica where it is lost."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import auroral
from auroral.cli import main
from auroral.edge.durable import InUse
from auroral.model.builder import DiagramBuilder
from auroral.node.fleet.preparing import prepare
from auroral.node.fleet.processes import Fleet
from auroral.node.store.corestore import CoreStore
from fleet.deployments import Feeds, client, frontier, goes_on, right_in_the_end, until

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def totals() -> DiagramBuilder:
    d = auroral.diagram("totals", bucket="250ms")
    east, west = (d.input(name, "host string, n int") for name in ("east", "west"))
    sums = {"rows": "count()", "total": "sum(n)"}
    east.union("both", west).running("sums", sums, by=["host", "n"]).output(availability="8s")
    return d


def place_of(folder: Path, node: str) -> Path:
    (found,) = (folder / "nodes" / node).glob("*/kept")
    return found


def buckets_of_states(place: Path) -> list[int]:
    def opened() -> CoreStore | None:
        try:
            return CoreStore.open(place)
        except InUse:
            # Who was killed takes a moment to be gone.
            return None

    store: CoreStore = until(opened)
    try:
        return [bucket for keys in store._journal.last.holdings.states.values() for _, bucket in keys]
    finally:
        store.close()


def test_states_are_found_again_and_had_from_the_other_replica(tmp_path: Path, spark: Any) -> None:
    folder = tmp_path / "live"
    fleet = Fleet(prepare(folder, totals().check()))
    try:
        fleet = fleet.up(lambda _: None)
        with closing(Feeds(fleet)):
            # Every twenty buckets there is a snapshot.
            until(lambda: frontier(fleet) > 45)
            assert main(["pause", "east", "--folder", str(folder)]) == 0
            until(lambda: client(fleet)["counts"]["tentative"] > 3)
            assert main(["resume", "east", "--folder", str(folder)]) == 0
            until(lambda: client(fleet)["streams"]["sums"]["tentative_now"] == 0)
            for lost in (False, True):
                fleet.kill("na")
                assert max(buckets_of_states(place_of(folder, "na"))) >= 20
                if lost:
                    shutil.rmtree(place_of(folder, "na"))
                fleet.up(lambda _: None)
                goes_on(fleet)
            # The one that was away answers alone.
            fleet.kill("nb")
            goes_on(fleet)
            fleet.up(lambda _: None)
        right_in_the_end(fleet, spark)
    finally:
        fleet.down(lambda _: None)
