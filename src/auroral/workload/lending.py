"""What a buyer has with others: their time is over before it has its tasks again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from auroral.workload.books import Books, one_more
from auroral.workload.buying import transfer
from auroral.workload.events import Effect, Send, Write
from auroral.workload.messages import Closed, Extend, Prolong, Settle
from auroral.workload.records import Prolonged, Record, Returned, Settled
from auroral.workload.saying import Open, Saying
from auroral.workload.settings import Settings
from auroral.workload.values import Exact, total


@dataclass(slots=True)
class Lending:
    books: Books
    settings: Settings
    saying: Saying

    # What sellers say

    def taken(self, seller: str, number: int) -> None:
        if (seller, number) in self.books.lent:
            self.books.taken.add((seller, number))

    def extend(self, seller: str, said: Extend, now: float) -> Iterator[Effect]:
        key = (seller, said.number)
        loan = self.books.lent.get(key)
        if loan is None or loan.returned or now >= loan.until:
            return
        if said.term == loan.term > 1:
            # It did not come.
            yield Send(seller, Prolong(said.number, said.term, loan.term_payment, loan.seconds))
            return
        terms = self.books.contracts.get((self.books.name, seller))
        gone = [task for task in loan.tasks if task.origin == self.books.name and task.name not in self.books.own]
        if said.term != loan.term + 1 or terms is None or gone:
            return
        if not terms.in_range(loan.price) or not all(map(terms.clauses.allow, loan.tasks)):
            # Terms were changed since: by the new ones it could not move.
            return
        # No longer than the tasks are one's own.
        more = min(self.books.until(task.name) for task in loan.tasks) - loan.until
        seconds: Exact = terms.duration if more >= terms.duration else int(more)
        if seconds <= 0:
            return
        load, worth = total(loan.tasks), self.settings.worth
        owed = terms.payment(load, loan.price + worth.margin, seconds)
        if worth.expected(load, self.books.load, now, seconds) > owed:
            payment = one_more(loan, seconds)
            yield self._write(Prolonged(*key, payment, seconds, now))
            yield Send(seller, Prolong(said.number, said.term, payment, seconds))

    def over(self, seller: str, number: int, kept: Fraction, now: float) -> Iterator[Effect]:
        key = (seller, number)
        if (loan := self.books.lent.get(key)) is not None:
            if not loan.returned:
                yield self._write(Returned(*key))
            self.saying.answered(key, "transfer", "settle")
            yield self._write(Settled(*key, kept, now))
        yield Send(seller, Closed(number))

    # What time brings

    def step(self, now: float) -> Iterator[Effect]:
        for key, loan in list(self.books.lent.items()):
            if not loan.returned and now >= loan.until:
                yield self._write(Returned(*key))

    def to_say(self) -> Iterator[Open]:
        for key, loan in self.books.lent.items():
            if loan.returned:
                yield "settle", key, Settle(key[1])
            elif key not in self.books.taken and loan.transfer is not None:
                yield "transfer", key, transfer(loan.transfer)

    def wakes(self, now: float) -> Iterator[float]:
        for key, loan in self.books.lent.items():
            if not loan.returned:
                yield loan.until
            if loan.returned or key not in self.books.taken:
                yield now + self.settings.again

    def _write(self, record: Record) -> Write:
        self.books.apply(record)
        return Write(record)
