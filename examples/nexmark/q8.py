"""q8, new users who sell at once: people who registered and opened an auction in the same ten seconds."""

from auction_site import stream

import auroral

q8 = auroral.diagram("q8", bucket="1s")
new = stream(q8, "persons").aggregate("new", {"n": "count()"}, window="10s", by=["id", "name"], start="since")
sellers = stream(q8, "auctions").aggregate("sellers", {"auctions": "count()"}, window="10s", by=["seller"])
# Results of one window have one stime, and those of different windows lie ten seconds apart.
columns = {"id": "left.id", "name": "left.name", "since": "left.since", "auctions": "right.auctions"}
new.join("new sellers", sellers, on="left.id = right.seller", within="0s", columns=columns).output()
