"""A participant that has room, and takes tasks of others for money (L16-L19, L37, L38, L42, L43).

What it has accepted or counter-offered is reserved until it comes, is released, or the time is over: it counts as load, so that nothing is
promised twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from auroral.workload.books import Books
from auroral.workload.contracts import Contract
from auroral.workload.events import Effect, Send
from auroral.workload.messages import Accept, Counter, Item, Offer, Reject
from auroral.workload.settings import Settings
from auroral.workload.values import Exact, Load, Task

NEVER = float("inf")


@dataclass(frozen=True, slots=True)
class Reservation:
    terms: Contract
    tasks: dict[str, Task]
    """By the names that the buyer told."""
    price: Exact
    at: float
    until: float
    whole: bool


@dataclass(slots=True)
class Selling:
    books: Books
    settings: Settings
    waiting: list[tuple[str, Offer]] = field(default_factory=list)
    answer_at: float = NEVER
    seen: dict[str, int] = field(default_factory=dict)
    """The highest number of an offer of each buyer: messages may come twice, and late."""
    reserved: dict[tuple[str, int], Reservation] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)
    """Buyers that went elsewhere with what was counter-offered."""

    @property
    def wakes(self) -> float:
        return min([self.answer_at, *(one.until for one in self.reserved.values())])

    @property
    def load(self) -> Load:
        """What runs here, what is promised, and what may come back at once."""
        promised = (task.load for one in self.reserved.values() for task in one.tasks.values())
        return sum(promised, self.books.load + self.books.leaving)

    def offer(self, sender: str, said: Offer, now: float) -> Iterator[Effect]:
        if said.number <= max(self.seen.get(sender, 0), self.books.highest.get(sender, 0)):
            return
        self.seen[sender] = said.number
        self.waiting.append((sender, said))
        self.answer_at = min(self.answer_at, now + self.settings.gather)
        yield from self.step(now)

    def release(self, sender: str, number: int) -> None:
        if self.reserved.pop((sender, number), None) is not None:
            self.lost.add(sender)
        self.waiting = [(buyer, offer) for buyer, offer in self.waiting if (buyer, offer.number) != (sender, number)]

    def step(self, now: float) -> Iterator[Effect]:
        for (buyer, number), one in list(self.reserved.items()):
            if now >= one.until:
                self.release(buyer, number)
        if now >= self.answer_at:
            waiting, self.waiting, self.answer_at = self.waiting, [], NEVER
            for buyer, offer in sorted(waiting, key=lambda one: -one[1].price):
                yield Send(buyer, self._answer(buyer, offer, now))

    def _answer(self, buyer: str, offer: Offer, now: float) -> Accept | Counter | Reject:
        terms = self.books.contracts.get((buyer, self.books.name))
        if terms is None or not terms.in_range(offer.price):
            return Reject(offer.number)
        tasks = [_task(buyer, offer.number, item) for item in offer.items if item.requires <= terms.clauses.provides]
        if offer.whole and len(tasks) < len(offer.items):
            return Reject(offer.number)
        worth, load = self.settings.worth, self.load
        if taken := worth.to_take(tasks, load, terms, offer.price, now, offer.whole):
            self._reserve(buyer, offer, terms, taken, offer.price, now, 2 * self.settings.answer_within)
            return Accept(offer.number, _names(taken), offer.price, now)
        price, taken = self._bid(buyer, offer, tasks, load, terms, now)
        if not taken:
            return Reject(offer.number)
        self._reserve(buyer, offer, terms, taken, price, now, self.settings.counter_holds)
        return Counter(offer.number, _names(taken), price, now, self.settings.counter_holds)

    def _bid(
        self, buyer: str, offer: Offer, tasks: list[Task], load: Load, terms: Contract, now: float
    ) -> tuple[Exact, tuple[Task, ...]]:
        """One task for little more than it costs; at the highest price, all that are worth it."""
        worth = self.settings.worth
        taken = worth.to_take(tasks, load, terms, terms.high, now, offer.whole)
        if not taken or offer.price >= terms.high:
            return terms.high, ()
        price = self.settings.bid(worth.unit(taken[0], load, terms, now), terms, buyer in self.lost)
        return (terms.high, taken) if price >= terms.high or offer.whole else (price, taken[:1])

    def _reserve(
        self,
        buyer: str,
        offer: Offer,
        terms: Contract,
        taken: tuple[Task, ...],
        price: Exact,
        now: float,
        seconds: float,
    ) -> None:
        tasks = dict(zip(_names(taken), taken, strict=True))
        self.reserved[buyer, offer.number] = Reservation(terms, tasks, price, now, now + seconds, offer.whole)


def _task(buyer: str, number: int, item: Item) -> Task:
    """As the seller knows it."""
    return Task(f"{buyer}/{number}/{item.name}", item.load, buyer, item.requires, item.migration)


def _names(tasks: tuple[Task, ...]) -> tuple[str, ...]:
    return tuple(task.name.split("/", 2)[2] for task in tasks)
