"""Path latency joined with server load, over a wide area network: which server each site had better use.

    auroral check examples/wide_area/wide_area.py

It is the query of the experiments on racing replicas: four sites report the load of their server and how long a packet takes to it, every half second.
One union has the loads, another the latencies, and a join puts together what was reported of one server at one time.
"""

import auroral

SITES = ("mit", "uw", "ucsd", "ufl")

wide_area = auroral.diagram("wide-area", bucket="500ms")
reports = [wide_area.input(site, "ts timestamp, server string, load double, ms double", stime="ts") for site in SITES]

with wide_area.query("loads"):
    each = [
        one.map(f"load of {site}", {"ts": "ts", "server": "server", "load": "load"})
        for one, site in zip(reports, SITES, strict=True)
    ]
    loads = each[0].union("loads", *each[1:])

with wide_area.query("latencies"):
    each = [
        one.map(f"path to {site}", {"ts": "ts", "server": "server", "ms": "ms"})
        for one, site in zip(reports, SITES, strict=True)
    ]
    latencies = each[0].union("latencies", *each[1:])

with wide_area.query("join"):
    columns = {"ts": "left.ts", "server": "left.server", "load": "left.load", "ms": "right.ms"}
    both = loads.join(
        "both", latencies, on="left.server = right.server and left.ts = right.ts", within="0s", columns=columns
    )
    both.output(availability="5s")
    # What an answer takes: the way there and back, and longer the busier the server is.
    cost = both.map("cost", {"server": "server", "cost": "2.0 * ms + 100.0 * load"})
    cost.aggregate(
        "servers", {"cost": "avg(cost)", "reports": "count()"}, window="4s", advance="2s", by=["server"]
    ).output(availability="5s")
