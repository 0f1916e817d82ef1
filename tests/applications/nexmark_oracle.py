"""Nexmark's queries over all events at once, written from their definitions in plain Python: no windows of streams, no buckets."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

Rows = list[dict[str, Any]]
Found = list[tuple[Any, ...]]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TEN, FIVE = timedelta(seconds=10), timedelta(seconds=5)


def expected(query: str, persons: Rows, auctions: Rows, bids: Rows) -> Found:
    """The rows of the query's output, fields in their order, in no order."""
    match query:
        case "q0":
            return [(b["ts"], b["auction"], b["bidder"], b["price"]) for b in bids]
        case "q1":
            return [(b["ts"], b["auction"], b["bidder"], b["price"] * 0.908) for b in bids]
        case "q2":
            return [(b["auction"], b["price"]) for b in bids if b["auction"] % 123 == 0]
        case "q3":
            return _local_items(persons, auctions)
        case "q4":
            return _average_prices(auctions, bids)
        case "q5":
            return _hot_items(bids)
        case "q6":
            return _selling_prices(auctions, bids)
        case "q7":
            return _highest_bids(bids)
        case "q8":
            return _new_sellers(persons, auctions)
    raise AssertionError(query)


def _local_items(persons: Rows, auctions: Rows) -> Found:
    local = {p["id"]: p for p in persons if p["state"] in ("OR", "ID", "CA")}
    pairs = [(local[a["seller"]], a) for a in auctions if a["category"] == 10 and a["seller"] in local]
    return [(p["name"], p["city"], p["state"], a["id"]) for p, a in pairs]


def _closed(auctions: Rows, bids: Rows) -> Iterator[tuple[dict[str, Any], int]]:
    """Auctions with a valid bid and their highest price, as they expire."""
    offers = defaultdict(list)
    for bid in bids:
        offers[bid["auction"]].append(bid)
    for auction in sorted(auctions, key=lambda a: (a["expires"], a["id"])):
        valid = [b["price"] for b in offers[auction["id"]] if auction["ts"] <= b["ts"] <= auction["expires"]]
        if valid:
            yield auction, max(valid)


def _average_prices(auctions: Rows, bids: Rows) -> Found:
    found, prices = [], defaultdict(list)
    for auction, price in _closed(auctions, bids):
        so_far = prices[auction["category"]]
        so_far.append(price)
        found.append((auction["category"], len(so_far), sum(so_far) / len(so_far)))
    return found


def _selling_prices(auctions: Rows, bids: Rows) -> Found:
    found, prices = [], defaultdict(list)
    for auction, price in _closed(auctions, bids):
        prices[auction["seller"]].append(price)
        last = prices[auction["seller"]][-10:]
        found.append((auction["seller"], auction["id"], sum(last) / len(last)))
    return found


def _window(ts: datetime, size: timedelta) -> datetime:
    return ts - (ts - EPOCH) % size


def _hot_items(bids: Rows) -> Found:
    counts: dict[datetime, Counter[int]] = defaultdict(Counter)
    for bid in bids:
        newest = _window(bid["ts"], FIVE)
        for since in (newest, newest - FIVE):
            counts[since][bid["auction"]] += 1
    return [(since, a, n) for since, of in counts.items() for a, n in of.items() if n == max(of.values())]


def _highest_bids(bids: Rows) -> Found:
    highest: dict[datetime, int] = defaultdict(int)
    for bid in bids:
        highest[_window(bid["ts"], TEN)] = max(highest[_window(bid["ts"], TEN)], bid["price"])
    best = [b for b in bids if b["price"] == highest[_window(b["ts"], TEN)]]
    return [(b["ts"], b["auction"], b["bidder"], b["price"]) for b in best]


def _new_sellers(persons: Rows, auctions: Rows) -> Found:
    opened = Counter((a["seller"], _window(a["ts"], TEN)) for a in auctions)
    registered = [(p["id"], p["name"], _window(p["ts"], TEN)) for p in persons]
    return [(p, name, since, opened[p, since]) for p, name, since in registered if opened[p, since]]
