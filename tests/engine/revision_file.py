"""A file in the style of those that Borealis' authors wrote for revisions, with its deployment, and rows for it."""

from __future__ import annotations

from auroral.reference.rows import Row

_WINDOW = """
      <parameter name="window-size-by" value="VALUES"/><parameter name="window-size" value="{size}"/><parameter name="advance" value="{size}"/>
      <parameter name="order-by" value="FIELD"/><parameter name="order-on-field" value="{field}"/>"""

FILE = f"""<?xml version="1.0"?>
<borealis>
  <input stream="Ticks" schema="Tick"/>
  <output stream="Cheap"/>
  <output stream="Totals" schema="Total"/>
  <output stream="Most"/>
  <schema name="Tick">
    <field name="time" type="int"/><field name="symbol" type="string" size="4"/><field name="price" type="double"/>
    <field name="volume" type="int"/><field name="revised_value" type="string" size="32"/>
  </schema>
  <schema name="Total">
    <field name="symbol" type="string" size="4"/><field name="time" type="int"/><field name="sum" type="long"/><field name="top" type="double"/>
  </schema>
  <connection_point_view name="recent" stream="Ticks"><order field="time"/><range start="-30" end="0"/></connection_point_view>
  <query name="sieve">
    <box name="sound" type="filter"><in stream="Ticks"/><out stream="Sound"/><parameter name="expression.0" value="volume > 0"/></box>
    <box name="cheap" type="revisionfilter"><in stream="Sound"/><out stream="Cheap"/>
      <parameter name="processing-mode" value="DOWNSTREAM"/><parameter name="expression.0" value="price &lt; 5.0"/>
    </box>
  </query>
  <query name="sums">
    <box name="worth" type="revisionmap"><in stream="Ticks"/><out stream="Worth"/>
      <parameter name="processing-mode" value="UPSTREAM"/><parameter name="anchor" value="recent"/>
      <parameter name="expression.0" value="time"/><parameter name="output-field-name.0" value="time"/>
      <parameter name="expression.1" value="symbol"/><parameter name="output-field-name.1" value="symbol"/>
      <parameter name="expression.2" value="price"/><parameter name="output-field-name.2" value="price"/>
      <parameter name="expression.3" value="volume"/><parameter name="output-field-name.3" value="volume"/>
      <parameter name="inverse.0" value="time"/>
    </box>
    <box name="totals" type="revisionaggregate"><in stream="Worth"/><out stream="Totals"/>
      <parameter name="processing-mode" value="UPSTREAM"/><parameter name="anchor" value="recent"/>
      <parameter name="aggregate-function.0" value="sum(volume)"/><parameter name="aggregate-function-output-name.0" value="sum"/>
      <parameter name="aggregate-function.1" value="max(price)"/><parameter name="aggregate-function-output-name.1" value="top"/>
      <parameter name="group-by" value="symbol"/>{_WINDOW.format(size=5, field="time")}
    </box>
    <box name="large" type="filter"><in stream="Totals"/><out stream="Large"/><parameter name="expression.0" value="sum > 1"/></box>
    <box name="most" type="aggregate"><in stream="Large"/><out stream="Most"/>
      <parameter name="aggregate-function.0" value="max(sum)"/><parameter name="aggregate-function-output-name.0" value="most"/>
      {_WINDOW.format(size=10, field="time")}
    </box>
  </query>
</borealis>
"""

DEPLOYMENT = """<?xml version="1.0"?>
<deploy>
  <replica_set name="first" query="sieve"><node endpoint=":15000"/><node endpoint=":15001"/></replica_set>
  <replica_set name="second" query="sums"><node endpoint=":15002"/><node endpoint=":15003"/></replica_set>
  <publish stream="ticks"/>
  <client endpoint=":25000"><subscribe stream="cheap"/><subscribe stream="totals"/><subscribe stream="most"/></client>
</deploy>
"""

TICK = ("time", "symbol", "price", "volume", "revised_value")
SECOND = 1_000_000
UNTIL = 40 * SECOND


def ticks() -> list[Row]:
    """A tick each half second; some are revised by their stimes, and some are just the last one."""
    said = {
        9: f"replace {3 * SECOND}",
        13: f"delete {4 * SECOND}",
        17: "delete",
        21: "replace",
        22: f"insert {2 * SECOND}",
        31: f"replace {2 * SECOND}",
        39: f"delete {19 * SECOND}",
        45: f"delete {19 * SECOND}",
        60: f"replace {30 * SECOND}",
        70: f"replace {4 * SECOND}",
        71: "undo",
    }
    rows = []
    for step in range(76):
        stime = step * SECOND // 2
        values = (stime // SECOND, "AB"[step % 2], float(step % 9), step % 4, said.get(step))
        rows.append(Row(stime, values, (step,)))
    return rows
