"""Calls that two sites report, counted together every two seconds. Both sites compute it."""

import auroral

sites = auroral.diagram("sites", bucket="500ms")
east, west = (sites.input(site, "ts timestamp, page string", stime="ts") for site in ("east", "west"))
with sites.query("count"):
    totals = east.union("both", west).aggregate("totals", {"calls": "count()"}, window="2s", by=["page"])
totals.output(availability="5s")
