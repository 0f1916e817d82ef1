"""Events of an auction site, the same ones for the same seed.

    python examples/nexmark/generator.py data --events 5000 --seed 1

writes data/persons.csv, data/auctions.csv and data/bids.csv. Of 50 events one is a new person, three are auctions and 46 bids, as in the
public benchmark. Half of the bids go to one hot auction, three quarters of the bids come from one hot bidder and three quarters of the
auctions from one hot seller; which they are changes with every hundredth auction or person. Prices run from 1 to a million, by their
logarithm. People sell and bid only once they are there.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

PERSONS, AUCTIONS, BIDS = 1, 3, 46
"""Of each 50 events."""
ROUND = PERSONS + AUCTIONS + BIDS
FIRST_ID, FIRST_CATEGORY, CATEGORIES = 1000, 10, 5
HOT_AUCTION, HOT_SELLER, HOT_BIDDER = 2, 4, 4
"""All but one of so many go to the hot one."""
HOT_EVERY = 100
ACTIVE_PEOPLE = 1000
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)

CITIES = {
    "Phoenix": "AZ",
    "Los Angeles": "CA",
    "San Francisco": "CA",
    "Boise": "ID",
    "Portland": "OR",
    "Bend": "OR",
    "Redmond": "WA",
    "Seattle": "WA",
    "Kent": "WA",
    "Cheyenne": "WY",
}
FIRST_NAMES = ("Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter")
LAST_NAMES = ("Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris")
THINGS = ("lamp", "clock", "chair", "radio", "kite", "globe", "piano")


@dataclass(frozen=True, slots=True)
class Site:
    """How busy the site is."""

    events: int = 5000
    a_second: int = 100
    in_flight: int = 30
    """Auctions that bids go to: an auction lasts about as long as it takes for so many others to be opened."""
    longest: timedelta = timedelta(seconds=20)
    begin: datetime = NOON
    seed: int = 1


def events(site: Site) -> Iterator[tuple[str, dict[str, Any]]]:
    """The stream of each event, and its row; one after the other in time, no two at once."""
    random = Random(site.seed)
    for number in range(site.events):
        ts = site.begin + timedelta(microseconds=number * 1_000_000 // site.a_second)
        rounds, place = divmod(number, ROUND)
        people = rounds + (place >= PERSONS)
        auctions = rounds * AUCTIONS + min(max(place - PERSONS, 0), AUCTIONS)
        if place < PERSONS:
            yield "persons", _person(random, ts, FIRST_ID + rounds)
        elif place < PERSONS + AUCTIONS:
            yield "auctions", _auction(random, ts, FIRST_ID + auctions, people, site)
        else:
            yield "bids", _bid(random, ts, people, auctions, site)


def tables(site: Site) -> dict[str, list[dict[str, Any]]]:
    """The rows of each stream."""
    found: dict[str, list[dict[str, Any]]] = {"persons": [], "auctions": [], "bids": []}
    for stream, row in events(site):
        found[stream].append(row)
    return found


def write(site: Site, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for stream, rows in tables(site).items():
        with open(folder / f"{stream}.csv", "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0] if rows else ["ts"], lineterminator="\n")
            writer.writeheader()
            writer.writerows({name: _text(value) for name, value in row.items()} for row in rows)


def _person(random: Random, ts: datetime, number: int) -> dict[str, Any]:
    first, last = random.choice(FIRST_NAMES), random.choice(LAST_NAMES)
    city = random.choice(list(CITIES))
    return {
        "ts": ts,
        "id": number,
        "name": f"{first} {last}",
        "email": f"{first}.{last}{number}@example.com".lower(),
        "card": " ".join(f"{random.randrange(10_000):04}" for _ in range(4)),
        "city": city,
        "state": CITIES[city],
    }


def _auction(random: Random, ts: datetime, number: int, people: int, site: Site) -> dict[str, Any]:
    first_bid = _price(random)
    # Twice what the others take at most, so that it is that on average.
    usual = timedelta(seconds=site.in_flight / AUCTIONS * ROUND / site.a_second)
    lasts = max(timedelta(milliseconds=1), min(usual * 2 * random.random(), site.longest))
    thing = random.choice(THINGS)
    return {
        "ts": ts,
        "id": number,
        "item": f"{thing} {number}",
        "description": f"a {thing}, hardly used",
        "first_bid": first_bid,
        "reserve": first_bid + _price(random),
        "expires": ts + lasts,
        "seller": _somebody(random, people, HOT_SELLER, 0),
        "category": FIRST_CATEGORY + random.randrange(CATEGORIES),
    }


def _bid(random: Random, ts: datetime, people: int, auctions: int, site: Site) -> dict[str, Any]:
    if random.randrange(HOT_AUCTION):
        number = (auctions - 1) // HOT_EVERY * HOT_EVERY
    else:
        number = auctions - 1 - random.randrange(min(auctions, site.in_flight))
    return {
        "ts": ts,
        "auction": FIRST_ID + number,
        "bidder": _somebody(random, people, HOT_BIDDER, 1),
        "price": _price(random),
    }


def _somebody(random: Random, people: int, hot: int, which: int) -> int:
    """The hot one of the newest hundred, or one of the newest people."""
    if random.randrange(hot):
        return FIRST_ID + min((people - 1) // HOT_EVERY * HOT_EVERY + which, people - 1)
    return FIRST_ID + people - 1 - random.randrange(min(people, ACTIVE_PEOPLE))


def _price(random: Random) -> int:
    """In cents."""
    return round(100 * 10 ** (random.random() * 6))


def _text(value: Any) -> Any:
    return value.isoformat(timespec="microseconds") if isinstance(value, datetime) else value


def main() -> None:
    usual = Site()
    parser = argparse.ArgumentParser(description="Write the events of an auction site as CSV files.")
    parser.add_argument("folder", type=Path, help="where persons.csv, auctions.csv and bids.csv are written")
    parser.add_argument("--events", type=int, default=usual.events, help="how many in all; default %(default)s")
    parser.add_argument("--a-second", type=int, default=usual.a_second, help="how many a second; default %(default)s")
    parser.add_argument("--seed", type=int, default=usual.seed, help="another gives other events; default %(default)s")
    given = parser.parse_args()
    write(Site(events=given.events, a_second=given.a_second, seed=given.seed), given.folder)


if __name__ == "__main__":
    main()
