"""A participant that has too much load, and pays others to run some of it (L15, L20, L25, L40, L41).

It asks one partner after the other, the cheapest first, so that nobody has to keep room for what goes elsewhere. Who takes tasks at the lowest price
gets them at once. Counter-offers are collected: when all partners have been asked, the lowest one wins, and the others are released.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from auroral.workload.books import Books
from auroral.workload.contracts import Contract
from auroral.workload.events import Effect, Send, Write
from auroral.workload.messages import Accept, Counter, Offer, Reject, Release, Transfer, items
from auroral.workload.records import Lent, Numbered
from auroral.workload.saying import Saying
from auroral.workload.settings import Settings
from auroral.workload.values import Exact, Task

NEVER = float("inf")


@dataclass(frozen=True, slots=True)
class Asked:
    """An offer that waits for its answer."""

    terms: Contract
    number: int
    tasks: dict[str, Task]
    """By the names that the partner was told."""
    whole: bool
    at: float


@dataclass(frozen=True, slots=True)
class Bidding:
    """A counter-offer that may be taken until then."""

    asked: Asked
    counter: Counter
    until: float


@dataclass(slots=True)
class Buying:
    books: Books
    settings: Settings
    saying: Saying
    to_ask: list[Contract] = field(default_factory=list)
    """Of this cycle."""
    asked: Asked | None = None
    bids: list[Bidding] = field(default_factory=list)
    next_cycle: float = 0.0
    not_before: dict[str, float] = field(default_factory=dict)
    """By partner that refused: when it may be asked again."""

    @property
    def wakes(self) -> float:
        return self.next_cycle if self.asked is None else self.asked.at + self.settings.answer_within

    def step(self, now: float) -> Iterator[Effect]:
        if self.asked is not None:
            if now < self.asked.at + self.settings.answer_within:
                return
            # Silence is a refusal. Should it have accepted, it need not keep the room.
            yield Send(self.asked.terms.seller, Release(self.asked.number))
            yield from self._refused(now)
        elif now >= self.next_cycle:
            sold = [one for (buyer, _), one in self.books.contracts.items() if buyer == self.books.name]
            self.to_ask = sorted(sold, key=lambda one: (one.low, one.seller), reverse=True)
            yield from self._ask(now)

    # What partners say

    def accept(self, sender: str, said: Accept, now: float) -> Iterator[Effect]:
        asked = self._answered(sender, said.number)
        if asked is None or said.price != asked.terms.low or not self._is_part(asked, said.names):
            yield Send(sender, Release(said.number))
            return
        self.asked = None
        yield from self._lend(asked, said.names, said.price, said.at, now)

    def counter(self, sender: str, said: Counter, now: float) -> Iterator[Effect]:
        asked = self._answered(sender, said.number)
        in_range = asked is not None and asked.terms.low < said.price <= asked.terms.high
        if asked is None or not in_range or not self._is_part(asked, said.names):
            yield Send(sender, Release(said.number))
            return
        self.bids.append(Bidding(asked, said, now + said.seconds))
        yield from self._refused(now)

    def reject(self, sender: str, said: Reject, now: float) -> Iterator[Effect]:
        if self._answered(sender, said.number) is not None:
            yield from self._refused(now)

    def _answered(self, sender: str, number: int) -> Asked | None:
        """The offer that this answers, if it is still waited for."""
        asked = self.asked
        return asked if asked is not None and (asked.terms.seller, asked.number) == (sender, number) else None

    def _is_part(self, asked: Asked, names: tuple[str, ...]) -> bool:
        known = bool(names) and len(set(names)) == len(names) and asked.tasks.keys() >= set(names)
        return known and (not asked.whole or len(names) == len(asked.tasks))

    # A cycle

    def _refused(self, now: float) -> Iterator[Effect]:
        assert self.asked is not None
        terms, wait = self.asked.terms, self.settings.retry_after
        self.not_before[terms.seller] = self.asked.at + (float(terms.duration) if wait is None else wait)
        self.asked = None
        yield from self._ask(now)

    def _ask(self, now: float) -> Iterator[Effect]:
        while self.to_ask:
            terms = self.to_ask.pop()
            if not self._holds(terms) or now < self.not_before.get(terms.seller, now):
                continue
            tasks, whole = self._worth_offering(terms, terms.low, now)
            if not tasks:
                continue
            number = self.books.numbers.get(terms.seller, 0) + 1
            told = items(tasks, self.books.name)
            named = {item.name: task for item, task in zip(told, tasks, strict=True)}
            self.asked = Asked(terms, number, named, whole, now)
            yield self._write(Numbered(terms.seller, number))
            yield Send(terms.seller, Offer(number, told, terms.low, whole))
            return
        yield from self._conclude(now)

    def _conclude(self, now: float) -> Iterator[Effect]:
        """All were asked, and nobody took anything at the lowest price."""
        self.next_cycle = now + self.settings.pause
        bids, self.bids = sorted(self.bids, key=lambda bid: bid.counter.price), []
        taken = False
        for bid in bids:
            names = () if taken or now >= bid.until else self._worth_it(bid, now)
            if names:
                taken = True
                yield from self._lend(bid.asked, names, bid.counter.price, bid.counter.at, now)
            else:
                yield Send(bid.asked.terms.seller, Release(bid.asked.number))

    def _worth_it(self, bid: Bidding, now: float) -> tuple[str, ...]:
        """Of what was counter-offered, if the contract still holds: the own offer bound at the lowest price only."""
        if not self._holds(bid.asked.terms):
            return ()
        named = {task.name: name for name, task in bid.asked.tasks.items() if name in bid.counter.names}
        worth, _ = self._worth_offering(bid.asked.terms, bid.counter.price, now, set(named))
        found = tuple(named[task.name] for task in worth)
        return found if not bid.asked.whole or len(found) == len(bid.counter.names) else ()

    def _worth_offering(
        self, terms: Contract, price: Exact, now: float, among: set[str] | None = None
    ) -> tuple[tuple[Task, ...], bool]:
        least = terms.duration / 2
        may = [
            task
            for name, task in self.books.held.items()
            if (among is None or name in among)
            and self._may_move(task, terms)
            and self._left(task, terms, now) >= least
        ]
        # All that move together come back together: what it costs to move them must be saved by then.
        seconds = min((self._left(task, terms, now) for task in may), default=terms.duration)
        return self.settings.worth.to_offer(may, self.books.load, terms, price, seconds, now)

    def _holds(self, terms: Contract) -> bool:
        return self.books.contracts.get((terms.buyer, terms.seller)) == terms

    def _may_move(self, task: Task, terms: Contract) -> bool:
        if not terms.clauses.allow(task):
            return False
        # A borrowed task goes on only where the contract that it came by allows it.
        came_by = self.books.contracts.get((task.origin, self.books.name))
        return task.origin == self.books.name or (came_by is not None and came_by.clauses.onward)

    def _left(self, task: Task, terms: Contract, now: float) -> Exact:
        """For how many seconds it can move: a borrowed task for no longer than it is borrowed."""
        until = self.books.until(task.name)
        return terms.duration if until - now >= terms.duration else int(until - now)

    def _lend(self, asked: Asked, names: tuple[str, ...], price: Exact, at: float, now: float) -> Iterator[Effect]:
        """An offer is binding: what is there of it moves, whatever it is worth by now."""
        for bid in self.bids:
            yield Send(bid.asked.terms.seller, Release(bid.asked.number))
        self.bids, self.to_ask, self.next_cycle = [], [], now + self.settings.pause
        terms = asked.terms
        there = {name: task for name in names if (task := asked.tasks[name]).name in self.books.held}
        seconds = min((self._left(task, terms, now) for task in there.values()), default=0)
        if seconds <= 0:
            yield Send(terms.seller, Release(asked.number))
            return
        tasks, told = tuple(self.books.held[task.name] for task in there.values()), tuple(there)
        offered = sum((asked.tasks[name].load for name in told[1:]), asked.tasks[told[0]].load)
        payment = terms.payment(offered, price, seconds)
        lent = Lent(terms.seller, asked.number, tasks, told, price, payment, seconds, at, now)
        yield self._write(lent)
        yield self.saying.now("transfer", (terms.seller, asked.number), transfer(lent), now)

    def _write(self, record: Lent | Numbered) -> Write:
        self.books.apply(record)
        return Write(record)


def transfer(lent: Lent) -> Transfer:
    return Transfer(lent.number, lent.items, lent.price, lent.payment, lent.seconds, lent.at)
