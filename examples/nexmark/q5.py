"""q5, hot items: the auctions with the most bids in the last ten seconds, every five seconds.

All that have as many are given. A window's counts have one stime, the microsecond before its end; the windows end five seconds apart, so that
a window of five seconds over the counts has those of one window each.
"""

from auction_site import stream

import auroral

q5 = auroral.diagram("q5", bucket="1s")
bids = stream(q5, "bids")
counts = bids.aggregate("counts", {"bids": "count()"}, window="10s", advance="5s", by=["auction"], start="since")
most = counts.aggregate("most", {"bids": "max(bids)"}, window="5s")
columns = {"since": "left.since", "auction": "left.auction", "bids": "left.bids"}
counts.join("hot items", most, on="left.bids = right.bids", within="0s", columns=columns).output()
