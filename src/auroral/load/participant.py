"""An organisation in the market: offers what costs it more than the price, takes what costs it less, and keeps its books.

Messages may be lost, late or doubled, and either side may crash at any time. A task has one owner in every schedule, by leases: the seller
owns it until so long after its own answer, the buyer again from so long after its decision, which came later. No clocks are compared. A payment is the
buyer's debit first and the seller's credit when the transfer comes; what never came is found when the two settle, which they try
until both know.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from auroral.load.books import (
    Added,
    Agreed,
    Books,
    Borrowed,
    Ended,
    Forgotten,
    GaveBack,
    Key,
    Loan,
    Prolonged,
    Record,
    Removed,
    Renewed,
    Returned,
    Settled,
)
from auroral.load.buying import NEVER, Buying, transfer
from auroral.load.events import (
    Cancelled,
    Effect,
    Event,
    Measured,
    Received,
    Send,
    Signed,
    Started,
    Submitted,
    WakeAt,
    Withdrawn,
    Woken,
    Write,
)
from auroral.load.messages import (
    Accept,
    Closed,
    Counter,
    Extend,
    Message,
    Offer,
    Over,
    Prolong,
    Reject,
    Release,
    Settle,
    Taken,
    Transfer,
)
from auroral.load.selling import Selling
from auroral.load.settings import Settings
from auroral.load.values import Exact, total

EARLIER = 4
"""A seller asks for one more term when the last quarter of this one begins."""


@dataclass(slots=True)
class Participant:
    name: str
    settings: Settings
    books: Books = field(init=False)
    buying: Buying = field(init=False)
    selling: Selling = field(init=False)
    said_at: dict[tuple[str, Key], float] = field(default_factory=dict)
    """When something that is said until it is answered was said last."""

    def __post_init__(self) -> None:
        self._open((), 0.0)

    def _open(self, records: tuple[Record, ...], now: float) -> None:
        self.books = Books(self.name)
        for record in records:
            self.books.apply(record)
        self.books.restarted(now)
        self.buying = Buying(self.books, self.settings, next_cycle=now + self.settings.pause)
        self.selling = Selling(self.books, self.settings)

    def handle(self, event: Event, now: float) -> list[Effect]:
        effects = [*self._take(event, now), *self._step(now)]
        return [*effects, WakeAt(self._wakes(now))]

    # What happens

    def _take(self, event: Event, now: float) -> Iterator[Effect]:
        match event:
            case Started(records):
                self._open(records, now)
            case Received(sender, message):
                yield from self._hear(sender, message, now)
            case Submitted(task):
                yield self._write(Added(task))
            case Withdrawn(name):
                if name in self.books.own:
                    yield self._write(Removed(name))
            case Measured(name, load):
                self.books.measured(name, load)
            case Signed(contract):
                yield self._write(Agreed(contract))
            case Cancelled(buyer, seller):
                yield self._write(Ended(buyer, seller))
            case Woken():
                pass

    def _hear(self, sender: str, message: Message, now: float) -> Iterator[Effect]:
        match message:
            case Offer():
                yield from self.selling.offer(sender, message, now)
            case Release(number):
                self.selling.release(sender, number)
            case Transfer():
                yield from self._transferred(sender, message, now)
            case Prolong(number, term, payment, seconds):
                debt = self.books.borrowed.get((sender, number))
                suspended = (sender, number) in self.books.suspended
                if debt is not None and term == debt.term + 1 and now < debt.until and not suspended:
                    yield self._write(Renewed(sender, number, payment, seconds, now))
            case Settle(number):
                yield from self._settle(sender, number, now)
            case Closed(number):
                if (sender, number) in self.books.over:
                    self.said_at.pop(("over", (sender, number)), None)
                    yield self._write(Forgotten(sender, number))
            case Accept():
                yield from self.buying.accept(sender, message, now)
            case Counter():
                yield from self.buying.counter(sender, message, now)
            case Reject():
                yield from self.buying.reject(sender, message, now)
            case Taken(number):
                if (sender, number) in self.books.lent:
                    self.books.taken.add((sender, number))
            case Extend(number, term):
                yield from self._extend(sender, number, term, now)
            case Over(number, kept):
                yield from self._over(sender, number, kept, now)

    # As the seller

    def _transferred(self, buyer: str, said: Transfer, now: float) -> Iterator[Effect]:
        key = (buyer, said.number)
        if key in self.books.borrowed:
            yield Send(buyer, Taken(said.number))
            return
        if key in self.books.over:
            yield Send(buyer, Over(said.number, self.books.over[key]))
            return
        one = self.selling.reserved.pop(key, None)
        tasks = () if one is None else tuple(one.tasks[name] for name in said.names if name in one.tasks)
        until = said.at + float(said.seconds)
        if (
            one is None
            or said.at != one.at
            or now >= min(until, one.until)
            or not 0 < len(tasks) == len(said.names)
            or (one.whole and len(tasks) < len(one.tasks))
            or said.price != one.price
            or said.seconds > one.terms.duration
            or said.payment != one.terms.payment(total(tasks), one.price, said.seconds)
        ):
            yield from self._never_taken(key, now)
            return
        self.selling.lost.discard(buyer)
        yield self._write(Borrowed(buyer, said.number, tasks, said.price, said.payment, said.seconds, until, now))
        yield Send(buyer, Taken(said.number))

    def _settle(self, buyer: str, number: int, now: float) -> Iterator[Effect]:
        """The buyer's time is over, so that the own is too; but for one that came back from a crash and waits for a partner of its own."""
        key = (buyer, number)
        if key in self.books.borrowed:
            if not self.books.lent_on(key):
                yield from self._give_back(key, now)
        elif key in self.books.over:
            yield Send(buyer, Over(number, self.books.over[key]))
        else:
            yield from self._never_taken(key, now)

    def _never_taken(self, key: Key, now: float) -> Iterator[Effect]:
        """From here on it is not taken either, however late the transfer comes."""
        self.selling.reserved.pop(key, None)
        yield self._write(GaveBack(*key, Fraction(0), now))
        self.said_at["over", key] = now
        yield Send(key[0], Over(key[1], Fraction(0)))

    def _give_back(self, key: Key, now: float) -> Iterator[Effect]:
        """What is paid for time that was not served goes back, with the penalty."""
        debt = self.books.borrowed[key]
        left = Fraction(round(1000 * min(max(debt.until - now, 0.0), float(debt.seconds))), 1000)
        kept = debt.money
        if left:
            kept -= debt.term_payment * left / debt.seconds
            contract = self.books.contracts.get((key[0], self.name))
            kept -= 0 if contract is None else contract.clauses.penalty
        self.said_at.pop(("extend", key), None)
        yield self._write(GaveBack(*key, kept, now))
        self.said_at["over", key] = now
        yield Send(key[0], Over(key[1], kept))

    def _still_worth(self, key: Key, debt: Loan, now: float) -> bool:
        """Whether one more term pays for what the tasks of it that are here cost."""
        terms = self.books.contracts.get((key[0], self.name))
        if terms is None:
            return False
        here = total(self.books.held[task.name] for task in debt.tasks if task.name in self.books.held)
        paid = terms.payment(total(debt.tasks), debt.price - self.settings.worth.margin, terms.duration)
        return self.settings.worth.expected(here, self.books.load - here, now, terms.duration) < paid

    # As the buyer

    def _extend(self, seller: str, number: int, term: int, now: float) -> Iterator[Effect]:
        key = (seller, number)
        loan = self.books.lent.get(key)
        if loan is None or loan.returned or now >= loan.until:
            return
        if term == loan.term > 1:
            # It did not come.
            yield Send(seller, Prolong(number, term, loan.term_payment, loan.seconds))
            return
        terms = self.books.contracts.get((self.name, seller))
        if term != loan.term + 1 or terms is None:
            return
        wanted = tuple(task for task in loan.tasks if task.origin != self.name or task.name in self.books.own)
        ends = min((self.books.until(task.name) for task in loan.tasks), default=NEVER)
        seconds: Exact = terms.duration if ends - loan.until >= terms.duration else int(ends - loan.until)
        if len(wanted) < len(loan.tasks) or seconds <= 0:
            return
        load = total(loan.tasks)
        owed = terms.payment(load, loan.price + self.settings.worth.margin, seconds)
        if self.settings.worth.expected(load, self.books.load, now, seconds) > owed:
            payment = terms.payment(load, loan.price, seconds)
            yield self._write(Prolonged(seller, number, payment, seconds, now))
            yield Send(seller, Prolong(number, term, payment, seconds))

    def _over(self, seller: str, number: int, kept: Fraction, now: float) -> Iterator[Effect]:
        key = (seller, number)
        if (loan := self.books.lent.get(key)) is not None:
            if not loan.returned:
                yield self._write(Returned(*key))
            yield self._write(Settled(*key, kept, now))
            for kind in ("transfer", "settle"):
                self.said_at.pop((kind, key), None)
        yield Send(seller, Closed(number))

    # What time brings

    def _step(self, now: float) -> Iterator[Effect]:
        # What others have of borrowed tasks comes back before these are given back.
        for key, loan in list(self.books.lent.items()):
            if not loan.returned and now >= loan.until:
                yield self._write(Returned(*key))
        for key, debt in list(self.books.borrowed.items()):
            ended = now >= debt.until or key in self.books.suspended
            if ended and not self.books.lent_on(key):
                yield from self._give_back(key, now)
        yield from self.selling.step(now)
        yield from self.buying.step(now)
        for kind, key, message in list(self._to_say(now)):
            if now >= self.said_at.get((kind, key), now - self.settings.again) + self.settings.again:
                self.said_at[kind, key] = now
                yield Send(key[0], message)

    def _to_say(self, now: float) -> Iterator[tuple[str, Key, Message]]:
        """Until it is answered."""
        for key, loan in self.books.lent.items():
            if loan.returned:
                yield "settle", key, Settle(key[1])
            elif key not in self.books.taken and loan.transfer is not None:
                self.said_at.setdefault(("transfer", key), loan.transfer.when)
                yield "transfer", key, transfer(loan.transfer)
        for key in self.books.over:
            self.said_at.setdefault(("over", key), now)
            yield "over", key, Over(key[1], self.books.over[key])
        for key, debt in self.books.borrowed.items():
            asks = debt.until - float(debt.seconds) / EARLIER <= now < debt.until
            if asks and key not in self.books.suspended and self._still_worth(key, debt, now):
                yield "extend", key, Extend(key[1], debt.term + 1)

    def _wakes(self, now: float) -> float:
        """The first time at which something is due. What was due and is done already does not count."""
        open_ = {
            key for key, loan in self.books.lent.items() if loan.returned or key not in self.books.taken
        } | self.books.over.keys()
        times = [self.buying.wakes, self.selling.wakes]
        times += [now + self.settings.again] * bool(open_)
        times += [loan.until for loan in self.books.lent.values() if not loan.returned]
        for debt in self.books.borrowed.values():
            asks = debt.until - float(debt.seconds) / EARLIER
            times += [debt.until, asks if now < asks else min(debt.until, now + self.settings.again)]
        due = [time for time in times if time > now]
        return min(due) if due else now + self.settings.again

    # Books

    def _write(self, record: Record) -> Write:
        self.books.apply(record)
        return Write(record)

    def utility(self, earned: Exact = 0) -> Fraction:
        """What clients and partners paid, less what it costs to run what runs here (L6): for each second, where payments are too."""
        return earned + self.books.balance - self.settings.worth.costs.cost(self.books.load)
