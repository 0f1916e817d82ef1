"""q1, currency conversion: every bid with its price in euros, at the benchmark's rate of 0.908 for a dollar."""

from auction_site import stream

import auroral

q1 = auroral.diagram("q1", bucket="1s")
stream(q1, "bids").map(
    "in euros", {"ts": "ts", "auction": "auction", "bidder": "bidder", "price": "price * 0.908"}
).output()
