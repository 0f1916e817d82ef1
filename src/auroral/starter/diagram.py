"""What is computed: of the calls that two sites report, which pages were slow, over the last five seconds, every second."""

import auroral

calls = auroral.diagram("my-project", bucket="500ms")
east, west = (calls.input(site, "ts timestamp, page string, ms double", stime="ts") for site in ("east", "west"))

with calls.query("watch"):
    slow = east.union("both", west).filter("slow", "ms > 200.0")
    pages = slow.aggregate("pages", {"calls": "count()", "worst": "max(ms)"}, window="5s", advance="1s", by=["page"])

# X: while a site fails, answers come at most three seconds later than usual, marked as tentative, and are corrected afterwards.
pages.output(availability="3s")
