"""A whole diagram and its deployment, in our own names: what genuine files look like."""

from auroral.model import types
from auroral.model.boxes.aggregate import Aggregate
from auroral.model.boxes.serialize import SOutput, SUnion
from auroral.model.checking import check
from auroral.model.deployment import Endpoint
from auroral.model.diagram import Stamp
from auroral.model.placement import check_deployment
from auroral.model.schema import Field, Schema
from auroral.model.windows import Alignment, FieldWindow
from auroral.model.xml import read_deployment, read_diagram

DIAGRAM = """<?xml version="1.0"?>
<!DOCTYPE borealis SYSTEM "http://nowhere.invalid/borealis.dtd">
<borealis>
  <input stream="Harbour" schema="Gauge"/>
  <input stream="river"   schema="Gauge"/>
  <output stream="floods" schema="Flood"/>
  <output stream="ctl_in" schema="Nothing"/>
  <output stream="ctl_out" schema="Nothing"/>
  <query name="Warnings">
    <box name="Gather_Gauges" type="SUnion">
      <in stream="harbour"/><in stream="river"/>
      <out stream="ctl_in"/><out stream="gauges"/>
      <parameter name="interval" value="250"/>
      <parameter name="location" value="input"/>
      <parameter name="stagger" value="1"/>
      <parameter name="max-delay.0" value="1500"/>
      <parameter name="max-delay.1" value="3000"/>
    </box>
    <box name="highest" type="aggregate">
      <in stream="gauges"/><out stream="levels"/>
      <parameter name="aggregate-function.0" value="max(level)"/>
      <parameter name="aggregate-function-output-name.0" value="Highest"/>
      <parameter name="window-size-by" value="VALUES"/>
      <parameter name="window-size" value="60"/>
      <parameter name="advance" value="15"/>
      <parameter name="order-by" value="FIELD"/>
      <parameter name="order-on-field" value="Seconds"/>
      <parameter name="group-by" value="place"/>
      <parameter name="independent-window-alignment" value="1"/>
    </box>
    <box name="emit" type="soutput">
      <in stream="levels"/><out stream="ctl_out"/><out stream="floods"/>
    </box>
  </query>
  <schema name="Gauge">
    <field name="Seconds" type="INT"/>
    <field name="place" type="string" size="12"/>
    <field name="level" type="double"/>
  </schema>
  <schema name="Flood">
    <field name="place" type="string" size="12"/>
    <field name="seconds" type="int"/>
    <field name="highest" type="double"/>
  </schema>
  <schema name="Nothing"/>
</borealis>
"""

DEPLOYMENT = """<?xml version="1.0"?>
<deploy>
  <replica_set name="twins" query="Warnings">
    <node endpoint="127.0.0.1:15000"/><node endpoint="127.0.0.1:15100"/>
  </replica_set>
  <publish stream="harbour"/><publish stream="river"/>
  <client endpoint=":25000"><subscribe stream="Floods" gap="0"/></client>
</deploy>
"""


def test_diagram() -> None:
    loaded = read_diagram(DIAGRAM, "floods.xml")
    diagram = loaded.diagram
    assert loaded.warnings == ()
    assert diagram.name == "floods"
    assert [i.stream for i in diagram.inputs] == ["harbour", "river"]
    gauge = Schema((Field("seconds", types.INT), Field("place", types.string(12)), Field("level", types.DOUBLE)))
    assert diagram.inputs[0].schema == gauge
    assert [name for name, _ in diagram.schemas] == ["Gauge", "Flood", "Nothing"]
    assert [box.name for box in diagram.boxes] == ["gather_gauges", "highest", "emit"]
    sunion, highest, emit = (box.spec for box in diagram.boxes)
    assert sunion == SUnion(250, (1500, 3000), (("location", "input"), ("stagger", "1")))
    window = FieldWindow("seconds", 60, 15, Alignment.INDEPENDENT)
    assert highest == Aggregate((("highest", "max(level)"),), window, ("place",))
    assert emit == SOutput()
    assert next(iter(diagram.boxes)).place.line == 10


def test_bucket_and_availability_follow_the_sunion() -> None:
    diagram = read_diagram(DIAGRAM).diagram
    assert diagram.bucket == 250_000
    floods = diagram.output("floods")
    assert floods is not None
    assert floods.availability == 3_000_000


def test_stime_is_the_field_of_the_windows() -> None:
    assert [i.stamp for i in read_diagram(DIAGRAM).diagram.inputs] == [Stamp("seconds", 1_000_000)] * 2


def test_it_passes_and_runs() -> None:
    checked = check(read_diagram(DIAGRAM).diagram).runnable()
    assert checked.warnings == ()
    assert checked.streams["floods"].schema.names == ("place", "seconds", "highest")


def test_deployment_fits() -> None:
    deployment = read_deployment(DEPLOYMENT, "twins.xml")
    placement = check_deployment(deployment, read_diagram(DIAGRAM).diagram)
    both = (Endpoint("127.0.0.1", 15000), Endpoint("127.0.0.1", 15100))
    assert placement.queries == {"Warnings": both}
    assert placement.targets == {"harbour": both, "river": both}
    assert placement.warnings == ()
    assert deployment.clients[0].endpoint == Endpoint("127.0.0.1", 25000)
    assert deployment.clients[0].subscribes[0].gap == 0
