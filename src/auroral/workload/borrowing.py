"""What a seller has of others: it owns their tasks from when they come until so long after its own answer, and no longer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from auroral.workload.books import Books, Key, Loan, one_more
from auroral.workload.events import Effect, Send, Write
from auroral.workload.messages import Extend, Over, Prolong, Taken, Transfer
from auroral.workload.records import Borrowed, Forgotten, GaveBack, Record, Renewed
from auroral.workload.saying import Open, Saying
from auroral.workload.selling import Reservation, Selling
from auroral.workload.settings import Settings
from auroral.workload.values import Task, total

EARLIER = 4
"""A seller asks for one more term when the last quarter of this one begins."""


@dataclass(slots=True)
class Borrowing:
    books: Books
    settings: Settings
    selling: Selling
    saying: Saying

    @property
    def name(self) -> str:
        return self.books.name

    # What buyers say

    def transferred(self, buyer: str, said: Transfer, now: float) -> Iterator[Effect]:
        key = (buyer, said.number)
        if key in self.books.borrowed:
            yield Send(buyer, Taken(said.number))
            return
        if key in self.books.over:
            yield Send(buyer, Over(said.number, self.books.over[key]))
            return
        one = self.selling.reserved.pop(key, None)
        tasks = () if one is None else tuple(one.tasks[name] for name in said.names if name in one.tasks)
        if one is None or not _as_accepted(said, one, tasks, now):
            yield from self._never_taken(key, now)
            return
        self.selling.lost.discard(buyer)
        until = said.at + float(said.seconds)
        yield self._write(Borrowed(buyer, said.number, tasks, said.price, said.payment, said.seconds, until, now))
        yield Send(buyer, Taken(said.number))

    def prolonged(self, buyer: str, said: Prolong, now: float) -> Iterator[Effect]:
        key = (buyer, said.number)
        debt = self.books.borrowed.get(key)
        if debt is None or key in self.books.suspended:
            return
        terms = self.books.contracts.get((buyer, self.name))
        as_agreed = (
            terms is not None and 0 < said.seconds <= terms.duration and said.payment == one_more(debt, said.seconds)
        )
        if ("extend", key) not in self.saying.said_at or not as_agreed:
            return
        if said.term == debt.term + 1 and now < debt.until:
            yield self._write(Renewed(*key, said.payment, said.seconds, now))

    def settle(self, buyer: str, number: int, now: float) -> Iterator[Effect]:
        """The buyer's time is over, so that the own is too; but for one that came back from a crash and waits for a partner of its own."""
        key = (buyer, number)
        if key in self.books.borrowed:
            if not self.books.lent_on(key):
                yield from self._give_back(key, now)
        elif key in self.books.over:
            yield Send(buyer, Over(number, self.books.over[key]))
        else:
            yield from self._never_taken(key, now)

    def closed(self, buyer: str, number: int) -> Iterator[Effect]:
        if (buyer, number) in self.books.over:
            self.saying.answered((buyer, number), "over")
            yield self._write(Forgotten(buyer, number))

    # What time brings

    def step(self, now: float) -> Iterator[Effect]:
        for key, debt in list(self.books.borrowed.items()):
            ended = now >= debt.until or key in self.books.suspended
            if ended and not self.books.lent_on(key):
                yield from self._give_back(key, now)

    def to_say(self, now: float) -> Iterator[Open]:
        for key, kept in self.books.over.items():
            yield "over", key, Over(key[1], kept)
        for key, debt in self.books.borrowed.items():
            asks = _asks(debt) <= now < debt.until
            if asks and key not in self.books.suspended and self._still_worth(key, debt, now):
                yield "extend", key, Extend(key[1], debt.term + 1)

    def wakes(self, now: float) -> Iterator[float]:
        for debt in self.books.borrowed.values():
            yield debt.until
            yield _asks(debt) if now < _asks(debt) else now + self.settings.again
        if self.books.over:
            yield now + self.settings.again

    def _never_taken(self, key: Key, now: float) -> Iterator[Effect]:
        """From here on it is not taken either, however late the transfer comes."""
        self.selling.reserved.pop(key, None)
        yield from self._end(key, Fraction(0), now)

    def _give_back(self, key: Key, now: float) -> Iterator[Effect]:
        """What is paid for time that was not served goes back, with the penalty."""
        debt = self.books.borrowed[key]
        left = Fraction(round(1000 * min(max(debt.until - now, 0.0), float(debt.seconds))), 1000)
        kept = debt.money
        if left:
            contract = self.books.contracts.get((key[0], self.name))
            penalty = 0 if contract is None else contract.clauses.penalty
            kept -= debt.term_payment * left / debt.seconds + penalty
        yield from self._end(key, kept, now)

    def _end(self, key: Key, kept: Fraction, now: float) -> Iterator[Effect]:
        self.saying.answered(key, "extend")
        yield self._write(GaveBack(*key, kept, now))
        yield self.saying.now("over", key, Over(key[1], kept), now)

    def _still_worth(self, key: Key, debt: Loan, now: float) -> bool:
        """Whether one more term pays for what the tasks of it that are here cost."""
        terms = self.books.contracts.get((key[0], self.name))
        if terms is None or not terms.in_range(debt.price):
            return False
        here = total(self.books.held[task.name] for task in debt.tasks if task.name in self.books.held)
        paid = terms.payment(total(debt.tasks), debt.price - self.settings.worth.margin, terms.duration)
        return self.settings.worth.expected(here, self.books.load - here, now, terms.duration) < paid

    def _write(self, record: Record) -> Write:
        self.books.apply(record)
        return Write(record)


def _asks(debt: Loan) -> float:
    """When one more term is asked for."""
    return debt.until - float(debt.seconds) / EARLIER


def _as_accepted(said: Transfer, one: Reservation, tasks: tuple[Task, ...], now: float) -> bool:
    """Whether a transfer is what was promised, in time."""
    terms = one.terms
    return (
        said.at == one.at
        and now < min(said.at + float(said.seconds), one.until)
        and 0 < len(tasks) == len(said.names)
        and (not one.whole or len(tasks) == len(one.tasks))
        and said.price == one.price
        and said.seconds <= terms.duration
        and said.payment == terms.payment(total(tasks), one.price, said.seconds)
    )
