"""Network monitoring: hosts that open many connections and touch many ports, from three sites' records.

    auroral check examples/netmon.py
    auroral run examples/netmon.py --input oslo=examples/oslo.csv --input bern=examples/bern.csv \
        --input lima=examples/lima.csv --output alerts=alerts.jsonl

It is the reference query of the Borealis thesis.
"""

import auroral

SITES = ("oslo", "bern", "lima")
RECORD = "ts timestamp, src string(15), dst string(15), port int"

netmon = auroral.diagram("netmon", bucket="1s")
oslo, bern, lima = (netmon.input(site, RECORD, stime="ts") for site in SITES)
connections = oslo.union("connections", bern, lima)

busy = connections.aggregate("per source", {"connections": "count()"}, window="4s", advance="1s", by=["src"]).filter(
    "busy", "connections > 20"
)
scanning = connections.aggregate(
    "ports", {"ports": "count_distinct(port)"}, window="4s", advance="1s", by=["src"]
).filter("scanning", "ports > 10")

busy.join(
    "alerts",
    scanning,
    on="left.src = right.src",
    within="500ms",
    columns={"src": "left.src", "connections": "left.connections", "ports": "right.ports"},
).output(availability="5s")
