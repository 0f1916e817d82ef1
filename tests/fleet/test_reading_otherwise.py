"""A query reads other streams from a bucket on, while rows come in; a node is killed meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from auroral.cli import main
from auroral.node.fleet.processes import free_ports
from fleet.deployments import Feeds, client, closed, fleet_in, frontier, goes_on, right_in_the_end, until

pytestmark = [pytest.mark.spark, pytest.mark.slow]

DIAGRAM = """<borealis>
  <schema name="Row"><field name="host" type="string" size="8"/><field name="n" type="int"/></schema>
  <input stream="east" schema="Row"/><input stream="west" schema="Row"/>
  <query name="front">
    <box name="high" type="filter"><in stream="east"/><out stream="highs"/><parameter name="expression.0" value="n &gt; 2"/></box>
  </query>
  <query name="back">
    <box name="any" type="filter"><in stream="east"/><out stream="all"/><parameter name="expression.0" value="n &gt;= 0"/></box>
    <box name="low" type="filter"><in stream="all"/><out stream="sums"/><parameter name="expression.0" value="n &lt; 5"/></box>
  </query>
  <output stream="highs"/><output stream="sums"/>
</borealis>"""
DEPLOYED = """<deploy>
  <replica_set name="front" query="front"><node endpoint=":{}"/></replica_set>
  <replica_set name="back" query="back"><node endpoint=":{}"/><node endpoint=":{}"/></replica_set>
</deploy>"""
CONNECT = '<borealis><connect box="{}" stream="{}"/></borealis>'


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    folder, diagram, deployed = (tmp_path / name for name in ("live", "rows.xml", "deploy.xml"))
    diagram.write_text(DIAGRAM)
    deployed.write_text(DEPLOYED.format(*free_ports(3)))
    try:
        assert main(["up", str(deployed), "--diagram", str(diagram), "--bound", "8s", "--folder", str(folder)]) == 0
        yield folder
    finally:
        fleet_in(folder).down(lambda _: None)


def versions(folder: Path, query: str) -> int:
    return len((fleet_in(folder).status()["catalog"] or {}).get("starts", {}).get(query, ()))


def test_a_query_reads_another_querys_output_and_another_input(
    folder: Path, spark: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    where, update = ["--folder", str(folder)], folder.parent / "update.xml"
    with closing(Feeds(fleet_in(folder))):
        until(lambda: frontier(fleet_in(folder)) > 2)
        # Another query's output; a replica dies before it can promise, and comes back with what it must know.
        fleet_in(folder).kill("backb")
        update.write_text(CONNECT.format("any", "highs"))
        assert main(["change", str(update), "--no-wait", *where]) == 0
        goes_on(fleet_in(folder), 1)
        assert versions(folder, "back") == 1
        fleet_in(folder).up(lambda _: None)
        until(lambda: versions(folder, "back") == 2)
        goes_on(fleet_in(folder), 8)
        # What reads from one another in a loop, with what an earlier version read, is refused.
        update.write_text('<borealis><connect box="any" stream="east"/><connect box="high" stream="sums"/></borealis>')
        assert main(["change", str(update), *where]) == 1
        assert "in a loop" in capsys.readouterr().err
        # An input that nobody has read so far, and whose rows are logged all the same; whoever gives it and whoever reads it are killed behind it.
        update.write_text(CONNECT.format("high", "west"))
        assert main(["change", str(update), *where]) == 0
        assert "front: version 1 holds from" in capsys.readouterr().out
        for victim in ("fronta", "backa", "west", "catalog"):
            fleet_in(folder).kill(victim)
        fleet_in(folder).up(lambda _: None)
        goes_on(fleet_in(folder), 8)
    assert main(["catalog", *where]) == 0
    told = capsys.readouterr().out
    assert "reads more  back: highs, for version 1" in told
    assert "reads more  front: west, for version 1" in told
    # What the client writes is merged meanwhile.
    until(lambda: list((folder / "outputs" / "sums.parquet").glob("part-*-*_*.parquet")))
    fleet = fleet_in(folder)
    last = closed(fleet)
    until(lambda: client(fleet)["streams"]["highs"]["frontier"] >= last)
    right_in_the_end(fleet, spark)
