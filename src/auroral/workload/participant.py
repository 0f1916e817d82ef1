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

from auroral.workload.books import Books
from auroral.workload.borrowing import Borrowing
from auroral.workload.buying import Buying
from auroral.workload.events import (
    Cancelled,
    Effect,
    Event,
    Measured,
    Received,
    Signed,
    Started,
    Submitted,
    WakeAt,
    Withdrawn,
    Woken,
    Write,
)
from auroral.workload.lending import Lending
from auroral.workload.messages import (
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
from auroral.workload.records import Added, Agreed, Ended, Record, Removed
from auroral.workload.saying import Saying
from auroral.workload.selling import Selling
from auroral.workload.settings import Settings
from auroral.workload.values import Exact


@dataclass(slots=True)
class Participant:
    name: str
    settings: Settings
    books: Books = field(init=False)
    buying: Buying = field(init=False)
    selling: Selling = field(init=False)
    lending: Lending = field(init=False)
    borrowing: Borrowing = field(init=False)
    saying: Saying = field(init=False)

    def __post_init__(self) -> None:
        self._open((), 0.0)

    def _open(self, records: tuple[Record, ...], now: float) -> None:
        settings = self.settings
        self.books, self.saying = Books(self.name), Saying(settings.again)
        for record in records:
            self.books.apply(record)
        self.books.restarted(now)
        self.buying = Buying(self.books, settings, self.saying, next_cycle=now + settings.pause)
        self.selling = Selling(self.books, settings)
        self.lending = Lending(self.books, settings, self.saying)
        self.borrowing = Borrowing(self.books, settings, self.selling, self.saying)

    def handle(self, event: Event, now: float) -> list[Effect]:
        effects = [*self._take(event, now), *self._step(now)]
        return [*effects, WakeAt(self._wakes(now))]

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
                yield from self.borrowing.transferred(sender, message, now)
            case Prolong():
                yield from self.borrowing.prolonged(sender, message, now)
            case Settle(number):
                yield from self.borrowing.settle(sender, number, now)
            case Closed(number):
                yield from self.borrowing.closed(sender, number)
            case Accept():
                yield from self.buying.accept(sender, message, now)
            case Counter():
                yield from self.buying.counter(sender, message, now)
            case Reject():
                yield from self.buying.reject(sender, message, now)
            case Taken(number):
                self.lending.taken(sender, number)
            case Extend():
                yield from self.lending.extend(sender, message, now)
            case Over(number, kept):
                yield from self.lending.over(sender, number, kept, now)

    def _step(self, now: float) -> Iterator[Effect]:
        # What others have of borrowed tasks comes back before these are given back.
        yield from self.lending.step(now)
        yield from self.borrowing.step(now)
        yield from self.selling.step(now)
        yield from self.buying.step(now)
        yield from self.saying.due([*self.lending.to_say(), *self.borrowing.to_say(now)], now)

    def _wakes(self, now: float) -> float:
        """The first time at which something is due. What was due and is done already does not count."""
        times = [self.buying.wakes, self.selling.wakes, *self.lending.wakes(now), *self.borrowing.wakes(now)]
        return min(time for time in times if time > now)

    def _write(self, record: Record) -> Write:
        self.books.apply(record)
        return Write(record)

    def utility(self, earned: Exact = 0) -> Fraction:
        """What clients and partners paid, less what it costs to run what runs here (L6): for each second, where payments are too."""
        return earned + self.books.balance - self.settings.worth.costs.cost(self.books.load)
