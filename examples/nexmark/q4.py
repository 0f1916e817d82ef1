"""q4, average price for a category: of the winning bids of all auctions that have ended so far.

The benchmark's query is a table that changes with each auction that ends. Here each of these changes is a row: the category, how many of its
auctions have ended, and their average price. The last row of a category is what a query over all of the past gives.
"""

from auction_site import stream, winning_bids

import auroral

q4 = auroral.diagram("q4", bucket="1s")
winning = winning_bids(stream(q4, "auctions"), stream(q4, "bids"))
winning.running("average prices", {"auctions": "count()", "price": "avg(price)"}, by=["category"]).output()
