"""q7, highest bid: the bids with the highest price of each ten seconds.

The highest price of a window comes with the window's end, and its bids wait for it for ten seconds less a microsecond: so bids of the window are
found, and none of the one before.
"""

from datetime import timedelta

from auction_site import stream

import auroral

WINDOW = timedelta(seconds=10)

q7 = auroral.diagram("q7", bucket="1s")
bids = stream(q7, "bids")
highest = bids.aggregate("highest", {"price": "max(price)"}, window=WINDOW)
columns = {name: f"left.{name}" for name in ("ts", "auction", "bidder", "price")}
waits = (WINDOW - timedelta(microseconds=1), "0s")
bids.join("highest bids", highest, on="left.price = right.price", within=waits, columns=columns).output()
