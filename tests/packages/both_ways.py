"""Run as a program, with the example package on its path: its boxes and functions from Python and from XML, each run proved by `verify`."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

import auroral
from auroral.model.xml import same_diagram

XML = """<borealis>
  <schema name="Visit">
    <field name="sec" type="long"/><field name="place" type="string" size="8"/>
    <field name="lat" type="double"/><field name="lon" type="double"/>
  </schema>
  <input stream="visits" schema="Visit"/>
  <output stream="gaps"/><output stream="far"/><output stream="means"/><output stream="stays"/>
  <query name="Visits">
    <box name="gaps" type="Since_Last">
      <in stream="visits"/><out stream="gaps"/>
      <parameter name="by" value="Place"/>
      <parameter name="within" value="4s"/>
    </box>
    <box name="stays" type="sessions">
      <in stream="visits"/><out stream="stays"/>
      <parameter name="by" value="Place"/><parameter name="gap" value="1500ms"/>
    </box>
    <box name="distances" type="map">
      <in stream="gaps"/><out stream="distances"/>
      <parameter name="expression.0" value="sec"/><parameter name="output-field-name.0" value="sec"/>
      <parameter name="expression.1" value="place"/><parameter name="output-field-name.1" value="place"/>
      <parameter name="expression.2" value="Haversine(lat, lon, 47.0, 8.0)"/><parameter name="output-field-name.2" value="km"/>
    </box>
    <box name="far" type="top_n">
      <in stream="distances"/><out stream="far"/>
      <parameter name="n" value="2"/><parameter name="by" value="km"/>
    </box>
    <box name="means" type="aggregate">
      <in stream="visits"/><out stream="means"/>
      <parameter name="aggregate-function.0" value="geo_mean(lat)"/>
      <parameter name="aggregate-function-output-name.0" value="mean"/>
      <parameter name="window-size-by" value="VALUES"/><parameter name="window-size" value="5"/>
      <parameter name="advance" value="5"/><parameter name="order-by" value="FIELD"/>
      <parameter name="order-on-field" value="sec"/><parameter name="independent-window-alignment" value="1"/>
    </box>
  </query>
</borealis>
"""


def in_python() -> auroral.DiagramBuilder:
    made = auroral.diagram("visits", bucket="1s")
    fields = "sec long, place string(8), lat double, lon double"
    visits = made.input("visits", fields, stime="sec", unit="s")
    gaps = visits.box("gaps", "since_last", by=["place"], within="4s").output()
    visits.box("stays", "sessions", by=["place"], gap="1500ms").output()
    km = "haversine(lat, lon, 47.0, 8.0)"
    gaps.map("distances", {"sec": "sec", "place": "place", "km": km}).box("far", "top_n", n=2, by="km").output()
    visits.aggregate("means", {"mean": "geo_mean(lat)"}, window="5s").output()
    return made


def rows() -> list[dict[str, Any]]:
    draw = random.Random(7)
    return [
        {"sec": 1000 + n // 3, "place": draw.choice("abc"), "lat": draw.uniform(40, 50), "lon": draw.uniform(0, 10)}
        for n in range(18)
    ]


def main(folder: Path) -> None:
    from_xml = auroral.load(XML, name="visits")
    assert same_diagram(auroral.load(from_xml.to_xml()), from_xml)
    found = {}
    for name, diagram in (("python", in_python().build()), ("xml", from_xml)):
        with auroral.run(diagram, folder=folder / name, flush=True) as app:
            # In pieces: boxes look back over what earlier jobs had.
            for start in range(0, 18, 9):
                app.push("visits", rows()[start : start + 9])
            app.close()
            app.await_termination()
            tables = {stream: app.table(stream).to_pylist() for stream in ("gaps", "far", "means", "stays")}
            proof = auroral.verify(app.folder)
        found[name] = {"ok": proof.ok, "tables": tables}
    sys.stdout.write(json.dumps(found, default=str) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
