"""The three streams of Nexmark's auction site, and what several of its queries are made of."""

from __future__ import annotations

from datetime import timedelta

from auroral import DiagramBuilder, Stream

PERSON = "ts timestamp, id long, name string, email string, card string, city string, state string"
AUCTION = (
    "ts timestamp, id long, item string, description string, first_bid long, reserve long, expires timestamp, "
    "seller long, category long"
)
BID = "ts timestamp, auction long, bidder long, price long"
SCHEMAS = {"persons": PERSON, "auctions": AUCTION, "bids": BID}
"""By stream. Prices are cents. `ts` is when it happened, and the stime."""

LONGEST = timedelta(seconds=20)
"""No auction lasts longer: so long its bids are waited for."""


def stream(diagram: DiagramBuilder, name: str) -> Stream:
    """An input of the auction site, by its name."""
    return diagram.input(name, SCHEMAS[name], stime="ts")


def winning_bids(auctions: Stream, bids: Stream) -> Stream:
    """Each auction that has ended and had a valid bid, once, with the highest price: in order of `expires`, then of the auction.

    Valid bids are those from the auction's opening up to its `expires`. They all lie before the end of the second in which it expires, and
    with that second the window on `expires` closes: what it gives is the highest of all valid bids, not of some. An auction has one `expires`,
    and so lies in one window.
    """
    valid = auctions.join(
        "valid bids",
        bids,
        on="left.id = right.auction and right.ts <= left.expires",
        within=(LONGEST, "0s"),
        columns={
            "expires": "left.expires",
            "auction": "left.id",
            "seller": "left.seller",
            "category": "left.category",
            "price": "right.price",
        },
    )
    return valid.event_time_aggregate(
        "winning bids",
        {"price": "max(price)"},
        on="expires",
        window="1s",
        lateness="0s",
        ahead=LONGEST,
        by=["expires", "auction", "seller", "category"],
    )
