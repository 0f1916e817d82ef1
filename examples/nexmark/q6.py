"""q6, average selling price by seller: over the seller's last ten auctions that have ended.

As in the benchmark there is a row for each auction that ends; fewer than ten are averaged at the beginning. Of auctions of one seller that end in
the same second, the order is that in which they expire, and then that of their numbers: `winning_bids` gives them so.
"""

from auction_site import stream, winning_bids

import auroral

auroral.aggregate_function(
    "mean_of_last_ten",
    init=lambda: (),
    incr=lambda prices, price: (*prices[-9:], price),
    final=lambda prices: sum(prices) / len(prices) if prices else None,
    returns="double",
)

q6 = auroral.diagram("q6", bucket="1s")
winning = winning_bids(stream(q6, "auctions"), stream(q6, "bids"))
prices = {"auction": "lastval(auction)", "price": "mean_of_last_ten(price)"}
winning.running("selling prices", prices, by=["seller"]).output()
