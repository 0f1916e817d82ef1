"""q0, pass through: every bid as it came. What it takes to do nothing."""

from auction_site import stream

import auroral

q0 = auroral.diagram("q0", bucket="1s")
stream(q0, "bids").map("all bids", {name: name for name in ("ts", "auction", "bidder", "price")}).output()
