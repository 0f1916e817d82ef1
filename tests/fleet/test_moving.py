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


def test_a_query_moves_to_new_nodes(folder: Path, spark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--folder", str(folder)]
    with closing(Feeds(fleet_in(folder))):
        until(lambda: frontier(fleet_in(folder)) > 4)
        # What cannot be is said.
        for wrong, said in (
            (["move", "x", "nc"], "there is no query 'x'"),
            (["move", "n", "nb", "--from", "na"], "n runs on nb already"),
            (["move", "n", "nc"], "next: say which: --from na"),
            (["move", "n", "nc", "--from", "nz"], "n does not run on 'nz'"),
            (["move", "n", "east", "--from", "na"], "no node can have the name 'east'"),
            (["move", "n", "--give-up"], "no move of 'n' is under way"),
        ):
            assert main([*wrong, *where]) == 1
            assert said in capsys.readouterr().err
        # To a node that is new.
        assert main(["move", "n", "nc", "--from", "na", *where]) == 0
        assert members(folder) == ["n@nc", "n@nb"]
        goes_on(fleet_in(folder))
        # The one that is left has nothing any more, and what it kept is gone; it can be used again.
        until(lambda: (fleet_in(folder).status()["na"] or {}).get("outputs") == {})
        until(lambda: not list((folder / "nodes" / "na").iterdir()))
        # All who moved live on what the others give: the one that stayed is killed.
        fleet_in(folder).kill("nb")
        goes_on(fleet_in(folder))
        # It does not come back: the only one that does not run is the one that is left. By an update file this time.
        update = folder.parent / "update.xml"
        for moves, said in (("box", "unknown box 'n'"), ("query", "")):
            update.write_text(f'<borealis><move {moves}="n" node="na"/></borealis>')
            assert main(["change", str(update), *where]) == (1 if said else 0)
            assert said in capsys.readouterr().err
        assert members(folder) == ["n@nc", "n@na"]
        goes_on(fleet_in(folder))
        assert main(["catalog", *where]) == 0
        told = capsys.readouterr().out
        assert "move begins  n: n@na, n@nb to n@nc, n@nb" in told and "move ends  n: n@nc, n@na" in told
    fleet = fleet_in(folder)
    fleet.up(lambda _: None)
    right_in_the_end(fleet, spark)
