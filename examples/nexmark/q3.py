"""q3, local items: who in Oregon, Idaho or California sells what in category 10.

The benchmark joins persons and auctions without any window: a person may sell years later. Here both come to one fold by the person's
number, which remembers the person and answers each auction. That is the same join as long as a person registers before selling, as the
benchmark's people do. An auction whose seller is not there yet is left out, and would be found later by a join of both sides.
"""

from auction_site import stream

import auroral

q3 = auroral.diagram("q3", bucket="1s")
local = stream(q3, "persons").filter("local", "state = 'OR' or state = 'ID' or state = 'CA'")
items = stream(q3, "auctions").filter("items", "category = 10")

PERSON = ("name", "city", "state")
told = local.map("told", {"person": "id", **{name: name for name in PERSON}, "auction": "long(-1)"})
sold = items.map("sold", {"person": "seller", **dict.fromkeys(PERSON, "''"), "auction": "id"})

# A person's fields are the greatest of their group: all other rows of it have empty ones.
known = {name: f"max({name})" for name in PERSON}
sellers = told.union("by person", sold).running("sellers", {**known, "auction": "lastval(auction)"}, by=["person"])
found = sellers.filter("found", "auction >= 0 and state != ''")
found.map("local items", {name: name for name in (*PERSON, "auction")}).output()
