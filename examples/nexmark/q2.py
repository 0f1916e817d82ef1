"""q2, selection: the bids for some auctions, those whose number is a multiple of 123."""

from auction_site import stream

import auroral

q2 = auroral.diagram("q2", bucket="1s")
chosen = stream(q2, "bids").filter("chosen", "auction % 123 = 0")
chosen.map("chosen bids", {"auction": "auction", "price": "price"}).output()
