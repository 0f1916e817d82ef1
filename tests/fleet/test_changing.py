"""The boxes of a query are changed while rows come in: by an update file, by a whole diagram, and whoever is killed meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from auroral.cli import main
from fleet.deployments import Feeds, fleet_in, frontier, goes_on, right_in_the_end, until

pytestmark = [pytest.mark.spark, pytest.mark.slow]

DIAGRAM = """<borealis>
  <schema name="Row"><field name="host" type="string" size="8"/><field name="n" type="int"/></schema>
  <input stream="east" schema="Row"/><input stream="west" schema="Row"/>
  <query name="unite">
    <box name="both" type="union"><in stream="east"/><in stream="west"/><out stream="all"/></box>
  </query>
  <query name="merge">
    <box name="high" type="filter"><in stream="all"/><out stream="sums"/><parameter name="expression.0" value="{high}"/></box>
  </query>
  <output stream="sums"/>
</borealis>"""
REBUILT = """<borealis>
  <disconnect box="high"/>
  <query name="merge">
    <box name="some" type="filter"><in stream="all"/><out stream="a few"/><parameter name="expression.0" value="n &lt; 5"/></box>
    <box name="last" type="filter"><in stream="all"/><out stream="sums"/><parameter name="expression.0" value="n &gt; 3"/></box>
  </query>
  <connect box="last" stream="a few"/>
</borealis>"""
DELETE = '<borealis><delete query="unite"/><connect box="some" stream="west"/></borealis>'
MODIFY = '<borealis><modify box="high"><parameter name="expression.0" value="{high}"/></modify></borealis>'


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    folder, diagram = tmp_path / "live", tmp_path / "merge.xml"
    diagram.write_text(DIAGRAM.format(high="n &gt; 2"))
    try:
        assert main(["up", "--diagram", str(diagram), "--bound", "8s", "--folder", str(folder)]) == 0
        yield folder
    finally:
        fleet_in(folder).down(lambda _: None)


def test_the_boxes_of_a_query_are_changed(folder: Path, spark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    where, update = ["--folder", str(folder)], folder.parent / "update.xml"
    with closing(Feeds(fleet_in(folder))):
        until(lambda: frontier(fleet_in(folder)) > 2)
        # What cannot be is said, and changes nothing.
        for text, said in (
            ('<borealis><delete box="high"/></borealis>', "<delete> needs the attribute 'query'"),
            ('<borealis><delete query="merge"/></borealis>', "live:10, output 'sums': unknown stream 'sums'"),
            ('<borealis><disconnect box="high"/><move box="low" node="nc"/></borealis>', "unknown box 'low'"),
            ('<borealis><modify box="hihg"><parameter name="a" value="b"/></modify></borealis>', "did you mean 'high'"),
            (MODIFY.format(high="nn &gt; 2"), "nn"),
            (DIAGRAM.format(high="n &gt; 2").replace("west", "south"), "other inputs"),
        ):
            update.write_text(text)
            assert main(["change", str(update), *where]) == 1
            assert said in capsys.readouterr().err, said
        assert main(["change", str(folder.parent / "merge.xml"), *where]) == 0
        assert "nothing differs" in capsys.readouterr().out
        # Another predicate.
        update.write_text(MODIFY.format(high="n &lt; 3"))
        assert main(["change", str(update), *where]) == 0
        assert "n: version 1 holds from" in capsys.readouterr().out
        goes_on(fleet_in(folder), 3)
        # A replica is away, so that it is not decided before it is back; the catalog is killed meanwhile.
        fleet_in(folder).kill("nb")
        update.write_text(REBUILT)
        assert main(["change", str(update), "--no-wait", *where]) == 0
        assert main(["change", str(update), *where]) == 1
        assert "n is being changed already" in capsys.readouterr().err
        fleet_in(folder).kill("catalog")
        goes_on(fleet_in(folder), 1)
        fleet_in(folder).up(lambda _: None)
        until(lambda: len((fleet_in(folder).status()["catalog"] or {}).get("starts", {}).get("n", ())) == 3)
        # One that comes back computes each bucket by the version of its time.
        goes_on(fleet_in(folder), 3)
        fleet_in(folder).kill("na")
        goes_on(fleet_in(folder), 3)
        fleet_in(folder).up(lambda _: None)
        goes_on(fleet_in(folder), 3)
        # A query is deleted: of what it read, the other one comes to read a part itself.
        update.write_text(DELETE)
        assert main(["change", str(update), *where]) == 0
        assert "n: version 3 holds from" in capsys.readouterr().out
        goes_on(fleet_in(folder), 3)
    fleet = fleet_in(folder)
    assert main(["catalog", *where]) == 0
    assert "changed  n: version 2" in capsys.readouterr().out
    right_in_the_end(fleet, spark)
